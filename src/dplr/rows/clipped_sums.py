"""Sums of clipped gradients over rows that lie in arrays, for one model or many, in many passes."""

from __future__ import annotations

import functools
from collections.abc import Sequence

import numpy as np

from dplr._core import ClippedRows
from dplr.problem.geometry import GRID
from dplr.rows import threads as _pool
from dplr.rows.exact import ClippedGradient, Faults, Integers, Total, Vector, kernel_of, normalised, stack

# Work per entry, in multiplications: a gradient reads a row and writes nothing.
_PRODUCTS_AN_ENTRY = 8
# Keep a rounded copy of the rows after this many passes; by then the copy has paid for itself. It pays sooner where
# rows must also be bounded or converted, or are read one at a time. It is half as large as rows of float64, and never
# larger than this.
_PASSES_IN_PLACE, _PASSES_BOUNDED, _PASSES_CHOSEN = 8, 2, 1
_MOST_KEPT_BYTES = 2**28
# A sum over fewer rows than this is never worth a second thread.
_FEW_ROWS = 4096


class ClippedSums:
    """Sums that share facts about the rows, such as their norms, and a copy on the grid.

    Attributes
    ----------
    kernel : the rows as kernels take them, with facts that passes share.
    """

    def __init__(self, kernel: ClippedRows, n: int, d: int, threads: int | None) -> None:
        self.kernel, self._n, self._d, self._threads, self._reads = kernel, n, d, threads, 0
        non_finite, unknown = self.kernel.faults.tolist()
        self._faults = Faults(self._n, non_finite, unknown, (0,) * (self._d + 1))

    def of_one(self, query: ClippedGradient, coef: Vector, index: Integers | None = None) -> Total:
        """The sum at one point (q,), over all rows or those that `index` names, each as often as it is named.

        Faults are those of all rows, whichever are chosen.
        """
        n = self._n if index is None else len(index)
        self._keep(n, index is not None)

        def work(span: tuple[int, int]) -> Total:
            hi, lo = np.zeros(query.shape, np.int64), np.zeros(query.shape, np.int64)
            query.add_rows(self.kernel, coef, hi, lo, span, index)
            return Total(hi, lo, query.exponent, self._faults)

        totals = _pool.run(work, self._shares(n, 1))
        if len(totals) == 1:
            return totals[0]
        total = functools.reduce(Total.__add__, totals)
        return Total(total.hi, total.lo, total.exponent, self._faults)

    def of_many(self, queries: Sequence[ClippedGradient], coefs: Sequence[Vector]) -> list[Total]:
        """The sums of each query at its points (k, q), over all rows: totals of that shape.

        Raises ValueError where the queries differ in loss or shape.
        """
        first = queries[0]
        if any((query.loss, query.shape) != (first.loss, first.shape) for query in queries):
            raise ValueError("`queries` must share their loss and shape; sum them one by one.")
        counts = [len(points) for points in coefs]
        if counts == [1]:
            return [stack([self.of_one(first, coefs[0][0])])]
        units = np.repeat([query.per_unit for query in queries], counts)
        self._keep(self._n, is_subset=False)
        clips, points = np.repeat([query.clip for query in queries], counts) * units, np.concatenate(coefs) * GRID

        def work(span: tuple[int, int]) -> tuple[Integers, Integers]:
            hi, lo = np.zeros(points.shape, np.int64), np.zeros(points.shape, np.int64)
            self.kernel.add_many(kernel_of(first.loss), first.loss.width, points, clips, units, *span, None, hi, lo)
            return hi, lo

        sums = _pool.run(work, self._shares(self._n, len(points)))
        hi, lo = (np.sum([part[limb] for part in sums], axis=0) for limb in range(2))
        ends = np.cumsum(counts).tolist()
        return [
            normalised(hi[end - count : end], lo[end - count : end], query.exponent, self._faults)
            for query, count, end in zip(queries, counts, ends, strict=True)
        ]

    def _keep(self, n: int, is_subset: bool) -> None:
        """Count what is read, and keep the rows on the grid where that saves more than it costs."""
        kernel = self.kernel
        if kernel.is_kept(chosen=is_subset):
            return
        self._reads += n
        passes = _PASSES_CHOSEN if is_subset else _PASSES_IN_PLACE if kernel.in_place else _PASSES_BOUNDED
        if self._reads > passes * self._n and kernel.kept_bytes <= _MOST_KEPT_BYTES:
            kernel.keep(chosen=is_subset)

    def _shares(self, n: int, models: int) -> list[tuple[int, int]]:
        if n < _FEW_ROWS:
            return [(0, n)]
        products = float(n) * self._d * models * _PRODUCTS_AN_ENTRY
        return _pool.spans(n, min(_pool.threads_for(products, self._threads), max(n, 1)))
