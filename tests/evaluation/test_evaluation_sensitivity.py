"""Sensitivities of evaluations: test vectors of evaluation.md, and a search for pairs of rows that move more."""

import numpy as np
import pytest

from dplr.evaluation.grids import LIMIT, UNIT, ClassGrid, ErrorGrid, ScoreGrid
from dplr.evaluation.pair import DecisionPair, ErrorPair
from dplr.privacy.sensitivity import differences_replace_one, errors_replace_one

LABELS, CLASSES = ScoreGrid.of(5000, 0.5), ClassGrid.of(3, True, 5000, 0.5)
GRIDS = [LABELS, CLASSES, ClassGrid.of(3, False, 5000, 0.5), ErrorGrid.of(-2.0, 5.0), DecisionPair(2), DecisionPair(3),
         ErrorPair(-2.0, 5.0)]  # fmt: skip


# Added or removed, and replaced; with a private count of all rows, it is released, and adds this much.
@pytest.mark.parametrize(("grid", "added", "replaced", "count"), [
    (LABELS, 1.08, 2.16, 0), (CLASSES, 1.2, 2.4, 0), (GRIDS[2], 1, 2, 0), (GRIDS[3], 1.81, 1.8725, 0.1),
    (DecisionPair(2), 1, 2, 0), (ErrorPair(-2.0, 5.0), 1.425, 2.28, 0.1),
])  # fmt: skip
def test_vectors_of_the_proofs(grid, added, replaced, count):
    for counted in (False, True):
        expected = [added + counted * count, replaced + counted * count]
        assert [grid.sensitivity(flag, counted) for flag in (False, True)] == pytest.approx(expected, rel=1e-4)
        assert ("count" in grid.blocks(counted)) == (counted and count > 0)


def rows_of(grid, rng, n):
    """Scores and outcomes of arbitrary rows, many of them extreme, absurd or missing."""
    extremes = np.array([0.0, 1.0, 0.5, -1e9, 1e9, np.nan, np.inf, -np.inf, LIMIT, -2.0, 5.0])
    width = {ScoreGrid: (n,), ErrorGrid: (n,)}.get(type(grid), (n, 2))
    if isinstance(grid, ClassGrid):
        width = (n, grid.classes) if grid.probabilities else (n,)
    scores = np.where(rng.random(width) < 0.5, rng.choice(extremes, width), rng.normal(0.5, 1.5, width))
    numbers = isinstance(grid, (ErrorGrid, ErrorPair))
    spread = np.where(rng.random(n) < 0.5, rng.choice(extremes, n), rng.normal(1, 3, n))
    return scores, spread if numbers else rng.integers(0, 4, n).astype(float)


@pytest.mark.parametrize("grid", GRIDS, ids=lambda grid: type(grid).__name__)
def test_no_two_rows_differ_by_more_than_the_sensitivity(grid):
    rng = np.random.default_rng(0)
    scores, outcomes = rows_of(grid, rng, 3000)
    cells, numbers = grid.place(scores, outcomes)
    blocks = [block for name, block in grid.blocks(False).items()]
    weights = np.array([weight for _, weight in blocks])
    assert cells.max() < grid.size
    values = np.abs(numbers * UNIT) @ weights[1:] + weights[0] * (cells >= 0)
    assert values.max() <= grid.sensitivity(False, False)
    assert (np.abs(numbers[cells < 0]) == 0).all()
    order = rng.permutation(len(cells))
    sizes = [np.argsort(values)[-200:], np.argsort(numbers[:, 0])[:50] if numbers.size else order[:50], order[:200]]
    chosen = np.concatenate(sizes)
    change = np.abs((numbers[chosen, None] - numbers[None, chosen]) * UNIT) @ weights[1:]
    moved = (cells[chosen, None] >= 0).astype(float) + (cells[None, chosen] >= 0)
    change += weights[0] * np.where(cells[chosen, None] == cells[None, chosen], 0.0, moved)
    most = grid.sensitivity(True, False)
    assert change.max() <= most
    assert change.max() >= 0.75 * most  # the search finds rows that come near


def test_weights_that_void_the_lemma_are_refused():
    weights = {"cells": 1.0, "square": 1.0, "absolute": 0.1, "error": 0.2, "fourth": 0.1, "target_square": 1.0,
               "target": 0.1}  # fmt: skip
    with pytest.raises(ValueError, match="absolute"):
        errors_replace_one(weights, UNIT)
    with pytest.raises(ValueError, match="difference"):
        differences_replace_one({**weights, "difference": 1.0, "square": 0.6}, UNIT)


@pytest.mark.parametrize("grid", [LABELS, CLASSES], ids=["two", "three"])
def test_losses_lie_in_the_range_of_their_cell(grid):
    rng = np.random.default_rng(1)
    n, k = 4000, 2 if grid is LABELS else 3
    p = rng.dirichlet([0.3] * k, n)
    y = rng.integers(0, k, n)
    cells, rest = grid.place(p[:, 1] if k == 2 else p, y.astype(float))
    losses = grid.losses
    assert (np.abs(rest * UNIT) <= losses.halves[cells] + 2 * UNIT).all()
    brier = ((p[:, 1] - y) ** 2) if k == 2 else ((p - np.eye(k)[y]) ** 2).sum(axis=1)
    found = losses.middles[cells][:, 0] + rest[:, 0] * UNIT
    np.testing.assert_allclose(found, brier, atol=2 * UNIT)


def test_half_is_an_edge_and_thresholds_become_edges():
    assert 0.5 in LABELS.edges
    assert 0.123 in ScoreGrid.of(5000, 0.5, (0.123,)).edges
    with pytest.raises(ValueError, match="thresholds"):
        ScoreGrid.of(5000, 0.5, (1.0,))
    assert LABELS.place(np.array([0.5, np.nextafter(0.5, 0)]), np.zeros(2))[0].tolist() == [28, 26]


def test_a_row_is_placed_by_itself():
    rng = np.random.default_rng(2)
    for grid in GRIDS:
        scores, outcomes = rows_of(grid, rng, 200)
        cells, numbers = grid.place(scores, outcomes)
        for row in range(0, 200, 13):
            one, of_one = grid.place(scores[row : row + 1], outcomes[row : row + 1])
            assert one[0] == cells[row]
            assert (of_one[0] == numbers[row]).all()
