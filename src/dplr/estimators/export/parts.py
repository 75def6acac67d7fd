"""What a released model counts of each declared column, in parts that any tool can compute.

A kind of column becomes parts in one function here (`_OF`), and a part becomes steps in one function of each tool. What
is not known here is refused: a tool that ignored an option of a column would score wrongly.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NoReturn

from dplr._validation import sentence
from dplr.bounds.columns import INDICATOR, Column, Level, Levels, Numeric, Pair, middle
from dplr.bounds.scaling import Prep

# From the scale of a transform back to the user's units. Each tool has the transform itself.
UNDONE: dict[str, Callable[[float], float]] = {"clip": lambda value: value, "log1p": math.expm1}


@dataclass(frozen=True, slots=True)
class Number:
    """A number: a missing value is filled in, then it is clipped, then transformed.

    Attributes
    ----------
    place : of the declared column.
    lower, upper : in the user's units, narrower ranges included.
    transform : a key of `UNDONE`.
    filler : what a missing value counts as, in the user's units; None where it is refused.
    """

    place: int
    lower: float
    upper: float
    transform: str
    filler: float | None
    width: ClassVar[int] = 1


@dataclass(frozen=True, slots=True)
class OneHot:
    """A column for each of the levels, 1 where the value is that level.

    Attributes
    ----------
    refused : whether a missing value is.
    filler : the level that a missing value counts as; None for no level.
    """

    place: int
    levels: tuple[Level, ...]
    refused: bool
    filler: Level | None

    @property
    def width(self) -> int:
        """Number of columns."""
        return len(self.levels)


@dataclass(frozen=True, slots=True)
class Position:
    """The position of the value among the levels, from 0; `other` for a value that is not a level, or missing.

    `refused` and `filler` are those of `OneHot`.
    """

    place: int
    levels: tuple[Level, ...]
    other: float
    refused: bool
    filler: Level | None
    width: ClassVar[int] = 1


@dataclass(frozen=True, slots=True)
class Mark:
    """1 where the value is missing. `levels` are those of a column of levels, else empty."""

    place: int
    levels: tuple[Level, ...]
    width: ClassVar[int] = 1


Part = Number | OneHot | Position | Mark


def parts_of(prep: Prep) -> tuple[Part, ...]:
    """The parts of a model with declared columns, in the order of `coef_`; ValueError for what no part expresses."""
    layout = prep.layout
    assert layout is not None
    assert prep.ends is not None
    _check_known(layout, ("features", "columns", "named"))
    parts: list[Part] = []
    (low, high), first = prep.ends, 0
    for place, (name, column) in enumerate(zip(layout.features, layout.columns, strict=True)):
        if type(column) not in _OF:
            _refuse(type(column).__name__, name)
        known, of = _OF[type(column)]
        _check_known(column, known, name)
        own = of(place, column, (float(low[first]), float(high[first])))
        if sum(part.width for part in own) != len(column.names(name)):
            _refuse(f"{len(column.names(name))} columns of {column}", name)
        parts += own
        first += sum(part.width for part in own)
    if first != len(layout.names):
        _refuse(f"{len(layout.names)} columns", "the layout")
    return tuple(parts)


def is_text(levels: Sequence[Level]) -> bool:
    """Whether levels are text; False for none."""
    return bool(levels) and isinstance(levels[0], str)


def text_features(parts: Sequence[Part]) -> set[int]:
    """Places of the columns that hold text."""
    return {part.place for part in parts if not isinstance(part, Number) and is_text(part.levels)}


def _numeric(place: int, column: Numeric, ends: Pair) -> list[Part]:
    if column.transform not in UNDONE:
        _refuse(f'transform = "{column.transform}"', f"column {place}")
    undone = UNDONE[column.transform]
    # A declared bound is taken as it stands: on its way to the scale and back it would be rounded.
    lower = column.lower if ends[0] == column.range[0] else undone(ends[0])
    upper = column.upper if ends[1] == column.range[1] else undone(ends[1])
    marked = column.missing == INDICATOR
    filler = undone(middle(column.range)) if isinstance(column.missing, str) else column.missing
    number = Number(place, lower, upper, column.transform, filler)
    return [number, Mark(place, ())] if marked else [number]


def _levels(place: int, column: Levels, _: Pair) -> list[Part]:
    levels, marked = column.levels, column.missing == INDICATOR
    refused, filler = column.missing is None, None if marked else column.missing
    if column.kind == "one_hot":
        part: Part = OneHot(place, levels, refused, filler)
    elif column.kind in ("binary", "ordinal"):
        part = Position(place, levels, (len(levels) - 1) / 2, refused, filler)
    else:
        _refuse(f'kind = "{column.kind}"', f"column {place}")
    return [part, Mark(place, levels)] if marked else [part]


# Kind of column -> the fields that its function reads, and the function.
_OF: dict[type[Column], tuple[tuple[str, ...], Callable[[int, Any, Pair], list[Part]]]] = {
    Numeric: (("lower", "upper", "transform", "missing"), _numeric),
    Levels: (("levels", "kind", "missing"), _levels),
}


def _check_known(record: Any, known: Sequence[str], name: str = "the layout") -> None:
    """A field that is not read here must be at its default."""
    for field in dataclasses.fields(record):
        value = getattr(record, field.name)
        if field.name not in known and value != field.default:
            _refuse(f"{field.name} = {value!r}", name)


def _refuse(found: str, name: str) -> NoReturn:
    rule = "must describe columns in ways that can be written for other tools"
    raise ValueError(sentence("bounds", rule, f"{found} of {name}", "Predict with dplr itself."))
