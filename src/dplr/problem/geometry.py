"""Where the scaled rows lie: all that a mechanism may know of the columns."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import accumulate

GRID = 2.0**20  # rows are snapped to multiples of 2^-20
INTERCEPT = 0.5  # the constant appended for the intercept; chosen by measurement
# Scaled rows are rounded to float64: their norm may exceed the radius by (d + 3) 2^-53 < 2^-40 of it.
_ROUNDED_ROW = 1 + 2.0**-40


@dataclass(frozen=True, slots=True)
class Geometry:
    """Where the scaled rows lie: all that a mechanism may know of the columns.

    Attributes
    ----------
    d : number of features, without the intercept.
    radius : every row has norm at most this.
    half_width : every |x_j| is at most this; None where only the ball is known.
    intercept : the constant appended to every row, 0 for none.
    blocks : (first column, number of columns) of each one-hot block: of these columns at most one is not zero in any
        row, and that one is `half_width`. Needs a half-width.
    marked : the column of each number that the mark of its missing values follows. In every row one of the two columns
        is 0, and the mark is 0 or `half_width`. Needs a half-width and an intercept.
    shared : (first column, number of columns, two or more) of each block of numbers of which at most one is not zero in
        any row. Needs a half-width.
    hats : (first column, number of columns, knots of a run) of each block of shares of knots: in every row they are at
        least 0, together at most `half_width`, and at most two neighbours of one run are not 0. What is left of the
        columns behind the runs has no neighbours. Needs a half-width.
    weights : what each column was multiplied by after it was scaled; empty for 1 each. `half_width` is from before, and
        `radius` from after.
    """

    d: int
    radius: float = 1.0
    half_width: float | None = None
    intercept: float = 0.0
    blocks: tuple[tuple[int, int], ...] = ()
    marked: tuple[int, ...] = ()
    shared: tuple[tuple[int, int], ...] = ()
    hats: tuple[tuple[int, int, int], ...] = ()
    weights: tuple[float, ...] = ()

    @property
    def row_norm(self) -> float:
        """R~: largest norm of a scaled row with its intercept constant."""
        return math.hypot(self.radius, self.intercept) * _ROUNDED_ROW

    @property
    def n_coefs(self) -> int:
        return self.d + (self.intercept > 0)

    @property
    def groups(self) -> tuple[int, ...]:
        """Sizes of the groups of coordinates in their order: a number, with its mark or without, a block, the constant.

        The coordinates of a group are a mean of rows in which at most one of them is not 0 (layout.md, lemma 2).
        """
        sizes = _sizes(self.d, (*self.blocks, *self.shared, *self.hats), self.marked)
        return (*sizes, 1) if self.intercept else sizes

    @property
    def firsts(self) -> tuple[int, ...]:
        return tuple(accumulate(self.groups, initial=0))[:-1]

    @property
    def numbers(self) -> tuple[int, ...]:
        """The columns outside every one-hot block and every block of shares that are no mark."""
        spans = (*self.blocks, *self.hats)
        hot = {first + k for first, size, *_ in spans for k in range(size)} | {first + 1 for first in self.marked}
        return tuple(column for column in range(self.d) if column not in hot)

    @property
    def grouped(self) -> bool:
        return bool(self.blocks or self.marked or self.shared or self.hats)

    @property
    def neighbours(self) -> tuple[tuple[int, int], ...]:
        """The pairs of columns of one group of which both may be not 0 in a row."""
        steps = ((first, k, knots) for first, size, knots in self.hats for k in range(size // knots * knots - 1))
        return tuple((first + k, first + k + 1) for first, k, knots in steps if (k + 1) % knots)

    @property
    def half_widths(self) -> tuple[float, ...]:
        """The largest size of each coordinate, the constant's included; needs a half-width."""
        columns = self._widths(self.weights or (1.0,) * self.d)
        return (*columns, self.intercept) if self.intercept else columns

    @property
    def sizes(self) -> tuple[float, ...]:
        """The size of each coordinate, the constant's included: its half-width, or that of a cube inside the ball."""
        if self.half_width is not None:
            return self.half_widths
        columns = (self.radius / math.sqrt(self.d),) * self.d
        return (*columns, self.intercept) if self.intercept else columns

    def _widths(self, weights: Sequence[float]) -> tuple[float, ...]:
        assert self.half_width is not None
        units = self.half_width * GRID
        return tuple([units * weight / GRID for weight in weights])

    def weighted(self, weights: Sequence[float]) -> Geometry:
        """Where rows lie whose columns are multiplied by these weights, those of a group by the same."""
        columns = tuple(weights[: self.d])
        widths = self._widths(columns)
        radius = math.hypot(*(widths[first] for first in self.firsts if first < self.d))
        return replace(self, weights=columns, radius=radius)

    def __str__(self) -> str:
        if self.half_width is None:
            domain = f"rows in the ball of radius {self.radius:g}"
        elif self.grouped:
            hot, products = (sum(size for _, size in spans) for spans in (self.blocks, self.shared))
            numbers = len(self.numbers) - products
            parts = [f"{numbers} numeric columns"]
            parts[0] += f" ({len(self.marked)} with a column that marks missing values)" if self.marked else ""
            parts += [f"{len(self.blocks)} one-hot blocks ({hot} columns)"] if self.blocks else []
            parts += [f"{len(self.shared)} blocks of products ({products} columns)"] if self.shared else []
            shares = sum(size for _, size, _ in self.hats)
            parts += [f"{len(self.hats)} blocks of shares of knots ({shares} columns)"] if self.hats else []
            groups = numbers + len(self.blocks) + len(self.shared) + len(self.hats)
            domain = f"rows in {groups} groups of size {self.half_width:.6g}: "
            domain += " and ".join([", ".join(parts[:-1]), parts[-1]] if parts[1:] else parts)
        else:
            domain = f"rows in [-{self.half_width:.6g}, {self.half_width:.6g}]^{self.d}"
        return domain + (f", intercept constant {self.intercept:g}" if self.intercept else ", no intercept")


@lru_cache(maxsize=64)
def _sizes(d: int, spans: tuple[tuple[int, ...], ...], marked: tuple[int, ...]) -> tuple[int, ...]:
    """Sizes of the groups of d columns: a plan asks for them a dozen times."""
    blocks, sizes, first = {span[0]: span[1] for span in spans} | dict.fromkeys(marked, 2), [], 0
    while first < d:
        sizes.append(blocks.get(first, 1))
        first += sizes[-1]
    return tuple(sizes)
