"""The kinds of column: a number, bins, or levels; what each is in the model, and what a missing value counts as.

A curve, a number with hats, is in `curves.py`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import pairwise
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

Pair = tuple[float, float]
Level = str | int | float | bool

INDICATOR = "indicator"
CONSTANT = "(intercept)"  # the name of its coefficient
EXACT_INTEGER = 2**53  # what is larger has no float64 of its own
TRANSFORMS = ("clip", "log1p", "log", "sqrt")
# Ends are taken with the first function, as a number; values of rows with the second, many at once.
FUNCTIONS: dict[str, tuple[Callable[[float], float], Callable[[NDArray[np.float64]], NDArray[np.float64]]]] = {
    "log1p": (math.log1p, np.log1p),
    "log": (math.log, np.log),
    "sqrt": (math.sqrt, np.sqrt),
}
# From the scale of a transform back to the user's units.
INVERSES: dict[str, Callable[[float], float]] = {
    "clip": lambda value: value, "log1p": math.expm1, "log": math.exp, "sqrt": lambda value: value * value,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Numeric:
    """A number between public bounds.

    Attributes
    ----------
    lower, upper : in the user's units; values outside count as the nearest bound.
    transform : "clip" leaves values as they are, "log1p" takes log(1 + x), "log" log(x), "sqrt" the root.
    missing : None (refused), a public constant, or "indicator": the middle of the bounds, and a column of its own.
    flag : whether it is 0 or 1 and measures nothing: declared as booleans, or as the whole numbers 0 and 1.
    """

    lower: float
    upper: float
    transform: str = "clip"
    missing: float | str | None = None
    flag: bool = field(default=False, kw_only=True)
    kind: ClassVar[str] = "number"

    @property
    def range(self) -> Pair:
        """The bounds after the transform."""
        if self.transform == "clip":
            return self.lower, self.upper
        function, _ = FUNCTIONS[self.transform]
        return function(self.lower), function(self.upper)

    @property
    def block(self) -> int:
        """Columns of which at most one is not zero."""
        return 1 if self.missing == INDICATOR else 0

    @property
    def number(self) -> Pair | None:
        """The range of the column that holds a number."""
        return self.range

    @property
    def plain(self) -> bool:
        """Whether the model has the value as it stands, and nothing beside it."""
        return self.transform == "clip" and self.missing is None

    @property
    def quantity(self) -> bool:
        """Whether it measures something: all but flags.

        A function of what is declared, so that a plan and a fit agree, and no value or type of a table says it.
        """
        return not self.flag

    @property
    def filler(self) -> float:
        """The number of a missing value on the scale of the transform: NaN where it is refused."""
        if isinstance(self.missing, str):
            return middle(self.range)
        return math.nan if self.missing is None else float(self.transformed(np.array([self.missing]))[0])

    def transformed(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """On the scale of the model. Below the lower bound the transform goes on as a line, so that it exists."""
        if self.transform == "clip":
            return values
        _, function = FUNCTIONS[self.transform]
        below = np.minimum(values - self.lower, 0.0)  # 0 inside, minus infinity stays what it is, so does NaN
        return function(np.maximum(values, self.lower)) + below

    def names(self, name: str) -> list[str]:
        """Names of the columns that the model has for this one."""
        shown = name if self.transform == "clip" else f"{self.transform}({name})"
        return [shown] + ([f"{name} is missing"] if self.block else [])

    def unnamed(self, name: str) -> list[str]:
        """Names in that form of what has no column: nothing."""
        return []

    def __str__(self) -> str:
        """The values in the words of a statement."""
        scale = "" if self.transform == "clip" else f" (on the scale of {self.transform})"
        return f"in [{short(self.lower)}, {short(self.upper)}]{scale}"


@dataclass(frozen=True, slots=True)
class Bins:
    """A number between public bounds of which the model knows only the interval it lies in: one column per bin.

    Attributes
    ----------
    lower, upper : in the user's units; values outside count in the first or the last bin.
    edges : between the bins, increasing. A bin holds its lower edge and not its upper one; the last one holds `upper`.
    missing : None (refused), a public constant, or "indicator": a further column.
    reference : a number within the bounds, whose bin has no column; None where each has one.
    """

    lower: float
    upper: float
    edges: tuple[float, ...]
    missing: float | str | None = None
    reference: float | None = None
    kind: ClassVar[str] = "bins"
    number: ClassVar[None] = None

    @property
    def labels(self) -> tuple[str, ...]:
        """All bins, such as "[0, 18)", the last one closed."""
        ends = [short(end) for end in (self.lower, *self.edges, self.upper)]
        labels = [f"[{low}, {high})" for low, high in pairwise(ends)]
        return (*labels[:-1], labels[-1][:-1] + "]")

    @property
    def places(self) -> tuple[int, ...]:
        """The column of each bin, counted from the first; -1 for the reference."""
        left_out = None if self.reference is None else self.bin_of(self.reference)
        return _places(len(self.edges) + 1, left_out)

    @property
    def block(self) -> int:
        """Columns of which at most one is not zero."""
        return len(self.edges) + (self.reference is None) + (self.missing == INDICATOR)

    def bin_of(self, value: float) -> int:
        """The bin that holds this number."""
        return int(self.bins_of(np.array([value]))[0])

    def bins_of(self, values: NDArray[np.float64]) -> NDArray[np.intp]:
        """The bin of each number that is not NaN."""
        return np.searchsorted(self.edges, values, side="right")

    def names(self, name: str) -> list[str]:
        """Names of the columns that the model has for this one."""
        names = [f"{name} in {label}" for label, place in zip(self.labels, self.places, strict=True) if place >= 0]
        return names + ([f"{name} is missing"] if self.missing == INDICATOR else [])

    def unnamed(self, name: str) -> list[str]:
        """The name in that form of the reference, which has no column."""
        return [f"{name} in {label}" for label, place in zip(self.labels, self.places, strict=True) if place < 0]

    def __str__(self) -> str:
        """The values in the words of a statement."""
        bins = ", ".join(self.labels)
        if self.reference is None:
            return f"in {bins}"
        return f"in {bins} (the reference, without a column: {self.labels[self.bin_of(self.reference)]})"


@dataclass(frozen=True, slots=True)
class Levels:
    """One of several public levels.

    Attributes
    ----------
    levels : of the model, in order. All are of one type, text or numbers, but names of merged ones are text.
    kind : "one_hot" (one column per level), "ordinal" (one number, 0 for the first level, 1 more for each further
        one), or "binary" (0 for the first of two levels, 1 for the second).
    missing : None (refused), one of the levels, or "indicator": a further column.
    reference : the level that has no column, with "one_hot": its rows, and those of an undeclared value, are zero in
        all columns. None where every level has one.
    spellings : the values of a table that are each level; empty where every level is written as it is called.
    least_share : no value is rarer than that, as a plan may assume; None where nothing is declared.
    """

    levels: tuple[Level, ...]
    kind: str = "one_hot"
    missing: Level | None = None
    reference: Level | None = None
    spellings: tuple[tuple[Level, ...], ...] = ()
    least_share: float | None = None

    @property
    def values(self) -> tuple[Level, ...]:
        """The values of a table that are levels, of one type: codes of rows are places among them."""
        return tuple(value for entries in self.spellings for value in entries) if self.spellings else self.levels

    @property
    def positions(self) -> tuple[int, ...]:
        """The level of each value, counted from 0."""
        if not self.spellings:
            return tuple(range(len(self.levels)))
        return tuple(place for place, entries in enumerate(self.spellings) for _ in entries)

    @property
    def value_places(self) -> tuple[int, ...]:
        """The column of each value, as `places` has that of each level."""
        places = self.places
        return tuple(places[position] for position in self.positions)

    @property
    def text(self) -> bool:
        """Whether the values are text."""
        return isinstance(self.values[0], str)

    @property
    def number(self) -> Pair | None:
        """The range of the column that holds a number; None where levels have columns of their own."""
        return None if self.kind == "one_hot" else (0.0, len(self.levels) - 1.0)

    @property
    def block(self) -> int:
        """Columns of which at most one is not zero."""
        hot = len(self.levels) - (self.reference is not None) if self.kind == "one_hot" else 0
        return hot + (self.missing == INDICATOR)

    @property
    def places(self) -> tuple[int, ...]:
        """The column of each level, counted from the first, with "one_hot"; -1 for the reference."""
        return _places(len(self.levels), None if self.reference is None else self.levels.index(self.reference))

    def code_of(self, level: Level) -> int:
        """The place of the first value of a level."""
        return self.positions.index(self.levels.index(level))

    def names(self, name: str) -> list[str]:
        """Names of the columns that the model has for this one."""
        if self.kind == "one_hot":
            names = [f"{name}={level}" for level, place in zip(self.levels, self.places, strict=True) if place >= 0]
        else:
            names = [f"{name}={self.levels[1]}" if self.kind == "binary" else name]
        return names + ([f"{name} is missing"] if self.missing == INDICATOR else [])

    def unnamed(self, name: str) -> list[str]:
        """The name in that form of the reference, or of the first of two levels, which has no column."""
        if self.kind == "one_hot":
            return [] if self.reference is None else [f"{name}={self.reference}"]
        return [f"{name}={self.levels[0]}"] if self.kind == "binary" else []

    def __str__(self) -> str:
        """The values in the words of a statement."""
        merged = self.spellings or tuple((level,) for level in self.levels)
        listed = ", ".join(
            str(level) if entries == (level,) else f"{level} ({', '.join(map(str, entries))})"
            for level, entries in zip(self.levels, merged, strict=True)
        )
        if self.kind == "one_hot":
            return f"one of {listed}" + ("" if self.reference is None else f" (the reference: {self.reference})")
        return f"{listed} in this order, as 0 to {len(self.levels) - 1}"


Column = Numeric | Bins | Levels


def middle(pair: Pair) -> float:
    """The middle of a range: what a marked missing value counts as, and what is subtracted in centring. One number."""
    low, high = pair
    return low / 2 + high / 2


def short(value: float) -> str:
    """A number in as few digits as tell it from all others."""
    return str(int(value)) if value.is_integer() and abs(value) < EXACT_INTEGER else repr(value)


def _places(count: int, left_out: int | None) -> tuple[int, ...]:
    """Columns of that many levels or bins in their order, without the one that is left out."""
    if left_out is None:
        return tuple(range(count))
    return (*range(left_out), -1, *range(left_out, count - 1))
