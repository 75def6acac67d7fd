"""Columns of a table where they lie in memory, for the kernels that encode them.

Kernels read arrays of integers, floats and booleans, and whatever a library gives through Arrow's C data interface as
numbers, booleans, text or a dictionary of these: columns of polars and Arrow, of pandas also those that it keeps in
Arrow arrays or as categories. All else is read by `writers.py`: decimals, integers of 128 bits, objects, pandas'
masked arrays and its Arrow dictionaries, dictionaries of numbers where levels are text, categories of pandas in bins,
and columns of other libraries.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from dplr._core import Feature, NumberCodes, TextCodes, Values, array_values, arrow_values
from dplr.bounds.columns import INDICATOR, Bins, Column, Curve, Levels, Numeric
from dplr.rows.tables.table import Table
from dplr.rows.tables.text import MISSING, UNKNOWN, codes_of_names, is_arrow, is_arrow_dictionary
from dplr.rows.tables.writers import codes, number

_LEAST_CODE = -3  # of a kernel's codes: minus infinity among bins, missing, unknown, then those of levels or bins
_MOST_NEAR = 4096  # entries of a table of whole numbers


@dataclass(frozen=True, slots=True)
class Native:
    """A column as kernels read it; `entries` are the categories of pandas, whose places the values are."""

    values: Values
    entries: list[Any] | None = None

    @property
    def numbers(self) -> Values | None:
        """The values, where they are numbers and not places of others."""
        plain = self.entries is None and not self.values.keyed and self.values.holds == "numbers"
        return self.values if plain else None


@dataclass(frozen=True, eq=False, slots=True)
class _Meaning:
    """The meaning of the codes of levels or bins, from the least code on, as `Feature` takes it."""

    codes: NumberCodes | TextCodes
    numbers: NDArray[np.float64] | None
    places: NDArray[np.int32]
    values: NDArray[np.float64]


def native_column(X: Any, place: int) -> Native | None:
    """A column of a table or an array; None where kernels do not read it."""
    try:
        if isinstance(X, Table):
            return _of_series(X, place)
        return Native(array_values(X[:, place]))
    except (ValueError, TypeError, BufferError, NotImplementedError):  # a library has no such memory to show
        return None


def native_feature(native: Native, column: Column | None, first: int) -> Feature | None:
    """A column of the model, for kernels; None where they do not write it."""
    if column is None:
        return _of_number(native, first)
    if isinstance(column, Numeric):
        return None if column.transform != "clip" else _of_number(native, first, column)
    try:
        meaning = _meaning(column)
        entries = None if native.entries is None else _codes_of_entries(native.entries, column)
    except (ValueError, TypeError, ArithmeticError):  # the writer in NumPy raises it again, with a message
        return None
    content = "text" if isinstance(column, Levels) and column.text else "numbers"
    if entries is None and native.values.holds not in (content, "nulls"):
        return None
    return Feature(
        native.values, first, meaning.codes, meaning.numbers, meaning.places, meaning.values, entries=entries
    )


def _of_series(X: Table, place: int) -> Native | None:
    """A column of a library. Its declared type is checked first: some types have no memory that can be read."""
    kind = X.dtype(place)
    if not (kind.is_numeric() or kind in (nw.Boolean, nw.String, nw.Categorical, nw.Enum)):
        return None
    series = X.native_column(place)
    if not X.in_pandas:
        return _of_stream(series)
    if isinstance(series.dtype, np.dtype):
        return Native(array_values(series.to_numpy()))
    if hasattr(series.array, "categories"):
        names = series.array.categories.tolist()
        return Native(array_values(series.array.codes), names) if names else None
    if not is_arrow(series.dtype) or is_arrow_dictionary(series.dtype):
        return None
    return _of_stream(series.array.__arrow_array__())


def _of_stream(column: Any) -> Native | None:
    """A column of Arrow; None from libraries that do not give it away, such as pyarrow before 16."""
    return Native(arrow_values(column.__arrow_c_stream__())) if hasattr(column, "__arrow_c_stream__") else None


def _of_number(native: Native, first: int, column: Numeric | None = None) -> Feature | None:
    if native.values.holds == "text":
        return None
    try:
        entries = None if native.entries is None else np.array([number(entry) for entry in native.entries], float)
    except (ValueError, TypeError, ArithmeticError):
        return None
    if column is None:
        return Feature(native.values, first, entries=entries)
    filler = None if column.missing is None else column.filler
    mark = len(column.names("")) - 1 if column.missing == INDICATOR else 0
    if not isinstance(column, Curve):
        return Feature(native.values, first, filler=filler, mark=mark, entries=entries)
    knots = np.array(column.places)
    return Feature(native.values, first, filler=filler, mark=mark, entries=entries, knots=knots, line=column.line)


def _codes_of_entries(entries: list[Any], column: Bins | Levels) -> NDArray[np.int32]:
    if isinstance(column, Levels) and column.text:
        return codes_of_names(entries, {str(level): code for code, level in enumerate(column.values)}).astype(np.int32)
    numbers = np.array([number(entry) for entry in entries], float)
    if isinstance(column, Levels):
        return codes(numbers, column.values).astype(np.int32)
    raise TypeError


@lru_cache(maxsize=4096)  # of public facts alone; tables come in many parts
def _meaning(column: Bins | Levels) -> _Meaning:
    """The codes by which values of the column are found, and the entries that each code writes."""
    of_values = column.places if isinstance(column, Bins) else column.value_places
    count = len(of_values)
    places = np.full(count - _LEAST_CODE, -1, np.int32)
    values = np.zeros(count - _LEAST_CODE)
    numbers = None
    if isinstance(column, Bins) or column.kind == "one_hot":
        places[-_LEAST_CODE:], values[-_LEAST_CODE:] = of_values, 1.0
    else:
        numbers = np.full(count - _LEAST_CODE, (len(column.levels) - 1) / 2)
        numbers[-_LEAST_CODE:] = column.positions
    if isinstance(column, Bins):
        for code, value in ((_LEAST_CODE, -np.inf), (UNKNOWN, np.inf)):  # refused, as where the column is a number
            places[code - _LEAST_CODE], values[code - _LEAST_CODE] = 0, value
    missing = MISSING - _LEAST_CODE
    if column.missing is None:
        places[missing], values[missing] = 0, np.nan
    elif column.missing == INDICATOR:
        places[missing], values[missing] = column.block - 1 + (column.number is not None), 1.0
    else:
        filler = _filler(column) - _LEAST_CODE
        for meaning in (places, values) if numbers is None else (numbers,):
            meaning[missing] = meaning[filler]
    return _Meaning(_known(column), numbers, places, values)


def _filler(column: Bins | Levels) -> int:
    """The code that stands for a missing value."""
    if isinstance(column, Levels):
        return column.code_of(column.missing)  # type: ignore[arg-type]
    return column.bin_of(float(column.missing))  # type: ignore[arg-type]


def _known(column: Bins | Levels) -> NumberCodes | TextCodes:
    if isinstance(column, Bins):
        return NumberCodes(np.array(column.edges, float), None, None, 0)
    if column.text:
        return TextCodes([str(value).encode() for value in column.values])
    knots, code = np.unique(np.array(column.values, float), return_index=True)
    low, high = knots[[0, -1]]
    near = None
    if (knots % 1 == 0).all() and abs(low) < 2**52 and high - low < _MOST_NEAR:
        near = np.full(int(high - low) + 1, UNKNOWN, np.int32)
        near[(knots - low).astype(int)] = code
    return NumberCodes(knots, code.astype(np.int32), near, int(low) if near is not None else 0)
