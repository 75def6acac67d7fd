"""The grid of strange designs: the page shows what was measured, lines cover or a cause is named, and it can fail."""

import numpy as np
import pytest

from bench.studies.strange import __main__ as study
from bench.studies.strange import page
from bench.studies.strange.designs import DESIGNS
from bench.studies.strange.plain import best, fitted, rows_of
from bench.studies.strange.tables import matrix


@pytest.fixture(scope="module")
def records():
    return page.read(page.RESULTS)


def test_the_page_shows_the_tables_of_the_results(records):
    assert page.text(records) in page.PAGE.read_text(encoding="utf-8")


def test_every_design_was_measured_before_and_after(records):
    keys = {tuple(row[name] for name in study.KEY) for row in records}
    assert keys == {study.key_of(design, version) for design in DESIGNS for version in page.VERSIONS}
    assert len({study.key_of(design, "") for design in DESIGNS}) == len(DESIGNS) >= 60


def test_a_column_that_covers_too_little_has_a_cause(records):
    failing = {(row["model"], row["design"]) for row in records if row["version"] == "after" and study.wrong(row)}
    assert failing == set(page.CAUSES)


def test_too_little_is_told_from_chance():
    row = {"told": "360", "held": "342"}
    assert not study.low(row)
    assert study.low(row | {"held": "333"})
    assert not study.wrong(row | {"held": "333"})
    assert study.wrong(row | {"held": "320"})
    assert not study.low({"told": "99", "held": "0"})


@pytest.mark.parametrize("name", ["even", "persons", "weights", "scattered rates", "errors of t with 2 degrees"])
def test_fits_without_privacy_find_the_truth(name):
    for design in (design for design in DESIGNS if design.name == name):
        columns, y, beside = rows_of(design, 20_000, np.random.default_rng(1))
        names, Z = matrix(columns, design.table.bounds)
        coef, error = fitted(design, Z, y, beside)
        assert np.all(np.abs(coef - [design.truth[each] for each in names]) < 4 * error)


def test_the_best_model_of_a_right_one_is_the_truth(monkeypatch):
    monkeypatch.setattr("bench.studies.strange.plain.POPULATION", 100_000)
    found = best(0, tuple(DESIGNS[0].table.bounds.items()), DESIGNS[0].target)
    assert found == pytest.approx(DESIGNS[0].truth, abs=0.03)


@pytest.mark.thorough
@pytest.mark.parametrize("place", range(len(DESIGNS)), ids=[" ".join(study.key_of(each, "")[1:]) for each in DESIGNS])
def test_a_strange_design_is_told_right_as_the_results_say(place, records):
    """What is told covers, unless its cause is named; and about as much is told as was measured."""
    design = DESIGNS[place]
    found = list(study.measure(place).records("after"))
    kept = [row for row in records if tuple(row[name] for name in study.KEY) == study.key_of(design, "after")]
    if (design.model, design.name) not in page.CAUSES:
        assert not any(map(study.wrong, found))
    for now, then in zip(found, kept, strict=True):
        share = int(then["told"]) / int(then["fits"])
        assert int(now["told"]) / now["fits"] == pytest.approx(share, abs=0.2), now["column"]
