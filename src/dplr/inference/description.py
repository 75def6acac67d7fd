"""Means, standard deviations and correlations of columns from noisy second moments, with intervals.

No law of the columns is assumed, only that each lies in its range [l, h]. With m the mean and s^2 the variance:

- s^2 <= (h - m)(m - l) (Bhatia and Davis 2000). The interval of a mean is the set of m that are close enough for a
  variance of k (h - m)(m - l), k the released share of that bound: Wilson's interval where k is 1, as for flags.
- With R = max(h - m, m - l) and r = min of the two, E(x - m)^4 <= `fourth`. Proof: for t = (r - R)/2 the polynomial
  (x - m + u)^2 (R - x + m)(x - m + w) is at least 0 in the range, with u = -t and w = r, or with u = s^2/R, the place
  of the other point of a law on two points, and w = R - 2u >= r. Its mean bounds the fourth moment, as its cubic term
  is 0. Both bounds are attained: by laws on three points, and on two.
- The interval of a variance is the set of s^2 that are close enough where its sampling variance grows with s^2.
- A row moves a correlation c of z_j and z_k, both standardised, by z_j z_k - c (z_j^2 + z_k^2)/2. Its variance is
  bounded by `correlation_scatter`. The interval is Fieller's: the covariance less c times both deviations is near 0.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dplr.inference.determination import (
    NOTHING,
    Residual,
    Squares,
    ample,
    deviations,
    residual_of,
    residual_vector,
    roots,
    variance_ends,
)
from dplr.inference.noise import weights

Array = NDArray[np.float64]
Ends = tuple[float, float, float]
# Both variances of a correlation must be this many deviations of their noise: of those that are less, the few that
# noise lets through would be wrong more often than the level says.
_CLEAR = 6.0


@dataclass(frozen=True, slots=True)
class Range:
    """Where the mean of a column is, in its range.

    Attributes
    ----------
    low, high : ends of the range.
    mean : a released mean, within the range.
    """

    low: float
    high: float
    mean: float

    @property
    def farthest(self) -> float:
        """The largest distance of a value from the mean."""
        return max(self.high - self.mean, self.mean - self.low)

    @property
    def nearest(self) -> float:
        """How far the nearer end is from the mean."""
        return min(self.high - self.mean, self.mean - self.low)

    @property
    def most(self) -> float:
        """The largest variance."""
        return self.farthest * self.nearest


def mean(squares: Squares, direction: Array, low: float, high: float, level: float, variance: float) -> Ends:
    """Mean of a sum of columns, `direction` times the coordinates, that lies in [low, high]; nan: cannot say.

    `variance` is an upper guess of that of the sum; infinity for the largest of all.
    """
    n, last = squares.n_rows, len(squares.matrix) - 1
    constant = float(squares.matrix[last, last])
    if not ample(squares, np.array([last])):
        return NOTHING
    value = float(direction @ squares.matrix[:, last]) * math.sqrt(n / constant) / n
    by_cell = np.zeros_like(squares.cells)
    by_cell[:, last] = direction * math.sqrt(n / constant) / n
    by_cell[last, last] = -value / constant
    parts = np.triu(squares.cells * by_cell**2)
    span = (high - value) * (value - low)
    share = variance / span if 0 <= variance < span else 1.0
    scatter = deviations(squares, parts, max(share * span, 0.0) / n, level) ** 2
    ends = roots(1 + scatter * share / n, value + scatter * share * (high + low) / (2 * n),
                  value**2 + scatter * (share * high * low / n - float(np.sum(parts))))  # fmt: skip
    return _within(value, ends, low, high)


def place_in(squares: Squares, place: int, low: float, high: float) -> Range:
    """The released mean of a coordinate within its range."""
    last = len(squares.matrix) - 1
    value = float(squares.matrix[place, last]) / math.sqrt(squares.n_rows * float(squares.matrix[last, last]))
    return Range(low, high, min(max(value, low), high))


def upper_variance(squares: Squares, place: int) -> float:
    """The variance of a coordinate, one deviation of its noise above what was released: for intervals of its mean."""
    last = len(squares.matrix) - 1
    if not ample(squares, np.array([last])):
        return math.inf
    residual = residual_of(squares, place, np.array([last]))
    return max(residual.value + math.sqrt(_noise(squares, residual)), 0.0) / max(squares.n_rows - 1, 1.0)


def deviation(squares: Squares, place: int, low: float, high: float, level: float) -> Ends:
    """Standard deviation of a coordinate in [low, high], and its interval; nan: cannot say."""
    n, last = squares.n_rows, len(squares.matrix) - 1
    if n <= 1 or not ample(squares, np.array([last])):
        return NOTHING
    residual = residual_of(squares, place, np.array([last]))
    variance = residual.value / (n - 1)
    if not variance > 0:
        return NOTHING
    span = place_in(squares, place, low, high)
    inside = min(variance, span.most)
    slope = max(fourth(inside, span) - inside**2, 0.0) / inside / n if inside > 0 else 0.0
    ends = variance_ends(squares, residual, n - 1, slope, level)
    value, bottom, top = _within(variance, ends, 0.0, (high - low) ** 2 / 4)
    return math.sqrt(value), math.sqrt(bottom), math.sqrt(top)


def fourth(variance: float, span: Range) -> float:
    """The largest fourth central moment of numbers in a range with this mean and variance."""
    far, near = span.farthest, span.nearest
    if 2 * variance <= far * (far - near):
        return variance**2 + variance * (far - variance / far) ** 2
    turn = (far - near) / 2
    return (far * near + 3 * turn**2) * variance + far * near * turn**2


def correlation(squares: Squares, pair: tuple[int, int], low: Array, high: Array, level: float) -> Ends:
    """Correlation of two coordinates, and its interval; nan: cannot say. `low` and `high` are of all coordinates."""
    n, last = squares.n_rows, len(squares.matrix) - 1
    fixed = np.array([last])
    if n <= 1 or not ample(squares, fixed):
        return NOTHING
    both = [residual_of(squares, place, fixed) for place in pair]
    if any(residual.value <= _CLEAR * math.sqrt(_noise(squares, residual)) for residual in both):
        return NOTHING
    first, second = (residual_vector(squares, place, fixed) for place in pair)
    sums = [residual.value for residual in both]
    shared, product = float(first @ squares.matrix @ second), math.sqrt(sums[0] * sums[1])
    ratio = shared / product
    if abs(ratio) > 1:
        return NOTHING
    of_shared = weights(squares.tied, first, second)
    of_product = sum(residual.cells * product / residual.value / 2 for residual in both)
    cells = np.triu(squares.cells)
    spans = [place_in(squares, place, low[place], high[place]) for place in pair]
    scatter = correlation_scatter(ratio, [value / (n - 1) for value in sums], spans)
    # The product of the errors of both means: of the second order, as `Residual.second` is.
    constant = float(squares.matrix[last, last])
    drift = [float(squares.cells[place, last]) / constant + residual.value / n
             for place, residual in zip(pair, both, strict=True)]  # fmt: skip
    rest = product**2 * scatter / n + drift[0] * drift[1]
    curved = sum(residual.second * (product / residual.value / 2) ** 2 for residual in both)
    parts = cells * (of_shared - ratio * of_product) ** 2
    factor = deviations(squares, parts, rest + ratio**2 * curved, level) ** 2
    noise, cross = float(np.sum(cells * of_shared**2)), float(np.sum(cells * of_shared * of_product))
    lead = product**2 - factor * (float(np.sum(cells * of_product**2)) + curved)
    if not lead > 0:
        return NOTHING
    ends = roots(lead, shared * product - factor * cross, shared**2 - factor * (noise + rest))
    return _within(ratio, ends, -1.0, 1.0)


def correlation_scatter(ratio: float, variances: list[float], spans: list[Range]) -> float:
    """Bound of the variance of what a row moves a correlation by.

    The smaller of two: that of z_j z_k, whose mean square is at most the largest z_j^2, the largest z_k^2 and the root
    of the product of both fourth moments, beside those of the squares; and that of u^2 - v^2, u and v the sum and the
    difference of z_j and z_k over their deviations, times (1 - c^2)/2.
    """
    inside = [min(variance, span.most) for variance, span in zip(variances, spans, strict=True)]
    if not all(value > 0 for value in inside):
        return math.inf
    longest = [span.farthest / math.sqrt(value) for span, value in zip(spans, inside, strict=True)]
    tails = [fourth(value, span) / value**2 for span, value in zip(spans, inside, strict=True)]
    crossed = min(longest[0] ** 2, longest[1] ** 2, math.sqrt(tails[0] * tails[1]))
    squares = sum(math.sqrt(max(tail - 1, 0.0)) for tail in tails)
    apart = math.sqrt(max(crossed - ratio**2, 0.0)) + abs(ratio) / 2 * squares
    turned = 0.0
    for sign in (1.0, -1.0):
        part = 2 * (1 + sign * ratio)
        turned += math.sqrt(max(sum(longest) ** 2 / part - 1, 0.0)) if part > 0 else 0.0
    return min(apart, (1 - ratio**2) / 2 * turned) ** 2


def _noise(squares: Squares, residual: Residual) -> float:
    """Variance of the noise in a residual sum."""
    return float(np.sum(np.triu(squares.cells * residual.cells**2)))


def _within(value: float, ends: tuple[float, float], low: float, high: float) -> Ends:
    """The number and its interval within a range; nan where they lie outside, or where the interval is the range."""
    bottom, top = max(ends[0], low), min(ends[1], high)
    if not bottom <= top or (bottom <= low and top >= high) or not math.isfinite(value):
        return NOTHING
    return min(max(value, bottom), top), bottom, top
