"""Columns of text as codes of their levels."""

from __future__ import annotations

import decimal
from collections.abc import Mapping
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

Codes = NDArray[np.intp]

UNKNOWN, MISSING = -1, -2
NUMBERS = (int, float, np.number, np.bool_, decimal.Decimal)


def text_codes(values: Any, levels: Mapping[str, int]) -> Codes:
    """The code of each text, UNKNOWN or MISSING; no code depends on other texts."""
    values = without_dictionary(values)
    native = values.to_native()
    if values.dtype == nw.Object or not hasattr(native, "astype"):
        return _slow_codes(values, levels) if values.dtype == nw.Object else _joined_codes(values, levels)
    # pandas. Its own hash tables merge texts that differ behind a NUL or a lone surrogate: one row would decide over
    # the others. They are told apart only where texts have codes already, and by Arrow's tables, which also take bytes
    # that are no text: pandas would fail on them.
    if values.dtype == nw.String and is_arrow(native.dtype):
        return _joined_codes(nw.from_native(native.array.__arrow_array__(), series_only=True), levels)
    if values.dtype not in (nw.Categorical, nw.Enum):
        return _slow_codes(values, levels)
    categories = native.astype("category").cat
    table = codes_of_names(categories.categories.tolist(), levels)
    places: Codes = np.append(table, MISSING)[categories.codes.to_numpy()]
    return places


def codes_of_names(names: list[Any], levels: Mapping[str, int]) -> Codes:
    """The code of each category of pandas, used or not."""
    return np.array([levels.get(name, UNKNOWN) if isinstance(name, str) else _no_text(name) for name in names], np.intp)


def without_dictionary(values: Any) -> Any:
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


def _joined_codes(values: Any, levels: Mapping[str, int]) -> Codes:
    text = values.cast(nw.String)
    codes = text.replace_strict(list(levels), list(levels.values()), default=UNKNOWN, return_dtype=nw.Int64)
    return np.asarray(np.where(values.is_null().to_numpy(), MISSING, codes.to_numpy()), np.intp)


def _slow_codes(values: Any, levels: Mapping[str, int]) -> Codes:
    missing = values.is_null().to_numpy()
    codes = [
        levels.get(value, UNKNOWN) if isinstance(value, str) else MISSING if gap else _no_text(value)
        for value, gap in zip(values.to_list(), missing, strict=True)
    ]
    return np.array(codes, np.intp)


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
