"""The parts of a released model, by declared column, that any tool can compute.

A kind of column becomes parts in one function here (`_OF`), and a part becomes steps in one function of each tool. What
is not known here is refused: a tool that ignored an option of a column would score wrongly.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NoReturn

from dplr._kit.validation import sentence
from dplr.bounds.columns import INDICATOR, TRANSFORMS, Bins, Column, Curve, Level, Levels, Numeric, Pair, middle
from dplr.bounds.layout import Layout
from dplr.bounds.products import Product
from dplr.bounds.scaling import Prep


@dataclass(frozen=True, slots=True)
class Number:
    """A number: a missing value is filled in, then it is clipped, then transformed, then the middle is subtracted.

    Attributes
    ----------
    place : of the declared column.
    lower, upper : in the user's units, narrower ranges included.
    transform : a key of `TRANSFORMS`.
    filler : what a missing value counts as, in the user's units; None where it is refused.
    middle : on the scale of the transform; 0 except in a factor.
    """

    place: int
    lower: float
    upper: float
    transform: str
    filler: float | None
    middle: float = 0.0
    width: ClassVar[int] = 1


@dataclass(frozen=True, slots=True)
class Shares:
    """A column for each knot of a curve: the share of the knot in a number, which is filled in, clipped, transformed.

    Between two knots the shares of both are 1 less a line, and that line; all others are 0.

    Attributes
    ----------
    knots : in the user's units, increasing. A number is clipped to the first and the last.
    places : the knots on the scale of the transform.
    refused : whether a missing value is refused.
    filler : the number that a missing value counts as, in the user's units; None where it is refused, or has no share.
    """

    place: int
    knots: tuple[float, ...]
    places: tuple[float, ...]
    transform: str
    refused: bool
    filler: float | None

    @property
    def width(self) -> int:
        """Number of columns."""
        return len(self.knots)


@dataclass(frozen=True, slots=True)
class OneHot:
    """A column for each of the levels except the reference, 1 where the value is that level, or one merged into it.

    Attributes
    ----------
    levels : all values that are declared.
    columns : the column of each of them; -1 for those of the reference.
    refused : whether a missing value is refused.
    filler : the value that a missing one counts as; None for no level.
    """

    place: int
    levels: tuple[Level, ...]
    columns: tuple[int, ...]
    refused: bool
    filler: Level | None

    @property
    def kept(self) -> dict[Level, int]:
        """The values that have columns, with these."""
        return {level: column for level, column in zip(self.levels, self.columns, strict=True) if column >= 0}

    @property
    def width(self) -> int:
        """Number of columns."""
        return max(self.columns) + 1


@dataclass(frozen=True, slots=True)
class Interval:
    """A column for each bin except the reference, 1 where the number is in that bin.

    Attributes
    ----------
    edges : between the bins, increasing. The number of edges that are not above a number is that of its bin.
    refused : whether a missing value is refused.
    filler : the number that a missing value counts as; None where it is refused, or in no bin.
    reference : the bin without a column, from 0; None where each has one.
    """

    place: int
    edges: tuple[float, ...]
    refused: bool
    filler: float | None
    reference: int | None

    @property
    def kept(self) -> tuple[int, ...]:
        """The bins that have columns."""
        return tuple(place for place in range(len(self.edges) + 1) if place != self.reference)

    @property
    def width(self) -> int:
        """Number of columns."""
        return len(self.kept)


@dataclass(frozen=True, slots=True)
class Position:
    """The position of the value's level, from 0; `fallback` for a value that is not a level, or missing.

    `positions` are those of `levels`; these, `refused` and `filler` are as in `OneHot`, `middle` as in `Number`.
    """

    place: int
    levels: tuple[Level, ...]
    positions: tuple[int, ...]
    fallback: float
    refused: bool
    filler: Level | None
    middle: float = 0.0
    width: ClassVar[int] = 1


@dataclass(frozen=True, slots=True)
class Mark:
    """1 where the value is missing. `levels` are those of a column of levels, else empty."""

    place: int
    levels: tuple[Level, ...]
    width: ClassVar[int] = 1


Own = Number | Shares | OneHot | Interval | Position | Mark  # of one declared column


@dataclass(frozen=True, slots=True)
class Times:
    """Each column of the first factor times each of the second: all of the first one's first column come first.

    Attributes
    ----------
    factors : the parts of each: a number or position less its middle, or the shares of knots without their mark, or the
        columns of levels or bins and their mark.
    ends : the narrower range that a product of two numbers is clipped to; None for none.
    """

    factors: tuple[tuple[Own, ...], tuple[Own, ...]]
    ends: Pair | None

    @property
    def widths(self) -> tuple[int, int]:
        """Number of columns of each factor."""
        first, second = (sum(part.width for part in factor) for factor in self.factors)
        return first, second

    @property
    def width(self) -> int:
        """Number of columns."""
        return math.prod(self.widths)


Part = Own | Times


def parts_of(prep: Prep) -> tuple[Part, ...]:
    """The parts of a model with declared columns, in the order of `coef_`; ValueError for what no part expresses."""
    layout, ends = prep.layout, _ends(prep)
    assert layout is not None
    _check_known(layout, ("features", "columns", "named", "products"))
    parts: list[Part] = []
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


def is_text(levels: Sequence[Level]) -> bool:
    """Whether levels are text; False for none."""
    return bool(levels) and isinstance(levels[0], str)


def _ends(prep: Prep) -> list[Pair]:
    """The ranges of the model's columns. Only numbers, and products of two, may have ranges of their own."""
    assert prep.layout is not None
    assert prep.ends is not None
    ends = list(zip(*(side.tolist() for side in prep.ends), strict=True))
    for column, (pair, declared) in enumerate(zip(ends, prep.layout.pairs, strict=True)):
        if pair != declared and column not in prep.layout.numbers:
            _refuse(f"the range {pair}", f"column {column} of the model")
    return ends


def _of_column(place: int, column: Column, ends: Pair, name: str) -> list[Own]:
    if type(column) not in _OF:
        _refuse(type(column).__name__, name)
    names, of = _OF[type(column)]
    _check_known(column, names, name)
    return of(place, column, ends)


def _numeric(place: int, column: Numeric, ends: Pair) -> list[Own]:
    if column.transform not in TRANSFORMS:
        _refuse(f'transform = "{column.transform}"', f"column {place}")
    undone, (low, high) = TRANSFORMS[column.transform].back, column.range
    # A declared bound is taken as it stands: on its way to the scale and back it would be rounded.
    lower = column.lower if ends[0] <= low else undone(ends[0])
    upper = column.upper if ends[1] >= high else undone(ends[1])
    marked = column.missing == INDICATOR
    filler = undone(middle(column.range)) if isinstance(column.missing, str) else column.missing
    number = Number(place, lower, upper, column.transform, filler)
    return [number, Mark(place, ())] if marked else [number]


def _curve(place: int, column: Curve, ends: Pair) -> list[Own]:
    """The narrower ends are those of the line; the knots stay where they are."""
    line, *mark = _numeric(place, column, ends if column.line else column.range)
    filler = None if isinstance(column.missing, str) else column.missing
    shares = Shares(place, column.knot_values, column.places, column.transform, column.missing is None, filler)
    return [*([line] if column.line else []), shares, *mark]


def _bins(place: int, column: Bins, _: Pair) -> list[Own]:
    filler = None if isinstance(column.missing, str) else column.missing
    reference = None if column.reference is None else column.bin_of(column.reference)
    part = Interval(place, column.edges, column.missing is None, filler, reference)
    return [part, Mark(place, ())] if column.missing == INDICATOR else [part]


def _levels(place: int, column: Levels, _: Pair) -> list[Own]:
    levels, marked, refused = column.values, column.missing == INDICATOR, column.missing is None
    filler = None if marked or column.missing is None else levels[column.code_of(column.missing)]
    if column.kind == "one_hot":
        part: Own = OneHot(place, levels, column.value_places, refused, filler)
    elif column.kind in ("binary", "ordinal") and column.reference is None:
        part = Position(place, levels, column.positions, (len(column.levels) - 1) / 2, refused, filler)
    else:
        _refuse(f'kind = "{column.kind}"', f"column {place}")
    return [part, Mark(place, levels)] if marked else [part]


def _times(product: Product, ends: Pair, layout: Layout) -> Times:
    if type(product) is not Product:
        _refuse(type(product).__name__, product.said(layout.features))
    _check_known(product, ("places", "factors"), product.said(layout.features))
    named = zip(product.places, product.factors, strict=True)
    first, second = (_factor(place, column, layout.features[place], column is product.curve) for place, column in named)
    return Times((first, second), None if ends == product.pair else ends)


def _factor(place: int, column: Column, name: str, bends: bool) -> tuple[Own, ...]:
    """A number in its declared bounds, whatever narrower range it has as a column of the model, without its mark.

    A curve counts as its shares where it `bends` in the product, else as its line.
    """
    if bends:
        return tuple(part for part in _of_column(place, column, (0.0, 1.0), name) if isinstance(part, Shares))
    if column.number is None:
        return tuple(_of_column(place, column, (0.0, 1.0), name))
    number = _of_column(place, column, column.number, name)[0]
    assert isinstance(number, Number | Position)
    return (dataclasses.replace(number, middle=middle(column.number)),)


# Kind of column -> the fields that its function reads, and the function.
_OF: dict[type[Column], tuple[tuple[str, ...], Callable[[int, Any, Pair], list[Own]]]] = {
    Numeric: (("lower", "upper", "transform", "missing", "flag"), _numeric),
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


def _checked_width(parts: Sequence[Part], names: Sequence[str], subject: str) -> int:
    """The number of columns, which is that of the names."""
    width = sum(part.width for part in parts)
    if width != len(names):
        _refuse(f"{len(names)} columns", subject)
    return width


def _refuse(detail: str, name: str) -> NoReturn:
    rule = "must describe columns in ways that can be written for other tools"
    raise ValueError(sentence("bounds", rule, f"{detail} of {name}", "Predict with dplr itself."))
