"""Reading and writing what is publicly known of one column."""

from __future__ import annotations

import difflib
import math
from collections.abc import Callable, Collection, Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from dplr._kit.validation import describe, is_listed, real_number, sentence
from dplr.bounds.curves import FEWEST_KNOTS, MOST_KNOTS, Curve
from dplr.bounds.kinds import (
    EXACT_INTEGER,
    INDICATOR,
    TRANSFORMS,
    Bins,
    Column,
    Level,
    Levels,
    Numeric,
    Pair,
    middle,
    short,
)

__all__ = [
    "INDICATOR", "TRANSFORMS", "Bins", "Column", "Curve", "Level", "Levels", "Numeric", "Pair", "check_keys", "middle",
    "read_column", "read_levels", "read_number", "read_pair", "write_column",
]  # fmt: skip

MOST_LEVELS = 4096
_LEVEL_KEYS = ("levels", "binary", "ordinal", "merge", "reference", "missing", "least_share")
_MERGE = 'Such as {"other": ["Aleut", "Eskimo"]}.'
_KNOTS = "Such as 8, or [30, 45, 60]: the bounds are knots too."
_CONSTANT = "A constant column carries no information: drop it."
# What a lower bound must be for the transform to exist there, and why.
_EXISTS: dict[str, tuple[Callable[[float], bool], str, str]] = {
    "log1p": (lambda lower: lower > -1, "above -1", "log(1 + x) ends there."),
    "log": (lambda lower: lower > 0, "above 0", "log(x) ends there: take log1p where 0 occurs."),
    "sqrt": (lambda lower: lower >= 0, "at least 0", "The root ends there."),
}


def read_column(what: str, value: Any) -> Column:
    """The column that a pair or a mapping describes; `what` names it in errors."""
    if not isinstance(value, Mapping):
        return Numeric(*read_pair(what, value), flag=_is_flag(*value))
    try:
        if "levels" in value:
            check_keys(value, _LEVEL_KEYS)
            return _levels(value)
        if "bins" in value:
            check_keys(value, ("lower", "upper", "bins", "reference", "missing"))
            return _bins(value)
        if "knots" in value:
            check_keys(value, ("lower", "upper", "transform", "knots", "line", "missing"))
            return _curve(value)
        check_keys(value, ("lower", "upper", "transform", "missing"), {"levels", "bins", "knots"})
        return _numeric(value)
    except (ValueError, TypeError) as error:
        raise type(error)(f"{what[:1].upper()}{what[1:]}: {error}") from None


def write_column(column: Column) -> dict[str, Any]:
    """The mapping that `read_column` reads back."""
    if isinstance(column, Numeric):
        lower, upper = (0, 1) if column.flag else (column.lower, column.upper)
        written: dict[str, Any] = {"lower": lower, "upper": upper}
        if column.transform != "clip":
            written["transform"] = column.transform
        if isinstance(column, Curve):
            written["knots"] = column.knots if isinstance(column.knots, int) else list(column.knots)
            written |= {} if column.line else {"line": False}
        reference: Level | None = None
    elif isinstance(column, Bins):
        written = {"lower": column.lower, "upper": column.upper, "bins": list(column.edges)}
        reference = column.reference
    else:
        written = {"levels": list(column.values)}
        pairs = zip(column.levels, column.spellings, strict=False)
        if merge := {str(level): list(entries) for level, entries in pairs if entries != (level,)}:
            written["merge"] = merge
        if column.least_share is not None:
            written["least_share"] = column.least_share
        if column.kind != "one_hot":
            written[column.kind] = True
        reference = column.reference
    if reference is not None:
        written["reference"] = reference
    return written if column.missing is None else {**written, "missing": column.missing}


def read_pair(what: str, pair: Any) -> Pair:
    """(lower, upper) as finite numbers."""
    listed = is_listed(pair)
    text = listed and any(isinstance(value, str) for value in pair)
    remedy = f'For text list its levels: {{"levels": {describe(np.asarray(pair).tolist())}}}.' if text else ""
    if not listed or len(pair) != 2:
        raise ValueError(sentence("bounds", f"must be a pair (lower, upper) for {what}", pair, remedy))
    low, high = (real_number(f"bounds of {what}", _plain(value), remedy) for value in pair)
    if not (math.isfinite(low) and math.isfinite(high) and math.isfinite(high - low)):
        raise ValueError(sentence("bounds", f"must be finite for {what}", (low, high)))
    if not low < high:
        remedy = _CONSTANT if low == high else f"The lower bound comes first: ({short(high)}, {short(low)})."
        raise ValueError(sentence("bounds", f"must have lower < upper for {what}", (low, high), remedy))
    return low, high


def read_levels(key: str, value: Any, least: int = 2) -> tuple[Level, ...]:
    """Different levels of one type: text, or numbers."""
    if not is_listed(value):
        raise TypeError(sentence(key, "must be a list", value, 'Such as ["no", "yes"].'))
    levels = tuple(_level(key, level) for level in value[: MOST_LEVELS + 1])
    if len(levels) < least:
        remedy = "Of fewer nothing can be learnt: drop the column, or list what else the codebook has."
        raise ValueError(sentence(key, f"must list at least {least} different values", list(levels), remedy))
    if len(levels) > MOST_LEVELS:
        raise ValueError(sentence(key, f"must list at most {MOST_LEVELS} values", f"{len(value)} values"))
    if len({isinstance(level, str) for level in levels}) > 1:
        raise TypeError(sentence(key, "must be all text, or all numbers", list(levels), "Quote all of them, or none."))
    entries: set[Level] = set()
    for level in levels:
        if level in entries:
            raise ValueError(sentence(key, "must list every value once", level, "Drop the second one."))
        entries.add(level)
    return levels


def read_number(key: str, value: Any) -> float:
    """A finite number that is not a boolean."""
    number = real_number(key, value, "Write it without quotes.")
    if not math.isfinite(number):
        raise ValueError(sentence(key, "must be finite", number, "Take the largest value that the codebook allows."))
    return number


def check_keys(table: Mapping[Any, Any], keys: Collection[str], relatives: Collection[str] = ()) -> None:
    """Refuse keys that nobody would read: a misspelt one would silently be the default."""
    for key in table:
        if key not in keys:
            close = difflib.get_close_matches(str(key), [*keys, *relatives], 1)
            remedy = f"Did you mean `{close[0]}`?" if close else "Remove it."
            raise ValueError(sentence(str(key)[:40], f"is unknown; known are {', '.join(keys)}", key, remedy))


def _numeric(table: Mapping[str, Any]) -> Numeric:
    lower, upper = _ends(table)
    transform = table.get("transform", "clip")
    if transform not in TRANSFORMS:
        raise ValueError(sentence("transform", f"must be one of {', '.join(TRANSFORMS)}", transform))
    if transform != "clip":
        exists, where, why = _EXISTS[transform]
        if not exists(lower):
            raise ValueError(sentence("lower", f'must be {where} with transform = "{transform}"', lower, why))
    flag = transform == "clip" and _is_flag(table["lower"], table["upper"])
    column = Numeric(lower, upper, transform, _missing_number(table, lower, upper), flag=flag)
    if not column.range[0] < column.range[1]:
        raise ValueError(sentence("upper", "must stay above lower after the transform", (lower, upper)))
    return column


def _curve(table: Mapping[str, Any]) -> Curve:
    number = _numeric({key: value for key, value in table.items() if key not in ("knots", "line")})
    knots, line = table["knots"], _flag(table, "line", default=True)
    if isinstance(knots, (Sequence, np.ndarray)) and not isinstance(knots, (str, bytes)):
        if not 1 <= len(knots) <= MOST_KNOTS - 2:
            rule = f"must list 1 to {MOST_KNOTS - 2} knots between the bounds"
            raise ValueError(sentence("knots", rule, f"{len(knots)} knots", _KNOTS))
        knots = _increasing("knots", knots, number.lower, number.upper)
    else:
        knots = _unboxed(knots)
        if isinstance(knots, bool) or not isinstance(knots, int):
            raise TypeError(sentence("knots", "must be a whole number, or a list of numbers", knots, _KNOTS))
        if not FEWEST_KNOTS <= knots <= MOST_KNOTS:
            rule = f"must be from {FEWEST_KNOTS} to {MOST_KNOTS}, both bounds among them"
            raise ValueError(sentence("knots", rule, knots, "Two knots are a line: declare no knots for one."))
    curve = Curve(number.lower, number.upper, number.transform, number.missing, knots, line)
    if not all(low < high for low, high in pairwise(curve.places)):
        raise ValueError(sentence("knots", "must be apart on the scale of the transform", table["knots"], _KNOTS))
    return curve


def _bins(table: Mapping[str, Any]) -> Bins:
    lower, upper = _ends(table)
    cuts = table["bins"]
    if isinstance(cuts, (str, bytes, Mapping)) or not isinstance(cuts, (Sequence, np.ndarray)):
        raise TypeError(sentence("bins", "must be a list of the edges between bins", cuts, "Such as [18, 30, 45]."))
    if not 1 <= len(cuts) < MOST_LEVELS:
        rule = f"must list 1 to {MOST_LEVELS - 1} edges between bins"
        raise ValueError(sentence("bins", rule, f"{len(cuts)} edges", "Declare a number without bins, or cut it."))
    edges = _increasing("bins", cuts, lower, upper)
    reference = table.get("reference")
    if reference is not None:
        reference = _number_within("reference", reference, lower, upper, "")
    return Bins(lower, upper, edges, _missing_number(table, lower, upper), reference)


def _increasing(key: str, values: Sequence[Any] | np.ndarray, lower: float, upper: float) -> tuple[float, ...]:
    """Numbers that increase inside the bounds."""
    numbers = tuple(read_number(key, _unboxed(value)) for value in values)
    for low, high in pairwise((lower, *numbers, upper)):
        if not low < high:
            rule = f"must increase, inside lower = {lower:g} and upper = {upper:g}"
            raise ValueError(sentence(key, rule, list(numbers), f"{short(low)} is followed by {short(high)}."))
    return numbers


def _ends(table: Mapping[str, Any]) -> Pair:
    """Bounds that are a finite distance apart."""
    for key in ("lower", "upper"):
        if key not in table:
            raise ValueError(sentence(key, "is required", list(table), "Give lower and upper, or levels."))
    lower, upper = read_number("lower", table["lower"]), read_number("upper", table["upper"])
    if not lower < upper:
        remedy = _CONSTANT if lower == upper else "Exchange the two."
        raise ValueError(sentence("upper", f"must be above lower = {lower:g}", upper, remedy))
    if not math.isfinite(upper - lower):
        raise ValueError(sentence("upper", "must be a finite distance above lower", upper, "Use larger units."))
    return lower, upper


def _missing_number(table: Mapping[str, Any], lower: float, upper: float) -> float | str | None:
    missing = table.get("missing")
    if missing is None or missing == INDICATOR:
        return missing
    return _number_within("missing", missing, lower, upper, f' or "{INDICATOR}"')


def _number_within(key: str, value: Any, lower: float, upper: float, suffix: str) -> float:
    rule = f"must be a number in [{lower:g}, {upper:g}]{suffix}"
    if isinstance(value, str):
        raise ValueError(sentence(key, rule, value))
    number = read_number(key, value)
    if not lower <= number <= upper:
        raise ValueError(sentence(key, rule, number))
    return number


def _levels(table: Mapping[str, Any]) -> Levels:
    values = read_levels("levels", table["levels"])
    levels, spellings = _merged(values, table.get("merge"))
    flags = [key for key in ("binary", "ordinal") if _flag(table, key)]
    if len(flags) > 1:
        raise ValueError(sentence("binary", "must not stand beside ordinal", flags, "Keep one of them."))
    kind = flags[0] if flags else "one_hot"
    if kind == "binary" and len(levels) != 2:
        remedy = "Use ordinal, or neither for one column per level."
        raise ValueError(sentence("levels", "must list two values with binary = true", list(levels), remedy))
    if kind == "ordinal":
        _check_adjacent(values, spellings)
    names = {(isinstance(value, str), value): level
             for level, entries in zip(levels, spellings or [(level,) for level in levels], strict=True)
             for value in (*entries, level)}  # fmt: skip
    missing, reference = table.get("missing"), table.get("reference")
    if missing is not None:
        missing = _level("missing", missing)
        if missing == INDICATOR and (True, INDICATOR) in names:
            raise ValueError(sentence("missing", f'must not be ambiguous: "{INDICATOR}" is a level too', missing))
        if missing != INDICATOR:
            missing = _level_among("missing", missing, names, f', or "{INDICATOR}"')
    if reference is not None:
        if kind != "one_hot":
            remedy = "One number stands for all levels already: remove it."
            raise ValueError(sentence("reference", f"must not stand beside {kind}", reference, remedy))
        reference = _level_among("reference", _level("reference", reference), names)
    return Levels(levels, kind, missing, reference, spellings, _least_share(table, len(values)))


def _merged(values: tuple[Level, ...], merge: Any) -> tuple[tuple[Level, ...], tuple[tuple[Level, ...], ...]]:
    """The levels of the model in the order of their first values, and the values of each; none where nothing merges."""
    if merge is None:
        return values, ()
    if not isinstance(merge, Mapping) or not merge:
        raise TypeError(
            sentence("merge", "must be a table of names and the levels that each stands for", merge, _MERGE)
        )
    owners: dict[Level, str] = {}
    for name, listed in merge.items():
        group = _level("merge", name)
        if not isinstance(group, str) or not group:
            raise TypeError(sentence("merge", "must have text as names", name, _MERGE))
        for value in read_levels(f"merge.{group}", listed, 1):
            if value not in values or isinstance(value, str) is not isinstance(values[0], str):
                raise ValueError(sentence(f"merge.{group}", "must list declared levels", value, "Add it to levels."))
            if value in owners:
                rule = f"must not list a level of {owners[value]}"
                raise ValueError(sentence(f"merge.{group}", rule, value, "A level is merged once."))
            owners[value] = group
    clash = [value for value in values if str(value) in merge and owners.get(value) != str(value)]
    if clash:
        remedy = "List it among those that are merged, or take another name."
        raise ValueError(sentence("merge", "must not give a name that another level has", clash[0], remedy))
    groups: dict[Level, list[Level]] = {}
    for value in values:
        groups.setdefault(owners.get(value, value), []).append(value)
    if len(groups) < 2:
        raise ValueError(sentence("merge", "must leave at least 2 levels", list(groups), "Merge fewer of them."))
    return tuple(groups), tuple(map(tuple, groups.values()))


def _check_adjacent(values: tuple[Level, ...], spellings: tuple[tuple[Level, ...], ...]) -> None:
    """Refuse levels that are merged across one between them."""
    for entries in spellings:
        places = [values.index(value) for value in entries]
        if places[-1] - places[0] >= len(places):
            remedy = "Levels in an order are merged with their neighbours."
            raise ValueError(sentence("merge", "must list neighbours with ordinal = true", list(entries), remedy))


def _least_share(table: Mapping[str, Any], count: int) -> float | None:
    share = table.get("least_share")
    if share is None:
        return None
    number = read_number("least_share", share)
    if not 0 < number <= 1 / count:
        remedy = f"The shares of {count} levels add up to 1."
        raise ValueError(sentence("least_share", f"must be above 0 and at most {1 / count:.3g}", share, remedy))
    return number


def _level_among(key: str, value: Level, names: Mapping[tuple[bool, Level], Level], suffix: str = "") -> Level:
    """The level that a value is, or is called."""
    level = names.get((isinstance(value, str), value))
    if level is None:
        raise ValueError(sentence(key, f"must be one of the levels{suffix}", value))
    return level


def _flag(table: Mapping[str, Any], key: str, default: bool = False) -> bool:
    value = table.get(key, default)
    if not isinstance(value, bool):
        raise TypeError(sentence(key, "must be true or false", value))
    return value


def _level(key: str, value: Any) -> Level:
    value = _unboxed(value)
    if isinstance(value, str):
        if not _is_unicode(value):
            raise ValueError(sentence(key, "must hold text that UTF-8 can write", value))
        return value
    if not isinstance(value, (bool, int, float)):
        raise TypeError(sentence(key, "must hold text, numbers or booleans", value, "Dates and the rest: as text."))
    if isinstance(value, int) and abs(value) > EXACT_INTEGER:
        raise ValueError(sentence(key, "must hold integers of at most 2^53", value, "Write codes as text."))
    if not math.isfinite(value):
        raise ValueError(sentence(key, "must be finite", value, "Missing values have a key of their own: `missing`."))
    return value


def _unboxed(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value


def _is_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _is_flag(lower: Any, upper: Any) -> bool:
    """Whether bounds are those of a flag: no and yes, or the whole numbers 0 and 1. A rate has 0.0 and 1.0."""
    return all(isinstance(end, (int, np.integer, np.bool_)) for end in (lower, upper)) and (lower, upper) == (0, 1)


def _plain(value: Any) -> Any:
    """Numpy booleans and Python booleans are fine as bounds of a pair."""
    return int(value) if isinstance(value, (bool, np.bool_)) else value
