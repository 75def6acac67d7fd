"""Which rows count in a sum, and how much: selections, weights, and the units that rows belong to."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dplr._kit.validation import check_count

Vector = NDArray[np.float64]
Weights = Vector | None  # of the rows of a block; None where every row has weight 1
# Weights are whole numbers of 2^-30 from 0 to 1.
BITS = 30
# Multipliers of the Gram kernel keep the intercept's constant, half a unit of the grid of 2^-20, on that grid.
_CONSTANT_BITS = 11


@dataclass(frozen=True, eq=False, slots=True)
class Selection:
    """Every `step`-th row, or the rows at some indices, each as often as it is named."""

    step: int = 1
    indices: NDArray[np.int64] | None = None


ALL = Selection()


def every(step: int) -> Selection:
    return Selection(step=check_count("step", step))


def chosen(indices: Any) -> Selection:
    return Selection(indices=np.ascontiguousarray(indices, dtype=np.int64))


@dataclass(frozen=True, eq=False, slots=True)
class RowWeights:
    """The weight and the unit of each row (privacy/unit.md).

    Attributes
    ----------
    of_rows : (n,) multiples of 2^-30 from 0 to 1; those of one unit add up to at most 1.
    persons : (n,) whole numbers from 0 on that tell persons apart; None where every row is a unit.
    units : number of persons, or of rows.
    """

    of_rows: Vector
    persons: NDArray[np.int64] | None
    units: int

    def __getitem__(self, rows: Any) -> RowWeights:
        persons = None if self.persons is None else self.persons[rows]
        return RowWeights(self.of_rows[rows], persons, self.units)

    def take(self, rows: Any) -> RowWeights:
        """The weights of some rows, unchanged: for parts that hold every row of their persons."""
        if self.persons is None:
            return RowWeights(self.of_rows[rows], None, len(self.of_rows[rows]))
        persons = self.persons[rows]
        is_kept = np.zeros(self.units, np.int64)
        is_kept[persons] = 1
        numbers = np.cumsum(is_kept) - 1
        return RowWeights(self.of_rows[rows], numbers[persons], int(is_kept.sum()))


class Tally:
    """The weights of persons in the rows that one pass reads, in whole units of 2^-30: no more than 1 for each.

    Rows weigh what an earlier pass counted. A query may give other rows since, of which a person may have more; then a
    sum would hold that person more than once.
    """

    def __init__(self, persons: int) -> None:
        self._shares = np.zeros(persons, np.int64)
        self._lock = threading.Lock()  # parts of a stream may be read at once

    def begin(self) -> None:
        self._shares[:] = 0

    def add(self, weights: RowWeights) -> None:
        assert weights.persons is not None
        shares = (weights.of_rows * 2.0**BITS).astype(np.int64)
        with self._lock:
            np.add.at(self._shares, weights.persons, shares)

    def check(self) -> None:
        """Raise RuntimeError where the rows of a person weigh more than 1: they are not those that were counted."""
        if np.any(self._shares > 2**BITS):
            raise RuntimeError("rows of X changed while they were read: a person has more than were counted")


def multipliers(weights: Vector) -> NDArray[np.int64]:
    """Multipliers A of the Gram kernel, in units of 2^-30: A^2 is at most the weight, and A * 2^19 ends in 30 zeros.

    So a row's share is exactly that of a row in the same domain, times (A / 2^30)^2 (unit.md, lemma 2).
    """
    # Exact: sqrt(weight) 2^19 is a whole number, or farther from one than the rounding of the root.
    return (np.sqrt(weights) * 2.0 ** (BITS - _CONSTANT_BITS)).astype(np.int64) << _CONSTANT_BITS
