"""Queries in float64 over bounded rows: the gradient of a loss, also in pairs, its Hessian, its value.

`LossSums` is the interface that rows need for these queries.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from dplr._core import LossRows, add_fine_gradient
from dplr.bounds.scaling import Prep
from dplr.problem.geometry import Geometry
from dplr.problem.losses import Loss
from dplr.rows.queries.kernel import kernel_of
from dplr.rows.queries.row_map import row_map
from dplr.rows.queries.totals import Faults
from dplr.rows.selection import ALL, Selection
from dplr.rows.weights import Weights

Vector = NDArray[np.float64]


@dataclass(frozen=True, eq=False, slots=True)
class RealTotal:
    """A compensated float64 sum hi + lo of gradient and loss, and a plain one of the Hessian.

    Attributes
    ----------
    hi, lo : (q + 1,) gradient, then loss.
    upper : (q, q) Hessian, upper triangle only; None where it was not asked for.
    has_loss : whether the loss was asked for.
    faults : the faults that the pass counted.
    """

    hi: Vector
    lo: Vector
    upper: Vector | None
    has_loss: bool
    faults: Faults

    @property
    def gradient(self) -> Vector:
        """Sum of the rows' gradients, (q,)."""
        return self.hi[:-1] + self.lo[:-1]

    @property
    def hessian(self) -> Vector | None:
        """Sum of the rows' Hessians, (q, q), or None."""
        return None if self.upper is None else np.triu(self.upper) + np.triu(self.upper, 1).T

    @property
    def loss(self) -> float | None:
        """Sum of the rows' losses, or None."""
        return float(self.hi[-1] + self.lo[-1]) if self.has_loss else None

    def __add__(self, other: RealTotal) -> RealTotal:
        """Merge with the total of other rows, in any order: bits depend on it, by less than the bounds allow.

        Of pairs, no term may go through more than 2^22 merges (`loss.md`, theorem 2).
        """
        if self.hi.shape != other.hi.shape or (self.upper is None) != (other.upper is None):
            raise ValueError("only totals of the same query can be merged")
        hi, error = _exact_sum(self.hi, other.hi)
        hi, lo = _exact_sum(hi, (self.lo + error) + other.lo)
        upper = None if self.upper is None or other.upper is None else self.upper + other.upper
        has_loss = self.has_loss and other.has_loss
        return RealTotal(hi, lo, upper, has_loss, self.faults + other.faults)


def _exact_sum(a: Vector, b: Vector) -> tuple[Vector, Vector]:
    """a + b and its rounding error."""
    total = a + b
    part = total - a
    return total, (a - (total - part)) + (b - part)


class RealPartial:
    """One thread's accumulators."""

    def __init__(self, d: int, q: int, hessian: bool, has_loss: bool) -> None:
        self.hi: Vector = np.zeros(q + 1)
        self.lo: Vector = np.zeros(q + 1)
        self.upper: NDArray[np.float64] = np.zeros((q, q) if hessian else (0, 0))
        self.has_loss = has_loss
        self.seen: NDArray[np.int64] = np.zeros(2, np.int64)
        self.outside: NDArray[np.int64] = np.zeros(d + 1, np.int64)
        self.rows = 0

    def total(self) -> RealTotal:
        """The sum so far. Ends this partial."""
        non_finite, unknown = self.seen.tolist()
        faults = Faults(self.rows, non_finite, unknown, tuple(self.outside.tolist()))
        return RealTotal(self.hi, self.lo, self.upper if self.upper.size else None, self.has_loss, faults)


@dataclass(frozen=True, slots=True)
class LossGradient:
    """Gradient of the sum of a loss over bounded, unsnapped rows, and its value where `with_loss`. In float64."""

    loss: Loss
    d: int
    intercept: bool
    with_loss: bool = False

    counts_outside = True
    with_hessian = False

    @property
    def shape(self) -> tuple[int, ...]:
        """(q,) with q = d + intercept."""
        return (self.d + self.intercept,)

    def sum_over(self, rows: LossSums, coef: Vector, selection: Selection = ALL) -> RealTotal:
        """The float64 sum over the selected rows; faults are left to the caller."""
        return rows.loss_sum(self, coef, selection)

    def partial(self) -> RealPartial:
        """Fresh accumulators."""
        return RealPartial(self.d, self.d + self.intercept, self.with_hessian, self.with_loss)

    def add_block(
        self, X: NDArray[Any], y: NDArray[Any], prep: Prep, coef: Vector, out: RealPartial, weights: Weights = None
    ) -> None:
        """Add the sums over a block of rows at `coef` (q,). y: float64, int64 or bytes."""
        self.add_rows(native_rows(X, y, prep, weights), coef, out)

    def over(self, rows: LossRows, coef: Vector) -> RealTotal:
        """The sum over all rows of an array, with facts about them that earlier passes cached."""
        out = self.partial()
        self.add_rows(rows, coef, out)
        return out.total()

    def add_rows(self, rows: LossRows, coef: Vector, out: RealPartial) -> None:
        """Add the sums over all rows of an array at `coef` (q,)."""
        rows.add(
            kernel_of(self.loss), self.loss.width, coef, self.with_loss, True, out.hi, out.lo, out.upper, out.seen,
            out.outside,
        )  # fmt: skip
        out.rows += rows.n


@dataclass(frozen=True, slots=True)
class LossGradientHessian(LossGradient):
    """Gradient and Hessian of the sum of a loss over bounded, unsnapped rows. In float64."""

    with_hessian = True

    @property
    def shape(self) -> tuple[int, ...]:
        """(q, q) with q = d + intercept."""
        q = self.d + self.intercept
        return (q, q)


@dataclass(frozen=True, slots=True)
class FineGradient(LossGradient):
    """The gradient in pairs of float64 numbers, at a point (2, q) that is the sum of its two rows."""

    def add_rows(self, rows: LossRows, coef: Vector, out: RealPartial) -> None:
        """Add the sums over all rows of an array at coef[0] + coef[1]."""
        add_fine_gradient(rows, kernel_of(self.loss), self.loss.width, coef[0], coef[1], out.hi, out.lo)
        out.rows += rows.n


class LossSums(Protocol):
    """Sums of a loss over rows, wherever they lie: all that a minimisation asks of them."""

    @property
    def geometry(self) -> Geometry:
        """Where the scaled rows lie."""
        ...

    def __len__(self) -> int:
        """Return the number of rows."""
        ...

    @property
    def units(self) -> int:
        """The largest sum of the rows' weights: the number of units of privacy."""
        ...

    @property
    def sample_step(self) -> int:
        """The step of the sample of rows on which a minimisation begins; 1 for all rows, where there is no sample."""
        ...

    @property
    def in_memory(self) -> bool:
        """Whether a read of all rows costs their arithmetic and no more."""
        ...

    def loss_sum(self, query: LossGradient, coef: Vector, rows: Selection = ALL) -> RealTotal:
        """Sum the query at `coef` (q,); faults are left to the caller."""
        ...

    def loss_gradients(self, loss: Loss, coefs: Vector) -> Vector:
        """The summed loss's gradients (k, q) at points (k, q); those of several parts, by `merged_gradients`."""
        ...

    def loss_rows(self, step: int = 1) -> LossRows | None:
        """All rows, or every `step`-th, in memory: for a compiled loop that makes many passes on one thread.

        None where rows cannot offer it: all rows that lie elsewhere, must be converted first, or are worth several
        threads. The loop then asks for sums. It reads a sample often, so a sample should be kept.
        """
        ...


def merged_gradients(parts: Iterable[Vector]) -> Vector:
    """Add the `loss_gradients` of parts of the rows, with compensation: plain additions break `loss.md`'s theorem 1."""
    hi: Vector = np.zeros(())
    lo: Vector = np.zeros(())
    for part in parts:
        hi, error = _exact_sum(hi, part)
        lo = lo + error
    return np.asarray(hi + lo)


def native_rows(X: NDArray[Any], y: NDArray[Any], prep: Prep, weights: Weights = None) -> LossRows:
    """Rows as the kernel takes them, on the CPU path of this process."""
    return LossRows(X, y, row_map(prep), weights)
