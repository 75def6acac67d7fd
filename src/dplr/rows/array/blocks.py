"""Sums over a span of rows, block by block: as they lie, converted, or encoded; and of several spans on threads."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dplr._core import CHUNK_ROWS, LossRows
from dplr.bounds.scaling import Prep
from dplr.rows import threads as _pool
from dplr.rows.array.native import as_native, as_numbers
from dplr.rows.queries.losses import RealTotal
from dplr.rows.queries.totals import Total
from dplr.rows.selection import chunks, spans

if TYPE_CHECKING:
    from dplr.rows.tables.encoder import Encoder

Span = tuple[int, int]
Index = NDArray[np.int64] | None

BLOCK_ROWS = 8192
# Rows of one kernel call where nothing must be converted: an interrupt waits for its end.
_KERNEL_ROWS = 2**20


def sum_spans(work: Callable[[Span], Any], n: int, parts: int, exact: bool, block_rows: int | None) -> Any:
    """Sum n rows in so many parts, each on a thread of its own."""
    if parts == 1:
        return work((0, n))
    if exact:
        return functools.reduce(Total.__add__, _pool.run(work, spans(n, parts)))
    # Not exact: chunks are merged in their order, whatever thread summed them.
    pieces = chunks(n, block_rows or CHUNK_ROWS)
    shares = [pieces[a:b] for a, b in spans(len(pieces), parts)]
    totals = _pool.run(lambda share: [work(span) for span in share], shares)
    return functools.reduce(RealTotal.__add__, itertools.chain.from_iterable(totals))


def sum_known(query: Any, coef: Any, rows: LossRows) -> Any:
    """All rows, of which earlier passes have learnt something."""
    out = query.partial()
    query.add_rows(rows, coef, out)
    return out.total()


def sum_native(
    query: Any, coef: Any, prep: Prep, block_rows: int | None, X: NDArray[Any], y: NDArray[Any], span: Span
) -> Any:
    """Rows that kernels read in place."""
    out, step = query.partial(), block_rows or _KERNEL_ROWS
    for start in range(span[0], span[1], step):
        end = min(start + step, span[1])
        query.add_block(X[start:end], y[start:end], prep, coef, out)
    return out.total()


def sum_converted(
    query: Any, coef: Any, prep: Prep, block_rows: int | None, X: Any, y: Any, index: Index, span: Span
) -> Any:
    """Rows, or those that `index` names, of which each block is converted or copied."""
    out, step = query.partial(), block_rows or BLOCK_ROWS
    for start in range(span[0], span[1], step):
        block = slice(start, min(start + step, span[1]))
        rows: Any = block if index is None else index[block]
        query.add_block(as_native(X[rows]), np.require(y[rows], np.float64, "A"), prep, coef, out)
    return out.total()


def sum_encoded(
    query: Any, coef: Any, prep: Prep, block_rows: int | None, encoder: Encoder, y: Any, index: Index, span: Span
) -> Any:
    """Rows of a table, or those that `index` names, of which each block is encoded; with the marks of that."""
    out, marks = query.partial(), np.zeros(2 * len(encoder.features), np.int64)
    step = block_rows or encoder.block_rows
    for start in range(span[0], span[1], step):
        block = slice(start, min(start + step, span[1]))
        rows: Any = block if index is None else index[block]
        matrix, seen = encoder.block(rows)
        query.add_block(matrix, as_numbers(y[rows]), prep, coef, out)
        marks += seen
    return marked(out.total(), tuple(marks.tolist()))


def marked(total: Any, marks: tuple[int, ...]) -> Any:
    """The total with the marks that encoding left."""
    return replace(total, faults=total.faults._replace(marks=marks))
