"""Readers of rows, which sum a query block by block: in place, converted, or encoded; and sums of spans on threads.

Which reader an array or a table gets is decided once, by `reader_of`. A reader knows how its rows lie and nothing of
what is summed; `sum_exact` and `sum_ordered` merge the sums of several spans.
"""

from __future__ import annotations

import functools
import itertools
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from dplr._core import CHUNK_ROWS, LossRows
from dplr.bounds.scaling import Prep
from dplr.rows import threads
from dplr.rows.queries.losses import RealTotal, native_rows
from dplr.rows.queries.totals import Total
from dplr.rows.selection import Selection, chunks, spans
from dplr.rows.tables.encoder import Encoder
from dplr.rows.weights import Weights

Span = tuple[int, int]
Index = NDArray[np.int64] | None
Arrays = tuple[NDArray[Any], NDArray[Any]]
AnyTotal = TypeVar("AnyTotal", Total, RealTotal)

BLOCK_ROWS = 8192
# Rows of one kernel call where nothing must be converted: an interrupt waits for its end.
_KERNEL_ROWS = 2**20


@dataclass(eq=False)
class Reader(ABC):
    """Rows in a fixed order, of which any span can be summed.

    Attributes
    ----------
    X, y : all rows: arrays, or an encoder of a table and its targets.
    prep : the map from raw rows to scaled rows.
    block_rows : rows of one kernel call; None for a default.
    weights : of all rows.
    index : the rows that count, each as often as it is named; None for all of them.
    marks : counts from the encoding of the whole table, for the faults of every total; else empty.
    """

    X: Any
    y: Any
    prep: Prep
    block_rows: int | None
    weights: Weights = None
    index: Index = None
    marks: tuple[int, ...] = ()

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.y if self.index is None else self.index)

    @abstractmethod
    def selected(self, rows: Selection) -> Reader:
        """A reader of the selected rows; this reader itself if all of them are selected."""

    @abstractmethod
    def whole(self) -> WholeReader:
        """A reader for many passes; for a table, one that holds all rows encoded."""

    @abstractmethod
    def sum(self, query: Any, coef: Any, span: Span) -> Any:
        """Sum the query over the rows of the span."""


class WholeReader(Reader):
    """Rows that lie in arrays."""

    def selected(self, rows: Selection) -> Reader:
        """A reader of the selected rows: views of every `step`-th, copies of those that are named, block by block."""
        if rows.indices is not None:
            return ConvertedReader(self.X, self.y, self.prep, self.block_rows, self.weights, rows.indices)
        if rows.step == 1:
            return self
        some = slice(None, None, rows.step)
        return replace(self, X=self.X[some], y=self.y[some], weights=_of(self.weights, some))

    def whole(self) -> WholeReader:
        """The reader itself, which has all rows in arrays."""
        return self

    def mapped(self, prep: Prep) -> WholeReader:
        """A reader of the same arrays with another map to scaled rows."""
        return replace(self, prep=prep)

    @abstractmethod
    def arrays(self) -> Arrays:
        """X and y as kernels take them: views where they are native, else copies."""

    @abstractmethod
    def loss_rows(self, step: int = 1) -> LossRows | None:
        """Every `step`-th row as the loss kernels take them; None where rows must be converted first."""


def reader_of(
    X: Any, y: Any, encoder: Encoder | None, prep: Prep, block_rows: int | None, weights: Weights = None
) -> Reader:
    """The reader of an array, or of the table that `encoder` encodes."""
    if encoder is not None:
        numbers = y if target_is_native(y) else np.require(y, np.float64, "A")
        return EncodedReader(encoder, numbers, prep, block_rows, weights)
    if is_native(X) and target_is_native(y):
        return NativeReader(X, y, prep, block_rows, weights)
    return ConvertedReader(X, y, prep, block_rows, weights)


@dataclass(eq=False)
class NativeReader(WholeReader):
    """Rows that kernels read in place. `marks` are those of a table that was encoded."""

    _loss_rows: LossRows | None = field(default=None, init=False)

    def sum(self, query: Any, coef: Any, span: Span) -> Any:
        """Sum the query over the rows of the span, in calls that an interrupt can wait for."""
        X, y = self.arrays()
        out, step = query.partial(), self.block_rows or _KERNEL_ROWS
        for start in range(span[0], span[1], step):
            rows = slice(start, min(start + step, span[1]))
            query.add_block(X[rows], y[rows], self.prep, coef, out, _of(self.weights, rows))
        return out.total()

    def arrays(self) -> Arrays:
        """X and y as they lie, booleans as bytes."""
        return self.X, as_numbers(self.y)

    def loss_rows(self, step: int = 1) -> LossRows:
        """Every `step`-th row for the loss kernels. With step 1 the rows are kept, with the facts that passes cache."""
        if step > 1:  # a copy: rows far apart are slow to read more than once
            X, y = (np.ascontiguousarray(part[::step]) for part in self.arrays())
            return native_rows(X, y, self.prep, _of(self.weights, slice(None, None, step)))
        if self._loss_rows is None:
            self._loss_rows = native_rows(*self.arrays(), self.prep, self.weights)
        return self._loss_rows


class ConvertedReader(WholeReader):
    """Rows in arrays, of which each block is converted or copied."""

    def sum(self, query: Any, coef: Any, span: Span) -> Any:
        """Sum the query over the rows of the span, and convert each block before."""
        out, step = query.partial(), self.block_rows or BLOCK_ROWS
        for start in range(span[0], span[1], step):
            rows = _rows(self.index, start, min(start + step, span[1]))
            X, y = as_native(self.X[rows]), np.require(self.y[rows], np.float64, "A")
            query.add_block(X, y, self.prep, coef, out, _of(self.weights, rows))
        return out.total()

    def arrays(self) -> Arrays:
        """All rows converted: a copy of what is not native."""
        return as_native(self.X), np.require(self.y, np.float64, "A")

    def loss_rows(self, step: int = 1) -> LossRows | None:
        """A converted copy of every `step`-th row; None for step 1, because no copy of all rows is kept."""
        if step == 1:
            return None
        some = slice(None, None, step)
        X, y = np.require(self.X[some], np.float64, "A"), np.require(self.y[some], np.float64, "A")
        return native_rows(X, y, self.prep, _of(self.weights, some))


class EncodedReader(Reader):
    """Rows of a table, encoded block by block; each sum counts the marks of its blocks. X is the encoder."""

    def selected(self, rows: Selection) -> Reader:
        """A reader of the selected rows, which encodes blocks of them."""
        if rows.indices is None and rows.step == 1:
            return self
        return replace(self, index=np.arange(0, len(self.y), rows.step) if rows.indices is None else rows.indices)

    def whole(self) -> WholeReader:
        """A reader of the table as one encoded matrix, with the marks that this left."""
        matrix, marks = self.X.block()
        return NativeReader(matrix, self.y, self.prep, self.block_rows, self.weights, marks=tuple(marks.tolist()))

    def sum(self, query: Any, coef: Any, span: Span) -> Any:
        """Sum the query over the rows of the span, and encode each block before; with the marks of those blocks."""
        encoder, out, y, matrix = self.X, query.partial(), as_numbers(self.y), None
        marks, step = np.zeros(2 * len(encoder.features), np.int64), self.block_rows or encoder.block_rows
        for start in range(span[0], span[1], step):
            rows = _rows(self.index, start, min(start + step, span[1]))
            matrix, block_marks = encoder.block(rows, matrix)
            query.add_block(matrix, y[rows], self.prep, coef, out, _of(self.weights, rows))
            marks += block_marks
        return marked(out.total(), tuple(marks.tolist()))


def sum_exact(work: Callable[[Span], Total], n: int, parts: int) -> Total:
    """Sum n rows in that many parts, each on a thread of its own: exact totals merge in any order."""
    return work((0, n)) if parts == 1 else functools.reduce(Total.__add__, threads.run(work, spans(n, parts)))


def sum_ordered(work: Callable[[Span], RealTotal], n: int, parts: int, block_rows: int | None) -> RealTotal:
    """Sum n rows in that many parts; on threads, chunks are merged in their order, whichever thread summed them."""
    if parts == 1:
        return work((0, n))
    pieces = chunks(n, block_rows or CHUNK_ROWS)
    shares = [pieces[a:b] for a, b in spans(len(pieces), parts)]
    totals = threads.run(lambda share: [work(span) for span in share], shares)
    return functools.reduce(RealTotal.__add__, itertools.chain.from_iterable(totals))


def marked(total: AnyTotal, marks: tuple[int, ...]) -> AnyTotal:
    """The total with the marks that encoding left, if it left any."""
    return replace(total, faults=total.faults._replace(marks=marks)) if marks else total


def is_native(X: Any) -> bool:
    """Whether the kernel reads it as it is."""
    return isinstance(X, np.ndarray) and X.dtype.char in "df" and X.dtype.isnative and X.flags.aligned


def as_native(block: Any) -> NDArray[Any]:
    """A float64 or float32 view of the block where it is one already, else an aligned copy of this block."""
    return block if is_native(block) else np.require(block, np.float64, "A")


def target_is_native(y: Any) -> bool:
    """Whether the kernel reads these targets as they are, booleans as bytes."""
    return (
        isinstance(y, np.ndarray)
        and (y.dtype.char in "d?" or (y.dtype.kind == "i" and y.dtype.itemsize == 8))
        and y.dtype.isnative
        and y.flags.aligned
    )


def as_numbers(y: NDArray[Any]) -> NDArray[Any]:
    """Booleans as the bytes that the kernel reads."""
    return y.view(np.uint8) if y.dtype.char == "?" else y


def _of(weights: Any, rows: Any) -> Any:
    """The weights of some rows, if rows have any."""
    return None if weights is None else weights[rows]


def _rows(index: Index, start: int, end: int) -> Any:
    """The rows from `start` to `end`, in their order or in that of `index`."""
    return slice(start, end) if index is None else index[start:end]
