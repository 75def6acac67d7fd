"""Squares of the score of the logistic loss along public directions: an exact sum, to which no row adds more than 1."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from dplr.bounds.scaling import Prep
from dplr.problem.losses import Loss
from dplr.rows.queries.clipped import ClippedGradient, ClippedPartial, clipped_rows
from dplr.rows.queries.kernel import kernel_of
from dplr.rows.queries.moments import Moments
from dplr.rows.queries.totals import ExactSums, Faults, Total
from dplr.rows.selection import ALL, Selection
from dplr.rows.weights import Weights

Vector = NDArray[np.float64]
# The largest norm of a direction.
LONGEST = 2.0**12
# The most directions that the kernel sums along.
MOST_DIRECTIONS = 4096
_UNITS = 2.0**20
# Rows whose residuals are held at once.
_ROWS = 2**14


@dataclass(frozen=True, eq=False, slots=True)
class ScoreSquares:
    """Sum of (p u_k.v)^2 along each direction u_k, k = 1 to m, where no row's squares add up to more than 1. Exact.

    v = (x, intercept if any) and p = sigma(-y v.w) at the point w, as in `ScoreMoments`. The squares of a row that add
    up to s > 1 are divided by s. The point must be on the grid of `on_coef_grid`; `clip` is a bound of the norm of v.
    The p of a row of weight a is multiplied by a, and truncated.

    Sensitivity in L1: 1 for each record that is added or removed (objective.md, lemma 10).

    Attributes
    ----------
    directions : (m, q) whole numbers, in units of 2^-20, q = d + intercept: see `directions`.
    """

    loss: Loss
    d: int
    intercept: bool
    clip: float
    directions: NDArray[np.int64]

    counts_outside = False
    exponent: ClassVar[int] = Moments.exponent

    @property
    def shape(self) -> tuple[int]:
        """(m,)."""
        return (len(self.directions),)

    def sum_over(self, rows: ExactSums, coef: Vector, selection: Selection = ALL) -> Total:
        """The exact sum over the selected rows; faults are left to the caller."""
        return rows.exact_sum(self, coef, selection)

    def partial(self) -> ClippedPartial:
        """Fresh accumulators."""
        return ClippedPartial(self.shape, self.exponent, self.d)

    def add_block(
        self, X: NDArray[Any], y: NDArray[Any], prep: Prep, coef: Vector, out: ClippedPartial, weights: Weights = None
    ) -> None:
        """Bound, scale and snap the rows of a block and add their squares at `coef` (q,)."""
        for start in range(0, len(X), _ROWS):
            part = slice(start, start + _ROWS)
            self._add_rows(X[part], y[part], prep, coef, out, None if weights is None else weights[part])

    def _add_rows(
        self, X: NDArray[Any], y: NDArray[Any], prep: Prep, coef: Vector, out: ClippedPartial, weights: Weights
    ) -> None:
        rows, n = clipped_rows(X, y, prep), len(X)
        gradient = ClippedGradient(self.loss, self.d, self.intercept, self.clip)
        residuals, kernel, clip = np.empty(n, np.int64), kernel_of(self.loss), self.clip * gradient.per_unit
        hi, lo = np.zeros((2, len(coef)), np.int64)  # of the score, which the kernel adds too and is not used
        rows.add_with_residuals(
            kernel, self.loss.width, coef * _UNITS, clip, gradient.per_unit, 0, n, hi, lo, residuals
        )
        if weights is not None:
            residuals = (np.sign(residuals) * np.floor(np.abs(residuals) * weights)).astype(np.int64)
        bits = int(gradient.per_unit).bit_length() - 1
        rows.add_squares(residuals, bits, self.directions, 0, n, out.hi, out.lo)
        non_finite, unknown = rows.faults.tolist()
        out.faults += Faults(n, non_finite, unknown, (0,) * (self.d + 1))


def directions(vectors: Vector) -> NDArray[np.int64]:
    """Vectors (m, q) as `ScoreSquares` takes them, none longer than `LONGEST`."""
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    inside = vectors * np.minimum(1.0, np.divide(LONGEST, lengths, out=np.ones_like(lengths), where=lengths > 0))
    return np.ascontiguousarray(np.trunc(inside * _UNITS).astype(np.int64))
