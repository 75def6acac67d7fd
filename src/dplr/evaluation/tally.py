"""Exact integer sums of outcomes, batch by batch: counts of cells in units of 2^-30, and sums in units of 2^-50."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dplr.evaluation.grids import FIXED_BITS
from dplr.evaluation.law import Grid
from dplr.rows.exact import Faults, Total
from dplr.rows.weights import BITS

# A batch of this many rows keeps every partial sum below 2^53.
BATCH = 2**16
_HALF = BITS // 2


@dataclass(frozen=True, eq=False, slots=True)
class Outcomes:
    """Sums over some rows; merging is integer addition.

    Attributes
    ----------
    counts : (cells,) weights of the rows of each cell, in units of 2^-30.
    sums : (k,) of weight times number, Python integers in units of 2^-50.
    lost : how many rows have no score or no outcome, for the data holder.
    rows : how many rows there are, with those that are lost.
    """

    counts: NDArray[np.int64]
    sums: tuple[int, ...]
    lost: int
    rows: int

    @classmethod
    def none(cls, grid: Grid, sums: int) -> Outcomes:
        """No rows."""
        return cls(np.zeros(grid.size, np.int64), (0,) * sums, 0, 0)

    @classmethod
    def of(
        cls, grid: Grid, scores: NDArray[np.float64], outcomes: NDArray[np.float64], weights: NDArray[np.float64] | None
    ) -> Outcomes:
        """The sums of one batch."""
        pieces = [slice(start, start + BATCH) for start in range(0, max(len(outcomes), 1), BATCH)]
        parts = [cls._of(grid, scores[at], outcomes[at], None if weights is None else weights[at]) for at in pieces]
        total = parts[0]
        for part in parts[1:]:
            total = total + part
        return total

    @classmethod
    def _of(
        cls, grid: Grid, scores: NDArray[np.float64], outcomes: NDArray[np.float64], weights: NDArray[np.float64] | None
    ) -> Outcomes:
        cells, numbers = grid.place(scores, outcomes)
        is_counted = cells >= 0
        units = np.full(len(cells), 1 << BITS) if weights is None else np.rint(np.ldexp(weights, BITS)).astype(np.int64)
        units = np.clip(units, 0, 1 << BITS)
        counts = np.bincount(cells[is_counted], units[is_counted], grid.size).astype(np.int64)
        high, low = units >> _HALF, units & ((1 << _HALF) - 1)
        sums = [(int(one) << _HALF) + int(two) for one, two in zip(high @ numbers, low @ numbers, strict=True)]
        return cls(counts, tuple(sums), int(len(cells) - is_counted.sum()), len(cells))

    def __add__(self, other: Outcomes) -> Outcomes:
        sums = tuple(one + two for one, two in zip(self.sums, other.sums, strict=True))
        return Outcomes(self.counts + other.counts, sums, self.lost + other.lost, self.rows + other.rows)

    def totals(self) -> Iterator[Total]:
        """The counts, and each sum, as exact totals; then the count of all rows."""
        yield _total(self.counts.tolist(), -BITS)
        for value in self.sums:
            yield _total([value], -BITS - FIXED_BITS)
        yield _total([int(self.counts.sum())], -BITS)

    def dump(self) -> bytes:
        """The integers as text."""
        return " ".join(map(str, itertools.chain([self.lost, self.rows], self.sums, self.counts.tolist()))).encode()


def _total(values: list[int], exponent: int) -> Total:
    hi = np.array([value >> 32 for value in values], np.int64)
    lo = np.array([value & (2**32 - 1) for value in values], np.int64)
    return Total(hi, lo, exponent, Faults(0, 0, 0, ()))
