"""Sum clipped gradients over the rows of an array, for one model or many."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from dplr.problem.geometry import GRID
from dplr.rows import threads
from dplr.rows.queries.clipped import ClippedGradient
from dplr.rows.queries.totals import Total, normalised, stack
from dplr.rows.selection import spans

if TYPE_CHECKING:
    from dplr.rows.array.rows import ArrayRows

Vector = NDArray[np.float64]
# A gradient reads a row and writes none: some products' worth of work an entry.
_PRODUCTS_AN_ENTRY = 8
# Rows are kept on the grid once so many passes have read them: a copy costs about what it would have saved. It saves
# more than rounding where rows are bounded or converted, and where they are read one by one. It is half as large as
# rows of float64, and never larger than this.
_PASSES_IN_PLACE, _PASSES_BOUNDED, _PASSES_CHOSEN = 8, 2, 1
_MOST_KEPT_BYTES = 2**28
# A batch of them is never worth a second thread.
_FEW_ROWS = 4096


def alone(rows: ArrayRows, query: ClippedGradient, coef: Vector, index: NDArray[np.int64] | None) -> Total:
    """See `ArrayRows.total`. Faults are those of all rows, whichever are chosen."""
    known, n = rows.clipped_rows(), len(rows) if index is None else len(index)
    _keep(rows, n, index is not None)
    faults, unit = rows.clipped_faults(), query.per_unit
    points, clip, loss = coef * GRID, query.clip * unit, query.loss

    def work(span: tuple[int, int]) -> Total:
        hi, lo = np.zeros(query.shape, np.int64), np.zeros(query.shape, np.int64)
        known.add(loss.name, loss.width, points, clip, unit, *span, index, hi, lo)
        return Total(hi, lo, query.exponent, faults)

    parts = _shares(rows, n, 1)
    if len(parts) == 1:
        return work(parts[0])
    total = functools.reduce(Total.__add__, threads.run(work, parts))
    return Total(total.hi, total.lo, total.exponent, faults)


def together(rows: ArrayRows, queries: Sequence[ClippedGradient], coefs: Sequence[Vector]) -> list[Total]:
    """See `ArrayRows.totals`."""
    known, first = rows.clipped_rows(), queries[0]
    if any((query.loss, query.shape) != (first.loss, first.shape) for query in queries):
        raise ValueError("`queries` must share their loss and shape; sum them one by one.")
    counts = [len(points) for points in coefs]
    if counts == [1]:
        return [stack([alone(rows, first, coefs[0][0], None)])]
    units = np.repeat([query.per_unit for query in queries], counts)
    _keep(rows, len(rows), chosen=False)
    clips, points = np.repeat([query.clip for query in queries], counts) * units, np.concatenate(coefs) * GRID

    def work(span: tuple[int, int]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        hi, lo = np.zeros(points.shape, np.int64), np.zeros(points.shape, np.int64)
        known.add_many(first.loss.name, first.loss.width, points, clips, units, *span, None, hi, lo)
        return hi, lo

    sums = threads.run(work, _shares(rows, len(rows), len(points)))
    hi, lo = (np.sum([part[limb] for part in sums], axis=0) for limb in range(2))
    faults, ends = rows.clipped_faults(), np.cumsum(counts).tolist()
    return [
        normalised(hi[end - count : end], lo[end - count : end], query.exponent, faults)
        for query, count, end in zip(queries, counts, ends, strict=True)
    ]


def _keep(rows: ArrayRows, n: int, chosen: bool) -> None:
    """Count what is read, and keep the rows on the grid where that saves more than it costs."""
    known = rows.clipped_rows()
    if known.is_kept(chosen=chosen):
        return
    rows.clipped_reads += n
    passes = _PASSES_CHOSEN if chosen else _PASSES_IN_PLACE if known.in_place else _PASSES_BOUNDED
    if rows.clipped_reads > passes * len(rows) and known.kept_bytes <= _MOST_KEPT_BYTES:
        known.keep(chosen=chosen)


def _shares(rows: ArrayRows, n: int, models: int) -> list[tuple[int, int]]:
    if n < _FEW_ROWS:
        return [(0, n)]
    return spans(n, min(rows.threads_for(float(n) * rows.geometry.d * models * _PRODUCTS_AN_ENTRY), max(n, 1)))
