"""Totals of queries over rows. A query names its shape, adds a block and asks for its own way of being summed.

Totals merge in any order.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from dplr._core import floor_limbs
from dplr.rows.selection import Selection

_LIMB = 32


class Faults(NamedTuple):
    """Counts of faults that a pass saw, for the data holder; never part of a release."""

    rows: int
    non_finite_rows: int
    unknown_labels: int
    outside: tuple[int, ...]  # per column, target last; without bounds the first entry counts rows
    marks: tuple[int, ...] = ()  # of a table, per declared column: values that are not levels; then missing ones

    def __add__(self, other: Faults) -> Faults:  # type: ignore[override]
        """Add counts."""
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

    hi: NDArray[np.int64]
    lo: NDArray[np.int64]
    exponent: int
    faults: Faults

    def __add__(self, other: Total) -> Total:
        """Merge the totals of two disjoint sets of rows."""
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


class ExactSums(Protocol):
    """Rows that can be summed exactly, wherever they lie."""

    def exact_sum(self, query: Any, coef: Any, rows: Selection) -> Total:
        """Sum an exact query in one pass, a block of rows at a time; faults are left to the caller."""
        ...

    def sum_of_units(self, query: Any, coef: Any) -> Total:
        """Sum a query that asks for the person of each row; faults are left to the caller."""
        ...


def normalised(hi: NDArray[np.int64], lo: NDArray[np.int64], exponent: int, faults: Faults) -> Total:
    """Carry from the low limb, so that equal sums are equal bits."""
    return Total(hi + (lo >> _LIMB), lo & (2**_LIMB - 1), exponent, faults)


def stack(totals: Sequence[Total]) -> Total:
    """Totals of one query at several points as the rows of one."""
    first = totals[0]
    if len(totals) == 1:
        return Total(first.hi[np.newaxis], first.lo[np.newaxis], first.exponent, first.faults)
    hi, lo = np.array([total.hi for total in totals]), np.array([total.lo for total in totals])
    return Total(hi, lo, first.exponent, first.faults)
