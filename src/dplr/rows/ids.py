"""Ids of persons from any library: one text for each value, which depends on no other value; a number for each text.

A whole number of any type is its decimal numeral: 12, 12.0, Decimal("12") and "12" are one id, and "012" is another. A
text is its own id, character by character; an empty text is not an id. A float is an id only below the size up to which
its type tells whole numbers apart, 2^53 for float64: different larger ids may have been rounded to one before.
"""

from __future__ import annotations

import decimal
import functools
import re
import sys
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from dplr._core import all_same, hash_integers, hash_texts, move_slots, number_rows
from dplr._kit.validation import sentence
from dplr.rows.tables.table import as_column
from dplr.rows.tables.values import is_arrow, is_arrow_dictionary

Integers = NDArray[np.int64]
Bytes = NDArray[np.uint8]
Gaps = NDArray[np.bool_]

# Reasons why a value is not an id, in the order in which errors name them: the first is code -1, the next one -2.
FAULTS = (
    "missing or empty",
    "a number with a fraction, or infinite",
    "a float too large to tell whole numbers apart, or a number of 300 digits or more",
    "neither text nor a number",
)
_MISSING, _FRACTION, _TOO_LARGE, _NO_ID = range(-1, -5, -1)
_MOST_DIGITS = 299  # Python refuses to write numbers of thousands
_LIMIT = 10**_MOST_DIGITS
_GAPS = ("NoneType", "NAType", "NaTType")
_AS_TEXT = "Read ids as text, such as with dtype=str."
_LEAST_SLOTS = 2**12
_GROWTH = 4
# Probes per row after which a pass is given up: with a table that is at most half full, other ids take two or three.
_PROBES = 16


@dataclass(frozen=True, eq=False, slots=True, repr=False)
class Ids:
    """The person of each row. It holds the ids: it must not be shown.

    Attributes
    ----------
    codes : (n,) number of each row's person, from 0 on in the order in which ids first appear; a negative one says why
        there is none.
    counts : (persons,) number of rows of each person.
    texts : returns the canonical id of each person.
    mixed : whether objects hold texts and numbers.
    """

    codes: Integers
    counts: Integers
    texts: Callable[[], list[str]]
    mixed: bool = False

    def __len__(self) -> int:
        return len(self.codes)

    @property
    def faults(self) -> dict[str, int]:
        """Reason why a row has no id -> number of such rows."""
        counts = np.bincount(-1 - self.codes[self.codes < 0])
        return {FAULTS[fault]: int(counts[fault]) for fault in np.flatnonzero(counts).tolist()}

    def of_persons(self, values: NDArray[Any]) -> NDArray[Any]:
        """(n,) the value (persons,) of each row's person; 0 for nobody."""
        return np.append(values, np.zeros(1, values.dtype))[np.maximum(self.codes, -1)]

    def spread(self, reasons: Integers) -> Ids:
        """These rows where the reason is 0, and nobody's elsewhere."""
        if not reasons.any():
            return self
        codes = reasons.astype(np.int64)
        codes[codes == 0] = self.codes
        return replace(self, codes=codes)


def read_ids(values: Any) -> Ids:
    """The ids of a column of any library, an array or a sequence; raises TypeError for its type alone."""
    arrow = sys.modules.get("pyarrow")
    if arrow is not None and isinstance(values, arrow.Array):
        values = arrow.chunked_array([values])
    column = as_column(values)
    if column is None:
        if not hasattr(values, "__array__"):
            raise _not_ids(type(values).__name__)
        column = np.asarray(values)
    if isinstance(column, nw.Series):
        return _of_series(column)
    return _of_array(column) if isinstance(column, np.ndarray) else _of_objects(list(column))


def refuse_faults(ids: Ids) -> None:
    """Raise for values that are not ids; no error shows one."""
    if ids.mixed:
        raise ValueError(
            "`person` must hold texts or whole numbers, not both; got a column of objects with texts and numbers. "
            f"Whoever guessed the types may have read '012' as 12. {_AS_TEXT}"
        )
    for fault, count in ids.faults.items():
        if fault == FAULTS[0]:
            raise ValueError(
                f"`person` must name a person in every row; got {count} of {len(ids)} rows with an id that is {fault}. "
                "Remove these rows, with rules that do not come from the private data."
            )
        raise ValueError(
            f"`person` must hold texts or whole numbers; got {count} of {len(ids)} rows with {fault}. {_AS_TEXT}"
        )


def _not_ids(kind: str) -> TypeError:
    return TypeError(sentence("person", "must hold texts or whole numbers, one for each row", kind, _AS_TEXT))


# ---- columns of any library ----


def _of_array(values: NDArray[Any]) -> Ids:
    if values.ndim != 1:
        raise ValueError(sentence("person", "must be one-dimensional", values.shape, "Give one id for each row."))
    gaps = np.ma.getmaskarray(values) if isinstance(values, np.ma.MaskedArray) else np.zeros(len(values), bool)
    plain, kind = np.asarray(values), values.dtype.kind
    if kind in "iu":
        return _of_integers(plain, gaps)
    if kind == "f":
        return _of_floats(plain, gaps)
    if kind == "U":
        return _of_fixed_widths(plain, gaps)
    if kind == "O":
        return _of_objects([None if gap else value for value, gap in zip(plain.tolist(), gaps.tolist(), strict=True)])
    raise _not_ids(plain.dtype.name)


def _of_series(series: nw.Series[Any]) -> Ids:
    kind = series.dtype
    if kind in (nw.Categorical, nw.Enum):
        return _of_categories(series)
    if kind == nw.String:
        return _of_texts(series)
    if kind.is_decimal() or kind in (nw.Int128, nw.UInt128, nw.Object):
        return _of_objects(series.to_list())
    gaps = series.is_null().to_numpy()
    if kind.is_integer():
        return _of_integers((series.fill_null(0) if gaps.any() else series).to_numpy(), gaps)
    if kind.is_float():
        return _of_floats(series.to_numpy(), gaps)
    if kind == nw.Unknown and gaps.all():  # a column of nulls alone
        return _of_objects([None] * len(series))
    raise _not_ids(str(kind))


def _of_categories(series: nw.Series[Any]) -> Ids:
    """Categories are judged one by one, and those that are one id are one person; unused ones are nobody."""
    native = series.to_native()
    if is_arrow_dictionary(getattr(native, "dtype", None)):
        native = native.array.__arrow_array__()
    if hasattr(native, "type"):  # Arrow
        return read_ids(native.cast(native.type.value_type))
    if not hasattr(native, "iloc"):
        return _of_texts(series.cast(nw.String))
    judged = _of_objects(native.cat.categories.tolist())
    codes = np.append(judged.codes, _MISSING)[native.cat.codes.to_numpy()]
    counts = np.bincount(codes[codes >= 0], minlength=len(judged.counts))
    used = np.flatnonzero(counts)

    def texts() -> list[str]:
        every = judged.texts()
        return [every[person] for person in used.tolist()]

    return Ids(np.where(codes >= 0, np.searchsorted(used, codes), codes), counts[used], texts, judged.mixed)


def _of_integers(values: NDArray[Any], gaps: Gaps) -> Ids:
    return of_integers(values[~gaps] if gaps.any() else values).spread(_MISSING * gaps)


def _of_floats(values: NDArray[Any], gaps: Gaps) -> Ids:
    """Whole floats as integers."""
    with np.errstate(invalid="ignore"):
        large = np.abs(values) >= exact_below(values.dtype)
        faults = (gaps | np.isnan(values), np.isinf(values) | (values % 1 != 0), large)
    reasons = np.select(faults, (_MISSING, _FRACTION, _TOO_LARGE))
    return of_integers(values[reasons == 0].astype(np.int64)).spread(reasons)


def _of_fixed_widths(values: NDArray[np.str_], gaps: Gaps) -> Ids:
    """Texts of NumPy, which are equal exactly if their bytes are: shorter ones end in zeros."""
    gaps = gaps | (values == "")
    texts = np.ascontiguousarray(values[~gaps] if gaps.any() else values)
    ids = of_bytes(
        texts.view(np.uint8) if len(texts) else np.empty(0, np.uint8),
        np.arange(len(texts) + 1, dtype=np.int64) * texts.dtype.itemsize,
        lambda text: str(np.frombuffer(text, texts.dtype)[0]),
    )
    return ids.spread(_MISSING * gaps)


def _of_texts(series: nw.Series[Any]) -> Ids:
    """A column of texts, in its bytes where Arrow can show them."""
    arrow = _as_arrow(series)
    if arrow is None:
        return of_texts(series.to_list())
    gaps = arrow.is_null().to_numpy(zero_copy_only=False)
    texts = arrow.drop_null() if arrow.null_count else arrow
    _, offsets, data = texts.buffers()
    ends = np.zeros(1, np.int64)
    if offsets:
        ends = np.frombuffer(offsets, np.int64)[texts.offset : texts.offset + len(texts) + 1]
    empty = ends[:-1] == ends[1:]
    if empty.any():
        gaps[~gaps] = empty
        ends = np.append(ends[:-1][~empty], ends[-1])
    data = np.empty(0, np.uint8) if data is None else np.frombuffer(data, np.uint8)
    return of_bytes(data, ends, lambda text: text.decode("utf-8", "surrogateescape")).spread(_MISSING * gaps)


def _as_arrow(series: nw.Series[Any]) -> Any | None:
    """A column of texts as one Arrow array with 64-bit offsets; None where it must be read as objects."""
    native = series.to_native()
    if hasattr(native, "iloc"):
        native = native.array.__arrow_array__() if is_arrow(native.dtype) else None
    elif not hasattr(native, "combine_chunks"):
        try:
            native = series.to_arrow()
        except ImportError:  # polars needs pyarrow for it
            native = None
    if native is None:
        return None
    arrow = native.cast("large_string")
    return arrow.combine_chunks() if hasattr(arrow, "combine_chunks") else arrow


def _of_objects(values: list[Any]) -> Ids:
    """Objects, each read by itself. Where all are of one type, a quicker path gives the same ids."""
    kinds = set(map(type, values))
    if kinds <= {str}:
        return of_texts(values)
    if kinds == {int} and max(values) < 2**63 and min(values) >= -(2**63):
        return of_integers(np.array(values, np.int64))
    texts = [canonical(value) for value in values]
    is_text = {isinstance(value, str) for value, text in zip(values, texts, strict=True) if isinstance(text, str)}
    return replace(of_texts(texts), mixed=len(is_text) > 1)


# ---- one value ----


def canonical(value: Any) -> str | int:
    """The text of an id; or the code of the reason why there is no id."""
    if isinstance(value, str):
        return str.__str__(value) or _MISSING  # a subclass may compare as it likes
    if isinstance(value, (int, np.integer)) and not isinstance(value, bool):
        return _numeral(int.__index__(value) if isinstance(value, int) else int(value))
    if isinstance(value, (float, np.floating)):
        number: Any = float.__float__(value) if isinstance(value, float) else value
        if number != number:
            return _MISSING
        if not abs(number) < np.inf or number % 1 != 0:
            return _FRACTION
        limit = 2.0**53 if isinstance(value, float) else exact_below(type(value))
        return _numeral(int(number)) if abs(number) < limit else _TOO_LARGE
    if isinstance(value, decimal.Decimal):
        return _of_decimal(value)
    return _MISSING if type(value).__name__ in _GAPS else _NO_ID


def _of_decimal(value: decimal.Decimal) -> str | int:
    if value.is_nan():
        return _MISSING
    if value.is_infinite():
        return _FRACTION
    if value and value.adjusted() >= _MOST_DIGITS:
        return _TOO_LARGE
    integer = int(value) if value and value.adjusted() >= 0 else 0
    return _numeral(integer) if value == integer else _FRACTION


def _numeral(number: int) -> str | int:
    return str(number) if abs(number) < _LIMIT else _TOO_LARGE


def exact_below(dtype: Any) -> float:
    """The size below which a type of floats tells whole numbers apart; float64's limit for wider types."""
    return float(2.0 ** min(np.finfo(dtype).nmant + 1, 53))


# ---- numbers of persons ----


def of_integers(values: NDArray[Any]) -> Ids:
    """Integers of any type."""
    wide = np.uint64 if values.dtype == np.uint64 else np.int64
    keys = np.ascontiguousarray(values, wide)
    hashes = np.empty(len(keys), np.int64)
    hash_integers(keys.view(np.int64), hashes)
    numbered = _numbered(hashes)
    if numbered is None:
        return _sorted_integers(keys)
    codes, counts, firsts = numbered
    return Ids(codes, counts, lambda: [str(key) for key in keys[firsts].tolist()])


def of_texts(values: Sequence[Any]) -> Ids:
    """Python's texts, by their code points; a whole number says why there is no text, and all else is missing."""
    # pandas marks a missing text with NaN, and may hold NumPy's texts.
    texts = [value if type(value) is str else str.__str__(value) if isinstance(value, str) else "" for value in values]
    sizes = np.fromiter(map(len, texts), np.int64, len(texts))
    points = np.frombuffer("".join(texts).encode("utf-32-le", "surrogatepass"), np.uint8)
    ends = np.append(0, 4 * np.cumsum(sizes[sizes > 0]))
    ids = of_bytes(points, ends, lambda text: text.decode("utf-32-le", "surrogatepass"))
    if sizes.all():
        return ids
    reasons = (
        0 if text else value if type(value) is int else _MISSING for text, value in zip(texts, values, strict=True)
    )
    return ids.spread(np.fromiter(reasons, np.int64, len(texts)))


def of_bytes(data: Bytes, ends: Integers, decoded: Callable[[bytes], str]) -> Ids:
    """Texts data[ends[i] : ends[i + 1]], none empty, that are one id where their bytes are the same."""

    def texts(starts: Integers, stops: Integers) -> list[str]:
        return [decoded(data[a:b].tobytes()) for a, b in zip(starts.tolist(), stops.tolist(), strict=True)]

    hashes = np.empty(len(ends) - 1, np.int64)
    hash_texts(data, ends, hashes)
    numbered = _numbered(hashes)
    if numbered is not None:
        codes, counts, firsts = numbered
        starts, stops = ends[firsts], ends[firsts + 1]
        if all_same(data, ends, codes, starts, stops - starts):
            return Ids(codes, counts, lambda: texts(starts, stops))
    # By a dictionary of Python, whose hashes an attacker cannot predict.
    numbers: dict[str, int] = {}
    every = texts(ends[:-1], ends[1:])
    codes = np.fromiter((numbers.setdefault(text, len(numbers)) for text in every), np.int64, len(every))
    return Ids(codes, np.bincount(codes, minlength=len(numbers)), lambda: list(numbers))


def _numbered(hashes: Integers) -> tuple[Integers, Integers, Integers] | None:
    """(codes, counts, first rows), the codes in place of the hashes; None where too many hashes collide."""
    size = max(_LEAST_SLOTS, 1 << (len(hashes) // 2).bit_length())  # enough if persons have four rows on average
    row, persons, probes = 0, 0, _PROBES * (len(hashes) + size)
    slots = np.zeros((size, 2), np.int64)
    firsts, counts = np.empty(size // 2, np.int64), np.empty(size // 2, np.int64)
    while True:
        row, persons, probes = number_rows(hashes, row, persons, probes, slots, firsts, counts)
        if row < 0:
            return None
        if row == len(hashes):
            return hashes, counts[:persons].copy(), firsts[:persons].copy()
        larger = np.zeros((_GROWTH * len(slots), 2), np.int64)
        move_slots(slots, larger)
        slots = larger
        firsts, counts = (np.append(kept, np.empty((_GROWTH - 1) * len(kept), np.int64)) for kept in (firsts, counts))


def _sorted_integers(keys: NDArray[Any]) -> Ids:
    """The numbers of integers by sorting, whose time no choice of ids makes long."""
    values, firsts, places, counts = np.unique(keys, return_index=True, return_inverse=True, return_counts=True)
    order = np.argsort(firsts)
    numbers = np.empty(len(values), np.int64)
    numbers[order] = np.arange(len(values))
    return Ids(numbers[places], counts[order], lambda: [str(key) for key in values[order].tolist()])


# ---- persons over the parts of a table ----


class PersonCounts:
    """How many rows each person has, by canonical id; the order in which parts were added does not matter.

    Every part of the table must be counted before rows are weighed by it. It holds the ids, and is as private as the
    table. It is a value: adding and merging make a new one, so a part that is counted again after a crash counts once.
    """

    __slots__ = ("_counts", "_numbers")

    def __init__(self, ids: Ids | None = None) -> None:
        pairs = () if ids is None else zip(ids.texts(), ids.counts.tolist(), strict=True)
        self._counts: dict[str, int] = dict(pairs)
        self._numbers: dict[str, int] | None = None

    def merge(self, *others: PersonCounts) -> PersonCounts:
        """These counts and those of other parts; many parts are merged best in one call."""
        merged = PersonCounts()
        counts = merged._counts = dict(self._counts)
        for part in others:
            for text, count in part._counts.items():
                counts[text] = counts.get(text, 0) + count
        return merged

    def weighed(self, ids: Any) -> tuple[Integers, Integers]:
        """(n,) the number of each row's person, one for all parts, and how many rows were counted of that person.

        0 and 0 for nobody, and for whoever was not counted.
        """
        if self._numbers is None:
            self._numbers = {text: number for number, text in enumerate(self._counts)}
        persons = read_ids(ids)
        texts = persons.texts()
        numbers, counts = (
            persons.of_persons(np.array([of.get(text, 0) for text in texts], np.int64))
            for of in (self._numbers, self._counts)
        )
        return numbers, counts

    def __len__(self) -> int:
        return len(self._counts)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PersonCounts) and self._counts == other._counts

    def __repr__(self) -> str:
        return "PersonCounts()"


def look_alikes(ids: Any) -> dict[str, int]:
    """How many persons have an id that resembles another person's id. For the data holder: never part of a release.

    Returns
    -------
    dict : the only thing in which ids differ -> number of persons with such ids: "Unicode form", "case", "white space"
        around them, "decimal zeros" as in 7.0, "leading zeros"; and "any" of these together.
    """
    texts = read_ids(ids).texts()
    counts = {name: _shared(map(rule, texts)) for name, rule in _RULES.items()}
    for rule in _RULES.values():
        texts = [rule(text) for text in texts]
    return counts | {"any": _shared(texts)}


_RULES: dict[str, Callable[[str], str]] = {
    "Unicode form": functools.partial(unicodedata.normalize, "NFKC"),
    "case": str.casefold,
    "white space": str.strip,
    "decimal zeros": functools.partial(re.compile(r"(?<=[0-9])\.0*$").sub, ""),
    "leading zeros": lambda text: text.lstrip("0") or "0",
}


def _shared(texts: Iterable[str]) -> int:
    """How many texts occur more than once."""
    return sum(count for count in Counter(texts).values() if count > 1)
