"""What is publicly known of one column: bounds and transform, or levels; and what a missing value counts as."""

from __future__ import annotations

import difflib
import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dplr._validation import describe, real_number, sentence

Pair = tuple[float, float]
Level = str | int | float | bool

INDICATOR = "indicator"
TRANSFORMS = ("clip", "log1p")
_MOST_LEVELS = 4096
_EXACT_INTEGER = 2**53  # what is larger has no float64 of its own
_CONSTANT = "A constant column carries no information: drop it."


@dataclass(frozen=True, slots=True)
class Numeric:
    """A number between public bounds.

    Attributes
    ----------
    lower, upper : in the user's units; values outside count as the nearest bound.
    transform : "clip" leaves values as they are, "log1p" takes log(1 + x).
    missing : None (refused), a public constant, or "indicator": the middle of the bounds, and a column of its own.
    """

    lower: float
    upper: float
    transform: str = "clip"
    missing: float | str | None = None

    @property
    def range(self) -> Pair:
        """The bounds after the transform."""
        if self.transform == "clip":
            return self.lower, self.upper
        return math.log1p(self.lower), math.log1p(self.upper)

    @property
    def block(self) -> int:
        """Columns of which at most one is not zero."""
        return 1 if self.missing == INDICATOR else 0

    @property
    def number(self) -> Pair | None:
        """The range of the column that holds a number."""
        return self.range

    @property
    def filler(self) -> float:
        """What a missing value counts as, on the scale of the transform: NaN where it is refused."""
        if isinstance(self.missing, str):
            return middle(self.range)
        return math.nan if self.missing is None else float(self.transformed(np.array([self.missing]))[0])

    def transformed(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """On the scale of the model. Below the lower bound the logarithm goes on as a line, so that it exists."""
        if self.transform == "clip":
            return values
        below = np.minimum(values - self.lower, 0.0)  # 0 inside, minus infinity stays what it is, so does NaN
        return np.log1p(np.maximum(values, self.lower)) + below

    def names(self, name: str) -> list[str]:
        """Names of the columns that the model has for this one."""
        shown = name if self.transform == "clip" else f"{self.transform}({name})"
        return [shown] + ([f"{name} is missing"] if self.block else [])

    def __str__(self) -> str:
        """What a statement says of the values."""
        scale = "" if self.transform == "clip" else f" (on the scale of {self.transform})"
        return f"in [{self.lower:g}, {self.upper:g}]{scale}"


@dataclass(frozen=True, slots=True)
class Levels:
    """One of several public levels.

    Attributes
    ----------
    levels : all of one type, text or numbers.
    kind : "one_hot" (one column per level), "ordinal" (one number, 0 for the first level, 1 more for each further
        one), or "binary" (0 for the first of two levels, 1 for the second).
    missing : None (refused), one of the levels, or "indicator": a further column.
    """

    levels: tuple[Level, ...]
    kind: str = "one_hot"
    missing: Level | None = None

    @property
    def text(self) -> bool:
        """Whether the levels are text."""
        return isinstance(self.levels[0], str)

    @property
    def number(self) -> Pair | None:
        """The range of the column that holds a number; None where levels have columns of their own."""
        return None if self.kind == "one_hot" else (0.0, len(self.levels) - 1.0)

    @property
    def block(self) -> int:
        """Columns of which at most one is not zero."""
        return (len(self.levels) if self.kind == "one_hot" else 0) + (self.missing == INDICATOR)

    def names(self, name: str) -> list[str]:
        """Names of the columns that the model has for this one."""
        if self.kind == "one_hot":
            names = [f"{name}={level}" for level in self.levels]
        else:
            names = [f"{name}={self.levels[1]}" if self.kind == "binary" else name]
        return names + ([f"{name} is missing"] if self.missing == INDICATOR else [])

    def __str__(self) -> str:
        """What a statement says of the values."""
        listed = ", ".join(str(level) for level in self.levels)
        if self.kind == "one_hot":
            return f"one of {listed}"
        return f"{listed} in this order, as 0 to {len(self.levels) - 1}"


Column = Numeric | Levels


def middle(pair: Pair) -> float:
    """The middle of a range: what a marked missing value counts as, and what is subtracted in centring. One number."""
    low, high = pair
    return low / 2 + high / 2


def read_column(what: str, value: Any) -> Column:
    """The column that a pair or a mapping describes; `what` names it in errors."""
    if not isinstance(value, Mapping):
        return Numeric(*read_pair(what, value))
    try:
        if "levels" in value:
            check_keys(value, ("levels", "binary", "ordinal", "missing"))
            return _levels(value)
        check_keys(value, ("lower", "upper", "transform", "missing"), {"levels"})
        return _numeric(value)
    except (ValueError, TypeError) as error:
        raise type(error)(f"{what[:1].upper()}{what[1:]}: {error}") from None


def write_column(column: Column) -> dict[str, Any]:
    """The mapping that `read_column` reads back."""
    if isinstance(column, Numeric):
        written: dict[str, Any] = {"lower": column.lower, "upper": column.upper}
        if column.transform != "clip":
            written["transform"] = column.transform
    else:
        written = {"levels": list(column.levels)}
        if column.kind != "one_hot":
            written[column.kind] = True
    return written if column.missing is None else {**written, "missing": column.missing}


def read_pair(what: str, pair: Any) -> Pair:
    """(lower, upper) as finite numbers."""
    listed = isinstance(pair, (Sequence, np.ndarray)) and not isinstance(pair, str)
    text = listed and any(isinstance(value, str) for value in pair)
    remedy = f'For text list its levels: {{"levels": {describe(np.asarray(pair).tolist())}}}.' if text else ""
    if not listed or len(pair) != 2:
        raise ValueError(sentence("bounds", f"must be a pair (lower, upper) for {what}", pair, remedy))
    low, high = (real_number(f"bounds of {what}", _plain(value), remedy) for value in pair)
    if not (math.isfinite(low) and math.isfinite(high) and math.isfinite(high - low)):
        raise ValueError(sentence("bounds", f"must be finite for {what}", (low, high)))
    if not low < high:
        raise ValueError(sentence("bounds", f"must have lower < upper for {what}", (low, high), _CONSTANT))
    return low, high


def read_levels(key: str, value: Any, least: int = 2) -> tuple[Level, ...]:
    """Different levels of one type: text, or numbers."""
    if isinstance(value, (str, bytes, Mapping)) or not isinstance(value, (Sequence, np.ndarray)):
        raise TypeError(sentence(key, "must be a list", value, 'Such as ["no", "yes"].'))
    levels = tuple(_level(key, level) for level in value[: _MOST_LEVELS + 1])
    if len(levels) < least:
        remedy = "Of fewer nothing can be learnt: drop the column, or list what else the codebook has."
        raise ValueError(sentence(key, f"must list at least {least} different values", list(levels), remedy))
    if len(levels) > _MOST_LEVELS:
        raise ValueError(sentence(key, f"must list at most {_MOST_LEVELS} values", f"{len(value)} values"))
    if len({isinstance(level, str) for level in levels}) > 1:
        raise TypeError(sentence(key, "must be all text, or all numbers", list(levels), "Quote all of them, or none."))
    seen: set[Level] = set()
    for level in levels:
        if level in seen:
            raise ValueError(sentence(key, "must list every value once", level, "Drop the second one."))
        seen.add(level)
    return levels


def read_number(key: str, value: Any) -> float:
    """A finite number that is not a boolean."""
    number = real_number(key, value, "Write it without quotes.")
    if not math.isfinite(number):
        raise ValueError(sentence(key, "must be finite", number, "Take the largest value that the codebook allows."))
    return number


def check_keys(table: Mapping[Any, Any], known: Collection[str], others: Collection[str] = ()) -> None:
    """Refuse keys that nobody would read: a misspelt one would silently be the default."""
    for key in table:
        if key not in known:
            close = difflib.get_close_matches(str(key), [*known, *others], 1)
            remedy = f"Did you mean `{close[0]}`?" if close else "Remove it."
            raise ValueError(sentence(str(key)[:40], f"is unknown; known are {', '.join(known)}", key, remedy))


def _numeric(table: Mapping[str, Any]) -> Numeric:
    for key in ("lower", "upper"):
        if key not in table:
            raise ValueError(sentence(key, "is required", list(table), "Give lower and upper, or levels."))
    lower, upper = read_number("lower", table["lower"]), read_number("upper", table["upper"])
    if not lower < upper:
        remedy = _CONSTANT if lower == upper else "Exchange the two."
        raise ValueError(sentence("upper", f"must be above lower = {lower:g}", upper, remedy))
    if not math.isfinite(upper - lower):
        raise ValueError(sentence("upper", "must be a finite distance above lower", upper, "Use larger units."))
    transform = table.get("transform", "clip")
    if transform not in TRANSFORMS:
        raise ValueError(sentence("transform", f"must be one of {', '.join(TRANSFORMS)}", transform))
    if transform == "log1p" and lower <= -1:
        raise ValueError(
            sentence("lower", 'must be above -1 with transform = "log1p"', lower, "log(1 + x) ends there.")
        )
    missing = table.get("missing")
    if missing is not None and missing != INDICATOR:
        rule = f'must be a number in [{lower:g}, {upper:g}] or "{INDICATOR}"'
        if isinstance(missing, str):
            raise ValueError(sentence("missing", rule, missing))
        missing = read_number("missing", missing)
        if not lower <= missing <= upper:
            raise ValueError(sentence("missing", rule, missing))
    column = Numeric(lower, upper, transform, missing)
    if not column.range[0] < column.range[1]:
        raise ValueError(sentence("upper", "must stay above lower after the transform", (lower, upper)))
    return column


def _levels(table: Mapping[str, Any]) -> Levels:
    levels = read_levels("levels", table["levels"])
    flags = [key for key in ("binary", "ordinal") if _flag(table, key)]
    if len(flags) > 1:
        raise ValueError(sentence("binary", "must not stand beside ordinal", flags, "Keep one of them."))
    kind = flags[0] if flags else "one_hot"
    if kind == "binary" and len(levels) != 2:
        remedy = "Use ordinal, or neither for one column per level."
        raise ValueError(sentence("levels", "must list two values with binary = true", list(levels), remedy))
    missing = table.get("missing")
    if missing is not None:
        missing = _level("missing", missing)
        if missing == INDICATOR and INDICATOR in levels:
            raise ValueError(sentence("missing", f'must not be ambiguous: "{INDICATOR}" is a level too', missing))
        if missing != INDICATOR and (
            missing not in levels or isinstance(missing, str) is not isinstance(levels[0], str)
        ):
            raise ValueError(sentence("missing", f'must be one of the levels, or "{INDICATOR}"', missing))
    return Levels(levels, kind, missing)


def _flag(table: Mapping[str, Any], key: str) -> bool:
    value = table.get(key, False)
    if not isinstance(value, bool):
        raise TypeError(sentence(key, "must be true or false", value))
    return value


def _level(key: str, value: Any) -> Level:
    value = value.item() if isinstance(value, np.generic) else value
    if isinstance(value, str):
        if not _is_unicode(value):
            raise ValueError(sentence(key, "must hold text that UTF-8 can write", value))
        return value
    if not isinstance(value, (bool, int, float)):
        raise TypeError(sentence(key, "must hold text, numbers or booleans", value, "Dates and the rest: as text."))
    if isinstance(value, int) and abs(value) > _EXACT_INTEGER:
        raise ValueError(sentence(key, "must hold integers of at most 2^53", value, "Write codes as text."))
    if not math.isfinite(value):
        raise ValueError(sentence(key, "must be finite", value, "Missing values have a key of their own: `missing`."))
    return value


def _is_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _plain(value: Any) -> Any:
    """Numpy booleans and Python booleans are fine as bounds of a pair."""
    return int(value) if isinstance(value, (bool, np.bool_)) else value
