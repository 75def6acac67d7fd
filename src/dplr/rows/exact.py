"""Exact sums over rows: whole multiples of a power of two, the same in any order; and the queries that ask for them.

A query names the shape and the unit of its answer, and adds blocks of rows to accumulators. Here are second moments,
columns, and clipped gradients; `scores_at.py` has sums of scores.
"""

from __future__ import annotations

import itertools
import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dplr._core import ClippedRows, Knots, RowMap, add_moments, floor_limbs, instruction_set, moments_work_size
from dplr.bounds.scaling import Prep
from dplr.problem.geometry import GRID
from dplr.problem.losses import Loss
from dplr.rows.weights import BITS, Weights, multipliers

Vector = NDArray[np.float64]
Integers = NDArray[np.int64]
Allocate = Callable[[int], Vector]
# Largest norm of coefficients whose margins are exact: a little less than 2^12, so that rounding does not exceed it.
LARGEST_COEF = 4096.0 * (1 - 2.0**-40)
# Of one kernel call: an interrupt waits for its end.
MOST_ROWS = 2**20
_LIMB = 32
_ONE = 20  # bits of 1 in units of the grid


class Faults(NamedTuple):
    """Counts of faults that a pass saw, for the data holder; never part of a release."""

    rows: int
    non_finite_rows: int
    unknown_labels: int
    outside: tuple[int, ...]  # per column, target last; without bounds the first entry counts rows
    marks: tuple[int, ...] = ()  # of a table, per declared column: values that are not levels; then missing ones

    def __add__(self, other: Faults) -> Faults:  # type: ignore[override]
        return Faults(
            self.rows + other.rows,
            self.non_finite_rows + other.non_finite_rows,
            self.unknown_labels + other.unknown_labels,
            tuple(a + b for a, b in zip(self.outside, other.outside, strict=True)),
            tuple(a + b for a, b in itertools.zip_longest(self.marks, other.marks, fillvalue=0)),
        )


@dataclass(frozen=True, eq=False, slots=True)
class Total:
    """An exact sum: (hi * 2^32 + lo) * 2^exponent, with 0 <= lo < 2^32. Merging is integer addition."""

    hi: Integers
    lo: Integers
    exponent: int
    faults: Faults

    def __add__(self, other: Total) -> Total:
        if self.exponent != other.exponent or self.hi.shape != other.hi.shape:
            raise ValueError("only totals of the same query can be merged")
        return normalised(self.hi + other.hi, self.lo + other.lo, self.exponent, self.faults + other.faults)

    def integers(self, exponent: int, cells: Any = ...) -> NDArray[Any]:
        """The cells of the sum in units of 2^exponent, rounded down: int64 below 2^62, else Python integers."""
        hi, lo = self.hi[cells], self.lo[cells]
        shift = exponent - self.exponent
        floors = np.empty(hi.shape, np.int64)
        if 0 <= shift <= _LIMB and floor_limbs(hi.ravel(), lo.ravel(), shift, floors.reshape(-1)):
            return floors
        value = hi.astype(object) * 2**_LIMB + lo.astype(object)
        result = value // 2**shift if shift >= 0 else value * 2**-shift
        return np.asarray(result, dtype=object)


def normalised(hi: Integers, lo: Integers, exponent: int, faults: Faults) -> Total:
    """Carry from the low limb, so that equal sums are equal bits."""
    return Total(hi + (lo >> _LIMB), lo & (2**_LIMB - 1), exponent, faults)


class Counted:
    """What one thread counts of the rows that it adds."""

    def __init__(self, d: int) -> None:
        self.rows: int = 0
        self.seen: Integers = np.zeros(2, np.int64)  # rows that are not finite, and unknown labels
        self.outside: Integers = np.zeros(d + 1, np.int64)

    def count(self, rows: ClippedRows, n: int) -> None:
        self.seen += rows.faults
        self.rows += n

    @property
    def faults(self) -> Faults:
        non_finite, unknown = self.seen.tolist()
        return Faults(self.rows, non_finite, unknown, tuple(self.outside.tolist()))


class Partial(Counted):
    """One thread's accumulators of an exact sum."""

    hi: Integers
    lo: Integers
    scratch: Vector

    def __init__(self, query: ExactQuery) -> None:
        Counted.__init__(self, query.d)
        self.hi, self.lo = np.zeros((2, *query.shape), np.int64)
        self.exponent: int = query.exponent

    def total(self) -> Total:
        """The exact total so far. Ends these accumulators: the limbs are not copied."""
        return Total(self.hi, self.lo, self.exponent, self.faults)


class Block(NamedTuple):
    """Some rows as kernels take them, their map to scaled rows, and their weights; y: float64, int64 or bytes."""

    X: NDArray[Any]
    y: NDArray[Any]
    prep: Prep
    weights: Any = None  # (n,), or with their persons; None where every row has weight 1


class ExactQuery(ABC):
    """A query that rows sum exactly.

    Attributes
    ----------
    d : number of features.
    counts_outside : whether values outside their bounds are counted.
    by_person : whether blocks come with the persons of their rows, all from one thread.
    most_rows : of a block.
    """

    __slots__ = ()
    d: int
    counts_outside = False
    by_person = False
    most_rows = MOST_ROWS

    @property
    @abstractmethod
    def shape(self) -> tuple[int, ...]: ...

    @property
    @abstractmethod
    def exponent(self) -> int:
        """Sums are multiples of two to this power."""

    def partial(self) -> Any:
        return Partial(self)

    @abstractmethod
    def add_block(self, block: Block, coef: Any, out: Any) -> None:
        """Bound, scale and snap the rows of a block and add them at `coef` (q,)."""


def row_map(prep: Prep) -> RowMap:
    """The map from raw rows to scaled rows, on the CPU path of this process."""
    return _row_map(prep, instruction_set())


@lru_cache(maxsize=8)
def _row_map(prep: Prep, path: str) -> RowMap:
    """Built once for a prep, which is compared by identity and never changes: public constants only."""
    box = prep.geometry.half_width is not None
    constant = prep.geometry.intercept
    return RowMap(prep.shift, prep.scale, prep.low, prep.high, box, constant, prep.labels, path.encode())


@lru_cache(maxsize=64)
def kernel_of(loss: Loss) -> str | Knots:
    """The first argument of every kernel, the name of a loss that they implement or its knots; its width is next."""
    knots = loss.knots
    if knots is None:
        return loss.name
    return Knots(knots.form, knots.first, knots.per_unit, knots.values.astype(np.float64))


def clipped_rows(
    X: NDArray[Any], y: NDArray[Any], prep: Prep, weights: Weights = None, allocate: Allocate | None = None
) -> ClippedRows:
    """Rows as kernels of clipped gradients take them; `allocate` makes arrays of facts about them, None in memory."""
    return ClippedRows(X, y, row_map(prep), weights, allocate)


@dataclass(frozen=True, slots=True)
class Moments(ExactQuery):
    """Second moments sum v v' of the rows v = (x, intercept if any, y), upper triangle. Exact.

    Sensitivity: sensitivity.ball_*, sensitivity.box_*, sensitivity.groups_*.
    """

    d: int
    intercept: bool

    counts_outside = True
    exponent = -40

    @property
    def shape(self) -> tuple[int, int]:
        q = self.d + self.intercept + 1
        return (q, q)

    def partial(self) -> Partial:
        out = Partial(self)
        out.scratch = np.empty(moments_work_size(self.d))
        return out

    def add_block(self, block: Block, coef: None, out: Partial) -> None:
        X, y, prep, weights = block
        factors = None if weights is None else np.ascontiguousarray(weights)
        add_moments(X, y, row_map(prep), out.scratch, out.hi, out.lo, out.seen, out.outside, None, factors)
        out.rows += len(X)


@dataclass(frozen=True, slots=True)
class ColumnMoments(ExactQuery):
    """Sums of the features over the rows of clipped gradients, then of their squares. Exact.

    A row that counts as zero in sums of clipped gradients adds nothing here. A row with a weight adds as much as to
    second moments (`Moments`): its product with the constant, divided by the constant, and its squares. Sensitivity:
    sensitivity.columns_*.

    Attributes
    ----------
    counted : whether the number of records is the last cell: what a constant of 1 adds to second moments.
    """

    d: int
    counted: bool = False

    exponent = -40

    @property
    def shape(self) -> tuple[int]:
        return (2 * self.d + self.counted,)

    def add_block(self, block: Block, coef: None, out: Partial) -> None:
        rows, n = clipped_rows(*block), len(block.X)
        rows.add_column_moments(0, n, out.hi[: 2 * self.d], out.lo[: 2 * self.d])
        if self.counted:
            units = int(out.lo[-1]) + _records(n, block.weights)
            out.hi[-1] += units >> _LIMB
            out.lo[-1] = units & (2**_LIMB - 1)
        out.count(rows, n)


def _records(count: int, weights: Weights) -> int:
    """The squared constants of that many rows, in units of 2^-40; of those with weights as `Moments` has them."""
    if weights is None:
        return count << 2 * _ONE
    squares = (multipliers(weights) >> BITS - _ONE) ** 2
    return (int((squares >> _LIMB).sum()) << _LIMB) + int((squares & 2**_LIMB - 1).sum())


@dataclass(frozen=True, slots=True)
class ClippedGradient(ExactQuery):
    """Sum of the rows' loss gradients, each clipped to norm `clip`. Exact.

    The point must be on the grid of `on_coef_grid`. Sensitivity in L2: clip, twice that where one record replaces
    another (noisy_gd.md, lemma 1).
    """

    loss: Loss
    d: int
    intercept: bool
    clip: float

    @property
    def shape(self) -> tuple[int]:
        return (self.d + self.intercept,)

    @property
    def scale_exponent(self) -> int:
        return exponent_above(self.clip)

    @property
    def exponent(self) -> int:
        # Rows are multiples of 2^-20, residuals of 2^-20 times the smallest power of two no less than the clip.
        return Moments.exponent + self.scale_exponent

    @property
    def per_unit(self) -> float:
        """Units of the residuals in 1.0."""
        return math.ldexp(GRID, -self.scale_exponent)

    def add_block(self, block: Block, coef: Vector, out: Partial) -> None:
        rows, n = clipped_rows(*block), len(block.X)
        self.add_rows(rows, coef, out.hi, out.lo, (0, n), None)
        out.count(rows, n)

    def add_rows(self, rows: ClippedRows, coef: Vector, hi: Integers, lo: Integers, span: Any, index: Any) -> None:
        """Add the clipped gradients of the rows of a span, or of those that these entries of `index` name."""
        kernel, width, unit, (start, end) = kernel_of(self.loss), self.loss.width, self.per_unit, span
        rows.add(kernel, width, coef * GRID, self.clip * unit, unit, start, end, index, hi, lo)

    def residuals(self, rows: ClippedRows, coef: Vector, n: int, out: Partial | None = None) -> Integers:
        """The residuals of n rows at `coef` (q,), in units; their gradients are added to `out`, if it is there."""
        residuals, unit = np.empty(n, np.int64), self.per_unit
        hi, lo = np.zeros((2, len(coef)), np.int64) if out is None else (out.hi, out.lo)
        rows.add_with_residuals(
            kernel_of(self.loss), self.loss.width, coef * GRID, self.clip * unit, unit, 0, n, hi, lo, residuals
        )
        return residuals


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
