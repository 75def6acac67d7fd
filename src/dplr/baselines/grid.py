"""The cells of a table: an axis for each declared column and for the target. Public facts, and rows by themselves."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dplr._kit.validation import sentence
from dplr.baselines.hits import LARGEST_INT64, Positions
from dplr.bounds.columns import Bins, Column, Curve, Numeric
from dplr.bounds.layout import Layout

Matrix = NDArray[np.float64]


@dataclass(frozen=True, eq=False, slots=True)
class Axis:
    """The cells of one column.

    Attributes
    ----------
    first : its first column in the encoded rows.
    points : (cells, width) the encoded values that stand for each cell; bins of a number come first.
    low, high : the range that bins of a number divide evenly.
    bins : how many; 1 for the cell of no level, 0 where there is none.
    """

    first: int
    points: Matrix
    low: float
    high: float
    bins: int

    def codes(self, block: Matrix) -> NDArray[np.int64]:
        """The cell of each row (n, width): the nearest one for a number outside its bounds, the first one for NaN."""
        code = np.zeros(len(block), np.int64)
        width = self.points.shape[1]
        numbers = width - (len(self.points) - self.bins)
        if numbers:
            with np.errstate(invalid="ignore", over="ignore"):
                scaled = (block[:, 0] - self.low) * (self.bins / (self.high - self.low))
            code[:] = np.clip(np.nan_to_num(scaled, nan=0.0), 0, self.bins - 1).astype(np.int64)
        if numbers < width:
            hot = block[:, numbers:] == 1.0
            code = np.where(hot.any(axis=1), self.bins + hot.argmax(axis=1), code)
        return code


@dataclass(frozen=True, eq=False)
class Grid:
    """A table with an axis for each declared column, and the target's last."""

    axes: tuple[Axis, ...]
    width: int

    @property
    def sizes(self) -> tuple[int, ...]:
        """Cells of each axis."""
        return tuple(len(axis.points) for axis in self.axes)

    @property
    def cells(self) -> int:
        """Cells of the table."""
        return math.prod(self.sizes)

    @property
    def halves(self) -> tuple[NDArray[np.bool_], int]:
        """Which columns belong to the first axes, and how many cells the last axes have: about as many as the first."""
        size, first = 1, len(self.axes)
        while first > 1 and size * size < self.cells:
            first -= 1
            size *= self.sizes[first]
        above = np.zeros(self.width, bool)
        for axis in self.axes[:first]:
            above[axis.first : axis.first + axis.points.shape[1]] = True
        return above, size

    def codes(self, rows: Matrix, target: Matrix) -> list[NDArray[np.int64]]:
        """The cell of each encoded row (n, width) with its target (n, 1) on every axis."""
        *axes, last = self.axes
        codes = [axis.codes(rows[:, axis.first : axis.first + axis.points.shape[1]]) for axis in axes]
        return [*codes, last.codes(target)]

    def points(self, positions: Positions) -> tuple[Matrix, NDArray[np.float64]]:
        """Centres of cells: encoded rows, in Fortran's order (n, width), and targets (n,)."""
        rows = np.empty((self.width, len(positions)))
        rest = positions
        *axes, last = self.axes
        digits, rest = self._digits(rest, len(last.points))
        targets = last.points[digits, 0]
        for axis in axes[::-1]:
            digits, rest = self._digits(rest, len(axis.points))
            for column, values in enumerate(axis.points.T, axis.first):
                np.take(values, digits, out=rows[column], mode="clip")
        return rows.T, targets

    def _digits(self, positions: Positions, size: int) -> tuple[NDArray[np.int64], Positions]:
        """Places on the axis that varies fastest, and what is left of the positions."""
        rest = positions // size
        digits = (positions - rest * size).astype(np.int64)
        if rest.dtype == object and len(rest) and rest.max() < LARGEST_INT64:
            rest = rest.astype(np.int64)
        return digits, rest


def grid_of(layout: Layout, target: tuple[float, float] | None, bins: Sequence[int]) -> Grid:
    """The table of declared columns; `target` is the range of a number, None for two labels.

    `bins` has a number for each column and for the target; it counts for numbers with bounds alone.
    """
    axes = [
        _axis(first, column, count) for first, column, count in zip(layout.firsts, layout.columns, bins, strict=False)
    ]
    last = _bins(0, target, bins[-1]) if target is not None else _places(0, 2)
    return Grid((*axes, last), layout.width)


def _axis(first: int, column: Column, bins: int) -> Axis:
    if isinstance(column, Curve):
        rule = "must have no curves for a table of counts"
        raise ValueError(sentence("bounds", rule, str(column), "Declare the number without knots, or bins."))
    if isinstance(column, Numeric):
        axis = _bins(first, column.range, bins)
    elif column.number is not None:
        axis = _places(first, round(column.number[1]) + 1)
    else:
        # A row of no level, or of the reference, is zero in all columns: a cell of its own. Of bins without a reference
        # one always holds.
        none = 0 if isinstance(column, Bins) and column.reference is None else 1
        return Axis(first, np.eye(column.block + none, column.block, -none), 0.0, 1.0, none)
    if not column.block:
        return axis
    # One cell more for a missing value: what its number counts as, and the mark.
    filler = column.filler if isinstance(column, Numeric) else (len(axis.points) - 1) / 2
    points = np.zeros((axis.bins + 1, 2))
    points[:-1, 0] = axis.points[:, 0]
    points[-1] = filler, 1.0
    return Axis(first, points, axis.low, axis.high, axis.bins)


def _bins(first: int, pair: tuple[float, float], count: int) -> Axis:
    """Bins of equal width, with their middles."""
    low, high = pair
    middles = low + (high - low) * ((np.arange(count) + 0.5) / count)
    return Axis(first, middles[:, None], low, high, count)


def _places(first: int, count: int) -> Axis:
    """The natural levels 0, 1, ..., each in the middle of its cell."""
    return Axis(first, np.arange(float(count))[:, None], -0.5, count - 0.5, count)
