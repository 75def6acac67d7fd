"""Residual variance and share of the variance that columns explain, from noisy second moments alone.

Proofs are short. With M the released moments of all coordinates, E their noise, and a the vector with 1 at a coordinate
and minus its coefficients on the others, the residual sum is the least a'Ma. It is lower than that without noise by
r'S^-1 r in the mean, r = E a the noise of the score and S the moments of the others, up to the second order of E S^-1:
its expectation tr(S^-1 Cov(E a)) is added. By the envelope theorem its first-order noise is a'E a, a sum over released
cells, and that of r'S^-1 r has the variance 2 tr((S^-1 V)^2), V = Cov(E a) + Cov(sampling).

No law of columns and residuals is assumed, only that the target lies in [-1, 1], where with f, the prediction, the
residual e is at most 1 + |f|. So E e^4 <= E e^2 (1 + |f|)^2 <= (s + sqrt(E e^2 f^2))^2, by Minkowski, and E e^2 f^2 is
s^2 E f^2 where rows vary equally, and else a part of the released squared residuals times rows (`tails`). A row moves
s^2 by e^2, and, as in `inflation`, the logarithm of 1 - R^2 by three terms.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import special

from dplr.inference.noise import covariance, weights
from dplr.inference.reading import Reading
from dplr.inference.score import quantile

Array = NDArray[np.float64]
# A direction of the moments, and a sum of squares, must be this many deviations of their noise.
AMPLE, _CLEAR = 6.0, 3.0
NOTHING = math.nan, math.nan, math.nan


@dataclass(frozen=True, eq=False, slots=True)
class Squares:
    """Noisy second moments of coordinates, the constant last where there is one.

    Attributes
    ----------
    matrix, cells, tied : as in `Reading`.
    n_rows : the number of rows, public or released.
    constant : whether the last coordinate is the constant.
    laplace : whether the noise has discrete Laplace laws.
    sizes : (q + 1,) the largest size of each coordinate; None for 1.
    robust : whether the residuals of the first coordinate may vary differently in different rows.
    meat : (q, q) its squared residuals on all others times rows, where these were released.
    """

    matrix: Array
    cells: Array
    tied: Array
    n_rows: float
    constant: bool
    laplace: bool
    sizes: Array | None = None
    robust: bool = False
    meat: Array | None = None

    @classmethod
    def of(cls, reading: Reading, constant: bool) -> Squares:
        """The moments of a reading of moments: the target first, then its coordinates."""
        assert reading.square is not None
        assert reading.n_rows is not None
        q = len(reading.vector)
        matrix, cells = np.empty((q + 1, q + 1)), np.empty((q + 1, q + 1))
        for out, corner, side, inside in (
            (matrix, reading.square, reading.vector, reading.matrix),
            (cells, reading.square_noise, np.diag(reading.vector_noise), reading.cells),
        ):
            out[0, 0], out[0, 1:], out[1:, 0], out[1:, 1:] = corner, side, side, inside
        return cls(
            matrix,
            cells,
            np.append(0.0, reading.tied),
            reading.n_rows,
            constant,
            reading.laplace,
            sizes=np.append(1.0, reading.sizes),
            robust=reading.robust,
            meat=reading.sampling if reading.robust and reading.largest is None else None,
        )


@dataclass(frozen=True, eq=False, slots=True)
class Residual:
    """The residual sum of a coordinate.

    Attributes
    ----------
    value : the sum.
    cells : weights of the noisy cells in it.
    second : its variance of the second order.
    """

    value: float
    cells: Array
    second: float


def residual_deviation(squares: Squares, level: float) -> tuple[float, float, float]:
    """Standard deviation of the residuals of the first coordinate on all others, and its interval; nan: cannot say."""
    q, n = len(squares.matrix) - 1, squares.n_rows
    regressors = np.arange(1, q + 1)
    if n <= q or not ample(squares, regressors):
        return NOTHING
    residual = residual_of(squares, 0, regressors)
    variance = residual.value / (n - q)
    if not variance > 0:
        return NOTHING
    slope = max(_fourth(squares, variance, *_predicted(squares, regressors)) / variance - variance, 0.0) / n
    low, high = variance_ends(squares, residual, n - q, slope, level)
    if not 0 < low <= high:
        return NOTHING
    return math.sqrt(variance), math.sqrt(low), math.sqrt(high)


def variance_ends(
    squares: Squares, residual: Residual, freedom: float, slope: float, level: float
) -> tuple[float, float]:
    """Ends of the interval of a variance, a residual sum over `freedom`; nan: none.

    They are where it is close enough: `slope` times it is what the rows add to its sampling variance.
    """
    n, variance, by_cell = squares.n_rows, residual.value / freedom, residual.cells.copy()
    if squares.cells[-1, -1] and squares.constant:  # the number of rows is as noisy as the constant's cell
        by_cell[-1, -1] -= variance * n / squares.matrix[-1, -1]
    parts, rest = np.triu(squares.cells * by_cell**2) / freedom**2, residual.second / freedom**2
    factor = deviations(squares, parts, rest + slope * max(variance, 0.0), level) ** 2
    return roots(1.0, variance + factor * slope / 2, variance**2 - factor * (float(np.sum(parts)) + rest))


def roots(square: float, half: float, fixed: float) -> tuple[float, float]:
    """Where square x^2 - 2 half x + fixed is 0; nan where it is above 0 everywhere."""
    inner = half**2 - square * fixed
    if not inner >= 0:
        return math.nan, math.nan
    return (half - math.sqrt(inner)) / square, (half + math.sqrt(inner)) / square


def _predicted(squares: Squares, regressors: NDArray[np.intp], middle: float = 0.0) -> tuple[Array, float]:
    """Coefficients (q,) of what predicts the first coordinate less a number, and the largest size of that.

    Predictions lie where the target does, in [-1, 1].
    """
    coef = -residual_vector(squares, 0, regressors)[1:]
    if squares.constant:
        coef[-1] -= middle * math.sqrt(squares.n_rows / squares.matrix[-1, -1])
    sizes = np.ones(len(coef)) if squares.sizes is None else squares.sizes[1:]
    return coef, min(float(np.abs(coef) @ sizes), 1.0 + abs(middle))


def _of_both(squares: Squares, variance: float, coef: Array, largest: float) -> float:
    """Mean of e^2 f^2, e the residuals with this variance and f = coef'x, at most `largest`."""
    if squares.meat is not None:
        return max(float(coef @ squares.meat @ coef), 0.0) / squares.n_rows
    square = largest**2
    if not squares.robust:
        square = min(max(float(coef @ squares.matrix[1:, 1:] @ coef) / squares.n_rows, 0.0), square)
    return variance * square


def _fourth(squares: Squares, variance: float, coef: Array, largest: float) -> float:
    """Bound of the fourth moment of the residuals of a target in [-1, 1], predicted by coef'x."""
    return (math.sqrt(variance) + math.sqrt(_of_both(squares, variance, coef, largest))) ** 2


def explained(squares: Squares, level: float, place: int = 0) -> tuple[float, float, float]:
    """Share of a coordinate's variance that all others explain, adjusted for their number, and its interval.

    The interval is that of the first coordinate. About 0 where there is no constant, as is usual. nan where the
    released numbers cannot say.
    """
    n, regressors = squares.n_rows, np.delete(np.arange(len(squares.matrix)), place)
    fixed = regressors[len(regressors) - squares.constant :]
    if n <= len(regressors) or not ample(squares, regressors):
        return NOTHING
    residual, total = residual_of(squares, place, regressors), residual_of(squares, place, fixed)
    spread = math.sqrt(float(np.sum(np.triu(squares.cells * total.cells**2))))
    if not total.value > max(0.0, _CLEAR * spread):
        return NOTHING
    ratio = residual.value / total.value
    factor = (n - len(fixed)) / (n - len(regressors))
    share = 1 - factor * ratio
    by_cell = factor * (residual.cells - ratio * total.cells) / total.value
    rest = factor**2 * (residual.second / total.value**2 + _share_scatter(squares, regressors, ratio, total.value) / n)
    half = half_width(squares, np.triu(squares.cells * by_cell**2), rest, level)
    low, high = max(share - half, 0.0), min(share + half, 1.0)
    if low >= high or high - low >= 1:
        return NOTHING
    return min(max(share, 0.0), 1.0), low, high


def _share_scatter(squares: Squares, regressors: NDArray[np.intp], ratio: float, total: float) -> float:
    """Bound of the variance of what a row moves 1 - R^2 of the first coordinate by; the residual sum is `ratio` of all.

    With equal variances the three terms are not correlated; else their deviations are added up.
    """
    n, left = squares.n_rows, min(max(ratio, 0.0), 1.0)
    variance, remaining = total / n, left * total / n
    if not remaining > 0:
        return 0.0
    middle = float(squares.matrix[0, -1]) / math.sqrt(n * squares.matrix[-1, -1]) if squares.constant else 0.0
    fourth = _fourth(squares, remaining, *_predicted(squares, regressors))
    coef, largest = _predicted(squares, regressors, middle)
    both = _of_both(squares, remaining, coef, largest)
    terms = _log_scatter(left, variance, math.sqrt(fourth / remaining), largest, both)
    return left**2 * (sum(terms) ** 2 if squares.robust else sum(term**2 for term in terms))


def residual_of(squares: Squares, place: int, regressors: NDArray[np.intp]) -> Residual:
    """The residual sum of a coordinate on others."""
    a, inside = residual_vector(squares, place, regressors), squares.matrix[np.ix_(regressors, regressors)]
    value = float(a @ squares.matrix @ a)
    noise = covariance(squares.cells, squares.tied, a)[np.ix_(regressors, regressors)]
    lost = np.linalg.solve(inside, noise)
    value += float(np.trace(lost))
    sampling = max(value, 0.0) / squares.n_rows * np.eye(len(regressors))
    second = 2 * float(np.trace(np.linalg.matrix_power(lost + sampling, 2)))
    return Residual(value, weights(squares.tied, a, a), second)


def residual_vector(squares: Squares, place: int, regressors: NDArray[np.intp]) -> Array:
    """1 at a coordinate, and minus its coefficients on others."""
    out, inside = np.zeros(len(squares.matrix)), squares.matrix[np.ix_(regressors, regressors)]
    out[place] = 1.0
    out[regressors] = -np.linalg.solve(inside, squares.matrix[regressors, place])
    return out


def ample(squares: Squares, regressors: NDArray[np.intp]) -> bool:
    """Whether every direction of these coordinates is long beside its noise."""
    inside = squares.matrix[np.ix_(regressors, regressors)]
    if not np.all(np.isfinite(inside)):
        return False
    if not len(regressors):
        return True
    return weakest(squares, regressors)[0] > AMPLE


def weakest(squares: Squares, regressors: NDArray[np.intp]) -> tuple[float, Array]:
    """The smallest eigenvalue of these coordinates in deviations of its noise, and its direction of all coordinates.

    An eigenvalue that may be rounding is 0.
    """
    values, vectors = np.linalg.eigh(squares.matrix[np.ix_(regressors, regressors)])
    direction = np.zeros(len(squares.matrix))
    direction[regressors] = vectors[:, 0]
    parts = np.triu(squares.cells * weights(squares.tied, direction, direction) ** 2)
    deviation, value = math.sqrt(float(np.sum(parts))), float(values[0])
    if 0 < value <= len(values) * np.finfo(np.float64).eps * float(np.max(np.abs(values))):
        return 0.0, direction
    return (value / deviation if deviation else math.copysign(math.inf, value)), direction


def half_width(squares: Squares, parts: Array, rest: float, level: float) -> float:
    """Half the width of an interval, from the variances that cells of the noise cause and the rest of the variance."""
    return deviations(squares, parts, rest, level) * math.sqrt(float(np.sum(parts)) + rest)


def deviations(squares: Squares, parts: Array, rest: float, level: float) -> float:
    """How many deviations of an error half the width of its interval is; `parts` and `rest` as in `half_width`."""
    total = float(np.sum(parts)) + rest
    tails = 3 * float(np.sum(parts**2)) / total**2 if squares.laplace and total > 0 else 0.0
    z = -float(special.ndtri((1 - level) / 2))
    return float(quantile(z, np.asarray(tails)))


def inflation(squares: Squares, sizes: Array, level: float, place: int) -> tuple[float, float, float]:
    """Variance inflation of a coordinate, 1/(1 - R^2) on all others, and its interval; nan: cannot say.

    No law of the columns is assumed, only that |x_k| <= sizes[k]. With e the residual, f the fitted part about its mean
    and s^2 the variance, a row moves the logarithm of 1 - R^2 by e^2 (R^2/s_e^2) - 2 e f/s^2 - f^2/s^2. Its deviation
    is at most the sum of those of the three, each bounded by the largest |e| and |f|.
    """
    n, last = squares.n_rows, len(squares.matrix) - 1
    if last + 1 == 1 + squares.constant:  # nothing else explains it
        return 1.0, 1.0, 1.0
    value, _, _ = explained(squares, level, place)
    if math.isnan(value):
        return NOTHING
    regressors = np.delete(np.arange(last + 1), place)
    fixed = regressors[len(regressors) - squares.constant :]
    residual, total = residual_of(squares, place, regressors), residual_of(squares, place, fixed)
    ratio = min(max(residual.value / total.value, 0.0), 1.0)
    if not ratio > 0:
        return NOTHING
    middles = squares.matrix[:, last] / math.sqrt(n * squares.matrix[last, last]) if squares.constant else 0.0 * sizes
    longest, slopes = sizes + np.abs(middles), regressors[: len(regressors) - squares.constant]
    coef = np.linalg.solve(squares.matrix[np.ix_(regressors, regressors)], squares.matrix[regressors, place])
    fitted = float(np.abs(coef[: len(slopes)]) @ longest[slopes])
    residuals, variance = float(longest[place]) + fitted, total.value / n
    both = min(fitted**2 * ratio, residuals**2 * (1 - ratio)) * variance
    scatter = sum(_log_scatter(ratio, variance, residuals, fitted, both))
    by_cell = (residual.cells - ratio * total.cells) / total.value
    rest = residual.second / total.value**2 + ratio**2 * scatter**2 / n
    half = half_width(squares, np.triu(squares.cells * by_cell**2), rest, level)
    if half >= ratio:
        return NOTHING
    return 1 / (1 - value), 1 / min(1.0, ratio + half), 1 / (ratio - half)


def _log_scatter(
    left: float, variance: float, residual: float, fitted: float, both: float
) -> tuple[float, float, float]:
    """Bounds of the deviations of three terms, the sum of which is what a row moves log(1 - R^2) by.

    1 - R^2 is `left`, which may be too small for R^2 to tell. The fourth moments of e and f are at most their variances
    times the squares of `residual` and `fitted`, and the mean of e^2 f^2 is at most `both`.
    """
    share = 1 - left
    remaining, part = left * variance, share * variance
    of_residual = share * math.sqrt(max(residual**2 / remaining - 1, 0.0))
    of_fitted = share * math.sqrt(max(fitted**2 / part - 1, 0.0)) if part > 0 else 0.0
    return of_residual, 2 * math.sqrt(both) / variance, of_fitted


def deviation_ratio(squares: Squares, size: float, place: int, level: float) -> tuple[float, float, float]:
    """Standard deviation of a coordinate over that of the first one, and its interval; nan: cannot say.

    With T the sums of squares about the mean, the logarithm of the ratio of two of them has the noise of each over its
    own. Rows cause var(log T) <= (k - 1)/n for each, k = E(x - m)^4/s^4 <= (size + |m|)^2/s^2 where |x| <= size: no
    law of the columns is assumed. `size` is that of the coordinate; the first one is at most 1.
    """
    n, last = squares.n_rows, len(squares.matrix) - 1
    fixed = np.arange(last + 1 - squares.constant, last + 1)
    if not ample(squares, fixed):
        return NOTHING
    parts, scatter, sums = np.zeros_like(squares.matrix), [], []
    for coordinate, longest, sign in ((place, size, 1.0), (0, 1.0, -1.0)):
        total = residual_of(squares, coordinate, fixed)
        spread = math.sqrt(float(np.sum(np.triu(squares.cells * total.cells**2))))
        if not total.value > max(0.0, _CLEAR * spread):
            return NOTHING
        parts += sign * total.cells / total.value
        middle = abs(float(squares.matrix[coordinate, last])) / math.sqrt(n * float(squares.matrix[last, last]))
        most = (longest + (middle if squares.constant else 0.0)) ** 2 * n / total.value
        scatter.append(math.sqrt(max(most - 1, 0.0) / n))
        sums.append(total.value)
    half = half_width(squares, np.triu(squares.cells * parts**2), sum(scatter) ** 2, level)
    ratio = sums[0] / sums[1]
    return math.sqrt(ratio), math.sqrt(ratio * math.exp(-half)), math.sqrt(ratio * math.exp(half))
