"""What is publicly known of one column: a number, a curve, bins or levels; what the model has of it; how it is written.

Proofs: layout.md.
"""

from __future__ import annotations

import difflib
import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import pairwise
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dplr._kit.validation import capital, describe, is_listed, real_number, sentence

Matrix = NDArray[np.float64]
Pair = tuple[float, float]
Level = str | int | float | bool

INDICATOR = "indicator"
CONSTANT = "(intercept)"  # the name of its coefficient
MOST_LEVELS = 4096
FEWEST_KNOTS, MOST_KNOTS = 3, 256
_EXACT_INTEGER = 2**53  # what is larger has no float64 of its own
_LEAST_DIGITS = 4  # of a knot in a name
_MERGE = 'Such as {"other": ["Aleut", "Eskimo"]}.'
_KNOTS = "Such as 8, or [30, 45, 60]: the bounds are knots too."
_UNVARIED = "A constant column carries no information: drop it."


class Transform(NamedTuple):
    """A function of a number. Ends are taken with `of`, as a number; values of rows with `of_many`.

    Attributes
    ----------
    back : to the user's units.
    exists, where, why : what a lower bound must be for the function to exist there.
    """

    of: Callable[[float], float]
    of_many: Callable[[Matrix], Matrix]
    back: Callable[[float], float]
    exists: Callable[[float], bool]
    where: str = ""
    why: str = ""


def _same(value: Any) -> Any:
    return value


TRANSFORMS = {
    "clip": Transform(_same, _same, _same, lambda lower: True),
    "log1p": Transform(
        math.log1p, np.log1p, math.expm1, lambda lower: lower > -1, "above -1", "log(1 + x) ends there."
    ),
    "log": Transform(
        math.log, np.log, math.exp, lambda lower: lower > 0, "above 0", "log(x) ends there: take log1p where 0 occurs."
    ),
    "sqrt": Transform(
        math.sqrt, np.sqrt, lambda root: root * root, lambda lower: lower >= 0, "at least 0", "The root ends there."
    ),
}


class _Declared:
    """What the model has of a column: a number, or columns for levels, bins or knots, and a mark behind them.

    Attributes
    ----------
    number : the range of the column that holds a number; None where levels or bins have columns of their own.
    block : how many columns come behind it, of which at most one is not zero; of shares of knots at most two are not.
    marked : 1 where a missing value has a column of its own; else 0.
    left_out : the place of what has no column: the reference, or the first of two levels.
    places : of levels and bins the column of each, counted from the first, and -1 for the reference.
    """

    __slots__ = ()
    missing: Any

    @property
    def marked(self) -> int:
        return int(self.missing == INDICATOR)

    @property
    def left_out(self) -> int | None:
        return None

    def _all_names(self, name: str) -> list[str]:
        raise NotImplementedError

    def names(self, name: str) -> list[str]:
        columns, left_out = self._all_names(name), self.left_out
        if left_out is not None:
            del columns[left_out]
        return [*columns, f"{name} is missing"] if self.marked else columns

    def unnamed(self, name: str) -> list[str]:
        """The name in that form of what has no column."""
        return [] if self.left_out is None else [self._all_names(name)[self.left_out]]


@dataclass(frozen=True, slots=True)
class Numeric(_Declared):
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
        function = TRANSFORMS[self.transform].of
        return function(self.lower), function(self.upper)

    @property
    def block(self) -> int:
        return self.marked

    @property
    def number(self) -> Pair | None:
        return self.range

    @property
    def plain(self) -> bool:
        """Whether the model has the value as it stands, and nothing beside it."""
        return type(self) is Numeric and self.transform == "clip" and self.missing is None

    @property
    def quantity(self) -> bool:
        """Whether the model has a column that measures something.

        A function of what is declared, so that a plan and a fit agree, and no value or type of a table says it.
        """
        return not self.flag and self.number is not None

    @property
    def filler(self) -> float:
        """The number of a missing value on the scale of the transform: NaN where it is refused."""
        if isinstance(self.missing, str):
            return middle(self.range)
        return math.nan if self.missing is None else float(self.transformed(np.array([self.missing]))[0])

    def transformed(self, values: Matrix) -> Matrix:
        """On the scale of the model. Below the lower bound the transform goes on as a line, so that it exists."""
        if self.transform == "clip":
            return values
        below = np.minimum(values - self.lower, 0.0)  # 0 inside, minus infinity stays what it is, so does NaN
        return TRANSFORMS[self.transform].of_many(np.maximum(values, self.lower)) + below

    def _all_names(self, name: str) -> list[str]:
        return [name if self.transform == "clip" else f"{self.transform}({name})"]

    def __str__(self) -> str:
        scale = "" if self.transform == "clip" else f" (on the scale of {self.transform})"
        return f"in [{short(self.lower)}, {short(self.upper)}]{scale}"


@dataclass(frozen=True, slots=True)
class Curve(Numeric):
    """A number between public bounds, and a column for each knot: the share of the knot in a value.

    Between two knots the shares of both add up to 1 and change as a line; all others are 0. So a linear model of the
    shares is a function of the number that bends at the knots alone.

    Attributes
    ----------
    knots : how many, evenly from one bound to the other on the scale of the transform; or those between the bounds,
        increasing, in the user's units: the bounds are knots too.
    line : whether the number has a column of its own beside the knots.
    """

    knots: int | tuple[float, ...] = 8
    line: bool = True
    kind: ClassVar[str] = "curve"

    @property
    def block(self) -> int:
        return len(self.places) + self.marked

    @property
    def number(self) -> Pair | None:
        return self.range if self.line else None

    @property
    def straight(self) -> Numeric:
        """The number without knots."""
        return Numeric(self.lower, self.upper, self.transform, self.missing)

    @property
    def places(self) -> tuple[float, ...]:
        """The knots on the scale of the transform, both bounds among them, increasing."""
        return _knots_of(self)[0]

    @property
    def knot_values(self) -> tuple[float, ...]:
        """The knots in the user's units, both bounds among them, increasing."""
        return _knots_of(self)[1]

    def shares(self, values: Matrix) -> Matrix:
        """(n, knots) Shares of the knots in numbers on the scale of the transform, clipped to the bounds.

        A number that is not finite has a share in no knot.
        """
        places, shares = np.array(self.places), np.zeros((len(values), len(self.places)))
        rows = np.flatnonzero(np.isfinite(values))
        inside = np.clip(values[rows], places[0], places[-1])
        lower = np.minimum(np.searchsorted(places, inside, side="right"), len(places) - 1) - 1
        share = (inside - places[lower]) / (places[lower + 1] - places[lower])
        shares[rows, lower], shares[rows, lower + 1] = 1.0 - share, share
        return shares

    def _all_names(self, name: str) -> list[str]:
        line = [f"{self.straight._all_names(name)[0]} (line)"] if self.line else []
        return [*line, *(f"{name} at {label}" for label in labels_of(self.knot_values))]

    def __str__(self) -> str:
        listed = f"{self.knots} even" if isinstance(self.knots, int) else ", ".join(map(short, self.knot_values))
        return f"{self.straight}, knots: {listed}" + ("" if self.line else ", without a line")


@dataclass(frozen=True, slots=True)
class Bins(_Declared):
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
    def left_out(self) -> int | None:
        return None if self.reference is None else self.bin_of(self.reference)

    @property
    def places(self) -> tuple[int, ...]:
        return _places(len(self.edges) + 1, self.left_out)

    @property
    def block(self) -> int:
        return len(self.edges) + (self.reference is None) + self.marked

    def bin_of(self, value: float) -> int:
        return int(self.bins_of(np.array([value]))[0])

    def bins_of(self, values: Matrix) -> NDArray[np.intp]:
        """The bin of each number that is not NaN."""
        return np.searchsorted(self.edges, values, side="right")

    def _all_names(self, name: str) -> list[str]:
        return [f"{name} in {label}" for label in self.labels]

    def __str__(self) -> str:
        bins = ", ".join(self.labels)
        if self.left_out is None:
            return f"in {bins}"
        return f"in {bins} (the reference, without a column: {self.labels[self.left_out]})"


@dataclass(frozen=True, slots=True)
class Levels(_Declared):
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
    def entries(self) -> tuple[tuple[Level, ...], ...]:
        """The values of a table that are each level."""
        return self.spellings or tuple((level,) for level in self.levels)

    @property
    def values(self) -> tuple[Level, ...]:
        """The values of a table that are levels, of one type: codes of rows are places among them."""
        return tuple(value for entries in self.spellings for value in entries) if self.spellings else self.levels

    @property
    def positions(self) -> tuple[int, ...]:
        """The level of each value, counted from 0."""
        return tuple(place for place, entries in enumerate(self.entries) for _ in entries)

    @property
    def value_places(self) -> tuple[int, ...]:
        """The column of each value, as `places` has that of each level."""
        return tuple(np.array(self.places)[list(self.positions)].tolist())

    @property
    def text(self) -> bool:
        return isinstance(self.values[0], str)

    @property
    def number(self) -> Pair | None:
        return None if self.kind == "one_hot" else (0.0, len(self.levels) - 1.0)

    @property
    def block(self) -> int:
        return (len(self.levels) - (self.reference is not None) if self.kind == "one_hot" else 0) + self.marked

    @property
    def left_out(self) -> int | None:
        if self.kind == "binary":
            return 0
        return None if self.reference is None else self.levels.index(self.reference)

    @property
    def places(self) -> tuple[int, ...]:
        return _places(len(self.levels), self.left_out)

    def code_of(self, level: Level) -> int:
        """The place of the first value of a level."""
        return self.positions.index(self.levels.index(level))

    def _all_names(self, name: str) -> list[str]:
        return [name] if self.kind == "ordinal" else [f"{name}={level}" for level in self.levels]

    def __str__(self) -> str:
        listed = ", ".join(
            str(level) if entries == (level,) else f"{level} ({', '.join(map(str, entries))})"
            for level, entries in zip(self.levels, self.entries, strict=True)
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
    return str(int(value)) if value.is_integer() and abs(value) < _EXACT_INTEGER else repr(value)


def labels_of(values: tuple[float, ...]) -> list[str]:
    """Numbers in as few digits as tell them apart, at least four."""
    for digits in range(_LEAST_DIGITS, 17):
        labels = [f"{value:.{digits}g}" for value in values]
        if len(set(labels)) == len(labels):
            return [short(float(label)) if abs(float(label)) < 1e15 else label for label in labels]
    return [repr(value) for value in values]


def _places(count: int, left_out: int | None) -> tuple[int, ...]:
    """Columns of that many levels or bins in their order, without the one that is left out."""
    if left_out is None:
        return tuple(range(count))
    return (*range(left_out), -1, *range(left_out, count - 1))


@lru_cache(maxsize=4096)
def _knots_of(curve: Curve) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """All knots on the scale of the transform, and in the user's units."""
    (low, high), knots, transform = curve.range, curve.knots, TRANSFORMS[curve.transform]
    if isinstance(knots, int):
        inner = tuple(low + (high - low) * (j / (knots - 1)) for j in range(1, knots - 1))
        knots = tuple(map(transform.back, inner))
    else:
        inner = tuple(map(transform.of, knots))
    return (low, *inner, high), (curve.lower, *knots, curve.upper)


def require(holds: bool, parameter: str, rule: str, got: object, remedy: str = "", error: Any = ValueError) -> None:
    """Refuse what does not keep a rule, in the sentence of all refusals."""
    if not holds:
        raise error(sentence(parameter, rule, got, remedy))


def read_column(what: str, value: Any) -> Column:
    """The column that a pair or a mapping describes; `what` names it in errors."""
    if not isinstance(value, Mapping):
        return Numeric(*read_pair(what, value), flag=_is_flag(*value))
    kind = next((key for key in ("levels", "bins", "knots") if key in value), "lower")
    keys, read = _KINDS[kind]
    try:
        check_keys(value, keys, _KINDS if kind == "lower" else ())
        return read(value)
    except (ValueError, TypeError) as error:
        raise type(error)(f"{capital(what)}: {error}") from None


def write_column(column: Column) -> dict[str, Any]:
    """The mapping that `read_column` reads back."""
    written: dict[str, Any]
    if isinstance(column, Levels):
        pairs = zip(column.levels, column.entries, strict=True)
        written = {
            "levels": list(column.values),
            "merge": {str(level): list(entries) for level, entries in pairs if entries != (level,)} or None,
            "least_share": column.least_share,
            column.kind: None if column.kind == "one_hot" else True,
            "reference": column.reference,
        }
    elif isinstance(column, Bins):
        written = {"lower": column.lower, "upper": column.upper, "bins": list(column.edges)}
        written["reference"] = column.reference
    else:
        lower, upper = (0, 1) if column.flag else (column.lower, column.upper)
        written = {
            "lower": lower,
            "upper": upper,
            "transform": None if column.transform == "clip" else column.transform,
        }
        if isinstance(column, Curve):
            written["knots"] = column.knots if isinstance(column.knots, int) else list(column.knots)
            written["line"] = None if column.line else False
    return {key: value for key, value in (written | {"missing": column.missing}).items() if value is not None}


def read_pair(what: str, pair: Any) -> Pair:
    """(lower, upper) as finite numbers."""
    listed = is_listed(pair)
    text = listed and any(isinstance(value, str) for value in pair)
    remedy = f'For text list its levels: {{"levels": {describe(np.asarray(pair).tolist())}}}.' if text else ""
    require(listed and len(pair) == 2, "bounds", f"must be a pair (lower, upper) for {what}", pair, remedy)
    plain = [int(value) if isinstance(value, (bool, np.bool_)) else value for value in pair]
    low, high = [real_number(f"bounds of {what}", value, remedy) for value in plain]
    if -math.inf < low < high < math.inf and high - low < math.inf:
        return low, high
    require(math.isfinite(high - low), "bounds", f"must be finite for {what}", (low, high))
    remedy = _UNVARIED if low == high else f"The lower bound comes first: ({short(high)}, {short(low)})."
    raise ValueError(sentence("bounds", f"must have lower < upper for {what}", (low, high), remedy))


def read_levels(key: str, value: Any, least: int = 2) -> tuple[Level, ...]:
    """Different levels of one type: text, or numbers."""
    require(is_listed(value), key, "must be a list", value, 'Such as ["no", "yes"].', TypeError)
    levels = tuple(_level(key, level) for level in value[: MOST_LEVELS + 1])
    remedy = "Of fewer nothing can be learnt: drop the column, or list what else the codebook has."
    require(len(levels) >= least, key, f"must list at least {least} different values", list(levels), remedy)
    require(len(levels) <= MOST_LEVELS, key, f"must list at most {MOST_LEVELS} values", f"{len(value)} values")
    alike, remedy = len({isinstance(level, str) for level in levels}) == 1, "Quote all of them, or none."
    require(alike, key, "must be all text, or all numbers", list(levels), remedy, TypeError)
    seen: set[Level] = set()
    for level in levels:
        require(level not in seen, key, "must list every value once", level, "Drop the second one.")
        seen.add(level)
    return levels


def read_number(key: str, value: Any) -> float:
    """A finite number that is not a boolean."""
    number = real_number(key, value, "Write it without quotes.")
    require(math.isfinite(number), key, "must be finite", number, "Take the largest value that the codebook allows.")
    return number


def check_text(parameter: str, text: str, verb: str = "be text") -> None:
    """Refuse half of a pair of surrogates, which no file can hold."""
    writable = text.encode(errors="ignore").decode() == text
    require(writable, parameter, f"must {verb} that UTF-8 can write", text)


def check_keys(table: Mapping[Any, Any], keys: Collection[str], relatives: Collection[str] = ()) -> None:
    """Refuse keys that nobody would read: a misspelt one would silently be the default."""
    for key in table:
        if key not in keys:
            close = difflib.get_close_matches(str(key), [*keys, *relatives], 1)
            remedy = f"Did you mean `{close[0]}`?" if close else "Remove it."
            require(False, str(key)[:40], f"is unknown; known are {', '.join(keys)}", key, remedy)


def _numeric(table: Mapping[str, Any]) -> Numeric:
    lower, upper = _ends(table)
    transform = table.get("transform", "clip")
    require(transform in tuple(TRANSFORMS), "transform", f"must be one of {', '.join(TRANSFORMS)}", transform)
    function = TRANSFORMS[transform]
    rule = f'must be {function.where} with transform = "{transform}"'
    require(function.exists(lower), "lower", rule, lower, function.why)
    flag = transform == "clip" and _is_flag(table["lower"], table["upper"])
    column = Numeric(lower, upper, transform, _missing_number(table, lower, upper), flag=flag)
    low, high = column.range
    require(low < high, "upper", "must stay above lower after the transform", (lower, upper))
    return column


def _curve(table: Mapping[str, Any]) -> Curve:
    number = _numeric({key: value for key, value in table.items() if key not in ("knots", "line")})
    knots, line = table["knots"], _flag(table, "line", default=True)
    if is_listed(knots):
        rule = f"must list 1 to {MOST_KNOTS - 2} knots between the bounds"
        require(1 <= len(knots) <= MOST_KNOTS - 2, "knots", rule, f"{len(knots)} knots", _KNOTS)
        knots = _increasing("knots", knots, number.lower, number.upper)
    else:
        knots = _unboxed(knots)
        whole = isinstance(knots, int) and not isinstance(knots, bool)
        require(whole, "knots", "must be a whole number, or a list of numbers", knots, _KNOTS, TypeError)
        rule = f"must be from {FEWEST_KNOTS} to {MOST_KNOTS}, both bounds among them"
        few, remedy = FEWEST_KNOTS <= knots <= MOST_KNOTS, "Two knots are a line: declare no knots for one."
        require(few, "knots", rule, knots, remedy)
    curve = Curve(number.lower, number.upper, number.transform, number.missing, knots, line)
    apart = all(low < high for low, high in pairwise(curve.places))
    require(apart, "knots", "must be apart on the scale of the transform", table["knots"], _KNOTS)
    return curve


def _bins(table: Mapping[str, Any]) -> Bins:
    lower, upper = _ends(table)
    cuts, reference = table["bins"], table.get("reference")
    remedy = "Such as [18, 30, 45]."
    require(is_listed(cuts), "bins", "must be a list of the edges between bins", cuts, remedy, TypeError)
    rule, remedy = f"must list 1 to {MOST_LEVELS - 1} edges between bins", "Declare a number without bins, or cut it."
    require(1 <= len(cuts) < MOST_LEVELS, "bins", rule, f"{len(cuts)} edges", remedy)
    edges = _increasing("bins", cuts, lower, upper)
    if reference is not None:
        reference = _number_within("reference", reference, lower, upper)
    return Bins(lower, upper, edges, _missing_number(table, lower, upper), reference)


def _increasing(key: str, values: Sequence[Any], lower: float, upper: float) -> tuple[float, ...]:
    """Numbers that increase inside the bounds."""
    numbers = tuple(read_number(key, _unboxed(value)) for value in values)
    rule = f"must increase, inside lower = {lower:g} and upper = {upper:g}"
    for low, high in pairwise((lower, *numbers, upper)):
        require(low < high, key, rule, list(numbers), f"{short(low)} is followed by {short(high)}.")
    return numbers


def _ends(table: Mapping[str, Any]) -> Pair:
    """Bounds that are a finite distance apart."""
    for key in ("lower", "upper"):
        require(key in table, key, "is required", list(table), "Give lower and upper, or levels.")
    lower, upper = read_number("lower", table["lower"]), read_number("upper", table["upper"])
    remedy = _UNVARIED if lower == upper else "Exchange the two."
    require(lower < upper, "upper", f"must be above lower = {lower:g}", upper, remedy)
    apart = math.isfinite(upper - lower)
    require(apart, "upper", "must be a finite distance above lower", upper, "Use larger units.")
    return lower, upper


def _missing_number(table: Mapping[str, Any], lower: float, upper: float) -> float | str | None:
    missing = table.get("missing")
    if missing is None or missing == INDICATOR:
        return missing
    return _number_within("missing", missing, lower, upper, f' or "{INDICATOR}"')


def _number_within(key: str, value: Any, lower: float, upper: float, suffix: str = "") -> float:
    number: Any = value if isinstance(value, str) else read_number(key, value)
    within = not isinstance(number, str) and lower <= number <= upper
    require(within, key, f"must be a number in [{lower:g}, {upper:g}]{suffix}", number)
    return float(number)


def _levels(table: Mapping[str, Any]) -> Levels:
    values = read_levels("levels", table["levels"])
    levels, spellings = _merged(values, table.get("merge"))
    flags = [key for key in ("binary", "ordinal") if _flag(table, key)]
    require(len(flags) < 2, "binary", "must not stand beside ordinal", flags, "Keep one of them.")
    kind = flags[0] if flags else "one_hot"
    two, remedy = kind != "binary" or len(levels) == 2, "Use ordinal, or neither for one column per level."
    require(two, "levels", "must list two values with binary = true", list(levels), remedy)
    remedy = "Levels in an order are merged with their neighbours."
    for entries in spellings if kind == "ordinal" else ():
        places = [values.index(value) for value in entries]
        adjacent = places[-1] - places[0] < len(places)
        require(adjacent, "merge", "must list neighbours with ordinal = true", list(entries), remedy)
    column = Levels(levels, kind, None, None, spellings)
    missing, reference = table.get("missing"), table.get("reference")
    if missing is not None:
        missing = _level("missing", missing)
        clear = missing != INDICATOR or _named(column, INDICATOR) is None
        require(clear, "missing", f'must not be ambiguous: "{INDICATOR}" is a level too', missing)
        if missing != INDICATOR:
            missing = _level_among(column, "missing", missing, f', or "{INDICATOR}"')
    if reference is not None:
        remedy = "One number stands for all levels already: remove it."
        require(kind == "one_hot", "reference", f"must not stand beside {kind}", reference, remedy)
        reference = _level_among(column, "reference", _level("reference", reference))
    least_share = _least_share(table.get("least_share"), len(values))
    return replace(column, missing=missing, reference=reference, least_share=least_share)


def _merged(values: tuple[Level, ...], merge: Any) -> tuple[tuple[Level, ...], tuple[tuple[Level, ...], ...]]:
    """The levels of the model in the order of their first values, and the values of each; none where nothing merges."""
    if merge is None:
        return values, ()
    filled = isinstance(merge, Mapping) and len(merge) > 0
    require(filled, "merge", "must be a table of names and the levels that each stands for", merge, _MERGE, TypeError)
    owners: dict[Level, str] = {}
    for name, listed in merge.items():
        group: Any = _level("merge", name)
        require(isinstance(group, str) and group != "", "merge", "must have text as names", name, _MERGE, TypeError)
        key = f"merge.{group}"
        for value in read_levels(key, listed, 1):
            declared = value in values and isinstance(value, str) is isinstance(values[0], str)
            require(declared, key, "must list declared levels", value, "Add it to levels.")
            rule = f"must not list a level of {owners.get(value)}"
            require(value not in owners, key, rule, value, "A level is merged once.")
            owners[value] = group
    remedy = "List it among those that are merged, or take another name."
    for value in values:
        free = str(value) not in merge or owners.get(value) == str(value)
        require(free, "merge", "must not give a name that another level has", value, remedy)
    groups: dict[Level, list[Level]] = {}
    for value in values:
        groups.setdefault(owners.get(value, value), []).append(value)
    require(len(groups) > 1, "merge", "must leave at least 2 levels", list(groups), "Merge fewer of them.")
    return tuple(groups), tuple(map(tuple, groups.values()))


def _least_share(share: Any, count: int) -> float | None:
    if share is None:
        return None
    number, remedy = read_number("least_share", share), f"The shares of {count} levels add up to 1."
    require(0 < number <= 1 / count, "least_share", f"must be above 0 and at most {1 / count:.3g}", share, remedy)
    return number


def _named(column: Levels, value: Level) -> Level | None:
    """The level that a value of the same type is, or is called."""
    for level, entries in zip(column.levels, column.entries, strict=True):
        if any(value == entry and isinstance(value, str) is isinstance(entry, str) for entry in (*entries, level)):
            return level
    return None


def _level_among(column: Levels, key: str, value: Level, suffix: str = "") -> Level:
    level = _named(column, value)
    if level is None:
        raise ValueError(sentence(key, f"must be one of the levels{suffix}", value))
    return level


def _flag(table: Mapping[str, Any], key: str, default: bool = False) -> bool:
    value = table.get(key, default)
    require(isinstance(value, bool), key, "must be true or false", value, "", TypeError)
    return bool(value)


def _level(key: str, value: Any) -> Level:
    level: Level = _unboxed(value)
    if isinstance(level, str):
        check_text(key, level, "hold text")
        return level
    remedy = "Dates and the rest: as text."
    plain = isinstance(level, (bool, int, float))
    require(plain, key, "must hold text, numbers or booleans", level, remedy, TypeError)
    exact = not isinstance(level, int) or abs(level) <= _EXACT_INTEGER
    require(exact, key, "must hold integers of at most 2^53", level, "Write codes as text.")
    remedy = "Missing values have a key of their own: `missing`."
    require(math.isfinite(level), key, "must be finite", level, remedy)
    return level


def _unboxed(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value


def _is_flag(lower: Any, upper: Any) -> bool:
    """Whether bounds are those of a flag: no and yes, or the whole numbers 0 and 1. A rate has 0.0 and 1.0."""
    return all(isinstance(end, (int, np.integer, np.bool_)) for end in (lower, upper)) and (lower, upper) == (0, 1)


_KINDS: dict[str, tuple[tuple[str, ...], Callable[[Mapping[str, Any]], Column]]] = {
    "levels": (("levels", "binary", "ordinal", "merge", "reference", "missing", "least_share"), _levels),
    "bins": (("lower", "upper", "bins", "reference", "missing"), _bins),
    "knots": (("lower", "upper", "transform", "knots", "line", "missing"), _curve),
    "lower": (("lower", "upper", "transform", "missing"), _numeric),
}
