"""A table that is kept sorted by a private column, and rows held out of it: the exact loss over all secret splits."""

import itertools
import math

import numpy as np
import pytest

import dplr

EPS, ROWS = 1.0, 4
BOUNDS = dplr.Bounds([(0, 1)], target=(0, 1))
OPTIONS = {"model": "linear", "bounds": BOUNDS, "mechanism": dplr.FunctionalMechanism(ranges="off"), "holdout": 0.5}
HALVES = list(itertools.combinations(range(ROWS), ROWS // 2))


class Script:
    """The source of a split that holds these rows out."""

    def __init__(self, tested):
        self._first = tested

    def words(self, size):
        rest = [row for row in range(size) if row not in self._first]
        return np.argsort([*self._first, *rest]).astype(np.uint64)


def centres(rows, noise, monkeypatch):
    """What is released without noise, in units of its noise at EPS, for each split."""
    X, y = np.array([[x] for x, _ in rows]), np.array([label for _, label in rows])
    found = []
    for tested in HALVES:
        monkeypatch.setattr("dplr.estimators._holdout.split_source", lambda _, tested=tested: Script(tested))
        est = dplr.fit(X, y, eps=math.inf, **OPTIONS)
        blocks = [*est.released_.values(), *est.evaluation_.released_.values()]
        found.append(np.concatenate(blocks) / noise)
    return np.array(found)


def loss(one, other):
    """The largest log ratio of the densities of two mixtures of Laplace laws at their centres."""
    points = np.concatenate([one, other])
    logs = [np.log(np.exp(-np.abs(points[:, None] - law[None]).sum(axis=2)).mean(axis=1)) for law in (one, other)]
    return np.abs(logs[0] - logs[1]).max()


@pytest.fixture(scope="module")
def noise():
    """The scale of each number's noise."""
    stated = dplr.fit(np.zeros((ROWS, 1)), np.arange(ROWS) / 3, eps=EPS, **OPTIONS).privacy_.released
    return np.concatenate([np.full(block.shape, block.scale) for block in stated.values()])


@pytest.mark.filterwarnings("ignore")
def test_a_neighbour_that_is_sorted_again_by_another_column_has_the_same_law(noise, monkeypatch):
    """The key of the first record changes, by which somebody keeps the table sorted: all others move up."""
    # the model that is evaluated does not depend on the fit: the law of both together is then a product
    monkeypatch.setattr(dplr.LinearRegression, "predict", lambda _, X: X[:, 0])
    for first, middle in (((0.0, 0.0), (1.0, 1.0)), ((1.0, 0.0), (0.0, 1.0))):
        tables = [first, middle, middle, middle], [middle, middle, middle, first]
        assert loss(*(centres(rows, noise, monkeypatch) for rows in tables)) < 1e-9 * EPS


@pytest.mark.filterwarnings("ignore")
def test_both_parts_of_a_table_are_told_apart_by_at_most_eps_together(noise, monkeypatch):
    """One record is replaced, and the table sorted again: the evaluation counts as much as the model."""
    monkeypatch.setattr(dplr.LinearRegression, "predict", lambda _, X: X[:, 0])
    first, last, middle = (0.0, 0.0), (0.0, 1.0), [(1.0, 1.0), (0.0, 0.0), (1.0, 1.0)]
    tables = [first, *middle], [*middle, last]
    found = loss(*(centres(rows, noise, monkeypatch) for rows in tables))
    assert 0.5 * EPS < found <= EPS
