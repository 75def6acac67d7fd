"""Exact sums of clipped gradients: the query of noisy gradient descent."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from dplr._core import ClippedRows
from dplr.bounds.scaling import Prep
from dplr.problem.geometry import GRID
from dplr.problem.losses import Loss
from dplr.rows.queries.kernel import kernel_of
from dplr.rows.queries.moments import Moments
from dplr.rows.queries.row_map import row_map
from dplr.rows.queries.totals import Faults, Total
from dplr.rows.selection import ALL, Selection
from dplr.rows.weights import Weights

Vector = NDArray[np.float64]
Allocate = Callable[[int], NDArray[np.float64]]
# Largest norm of coefficients whose margins are exact: a little less than 2^12, so that rounding does not exceed it.
LARGEST_COEF = 4096.0 * (1 - 2.0**-40)


class ClippedPartial:
    """One thread's accumulators for a sum of clipped gradients, or of clipped squares."""

    def __init__(self, shape: tuple[int], exponent: int, d: int) -> None:
        self.hi: NDArray[np.int64] = np.zeros(shape, np.int64)
        self.lo: NDArray[np.int64] = np.zeros(shape, np.int64)
        self.exponent = exponent
        self.faults: Faults = Faults(0, 0, 0, (0,) * (d + 1))

    def total(self) -> Total:
        """The exact total so far. Ends this partial: the limbs are not copied."""
        return Total(self.hi, self.lo, self.exponent, self.faults)


@dataclass(frozen=True, slots=True)
class ClippedGradient:
    """Sum of the rows' loss gradients, each clipped to norm `clip`. Exact.

    The point must be on the grid of `on_coef_grid`. Sensitivity in L2: clip, twice that where one record replaces
    another (noisy_gd.md, lemma 1). Counts of values outside their bounds stay zero.
    """

    loss: Loss
    d: int
    intercept: bool
    clip: float

    counts_outside = False

    @property
    def shape(self) -> tuple[int]:
        """(q,) with q = d + intercept."""
        return (self.d + self.intercept,)

    @property
    def scale_exponent(self) -> int:
        """Exponent of the smallest power of two that is at least the clip."""
        return exponent_above(self.clip)

    @property
    def exponent(self) -> int:
        """Sums are multiples of two to this power: rows of 2^-20, residuals of 2^-20 times that power of two."""
        return Moments.exponent + self.scale_exponent

    @property
    def per_unit(self) -> float:
        """Units of the residuals in 1.0."""
        return math.ldexp(GRID, -self.scale_exponent)

    def sum_over(self, rows: ClippingRows, coef: Vector, selection: Selection = ALL) -> Total:
        """The exact sum over the selected rows; faults are left to the caller."""
        return rows.clipped_sum(self, coef, selection)

    def partial(self) -> ClippedPartial:
        """Fresh accumulators."""
        return ClippedPartial(self.shape, self.exponent, self.d)

    def add_block(
        self, X: NDArray[Any], y: NDArray[Any], prep: Prep, coef: Vector, out: ClippedPartial, weights: Weights = None
    ) -> None:
        """Bound, scale and snap the rows of a block and add their clipped gradients at `coef` (q,)."""
        rows = clipped_rows(X, y, prep, weights)
        self.add_rows(rows, coef, out, 0, len(X), None)
        non_finite, unknown = rows.faults.tolist()
        out.faults += Faults(len(X), non_finite, unknown, (0,) * (self.d + 1))

    def add_rows(self, rows: ClippedRows, coef: Vector, out: ClippedPartial, start: int, end: int, index: Any) -> None:
        """Add the clipped gradients of rows [start, end), or of the rows that those entries of `index` name."""
        clip = self.clip * self.per_unit
        kernel, width = kernel_of(self.loss), self.loss.width
        rows.add(kernel, width, coef * GRID, clip, self.per_unit, start, end, index, out.hi, out.lo)


class ClippingRows(Protocol):
    """Rows whose gradients can be clipped and summed exactly, wherever they lie."""

    def clipped_sum(self, query: ClippedGradient, coef: Vector, rows: Selection) -> Total:
        """Sum the query at `coef` (q,); faults are left to the caller, and may be those of all rows."""
        ...


def clipped_rows(
    X: NDArray[Any], y: NDArray[Any], prep: Prep, weights: Weights = None, allocate: Allocate | None = None
) -> ClippedRows:
    """Rows as kernels of clipped gradients take them; `allocate` makes arrays of facts about them, None in memory."""
    return ClippedRows(X, y, row_map(prep), weights, allocate)


def exponent_above(value: float) -> int:
    """Exponent of the smallest power of two that is no less than a positive number."""
    mantissa, exponent = math.frexp(value)
    return exponent - (mantissa == 0.5)


def on_coef_grid(coefs: Vector) -> Vector:
    """Coefficients (…, q) as clipped gradients take them: multiples of 2^-20 in the ball of radius 2^12.

    Margins of rows on the grid are then exact in any order.
    """
    inside = coefs
    if not np.vdot(coefs, coefs) < LARGEST_COEF:  # nearly always the coefficients lie far inside
        norms = np.hypot.reduce(coefs, axis=-1, keepdims=True)  # does not overflow
        inside = coefs * np.minimum(1.0, np.divide(LARGEST_COEF, norms, out=np.ones_like(norms), where=norms > 0))
    units = inside * GRID
    np.trunc(units, out=units)
    units /= GRID
    return units
