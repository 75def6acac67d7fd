"""Encoding of tables: their rows as rows of the model, a block at a time.

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

from dplr._core import Features
from dplr._kit.validation import sentence
from dplr.bounds.columns import Column, Levels
from dplr.bounds.layout import Layout
from dplr.bounds.products import Product
from dplr.rows.tables.native import native_column, native_feature
from dplr.rows.tables.table import Matrix, Table
from dplr.rows.tables.writers import write_column
from dplr.rows.threads import run, spans, threads_for

_ENTRIES = 2**16  # of one block: not much memory, and few calls into the table's library
_LEAST_ROWS = 8192
_PRODUCTS_AN_ENTRY = 40  # cost of an encoded entry, in multiplications of a sum
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
        self._choose()

    def _choose(self) -> None:
        """Choose the reader of each column: a kernel, NumPy from numbers that a kernel reads, or NumPy alone."""
        natives = [native_column(self._X, place) for place in self._places]
        triples = zip(natives, self._columns, self._firsts, strict=False)
        features = [native and native_feature(native, column, first) for native, column, first in triples]
        self._native = [j for j, feature in enumerate(features) if feature]
        self._numpy = [j for j, feature in enumerate(features) if not feature]
        self._features = Features([feature for feature in features if feature])
        self._numbers = [None if native is None else native.numbers for native in natives]
        # Whether every column of the matrix is written in every row: then it need not be cleared before.
        self._dense = all(c is None or (c.number is not None and not c.block) for c in self._columns)
        columns = [self._columns[j] for j in self._native]
        counted = [(isinstance(c, Levels), c is not None and c.missing is not None) for c in columns]
        self._counted = np.array(counted, np.int64).reshape(-1, 2).T

    @property
    def block_rows(self) -> int:
        """The number of rows of a block."""
        return max(_LEAST_ROWS, _ENTRIES // self.width)

    def block(self, rows: Any = None, out: Matrix | None = None) -> tuple[Matrix, NDArray[np.int64]]:
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

        def write(span: tuple[int, int]) -> NDArray[np.int64]:
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
        kinds = [_kind(dtype) for dtype in dtypes]
        unfit = [j for j, column in enumerate(self._columns) if not _fits(kinds[j], column)]
        if unfit:
            kind, content = kinds[unfit[0]], _wanted(self._columns[unfit[0]])
            names = [self.features[j] for j in unfit if kinds[j] == kind and _wanted(self._columns[j]) == content]
            rule = "must have numeric columns" if content == "numbers" else "must have text where the levels are text"
            raise ValueError(sentence(self._parameter, rule, names, _REMEDIES[kind]))

    def _rows(self, rows: Any) -> tuple[int, NDArray[np.int64] | None, int]:
        """(start, index, count): index is None for consecutive rows from `start` on, else it names all rows."""
        n = len(self._X)
        if isinstance(rows, slice):
            places = range(*rows.indices(n))
            if places.step == 1:
                return places.start, None, len(places)
            rows = np.array(places, np.int64)
        index = np.ascontiguousarray(rows, np.int64)
        return 0, np.where(index < 0, index + n, index), len(index)

    def _write(self, start: int, index: NDArray[np.int64] | None, matrix: Matrix) -> NDArray[np.int64]:
        """Fill a block, which is zero or dense, with the rows from `start` on or those of the index; its marks."""
        native_marks = np.zeros((2, len(self._native)), np.int64)
        self._features.write(start, index, matrix, native_marks)
        native_marks *= self._counted
        if not (self._numpy or self._products):
            return native_marks
        marks = np.zeros((2, len(self._columns)), np.int64)
        marks[:, self._native] = native_marks
        for j in self._numpy:
            column = self._columns[j]
            values = self._values(j, slice(start, start + len(matrix)) if index is None else index)
            try:
                marks[:, j] = write_column(values, column, matrix[:, self._firsts[j] :])
            except (TypeError, ValueError, ArithmeticError) as error:
                raise ValueError(f"column {self.features[j]!r} of `X` cannot be read as declared: {error}") from None
        for product, first in zip(self._products, self._firsts[len(self._columns) :], strict=True):
            factors = [self._firsts[place] for place in product.places]
            product.write(matrix, factors, matrix[:, first : first + product.width])
        return marks

    def _values(self, j: int, rows: slice | NDArray[np.int64]) -> Any:
        """A column for NumPy: its numbers where kernels read them, else as its library has it."""
        source = self._numbers[j]
        if source is not None:
            numbers = np.empty(rows.stop - rows.start if isinstance(rows, slice) else len(rows))
            start, index = (rows.start, None) if isinstance(rows, slice) else (0, rows)
            source.write_numbers(start, index, numbers)
            return numbers
        place = self._places[j]
        return self._X.column(place, rows) if isinstance(self._X, Table) else self._X[rows, place]


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
