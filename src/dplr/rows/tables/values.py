"""Values of a column of any library as numbers, or as codes of levels: no value decides over another row's."""

from __future__ import annotations

import decimal
from collections.abc import Mapping, Sequence
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

Codes = NDArray[np.intp]
Vector = NDArray[np.float64]

UNKNOWN, MISSING = -1, -2  # codes of what is not a level, and of a missing value
NUMBERS = (int, float, np.number, np.bool_, decimal.Decimal)
_DATES, _DURATIONS = (nw.Date, nw.Datetime), (nw.Duration,)
_TICKS = {"D": 1, "s": 86_400, "ms": 86_400_000, "us": 86_400_000_000, "ns": 86_400_000_000_000}  # in a day


def numbers(values: Any) -> Vector:
    """Values as float64, NaN where they are missing. Without the libraries' own casts: they do not all agree."""
    if isinstance(values, np.ndarray):
        return np.ascontiguousarray(values, np.float64)
    values = _without_dictionary(values)
    if values.dtype.is_float():
        return np.ascontiguousarray(values.to_numpy(), np.float64)
    missing = values.is_null().to_numpy()
    wide = values.dtype.is_decimal() or values.dtype in (nw.Int128, nw.UInt128)  # libraries have no array of these
    if wide or not (values.dtype.is_numeric() or values.dtype == nw.Boolean):
        return np.array([np.nan if gap else number(v) for v, gap in zip(values.to_list(), missing, strict=True)], float)
    series = values.fill_null(False if values.dtype == nw.Boolean else 0) if missing.any() else values
    return np.where(missing, np.nan, series.to_numpy())


def number(value: Any) -> float:
    """A value of a column of objects as float64; raises for what is not a number."""
    if isinstance(value, NUMBERS):
        return float(value)
    raise TypeError(f"it holds a {type(value).__name__}, which is not a number")


def codes(values: Any, levels: Sequence[Any]) -> Codes:
    """The place of each value among those of the levels, UNKNOWN for one that is not a level, or MISSING."""
    if isinstance(levels[0], str):
        return _text_codes(_without_dictionary(values), {level: code for code, level in enumerate(levels)})
    entries = numbers(values)
    order = np.argsort(level_numbers := np.array(levels, float), kind="stable")
    place = order[np.minimum(np.searchsorted(level_numbers, entries, sorter=order), len(level_numbers) - 1)]
    matches = np.where(level_numbers[place] == entries, place, UNKNOWN)
    return np.asarray(np.where(np.isnan(entries), MISSING, matches), np.intp)


def codes_of_names(names: Sequence[Any], levels: Mapping[str, int]) -> Codes:
    """The code of each category of pandas, used or not."""
    return np.array([levels.get(name, UNKNOWN) if isinstance(name, str) else _no_text(name) for name in names], np.intp)


def _text_codes(values: Any, levels: Mapping[str, int]) -> Codes:
    native, kind = values.to_native(), values.dtype
    in_pandas = hasattr(native, "astype")
    # pandas' own hash tables merge texts that differ behind a NUL or a lone surrogate: one row would decide over the
    # others. They are told apart only where texts have codes already, and by Arrow's tables, which also take bytes
    # that are no text: pandas would fail on them.
    if in_pandas and kind == nw.String and is_arrow(native.dtype):
        values, in_pandas = nw.from_native(native.array.__arrow_array__(), series_only=True), False
    if not in_pandas and kind != nw.Object:
        text = values.cast(nw.String)
        found = text.replace_strict(list(levels), list(levels.values()), default=UNKNOWN, return_dtype=nw.Int64)
        return np.asarray(np.where(values.is_null().to_numpy(), MISSING, found.to_numpy()), np.intp)
    if in_pandas and kind in (nw.Categorical, nw.Enum):
        table = codes_of_names(native.cat.categories.tolist(), levels)
        return np.asarray(np.append(table, MISSING)[native.cat.codes.to_numpy()], np.intp)
    missing = values.is_null().to_numpy()
    return np.array(
        [
            levels.get(value, UNKNOWN) if isinstance(value, str) else MISSING if gap else _no_text(value)
            for value, gap in zip(values.to_list(), missing, strict=True)
        ],
        np.intp,
    )


def _no_text(value: Any) -> int:
    """Objects that are not text are not levels, and numbers and bytes are refused.

    Readers that guess types, such as pandas.read_csv, make text of some numbers and not of others, block by block: one
    row would decide for thousands whether they are a level. Bytes are refused as a column of them is by its type.
    """
    if isinstance(value, bytes):
        raise TypeError("it holds bytes. Read it as text, such as with .str.decode('utf-8')")
    if isinstance(value, NUMBERS):
        raise TypeError("it holds text and numbers. Read it as text: where types are guessed, one row decides for all")
    return UNKNOWN


def _without_dictionary(values: Any) -> Any:
    """A column that pandas holds as an Arrow dictionary, as its values are; another one as it is.

    Whether a null among the entries of a dictionary is missing would depend on the other rows: pandas and Arrow look
    for such nulls only where a place is null too.
    """
    native = values.to_native()
    if not is_arrow_dictionary(getattr(native, "dtype", None)):
        return values
    arrow = native.array.__arrow_array__()
    return nw.from_native(arrow.cast(arrow.type.value_type), series_only=True)


def is_arrow_dictionary(dtype: Any) -> bool:
    """Whether pandas holds it as an Arrow dictionary: if one has a missing entry, pandas makes no categories of it."""
    return str(getattr(dtype, "pyarrow_dtype", "")).startswith("dictionary")


def is_arrow(dtype: Any) -> bool:
    """Whether a type of pandas keeps its values in Arrow arrays."""
    return getattr(dtype, "storage", "") == "pyarrow" or hasattr(dtype, "pyarrow_dtype")


def declared_kind(dtype: Any) -> str | None:
    """The kind of a column: "integer", "number", "flag", "text", "date" or "duration"; None for other types."""
    if dtype.is_integer():
        return "integer"
    if dtype.is_numeric():
        return "number"
    if dtype == nw.Boolean:
        return "flag"
    if dtype in (nw.String, nw.Categorical, nw.Enum):
        return "text"
    return "date" if dtype in _DATES else "duration" if dtype in _DURATIONS else None


def is_time(values: Any) -> bool:
    """Whether a column holds dates or durations, by its type."""
    return isinstance(values, nw.Series) and values.dtype in (*_DATES, *_DURATIONS)


def days(values: Any) -> Vector:
    """Dates as days from 1970-01-01 on, in UTC, and durations as days; NaN where they are missing.

    Values are read as the whole numbers that they are stored as: conversions of dates fail for some of them.
    """
    dtype, native = values.dtype, values.to_native()
    unit = "D" if dtype == nw.Date else dtype.time_unit
    plain: Any = getattr(native, "array", None)
    if getattr(plain, "asi8", None) is not None:  # pandas
        return np.asarray(np.where(plain.isna(), np.nan, plain.asi8) / _TICKS[unit])
    return numbers(values.cast(nw.Int32 if dtype == nw.Date else nw.Int64)) / _TICKS[unit]
