"""Rows of a table as rows of the model, a block at a time.

An encoded row is a function of that row and of public facts alone. Every one-hot block is written as zeros, and then at
most one 1 is set, whatever the table holds. A number is the middle of its range wherever its mark is set. Products are
made of the columns that were encoded before.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from dplr._validation import sentence
from dplr.bounds.kinds import INDICATOR, Bins, Column, Levels, Numeric
from dplr.bounds.layout import Layout
from dplr.bounds.products import Product
from dplr.rows.tables.table import Matrix, Table
from dplr.rows.tables.text import MISSING, NUMBERS, UNKNOWN, Codes, text_codes

_ENTRIES = 2**16  # of one block: not much memory, and few calls into the table's library
_LEAST_ROWS = 8192
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
    layout : what is declared of the columns; None for numbers as they are.

    Raises
    ------
    ValueError
        A column is of a type that cannot be what was declared.
    """

    def __init__(self, X: Any, layout: Layout | None) -> None:
        self._X = X
        count = X.shape[1] if layout is None else len(layout.columns)
        self._columns: Sequence[Column | None] = [None] * count if layout is None else layout.columns
        by_name = layout is not None and layout.named
        self._places = [X.columns.index(name) for name in layout.features] if by_name and layout else range(count)
        names = getattr(X, "columns", [f"column {j}" for j in range(count)])
        self.features = [names[place] for place in self._places]
        self._firsts: Sequence[int] = range(count) if layout is None else layout.firsts
        self.width = count if layout is None else layout.width
        self._products: Sequence[Product] = () if layout is None else layout.products
        self._plain = isinstance(X, Table) and (layout is None or layout.plain)
        if isinstance(X, Table):
            self._check_types([X.dtype(place) for place in self._places])
        elif any(isinstance(column, Levels) and column.text for column in self._columns):
            raise ValueError(sentence("X", "must be a data frame where levels are text", type(X).__name__))

    @property
    def block_rows(self) -> int:
        """Rows that are well encoded together."""
        return max(_LEAST_ROWS, _ENTRIES // self.width)

    def block(self, rows: Any = None) -> tuple[Matrix, NDArray[np.int64]]:
        """Encode rows: a slice, an array of indices, or None for all of them.

        Returns
        -------
        matrix : (n, width)
        marks : (2 * features,) per feature, values that are not a level; then missing values that count as something.
        """
        rows = slice(None) if rows is None else rows
        if self._plain and (together := plain_numbers(self._X.native, self._places, rows)) is not None:
            return together, np.zeros(2 * len(self._columns), np.int64)
        count = len(range(*rows.indices(len(self._X)))) if isinstance(rows, slice) else len(rows)
        matrix = np.zeros((count, self.width))
        marks = np.zeros((2, len(self._columns)), np.int64)
        for j, (place, first, column) in enumerate(zip(self._places, self._firsts, self._columns, strict=False)):
            values = self._values(place, rows)
            try:
                if isinstance(column, Levels):
                    marks[:, j] = _write_levels(values, column, matrix[:, first:])
                elif isinstance(column, Bins):
                    marks[1, j] = _write_bins(values, column, matrix[:, first:])
                else:
                    marks[1, j] = _write_numbers(values, column, matrix[:, first:])
            except (TypeError, ValueError, ArithmeticError) as error:
                raise ValueError(f"column {self.features[j]!r} of `X` cannot be read as declared: {error}") from None
        for product, first in zip(self._products, self._firsts[len(self._columns) :], strict=True):
            factors = [self._firsts[place] for place in product.places]
            product.write(matrix, factors, matrix[:, first : first + product.width])
        return matrix, marks.ravel()

    def not_finite(self) -> dict[str, int]:
        """The number of rows in which each column is infinite, or missing without a policy."""
        found: dict[str, int] = {}
        ends = [*self._firsts, self.width][1:]  # what is wrong with a product is wrong with a factor
        for start in range(0, len(self._X), self.block_rows):
            bad = ~np.isfinite(self.block(slice(start, start + self.block_rows))[0])
            for name, first, end in zip(self.features, self._firsts, ends, strict=False):
                found[name] = found.get(name, 0) + int(bad[:, first:end].any(axis=1).sum())
        return {name: count for name, count in found.items() if count}

    def _check_types(self, dtypes: Sequence[Any]) -> None:
        kinds = [_kind(dtype) for dtype in dtypes]
        unfit = [j for j, column in enumerate(self._columns) if not _fits(kinds[j], column)]
        if unfit:
            kind, wanted = kinds[unfit[0]], _wanted(self._columns[unfit[0]])
            names = [self.features[j] for j in unfit if kinds[j] == kind and _wanted(self._columns[j]) == wanted]
            rule = "must have numeric columns" if wanted == "numbers" else "must have text where the levels are text"
            raise ValueError(sentence("X", rule, names, _REMEDIES[kind]))

    def _values(self, place: int, rows: Any) -> Any:
        if isinstance(self._X, Table):
            return self._X.column(place, rows)
        return self._X[rows, place]


def predictors(X: Any, layout: Layout | None) -> Matrix:
    """All rows of a table, or of an array, with the columns of a fitted model; refused where an entry is missing."""
    matrix, encoder = _encoded(X, layout)
    if not np.isfinite(matrix).all():
        remedy = "The model has no answer for them; it was fitted with bounds that refuse missing values."
        raise ValueError(sentence("X", "must not hold NaN, infinity or missing values", encoder.not_finite(), remedy))
    return matrix


def encoded(X: Any, layout: Layout) -> Matrix:
    """The same, and NaN for what bounds refuse: whether there is any is left to whoever may say it."""
    matrix, _ = _encoded(X, layout)
    return np.where(np.isfinite(matrix), matrix, np.nan)


def _encoded(X: Any, layout: Layout | None) -> tuple[Matrix, Encoder]:
    if layout is not None and layout.named:
        missing = [name for name in layout.features if name not in X.columns]
        if missing:
            raise ValueError(sentence("X", "must have the columns that the model was fitted on; missing", missing))
    encoder = Encoder(X, layout)
    matrix, _ = encoder.block()
    return matrix, encoder


def plain_numbers(frame: Any, places: Sequence[int], rows: Any) -> Matrix | None:
    """Columns of a pandas frame as float64, all at once, which is much quicker than one by one.

    None for other tables, and where a column is not a plain array of numbers.
    """
    if not hasattr(frame, "iloc"):
        return None
    kinds = frame.dtypes
    if not all(isinstance(kinds.iloc[place], np.dtype) and kinds.iloc[place].kind in "biuf" for place in places):
        return None
    block = frame.iloc[rows]  # rows first: a selection of columns is a copy
    if list(places) != list(range(frame.shape[1])):
        block = block.iloc[:, list(places)]
    return np.ascontiguousarray(block.to_numpy(np.float64))


def numbers(values: Any) -> Matrix:
    """Values as float64, NaN where they are missing. Without the libraries' own casts: they do not all agree."""
    if isinstance(values, np.ndarray):
        return np.ascontiguousarray(values, np.float64)
    if values.dtype.is_float():
        return np.ascontiguousarray(values.to_numpy(), np.float64)
    missing = values.is_null().to_numpy()
    wide = values.dtype.is_decimal() or values.dtype in (nw.Int128, nw.UInt128)  # libraries have no array of these
    if wide or not (values.dtype.is_numeric() or values.dtype == nw.Boolean):
        return np.array(
            [np.nan if gap else _number(v) for v, gap in zip(values.to_list(), missing, strict=True)], float
        )
    found = values.fill_null(False if values.dtype == nw.Boolean else 0) if missing.any() else values
    return np.where(missing, np.nan, found.to_numpy())


def codes(values: Any, levels: Sequence[Any]) -> Codes:
    """The place of each value among the levels, or that it is not a level, or missing."""
    if isinstance(levels[0], str):
        return text_codes(values, {level: code for code, level in enumerate(levels)})
    given = numbers(values)
    order = np.argsort(known := np.array(levels, float), kind="stable")
    place = order[np.minimum(np.searchsorted(known, given, sorter=order), len(known) - 1)]
    found = np.where(known[place] == given, place, UNKNOWN)
    return np.asarray(np.where(np.isnan(given), MISSING, found), np.intp)


def _write_numbers(values: Any, column: Numeric | None, out: Matrix) -> int:
    """Fill the feature's columns; returns how many missing values count as something."""
    given = numbers(values)
    if column is None:
        out[:, 0] = given
        return 0
    out[:, 0] = column.transformed(given)
    if column.missing is None:
        return 0
    missing = np.isnan(given)
    out[missing, 0] = column.filler
    if column.missing == INDICATOR:
        out[missing, 1] = 1.0
    return int(missing.sum())


def _write_bins(values: Any, column: Bins, out: Matrix) -> int:
    """Fill the feature's columns; returns how many missing values count as something."""
    given = numbers(values)
    missing, infinite = np.isnan(given), np.isinf(given)
    bins = column.bins_of(given)
    if isinstance(column.missing, float):
        bins[missing] = column.bin_of(column.missing)
    bins[missing & (not isinstance(column.missing, float))] = MISSING
    bins[infinite] = UNKNOWN
    _write_hot(bins, column, out)
    out[infinite, 0] = given[infinite]  # refused, as it is where the column is a number
    return _write_gaps(missing, column, out)


def _write_levels(values: Any, column: Levels, out: Matrix) -> tuple[int, int]:
    """Fill the feature's columns; returns how many values are not levels, and how many missing ones count."""
    code = codes(values, column.levels)
    missing, unknown = code == MISSING, code == UNKNOWN
    if column.missing is not None and column.missing != INDICATOR:
        code[missing] = column.levels.index(column.missing)
    if column.kind == "one_hot":
        _write_hot(code, column, out)
    else:
        out[:, 0] = np.where(code >= 0, code, (len(column.levels) - 1) / 2)
    return int(unknown.sum()), _write_gaps(missing, column, out)


def _write_hot(codes: Codes, column: Bins | Levels, out: Matrix) -> None:
    """Set at most one column of every row to 1: none for the reference, nor for what has no code."""
    places = np.array(column.places, np.intp)[codes]
    rows = np.flatnonzero((codes >= 0) & (places >= 0))
    out[rows, places[rows]] = 1.0


def _write_gaps(missing: NDArray[np.bool_], column: Bins | Levels, out: Matrix) -> int:
    """Refuse or mark what is missing, unless it counts as a value; returns how many count as something."""
    if column.missing is None:
        out[missing, 0] = np.nan  # such a row counts as zero in every kernel, and is refused
        return 0
    if column.missing == INDICATOR:
        out[missing, column.block - 1 + (column.number is not None)] = 1.0
    return int(missing.sum())


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


def _fits(kind: str, column: Column | None) -> bool:
    return kind in ("objects", _wanted(column))


def _number(value: Any) -> float:
    if isinstance(value, NUMBERS):
        return float(value)
    raise TypeError(f"it holds a {type(value).__name__}, and no number")
