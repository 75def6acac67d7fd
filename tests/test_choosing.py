"""The figures on choosing a mechanism are those of the kept results."""

import csv
import pathlib

from bench.studies import hindsight, planner

ROOT = pathlib.Path(__file__).parents[1]
RESULTS = ROOT / "bench" / "results"


def test_planned_and_measured_shares_on_the_page_are_those_of_the_study():
    page = (ROOT / "docs" / "trust" / "accuracy.md").read_text()
    lines = planner.lines(RESULTS / "planner.csv")
    assert len(lines) == 18
    assert "\n".join(lines) in page


def test_what_the_default_loses_is_computed_from_the_kept_fits():
    found = [line for split in hindsight.SPLITS for line in hindsight.cells(split)]
    with open(RESULTS / "hindsight.csv", newline="") as file:
        kept = list(csv.DictReader(file))
    assert [{name: str(value) for name, value in line.items()} for line in found] == kept
    page = (ROOT / "docs" / "use" / "choosing.md").read_text()
    assert "\n".join(hindsight.summary(found)) in page


def test_the_default_is_never_more_than_a_few_percent_behind_on_official_splits():
    losses = [float(line["loss"]) for line in hindsight.cells("official")]
    assert len(losses) == 104
    assert min(losses) == 0
    assert max(losses) < 0.07
