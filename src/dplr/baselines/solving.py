"""Regressions of the cells of a noisy table, in the scaled problem: post-processing."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dplr.baselines import regression
from dplr.baselines.grid import Grid
from dplr.baselines.hits import Positions
from dplr.fitting.planning import PublicFacts
from dplr.problem.geometry import GRID

_THINNED = 64  # a logistic regression starts where one of every 64 cells ends


def fitted(facts: PublicFacts, grid: Grid, positions: Positions, weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """Coefficients of the scaled problem, from the cells alone: post-processing."""
    cells = _scaled(facts, grid, positions, weights)
    if not facts.prep.labels:
        return regression.least_squares(cells)
    few = slice(None, None, _THINNED)  # few of the cells tell where to start
    start = regression.logistic(_scaled(facts, grid, positions[few], weights[few] * _THINNED))
    return regression.logistic(cells, start)


def _scaled(facts: PublicFacts, grid: Grid, positions: Positions, weights: NDArray[np.float64]) -> regression.Cells:
    """The cells as rows of the scaled problem."""
    prep = facts.prep
    d, shift, scale = prep.geometry.d, prep.shift, prep.scale / GRID
    above, size = grid.halves
    rest, columns = positions // size, positions % size
    firsts = np.flatnonzero(np.append(True, rest[1:] != rest[:-1])) if len(rest) else np.empty(0, np.int64)
    if size > len(positions):
        codes, columns = np.unique(columns, return_inverse=True)
    else:
        codes = np.arange(size)
    halves = []
    for places, mask in ((rest[firsts] * size, above), (codes, ~above)):
        rows, targets = grid.points(places)
        half = np.zeros((len(rows), prep.geometry.n_coefs))
        half[:, :d] = np.where(mask, (rows - shift[:d]) * scale[:d], 0.0)
        halves.append(half)
    halves[1][:, d:] = prep.geometry.intercept
    if not prep.labels:
        targets = (targets - shift[d]) * scale[d]
    ends = np.append(firsts, len(positions))
    return regression.Cells(halves[0], ends, halves[1], columns.astype(np.intp), targets, weights)
