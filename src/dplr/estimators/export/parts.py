"""The parts of a released model, by declared column, that any tool can compute.

A kind of column becomes parts in one function here (`_OF`), and a part becomes steps in one function of each tool. What
is not known here is refused: a tool that ignored an option of a column would score wrongly.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

from dplr._kit.validation import sentence
from dplr.bounds.columns import INDICATOR, TRANSFORMS, Bins, Column, Curve, Levels, Numeric, Pair, middle
from dplr.bounds.layout import Layout
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
    """The parts of a model with declared columns, in the order of `coef_`; ValueError for what no part expresses."""
    layout = prep.layout
    assert layout is not None
    _check_known(layout, ("features", "columns", "named", "products"))
    ends = _ends(prep, layout)
    parts: list[Part | Times] = []
    first = 0
    for place, (name, column) in enumerate(zip(layout.features, layout.columns, strict=True)):
        pieces = _of_column(place, column, ends[first], name)
        first += _checked_width(pieces, column.names(name), f"{column} of {name}")
        parts += pieces
    for product in layout.products:
        times = _times(product, ends[first], layout)
        first += _checked_width([times], product.names(layout.features), product.said(layout.features))
        parts.append(times)
    if first != len(layout.names):
        _refuse(f"{len(layout.names)} columns", "the layout")
    return tuple(parts)


def _ends(prep: Prep, layout: Layout) -> list[Pair]:
    """The ranges of the model's columns. Only numbers, and products of two, may have ranges of their own."""
    assert prep.ends is not None
    ends = list(zip(*(side.tolist() for side in prep.ends), strict=True))
    for column, (pair, declared) in enumerate(zip(ends, layout.pairs, strict=True)):
        if pair != declared and column not in layout.numbers:
            _refuse(f"the range {pair}", f"column {column} of the model")
    return ends


def _of_column(place: int, column: Column, ends: Pair, name: str) -> list[Part]:
    if type(column) not in _OF:
        _refuse(type(column).__name__, name)
    names, of = _OF[type(column)]
    _check_known(column, names, name)
    mark = [Part("mark", place, column)] if column.missing == INDICATOR else []
    return [*of(place, column, ends), *mark]


def _number(place: int, column: Numeric, ends: Pair) -> list[Part]:
    if column.transform not in TRANSFORMS:
        _refuse(f'transform = "{column.transform}"', f"column {place}")
    undone, (low, high) = TRANSFORMS[column.transform].back, column.range
    # A declared bound is taken as it stands: on its way to the scale and back it would be rounded.
    lower = column.lower if ends[0] <= low else undone(ends[0])
    upper = column.upper if ends[1] >= high else undone(ends[1])
    return [Part("number", place, column, ends=(lower, upper))]


def _curve(place: int, column: Curve, ends: Pair) -> list[Part]:
    """The narrower ends are those of the line; the knots stay where they are."""
    line = _number(place, column, ends if column.line else column.range)
    return [*(line if column.line else []), Part("shares", place, column, len(column.places))]


def _bins(place: int, column: Bins, _: Pair) -> list[Part]:
    return [Part("bins", place, column, max(column.places) + 1)]


def _levels(place: int, column: Levels, _: Pair) -> list[Part]:
    if column.kind == "one_hot":
        return [Part("levels", place, column, max(column.value_places) + 1)]
    if column.kind not in ("binary", "ordinal") or column.reference is not None:
        _refuse(f'kind = "{column.kind}"', f"column {place}")
    return [Part("position", place, column)]


def _times(product: Product, ends: Pair, layout: Layout) -> Times:
    if type(product) is not Product:
        _refuse(type(product).__name__, product.said(layout.features))
    _check_known(product, ("places", "factors"), product.said(layout.features))
    named = zip(product.places, product.factors, strict=True)
    first, second = (_factor(place, column, layout.features[place], column is product.curve) for place, column in named)
    return Times((first, second), None if ends == product.pair else ends)


def _factor(place: int, column: Column, name: str, bends: bool) -> tuple[Part, ...]:
    """A number in its declared bounds, whatever narrower range it has as a column of the model, without its mark.

    A curve counts as its shares where it `bends` in the product, else as its line.
    """
    parts = _of_column(place, column, column.number or (0.0, 1.0), name)
    if bends:
        return tuple(part for part in parts if part.kind == "shares")
    if column.number is None:
        return tuple(parts)
    return (dataclasses.replace(parts[0], middle=middle(column.number)),)


# Kind of column -> the fields that its function reads, and the function.
_OF: dict[type[Column], tuple[tuple[str, ...], Callable[[int, Any, Pair], list[Part]]]] = {
    Numeric: (("lower", "upper", "transform", "missing", "flag"), _number),
    Curve: (("lower", "upper", "transform", "missing", "flag", "knots", "line"), _curve),
    Bins: (("lower", "upper", "edges", "missing", "reference"), _bins),
    Levels: (("levels", "kind", "missing", "reference", "spellings", "least_share"), _levels),
}


def _check_known(record: Any, names: Sequence[str], name: str = "the layout") -> None:
    """Refuse a field that no part expresses, unless it has its default."""
    for field in dataclasses.fields(record):
        value = getattr(record, field.name)
        if field.name not in names and value != field.default:
            _refuse(f"{field.name} = {value!r}", name)


def _checked_width(parts: Sequence[Part | Times], names: Sequence[str], subject: str) -> int:
    """The number of columns, which is that of the names."""
    width = sum(part.width for part in parts)
    if width != len(names):
        _refuse(f"{len(names)} columns", subject)
    return width


def _refuse(detail: str, name: str) -> NoReturn:
    rule = "must describe columns in ways that can be written for other tools"
    raise ValueError(sentence("bounds", rule, f"{detail} of {name}", "Predict with dplr itself."))
