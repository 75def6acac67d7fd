"""Encoding of tables: their rows as rows of the model, a block at a time.

An encoded row is a function of that row and of public facts alone. Every one-hot block is written as zeros, and then at
most one 1 is set, whatever the table holds. A number is the middle of its range wherever its mark is set. Products are
made of the columns that were encoded before.

Kernels write all columns. Some they read where they lie in memory: arrays of integers, floats and booleans, and
whatever a library gives through Arrow's C data interface as numbers, booleans, text or a dictionary of these: columns
of polars and Arrow, of pandas also those that it keeps in Arrow arrays or as categories. All else is read block by
block through the column's library: decimals, integers of 128 bits, objects, pandas' masked arrays and its Arrow
dictionaries, dictionaries of numbers where levels are text, categories of pandas in bins, and columns of other
libraries; and so are numbers with a transform, of which kernels know none.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from dplr._core import Feature, Features, NumberCodes, TextCodes, Values, array_values, arrow_values
from dplr._kit.validation import sentence
from dplr.bounds.columns import INDICATOR, Bins, Column, Curve, Levels, Numeric
from dplr.bounds.layout import Layout
from dplr.bounds.products import Product
from dplr.rows.tables.table import Matrix, Table
from dplr.rows.tables.values import (
    MISSING,
    UNKNOWN,
    codes,
    codes_of_names,
    is_arrow,
    is_arrow_dictionary,
    number,
    numbers,
)
from dplr.rows.threads import run, spans, threads_for

Index = NDArray[np.int64] | None
Marks = NDArray[np.int64]

_ENTRIES = 2**16  # of one block: not much memory, and few calls into the table's library
_LEAST_ROWS = 8192
_PRODUCTS_AN_ENTRY = 40  # cost of an encoded entry, in multiplications of a sum
_LEAST_CODE = -3  # of a kernel's codes: minus infinity among bins, missing, unknown, then those of levels or bins
_MOST_NEAR = 4096  # entries of a table of whole numbers
_OTHERWISE = (ValueError, TypeError, ArithmeticError)  # what is no number, or no text
_REMEDIES = {
    "text": "Encode them with public categories, declare their levels, or drop them.",
    "numbers": "Declare the levels as numbers.",
    "dates": "Turn them into numbers first, such as years since a public date.",
    "other": "Turn them into numbers or text by public rules.",
}


class Encoder:
    """Rows of a table, or of an array of numbers, as rows of the model.

    Parameters
    ----------
    X : `Table`, or (n, d) array.
    layout : the declared columns; None for numbers without declarations.
    parameter : the name of X in errors.

    Raises
    ------
    ValueError
        A column is of a type that cannot be what was declared.
    """

    def __init__(self, X: Any, layout: Layout | None, parameter: str = "X") -> None:
        self._X, self._parameter = X, parameter
        count = X.shape[1] if layout is None else len(layout.columns)
        self._columns: Sequence[Column | None] = [None] * count if layout is None else layout.columns
        by_name = layout is not None and layout.named
        self._places = [X.columns.index(name) for name in layout.features] if by_name and layout else range(count)
        names = getattr(X, "columns", [f"column {j}" for j in range(count)])
        self.features: list[str] = [names[place] for place in self._places]
        self._firsts: Sequence[int] = range(count) if layout is None else layout.firsts
        self.width: int = count if layout is None else layout.width
        self._products: Sequence[Product] = () if layout is None else layout.products
        if isinstance(X, Table):
            self._check_types([X.dtype(place) for place in self._places])
        elif any(isinstance(column, Levels) and column.text for column in self._columns):
            raise ValueError(sentence(parameter, "must be a data frame where levels are text", type(X).__name__))
        read = [native_column(X, place) for place in self._places]
        self._numbers = [None if native is None else native.numbers for native in read]
        features = [_of_native(*column) for column in zip(read, self._columns, self._firsts, strict=False)]
        self._native = [j for j, feature in enumerate(features) if feature]
        self._others = [j for j, feature in enumerate(features) if not feature]
        self._features = Features([feature for feature in features if feature])
        # Whether every column of the matrix is written in every row: then it need not be cleared before.
        self._dense = all(c is None or (c.number is not None and not c.block) for c in self._columns)
        counted = [(isinstance(c, Levels), c is not None and c.missing is not None) for c in self._columns]
        self._counted = np.array(counted, np.int64).reshape(-1, 2).T

    @property
    def block_rows(self) -> int:
        """The number of rows of a block."""
        return max(_LEAST_ROWS, _ENTRIES // self.width)

    def block(self, rows: Any = None, out: Matrix | None = None) -> tuple[Matrix, Marks]:
        """Encode rows: a slice, an array of indices, or None for all of them; into `out`, if it is long enough.

        Returns
        -------
        matrix : (n, width), the beginning of `out` where that was used.
        marks : (2 * features,) per feature, values that are not a level; then missing values that count as something.
        """
        start, index, count = self._rows(slice(None) if rows is None else rows)
        matrix = self._matrix(count, out)
        if count <= self.block_rows:
            return matrix, self._write(start, index, matrix).ravel()
        parts = min(threads_for(float(matrix.size) * _PRODUCTS_AN_ENTRY), count // self.block_rows)

        def write(span: tuple[int, int]) -> Marks:
            marks = np.zeros((2, len(self._columns)), np.int64)
            for first in range(*span, self.block_rows):
                part = slice(first, min(first + self.block_rows, span[1]))
                marks += self._write(start + first, None if index is None else index[part], matrix[part])
            return marks

        return matrix, np.sum(run(write, spans(count, parts)), axis=0).ravel()

    def _matrix(self, count: int, out: Matrix | None) -> Matrix:
        """A matrix for rows, which is zero or will be written everywhere."""
        if out is None or len(out) < count:
            return (np.empty if self._dense else np.zeros)((count, self.width))
        matrix = out[:count]
        if not self._dense:
            matrix.fill(0.0)
        return matrix

    def not_finite(self) -> dict[str, int]:
        """The number of rows in which each column is infinite, or missing without a policy."""
        counts: dict[str, int] = {}
        ends = [*self._firsts, self.width][1:]  # what is wrong with a product is wrong with a factor
        for start in range(0, len(self._X), self.block_rows):
            bad = ~np.isfinite(self.block(slice(start, start + self.block_rows))[0])
            for name, first, end in zip(self.features, self._firsts, ends, strict=False):
                counts[name] = counts.get(name, 0) + int(bad[:, first:end].any(axis=1).sum())
        return {name: count for name, count in counts.items() if count}

    def _check_types(self, dtypes: Sequence[Any]) -> None:
        kinds, wanted = [_kind(dtype) for dtype in dtypes], [_wanted(column) for column in self._columns]
        unfit = [j for j, kind in enumerate(kinds) if kind not in ("objects", wanted[j])]
        if unfit:
            kind, content = kinds[unfit[0]], wanted[unfit[0]]
            names = [self.features[j] for j in unfit if (kinds[j], wanted[j]) == (kind, content)]
            rule = "must have numeric columns" if content == "numbers" else "must have text where the levels are text"
            raise ValueError(sentence(self._parameter, rule, names, _REMEDIES[kind]))

    def _rows(self, rows: Any) -> tuple[int, Index, int]:
        """(start, index, count): index is None for consecutive rows from `start` on, else it names all rows."""
        n = len(self._X)
        if isinstance(rows, slice):
            places = range(*rows.indices(n))
            if places.step == 1:
                return places.start, None, len(places)
            rows = np.array(places, np.int64)
        index = np.ascontiguousarray(rows, np.int64)
        return 0, np.where(index < 0, index + n, index), len(index)

    def _write(self, start: int, index: Index, matrix: Matrix) -> Marks:
        """Fill a block, which is zero or dense, with the rows from `start` on or those of the index; its marks."""
        marks = np.zeros((2, len(self._native)), np.int64)
        self._features.write(start, index, matrix, marks)
        if self._others:
            every = np.zeros((2, len(self._columns)), np.int64)
            every[:, self._native] = marks
            for j in self._others:
                try:
                    values = self._values(j, start, index, len(matrix))
                    every[:, j] = write_column(values, self._columns[j], matrix, self._firsts[j])
                except _OTHERWISE as error:
                    raise ValueError(
                        f"column {self.features[j]!r} of `X` cannot be read as declared: {error}"
                    ) from None
            marks = every
        for product, first in zip(self._products, self._firsts[len(self._columns) :], strict=False):
            factors = [self._firsts[place] for place in product.places]
            product.write(matrix, factors, matrix[:, first : first + product.width])
        return marks * self._counted

    def _values(self, j: int, start: int, index: Index, count: int) -> Any:
        """A column to be read: its numbers where kernels have them, else as its library has it."""
        source, place = self._numbers[j], self._places[j]
        if source is not None:
            values = np.empty(count)
            source.write_numbers(start, index, values)
            return values
        rows = slice(start, start + count) if index is None else index
        return self._X.column(place, rows) if isinstance(self._X, Table) else self._X[rows, place]


def write_column(values: Any, column: Column | None, matrix: Matrix, first: int) -> Marks:
    """Fill the columns of a feature, which are zero, from values that are read through their library.

    Returns
    -------
    (2,) : how many values are not levels, and how many are missing.
    """
    if isinstance(column, Levels) and column.text:
        places = codes(values, column.values)
        places[places == UNKNOWN] = len(column.values)  # the place of what is no text, and no level
        native = Native(array_values(places), [*column.values, None])
    else:
        entries = numbers(values)
        native = Native(array_values(column.transformed(entries) if isinstance(column, Numeric) else entries))
    marks = np.zeros((2, 1), np.int64)
    Features([_feature(native, column, first)]).write(0, None, matrix, marks)
    return marks[:, 0]


# ---- columns where they lie in memory ----


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


def native_column(X: Any, place: int) -> Native | None:
    """A column of a table or an array; None where kernels do not read it."""
    try:
        return _of_series(X, place) if isinstance(X, Table) else Native(array_values(X[:, place]))
    except (ValueError, TypeError, BufferError, NotImplementedError):  # a library has no such memory to show
        return None


def _of_series(X: Table, place: int) -> Native | None:
    """A column of a library. Its declared type is checked first: some types have no memory that can be read."""
    kind = X.dtype(place)
    if not (kind.is_numeric() or kind in (nw.Boolean, nw.String, nw.Categorical, nw.Enum)):
        return None
    series = X.native_column(place)
    if X.in_pandas:
        if isinstance(series.dtype, np.dtype):
            return Native(array_values(series.to_numpy()))
        if hasattr(series.array, "categories"):
            names = series.array.categories.tolist()
            return Native(array_values(series.array.codes), names) if names else None
        if not is_arrow(series.dtype) or is_arrow_dictionary(series.dtype):
            return None
        series = series.array.__arrow_array__()
    # Some do not give it away, such as pyarrow before 16.
    return Native(arrow_values(series.__arrow_c_stream__())) if hasattr(series, "__arrow_c_stream__") else None


def _of_native(native: Native | None, column: Column | None, first: int) -> Feature | None:
    """A column of the model that kernels read in place; None where they do not, or where reading it says why not."""
    if native is None or (isinstance(column, Numeric) and column.transform != "clip"):
        return None
    if native.entries is None and native.values.holds not in (_wanted(column), "nulls"):
        return None
    try:
        return _feature(native, column, first)
    except _OTHERWISE:
        return None


# ---- columns of the model ----


def _feature(native: Native, column: Column | None, first: int) -> Feature:
    """A column of the model; its values are on the scale of the model."""
    values = native.values
    if isinstance(column, (Bins, Levels)):
        entries = None if native.entries is None else _codes_of_entries(native.entries, column)
        known = _known(column) if entries is None else NumberCodes(np.empty(0), None, None, 0)  # they are codes already
        return Feature(values, first, known, *_meaning(column), entries=entries)
    numbered = None if native.entries is None else np.array([number(entry) for entry in native.entries], float)
    if column is None:
        return Feature(values, first, entries=numbered)
    filler = None if column.missing is None else column.filler
    mark = len(column.names("")) - 1 if column.missing == INDICATOR else 0
    if not isinstance(column, Curve):
        return Feature(values, first, filler=filler, mark=mark, entries=numbered)
    knots = np.array(column.places)
    return Feature(values, first, filler=filler, mark=mark, entries=numbered, knots=knots, line=column.line)


def _codes_of_entries(entries: list[Any], column: Bins | Levels) -> NDArray[np.int32]:
    if isinstance(column, Levels):
        if column.text:
            found = codes_of_names(entries, {str(level): code for code, level in enumerate(column.values)})
        else:
            found = codes(np.array([number(entry) for entry in entries], float), column.values)
        return found.astype(np.int32)
    raise TypeError


@lru_cache(maxsize=4096)  # of public facts alone; tables come in many parts
def _meaning(column: Bins | Levels) -> tuple[NDArray[np.float64] | None, NDArray[np.int32], NDArray[np.float64]]:
    """The meaning of codes from the least one on: numbers, None for none; and which column, -1 for none, holds what."""
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
        filler = column.code_of(column.missing) if isinstance(column, Levels) else column.bin_of(float(column.missing))
        for meaning in (places, values) if numbers is None else (numbers,):
            meaning[missing] = meaning[filler - _LEAST_CODE]
    return numbers, places, values


@lru_cache(maxsize=4096)
def _known(column: Bins | Levels) -> NumberCodes | TextCodes:
    """The codes by which values of the column are found."""
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


def _kind(dtype: Any) -> str:
    if dtype.is_numeric() or dtype == nw.Boolean:
        return "numbers"
    if dtype == nw.String:
        return "text"
    if dtype in (nw.Object, nw.Categorical, nw.Enum):
        return "objects"  # their values decide
    return "dates" if dtype in (nw.Datetime, nw.Date, nw.Time, nw.Duration) else "other"


def _wanted(column: Column | None) -> str:
    return "text" if isinstance(column, Levels) and column.text else "numbers"
