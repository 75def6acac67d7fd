"""Sums of a loss over bounded rows, in float64: its gradient, also in pairs, its Hessian, its value."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dplr._core import LossRows, add_fine_gradient
from dplr.bounds.scaling import Prep
from dplr.problem.losses import Loss
from dplr.rows.exact import MOST_ROWS, Block, Counted, Faults, Vector, kernel_of, row_map
from dplr.rows.weights import Weights
from dplr.solvers.fine import exact_sum


@dataclass(frozen=True, eq=False, slots=True)
class RealTotal:
    """A compensated float64 sum hi + lo of gradient and loss, and a plain one of the Hessian.

    Attributes
    ----------
    hi, lo : (q + 1,) gradient, then loss.
    upper : (q, q) Hessian, upper triangle only; None where it was not asked for.
    has_loss : whether the loss was asked for.
    """

    hi: Vector
    lo: Vector
    upper: Vector | None
    has_loss: bool
    faults: Faults

    @property
    def gradient(self) -> Vector:
        return self.hi[:-1] + self.lo[:-1]

    @property
    def hessian(self) -> Vector | None:
        return None if self.upper is None else np.triu(self.upper) + np.triu(self.upper, 1).T

    @property
    def loss(self) -> float | None:
        return float(self.hi[-1] + self.lo[-1]) if self.has_loss else None

    def __add__(self, other: RealTotal) -> RealTotal:
        """Merge with the total of other rows, in any order: bits depend on it, by less than the bounds allow.

        Of pairs, no term may go through more than 2^22 merges (`loss.md`, theorem 2).
        """
        if self.hi.shape != other.hi.shape or (self.upper is None) != (other.upper is None):
            raise ValueError("only totals of the same query can be merged")
        hi, error = exact_sum(self.hi, other.hi)
        hi, lo = exact_sum(hi, (self.lo + error) + other.lo)
        upper = None if self.upper is None or other.upper is None else self.upper + other.upper
        return RealTotal(hi, lo, upper, self.has_loss and other.has_loss, self.faults + other.faults)


class RealPartial(Counted):
    """One thread's accumulators of a sum in float64."""

    def __init__(self, query: LossGradient) -> None:
        Counted.__init__(self, query.d)
        q = query.d + query.intercept
        self.hi: Vector = np.zeros(q + 1)
        self.lo: Vector = np.zeros(q + 1)
        self.upper: Vector = np.zeros((q, q) if query.with_hessian else (0, 0))
        self.has_loss: bool = query.with_loss

    def total(self) -> RealTotal:
        """The sum so far. Ends these accumulators."""
        return RealTotal(self.hi, self.lo, self.upper if self.upper.size else None, self.has_loss, self.faults)


@dataclass(frozen=True, slots=True)
class LossGradient:
    """Gradient of the sum of a loss over bounded, unsnapped rows, and its value where `with_loss`. In float64."""

    loss: Loss
    d: int
    intercept: bool
    with_loss: bool = False

    counts_outside = True
    by_person = False
    most_rows = MOST_ROWS
    with_hessian = False

    @property
    def shape(self) -> tuple[int, ...]:
        return (self.d + self.intercept,)

    def partial(self) -> RealPartial:
        return RealPartial(self)

    def add_block(self, block: Block, coef: Vector, out: RealPartial) -> None:
        self.add_rows(native_rows(*block), coef, out)

    def over(self, rows: LossRows, coef: Vector) -> RealTotal:
        """The sum over all rows of an array, with facts about them that earlier passes cached."""
        out = self.partial()
        self.add_rows(rows, coef, out)
        return out.total()

    def add_rows(self, rows: LossRows, coef: Vector, out: RealPartial) -> None:
        kernel, width = kernel_of(self.loss), self.loss.width
        rows.add(kernel, width, coef, self.with_loss, True, out.hi, out.lo, out.upper, out.seen, out.outside)
        out.rows += rows.n


@dataclass(frozen=True, slots=True)
class LossGradientHessian(LossGradient):
    """Gradient and Hessian of the sum of a loss over bounded, unsnapped rows. In float64."""

    with_hessian = True

    @property
    def shape(self) -> tuple[int, ...]:
        q = self.d + self.intercept
        return (q, q)


@dataclass(frozen=True, slots=True)
class FineGradient(LossGradient):
    """The gradient in pairs of float64 numbers, at a point (2, q) that is the sum of its two rows."""

    def add_rows(self, rows: LossRows, coef: Vector, out: RealPartial) -> None:
        add_fine_gradient(rows, kernel_of(self.loss), self.loss.width, coef[0], coef[1], out.hi, out.lo)
        out.rows += rows.n


def native_rows(X: NDArray[Any], y: NDArray[Any], prep: Prep, weights: Weights = None) -> LossRows:
    """Rows as the kernel takes them, on the CPU path of this process."""
    return LossRows(X, y, row_map(prep), weights)
