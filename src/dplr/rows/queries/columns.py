"""Sums of every column and of its squares, and the number of records: an exact sum."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dplr.bounds.scaling import Prep
from dplr.rows.queries.clipped import clipped_rows
from dplr.rows.queries.totals import ExactSums, Faults, Total
from dplr.rows.selection import ALL, Selection
from dplr.rows.weights import BITS, Weights, multipliers

_ONE, _LIMB = 20, 32  # bits of 1 in units of the grid, and of the low limb


class ColumnPartial:
    """One thread's accumulators for sums of columns."""

    def __init__(self, query: ColumnMoments) -> None:
        self.hi: NDArray[np.int64] = np.zeros(query.shape, np.int64)
        self.lo: NDArray[np.int64] = np.zeros(query.shape, np.int64)
        self.faults: Faults = Faults(0, 0, 0, (0,) * (query.d + 1))

    def total(self) -> Total:
        """The exact total so far. Ends this partial: the limbs are not copied."""
        return Total(self.hi, self.lo, ColumnMoments.exponent, self.faults)


@dataclass(frozen=True, slots=True)
class ColumnMoments:
    """Sums of the features over the rows of clipped gradients, then of their squares. Exact.

    A row that counts as zero in sums of clipped gradients adds nothing here. A row with a weight adds as much as to
    second moments (`Moments`): its product with the constant, divided by the constant, and its squares. Sensitivity:
    sensitivity.columns_*. Counts of values outside their bounds stay zero.

    Attributes
    ----------
    d : number of features.
    counted : whether the number of records is the last cell: what a constant of 1 adds to second moments.
    """

    d: int
    counted: bool = False

    counts_outside = False
    exponent = -40

    @property
    def shape(self) -> tuple[int]:
        """(2 d,), and one more where records are counted: sums, then sums of squares, then records."""
        return (2 * self.d + self.counted,)

    def sum_over(self, rows: ExactSums, coef: None = None, selection: Selection = ALL) -> Total:
        """The exact sum over the selected rows; faults are left to the caller."""
        return rows.exact_sum(self, coef, selection)

    def partial(self) -> ColumnPartial:
        """Fresh accumulators."""
        return ColumnPartial(self)

    def add_block(
        self, X: NDArray[Any], y: NDArray[Any], prep: Prep, coef: None, out: ColumnPartial, weights: Weights = None
    ) -> None:
        """Bound, scale and snap the rows of a block and add their sums to `out`."""
        rows = clipped_rows(X, y, prep, weights)
        rows.add_column_moments(0, len(X), out.hi[: 2 * self.d], out.lo[: 2 * self.d])
        if self.counted:
            units = int(out.lo[-1]) + _records(len(X), weights)
            out.hi[-1] += units >> _LIMB
            out.lo[-1] = units & (2**_LIMB - 1)
        non_finite, unknown = rows.faults.tolist()
        out.faults += Faults(len(X), non_finite, unknown, (0,) * (self.d + 1))


def _records(count: int, weights: Weights) -> int:
    """The squared constants of that many rows, in units of 2^-40; of those with weights as `Moments` has them."""
    if weights is None:
        return count << 2 * _ONE
    squares = (multipliers(weights) >> BITS - _ONE) ** 2
    return (int((squares >> _LIMB).sum()) << _LIMB) + int((squares & 2**_LIMB - 1).sum())
