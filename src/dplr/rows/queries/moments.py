"""Second moments of rows: an exact sum."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dplr._core import add_moments, moments_work_size
from dplr.bounds.scaling import Prep
from dplr.rows.queries.row_map import row_map
from dplr.rows.queries.totals import ExactSums, Faults, Total
from dplr.rows.selection import ALL, Selection
from dplr.rows.weights import Weights


class Partial:
    """One thread's accumulators for a query."""

    def __init__(self, query: Moments, d: int) -> None:
        self.hi: NDArray[np.int64] = np.zeros(query.shape, np.int64)
        self.lo: NDArray[np.int64] = np.zeros(query.shape, np.int64)
        self.scratch: NDArray[np.float64] = np.empty(moments_work_size(d))
        self.seen: NDArray[np.int64] = np.zeros(2, np.int64)
        self.outside: NDArray[np.int64] = np.zeros(d + 1, np.int64)
        self.rows = 0

    def total(self) -> Total:
        """The exact total so far. Ends this partial: the limbs are not copied."""
        non_finite, unknown = self.seen.tolist()
        faults = Faults(self.rows, non_finite, unknown, tuple(self.outside.tolist()))
        return Total(self.hi, self.lo, Moments.exponent, faults)


@dataclass(frozen=True, slots=True)
class Moments:
    """Second moments sum v v' of the rows v = (x, intercept if any, y), upper triangle. Exact.

    Sensitivity: sensitivity.ball_*, sensitivity.box_*, sensitivity.groups_*.
    """

    d: int
    intercept: bool

    counts_outside = True
    exponent = -40

    @property
    def shape(self) -> tuple[int, int]:
        """(q, q) with q = d + intercept + 1."""
        q = self.d + self.intercept + 1
        return (q, q)

    def sum_over(self, rows: ExactSums, coef: None = None, selection: Selection = ALL) -> Total:
        """The exact sum over the selected rows; faults are left to the caller."""
        return rows.exact_sum(self, coef, selection)

    def partial(self) -> Partial:
        """Fresh accumulators."""
        return Partial(self, self.d)

    def add_block(
        self, X: NDArray[Any], y: NDArray[Any], prep: Prep, coef: None, out: Partial, weights: Weights = None
    ) -> None:
        """Bound, scale and snap the rows of a block and add their moments to `out`. y: float64, int64 or bytes."""
        factors = None if weights is None else np.ascontiguousarray(weights)
        add_moments(X, y, row_map(prep), out.scratch, out.hi, out.lo, out.seen, out.outside, None, factors)
        out.rows += len(X)
