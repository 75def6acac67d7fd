"""The bench of weaker promises: pairs, what counts as worse, and the kept results."""

import itertools
import pathlib

import numpy as np
import pytest

import dplr
from bench.accuracy import monotone
from bench.data.tables import Table

RESULTS = pathlib.Path(__file__).parents[1] / "bench" / "results" / "monotone.csv"


def line(loss, relation="replace_one", delta=0.0, eps=1.0, error=0.01, fits=monotone.FITS):
    cells = ("t", 100, "auto", relation, delta, eps, "objective", fits, loss, error)
    return dict(zip(monotone.COLUMNS, cells, strict=True))


def small():
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (600, 2))
    y = (X @ [0.5, -0.3] + rng.normal(0, 0.1, 600)).clip(-1, 1)
    bounds = dplr.Bounds([(-1, 1)] * 2, target=(-1, 1))
    return Table("small", "linear", bounds, X[:300], y[:300], X[300:], y[300:])


def test_each_promise_stands_beside_the_next_stronger_ones():
    promises = itertools.product(monotone.RELATIONS, (0, 1e-6), (1, 3))
    lines = [line(0.2, *promise) for promise in promises]
    found = list(monotone.pairs_of(lines))
    assert len(found) == 4 + 4 + 4  # a larger eps, a delta, and added records
    for stronger, weaker in found:
        changed = [name for name in ("relation", "delta", "eps") if stronger[name] != weaker[name]]
        assert len(changed) == 1
        assert stronger["eps"] <= weaker["eps"]
        assert stronger["delta"] <= weaker["delta"]


@pytest.mark.parametrize(("loss", "worse"), [(0.1, False), (0.228, False), (0.229, True)])
def test_a_weaker_promise_is_worse_beyond_two_standard_errors(loss, worse):
    found = monotone.violations([line(0.2), line(loss, delta=1e-6)])
    assert [pair.weaker["delta"] for pair in found] == [1e-6] * worse


def test_pairs_in_doubt_are_fitted_anew_and_more_often(monkeypatch):
    monkeypatch.setattr(monotone, "AGAIN", 12)
    lines = [line(0.1), line(0.9, eps=3.0)]
    for each in lines:
        each["table"] = "small"
    found = monotone.again(small(), lines)
    assert [each["fits"] for each in found] == [12, 12]
    assert monotone.violations(found) == []


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_a_small_table_has_a_line_for_each_mechanism_and_promise():
    found = list(monotone.lines_of(small(), fits=2, levels=(0.5, 3.0)))
    assert len(found) == 3 * 2 * 2 * 2
    assert {each["mechanism"] for each in found} == set(monotone.MECHANISMS)
    taken = {each["taken"] for each in found if each["mechanism"] == "auto"}
    assert {name.split()[0] for name in taken} == {"objective", "ngd"}


def test_the_page_lists_what_the_kept_results_violate():
    page = (RESULTS.parents[2] / "docs" / "trust" / "monotone.md").read_text()
    found = monotone.violations(monotone.read(RESULTS))
    assert [pair for pair in found if monotone.described(pair) not in page] == []
    assert sum(row.startswith("| ") and row.endswith(" |") and "eps" in row for row in page.split("\n")) >= len(found)
