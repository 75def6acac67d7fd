"""The parts of a released model, by declared column, that any tool can compute.

A kind of column becomes parts here, and a part becomes steps in one function of each tool. A tool that ignored an
option of a column would score wrongly: a test lists the options that are known here.
"""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass
from typing import Any

from dplr.bounds.columns import INDICATOR, TRANSFORMS, Bins, Column, Curve, Levels, Numeric, Pair, middle
from dplr.bounds.products import Product
from dplr.bounds.scaling import Prep


@dataclass(frozen=True, slots=True)
class Part:
    """What columns of the model, `width` of them, hold of the declared one at this place. A missing value is filled in.

    number     clipped to `ends`, in the user's units; transformed; less the `middle`, which is 0 except in a factor
    shares     of the knots of a curve, in a number clipped to the first and the last of them, and transformed: between
               two knots the shares of both are 1 less a line, and that line; all others are 0
    levels     1 where the value is the level of the column, or one merged into it; none is of the reference
    bins       1 where the number is in the bin of the column; none is of the reference
    position   of the value's level, from 0, less the middle; half way for a value that is no level
    mark       1 where the value is missing
    """

    kind: str
    place: int
    column: Any
    width: int = 1
    ends: Pair = (-math.inf, math.inf)
    middle: float = 0.0

    @property
    def refused(self) -> bool:
        """Whether a missing value is."""
        return self.column.missing is None

    @property
    def filler(self) -> Any:
        """What a missing value counts as; None where it is refused, or has no level, bin or share."""
        column, missing = self.column, self.column.missing
        if missing == INDICATOR:
            return TRANSFORMS[column.transform].back(middle(column.range)) if self.kind == "number" else None
        if missing is None or not isinstance(column, Levels):
            return missing
        return column.values[column.code_of(missing)]

    @property
    def kept(self) -> dict[Any, int]:
        """The levels, or bins, that have a column, with its place among these columns."""
        levels = isinstance(self.column, Levels)
        places = self.column.value_places if levels else self.column.places
        cases = self.column.values if levels else range(len(places))
        return {case: place for case, place in zip(cases, places, strict=True) if place >= 0}


@dataclass(frozen=True, slots=True)
class Times:
    """Each column of the first factor times each of the second: all of the first one's first column come first.

    Attributes
    ----------
    factors : the parts of each: a number or position less its middle, or the shares of knots without their mark, or the
        columns of levels or bins and their mark.
    ends : the narrower range that a product of two numbers is clipped to; None for none.
    """

    factors: tuple[tuple[Part, ...], tuple[Part, ...]]
    ends: Pair | None
    kind = "times"

    @property
    def widths(self) -> tuple[int, int]:
        """Number of columns of each factor."""
        first, second = (sum(part.width for part in factor) for factor in self.factors)
        return first, second

    @property
    def width(self) -> int:
        """Number of columns."""
        return math.prod(self.widths)


KINDS = ("number", "shares", "levels", "bins", "position", "mark", Times.kind)


def parts_of(prep: Prep) -> tuple[Part | Times, ...]:
    """The parts of a model with declared columns, in the order of `coef_`."""
    layout = prep.layout
    assert layout is not None
    assert prep.ends is not None
    ends = list(zip(*(side.tolist() for side in prep.ends), strict=True))
    places = zip(layout.columns, layout.firsts, strict=False)
    pieces = [part for place, (column, first) in enumerate(places) for part in _pieces(place, column, ends[first])]
    firsts = layout.firsts[len(layout.columns) :]
    return (*pieces, *(_times(product, ends[first]) for product, first in zip(layout.products, firsts, strict=True)))


def _pieces(place: int, column: Column, ends: Pair) -> list[Part]:
    """The parts of a column; only a number, or the line of a curve, may have narrower ends than the declared ones."""
    pieces = []
    if isinstance(column, Numeric) and column.number is not None:
        undone, (low, high) = TRANSFORMS[column.transform].back, column.range
        # A declared bound is taken as it stands: on its way to the scale and back it would be rounded.
        lower = column.lower if ends[0] <= low else undone(ends[0])
        upper = column.upper if ends[1] >= high else undone(ends[1])
        pieces.append(Part("number", place, column, ends=(lower, upper)))
    if isinstance(column, Curve):
        pieces.append(Part("shares", place, column, len(column.places)))
    elif isinstance(column, Bins):
        pieces.append(Part("bins", place, column, max(column.places) + 1))
    elif isinstance(column, Levels):
        hot = column.kind == "one_hot"
        pieces.append(Part("levels" if hot else "position", place, column, max(column.places) + 1 if hot else 1))
    return [*pieces, *([Part("mark", place, column)] if column.marked else [])]


def _times(product: Product, ends: Pair) -> Times:
    bends = (column is product.curve for column in product.factors)
    first, second = map(_factor, product.places, product.factors, bends)
    return Times((first, second), None if ends == product.pair else ends)


def _factor(place: int, column: Column, bends: bool) -> tuple[Part, ...]:
    """A number in its declared bounds, whatever narrower range it has as a column of the model, without its mark.

    A curve counts as its shares where it `bends` in the product, else as its line.
    """
    pieces = _pieces(place, column, column.number or (0.0, 1.0))
    if bends or column.number is None:
        return tuple(part for part in pieces if not bends or part.kind == "shares")
    return (dataclasses.replace(pieces[0], middle=middle(column.number)),)
