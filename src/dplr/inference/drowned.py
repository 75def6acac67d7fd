"""Explained variance and residual deviation of models of which noise drowns some columns (intervals.md, section 11).

With A the columns that noise does not drown, and D the others, all columns explain what A explains and the gain
theta_D . r_D, r_D the score of the columns D in the model of A alone. It is not negative, and at most the sum of
|r_j| times the public bound of |theta_j|.
"""

from __future__ import annotations

import math
from dataclasses import replace
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from dplr.inference.determination import (
    AMPLE,
    NOTHING,
    Squares,
    explained,
    half_width,
    residual_deviation,
    residual_vector,
    weakest,
)
from dplr.inference.noise import covariance, weights

Array = NDArray[np.float64]
# The part of 1 - level that the ends of the gain may miss with.
_FOR_GAIN = 0.2
# No residual of a target from -1 to 1 is larger, where predictions lie in that range too.
_LARGEST = 2.0


@lru_cache(maxsize=4)
def drowned(squares: Squares) -> NDArray[np.intp]:
    """Columns without which every direction of the others is long beside its noise: the longest part of the weakest.

    One after the other. The constant stays, and so does the last column, whose cells others may be tied to.
    """
    kept = np.arange(1, len(squares.matrix))
    fixed = int(squares.constant or bool(np.any(squares.tied)))
    while len(kept) > fixed and np.all(np.isfinite(squares.matrix)):
        strength, direction = weakest(squares, kept)
        if strength > AMPLE:
            break
        parts = np.abs(direction[kept[: len(kept) - fixed]])
        kept = np.delete(kept, int(np.argmax(parts)))
    return np.setdiff1d(np.arange(1, len(squares.matrix)), kept)


def explained_within(squares: Squares, bounds: Array, level: float) -> tuple[float, float, float]:
    """As `explained`, where noise drowns columns whose coefficients are at most `bounds` (q,) of all but the target.

    The estimate is without these columns.
    """
    left_out = drowned(squares)
    if not len(left_out):
        return explained(squares, level)
    if not _slopes(squares, left_out):
        return NOTHING
    rest, sure = _rest(squares, left_out, level)
    share, low, high = explained(rest, sure)
    if math.isnan(share):
        return NOTHING
    fixed = np.arange(1, len(rest.matrix))[len(rest.matrix) - 1 - squares.constant :]
    total = residual_vector(rest, 0, fixed)
    of_total = half_width(rest, np.triu(rest.cells * weights(rest.tied, total, total) ** 2), 0.0, sure)
    least = float(total @ rest.matrix @ total) - of_total
    if not least > 0:
        return NOTHING
    high = min(high + _gain(squares, left_out, bounds, level) / least, 1.0)
    return (share, low, high) if high - low < 1 else NOTHING


def deviation_within(squares: Squares, bounds: Array, level: float) -> tuple[float, float, float]:
    """As `residual_deviation`, where noise drowns columns whose coefficients are at most `bounds` (q,)."""
    left_out = drowned(squares)
    if not len(left_out):
        return residual_deviation(squares, level)
    if not _slopes(squares, left_out):
        return NOTHING
    rest, sure = _rest(squares, left_out, level)
    deviation, low, high = residual_deviation(rest, sure)
    if math.isnan(deviation):
        return NOTHING
    least = low**2 - _gain(squares, left_out, bounds, level) / squares.n_rows
    return (deviation, math.sqrt(least), high) if least > 0 else NOTHING


def _slopes(squares: Squares, left_out: NDArray[np.intp]) -> int:
    """The number of slopes that noise does not drown."""
    return len(squares.matrix) - 1 - squares.constant - len(left_out)


def _rest(squares: Squares, left_out: NDArray[np.intp], level: float) -> tuple[Squares, float]:
    """The moments without these columns, and the level of what they say."""
    kept = np.setdiff1d(np.arange(len(squares.matrix)), left_out)
    inside = np.ix_(kept, kept)
    rest = replace(
        squares,
        matrix=squares.matrix[inside],
        cells=squares.cells[inside],
        tied=squares.tied[kept],
        sizes=None if squares.sizes is None else squares.sizes[kept],
        meat=None,  # whose residuals are smaller
    )
    return rest, 1 - (1 - _FOR_GAIN) * (1 - level)


def _gain(squares: Squares, left_out: NDArray[np.intp], bounds: Array, level: float) -> float:
    """The largest gain in the sum of squares that these columns explain beside the others."""
    if np.any(np.isinf(bounds[left_out - 1])):
        return math.inf
    kept = np.setdiff1d(np.arange(1, len(squares.matrix)), left_out)
    sure = 1 - _FOR_GAIN * (1 - level) / (len(left_out) + 1)
    target = residual_vector(squares, 0, kept)
    return sum(float(bounds[j - 1]) * _score(squares, int(j), target, kept, sure) for j in left_out)


def _score(squares: Squares, place: int, target: Array, kept: NDArray[np.intp], level: float) -> float:
    """The largest size of a column's score in the model of the columns `kept`, whose residual vector is `target`."""
    column, cells, tied = residual_vector(squares, place, kept), squares.cells, squares.tied
    inside = squares.matrix[np.ix_(kept, kept)]
    both = (covariance(cells, tied, target + column) - covariance(cells, tied, target - column)) / 4
    value = float(target @ squares.matrix @ column) + float(np.trace(np.linalg.solve(inside, both[np.ix_(kept, kept)])))
    parts = np.triu(cells * weights(tied, target, column) ** 2)
    of_column = np.triu(cells * weights(tied, column, column) ** 2)
    size = max(float(column @ squares.matrix @ column), 0.0) + math.sqrt(float(np.sum(of_column)))
    return abs(value) + half_width(squares, parts, _LARGEST**2 * size, level)
