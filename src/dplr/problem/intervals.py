"""Where the numbers of a column lie, from noisy sums of them and of their squares. Proofs: fitting/ranges.md."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from dplr.problem.problem import Problem

Vector = NDArray[np.float64]
# A range reaches this many deviations to both sides of the mean, and is never narrower than this share of the bounds.
DEVIATIONS, NARROWEST = 3.0, 0.05


def intervals(
    sums: Vector, squares: Vector, noise: float, n: float, problem: Problem, columns: Sequence[int]
) -> tuple[Vector, Vector]:
    """Middle and half-width of every column, (d,) in scaled units, from released numbers: post-processing.

    The mean, and three deviations to both sides, of which the noise of the squares is a part. A number with a mark has
    the middle of its bounds, which its missing values count as: the range reaches as far to the other side.

    Parameters
    ----------
    sums, squares : (len(columns),) noisy sums of these columns, and of their squares.
    noise : standard deviation of the noise of the squares.
    n : public or released number of records.
    columns : of numbers; all others stay as they are.
    """
    geometry = problem.geometry
    assert geometry.half_width is not None
    c = geometry.half_width
    mean = np.clip(sums / n, -c, c)
    variance = np.clip(squares / n - mean**2, 0.0, c * c) + noise / n
    reach = np.maximum(DEVIATIONS * np.sqrt(variance), NARROWEST * c)
    low, high = np.maximum(mean - reach, -c), np.minimum(mean + reach, c)
    middles, half_widths, where = np.zeros(geometry.d), np.full(geometry.d, c), list(columns)
    high = np.where(np.isin(where, geometry.marked), np.maximum(-low, high), high)
    low = np.where(np.isin(where, geometry.marked), -high, low)
    half_width = np.maximum((high - low) / 2, NARROWEST * c)
    middles[where], half_widths[where] = np.clip((low + high) / 2, half_width - c, c - half_width), half_width
    return middles, half_widths
