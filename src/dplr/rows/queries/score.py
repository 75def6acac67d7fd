"""Score and Hessian of a loss at a point: exact sums."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from dplr._core import add_moments
from dplr.bounds.scaling import Prep
from dplr.problem.losses import Loss
from dplr.rows.queries.clipped import ClippedGradient, ClippedPartial, clipped_rows
from dplr.rows.queries.kernel import kernel_of
from dplr.rows.queries.moments import Moments, Partial
from dplr.rows.queries.row_map import row_map
from dplr.rows.queries.totals import ExactSums, Total, normalised
from dplr.rows.selection import ALL, Selection
from dplr.rows.weights import Weights
from dplr.rows.weights import multipliers as roots_of

Vector = NDArray[np.float64]
# Multipliers of the Gram kernel in 1.0, as a power of two.
MULTIPLIER_BITS = 30
# Rows whose multipliers are held at once.
_ROWS = 2**14


class ScorePartial:
    """One thread's accumulators for a score and a Hessian."""

    def __init__(self, query: ScoreMoments) -> None:
        self.query = query
        self.moments: Partial = Partial(Moments(query.d, query.intercept), query.d)
        self.score: ClippedPartial = query.gradient.partial()

    def total(self) -> Total:
        """The exact total so far. Ends this partial: the limbs are not copied."""
        value = self.moments.total()
        up, curved = self.query.gradient.exponent - Moments.exponent, self.query.curvature_exponent
        assert up >= 0, "a clip is at least 1"
        hi, lo = value.hi << curved, value.lo << curved
        hi[:-1, -1], lo[:-1, -1] = -self.score.hi << up, -self.score.lo << up  # in place of products with y
        hi[-1, -1] = lo[-1, -1] = 0
        return normalised(hi, lo, value.exponent, value.faults)


@dataclass(frozen=True, slots=True)
class ScoreMoments:
    """Upper triangle of H = sum p (1 - p) v v', and in the last column U = sum p y v. Exact.

    v = (x, intercept if any), y = -1 or 1, and p = sigma(-y v.w) truncated to a multiple of 2^-19 or 2^-20, one number
    for both sums. The point w must be on the grid of `on_coef_grid`. The row of H is v times a multiplier, the whole
    part of the root of p (1 - p) in units of 2^-30, truncated towards zero: its norm never exceeds that of the root
    times v. `clip`, a bound of the norm of a gradient, clips nothing. A row of weight a adds a times that, at most: the
    residual p y is multiplied by a and truncated, the multiplier of H by the root of a.

    Of other losses -p y and p (1 - p) are the slope of the loss and its derivative (`SoftHuberMoments`, `RateMoments`).

    Sensitivity: sensitivity.score_*.
    """

    loss: Loss
    d: int
    intercept: bool
    clip: float

    counts_outside = True
    exponent: ClassVar[int] = Moments.exponent
    curvature_exponent = 0

    @property
    def shape(self) -> tuple[int, int]:
        """(q + 1, q + 1) with q = d + intercept."""
        size = self.d + self.intercept + 1
        return (size, size)

    @property
    def gradient(self) -> ClippedGradient:
        """The sum of gradients, which is -U, in units of its own."""
        return ClippedGradient(self.loss, self.d, self.intercept, self.clip)

    def sum_over(self, rows: ExactSums, coef: Vector, selection: Selection = ALL) -> Total:
        """The exact sum over the selected rows; faults are left to the caller."""
        return rows.exact_sum(self, coef, selection)

    def partial(self) -> ScorePartial:
        """Fresh accumulators."""
        return ScorePartial(self)

    def add_block(
        self, X: NDArray[Any], y: NDArray[Any], prep: Prep, coef: Vector, out: ScorePartial, weights: Weights = None
    ) -> None:
        """Bound, scale and snap the rows of a block and add their score and Hessian at `coef` (q,)."""
        for start in range(0, len(X), _ROWS):
            part = slice(start, start + _ROWS)
            some = None if weights is None else weights[part]
            multipliers = self._add_score(X[part], y[part], prep, coef, out, some)
            of = out.moments
            add_moments(X[part], y[part], row_map(prep), of.scratch, of.hi, of.lo, of.seen, of.outside, multipliers)
        out.moments.rows += len(X)

    def _add_score(
        self, X: NDArray[Any], y: NDArray[Any], prep: Prep, coef: Vector, out: ScorePartial, weights: Weights
    ) -> NDArray[np.int64]:
        """Add the gradients of some rows; the multipliers of their shares of H."""
        query, rows = self.gradient, clipped_rows(X, y, prep, weights)
        residuals = np.empty(len(X), np.int64)
        rows.add_with_residuals(
            kernel_of(query.loss), query.loss.width, coef * 2.0**20, query.clip * query.per_unit, query.per_unit, 0,
            len(X), out.score.hi, out.score.lo, residuals,
        )  # fmt: skip
        multipliers = self.multipliers(self.sizes(X, prep, coef, residuals), int(query.per_unit))
        return multipliers if weights is None else multipliers * self.factors(weights) >> MULTIPLIER_BITS

    def sizes(self, X: NDArray[Any], prep: Prep, coef: Vector, residuals: NDArray[np.int64]) -> NDArray[np.int64]:
        """The whole numbers that tell a row's multiplier: the sizes of the residuals."""
        return np.abs(residuals)

    def multipliers(self, sizes: NDArray[np.int64], one: int) -> NDArray[np.int64]:
        """The multiplier of each row, from the sizes of its residuals in units of 1 / one."""
        return multipliers_of(sizes, one)

    def factors(self, weights: Vector) -> NDArray[np.int64]:
        """The factors on the multipliers of rows with these weights, in units of 2^-30: at most their roots."""
        return roots_of(weights)


def multipliers_of(sizes: NDArray[np.int64], one: int) -> NDArray[np.int64]:
    """The whole part of 2^30 sqrt(p (1 - p)), exactly, for p = sizes / one, `one` a power of two from 2^15 to 2^20."""
    bits, sizes = one.bit_length() - 1, np.minimum(sizes, one)
    return whole_roots(sizes * (one - sizes) << (2 * (MULTIPLIER_BITS - bits)))  # of at most 2^58


def whole_roots(squares: NDArray[np.int64]) -> NDArray[np.int64]:
    """The whole parts of the roots, exactly, of numbers from 0 to 2^60."""
    roots = np.sqrt(squares.astype(np.float64)).astype(np.int64)  # off by one at most
    roots -= roots * roots > squares
    roots += (roots + 1) ** 2 <= squares
    return roots
