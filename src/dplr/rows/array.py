"""Rows of one array or table, summed block by block without a copy of the whole."""

from __future__ import annotations

import copy
import functools
import itertools
import operator
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from dplr._core import CHUNK_ROWS, ClippedRows, LossRows, gradients_of_many
from dplr._kit.validation import sentence
from dplr.bounds.scaling import Prep
from dplr.problem.losses import Loss
from dplr.rows import threads as _pool
from dplr.rows.base import Rows
from dplr.rows.exact import Allocate, Block, ClippedGradient, Faults, Integers, Total, Vector, clipped_rows, kernel_of
from dplr.rows.faults import BoundsNotice
from dplr.rows.labels import Labels
from dplr.rows.losses import LossGradient, native_rows
from dplr.rows.tables.encoder import Encoder
from dplr.rows.tables.table import Target, as_table
from dplr.rows.weights import ALL, RowWeights, Selection, Weights
from dplr.solvers import sample_step

# Rows of one kernel call, where they must be converted.
_BLOCK_ROWS = 8192
# Work per entry, in multiplications: a gradient reads a row and writes nothing.
_PRODUCTS_AN_ENTRY = 8
# Keep a rounded copy of the rows after this many passes; by then the copy has paid for itself. It pays sooner where
# rows must also be bounded or converted, or are read one at a time. It is half as large as rows of float64, and never
# larger than this.
_PASSES_IN_PLACE, _PASSES_BOUNDED, _PASSES_CHOSEN = 8, 2, 1
_MOST_KEPT_BYTES = 2**28
# A sum over fewer rows than this is never worth a second thread.
_FEW_ROWS = 4096
# For up to this many models, one pass per model is quicker than one pass for all of them.
_FEW_MODELS = 10


class ArrayRows(Rows):
    """Rows of an array (any float type and memory order, read-only or memory-mapped) or of a table.

    Parameters
    ----------
    X : (n, d) array, or a table of any library; never changed. An array of floats is never copied as a whole. A table
        is encoded block by block for exact sums, and once as a whole for kernels that make many passes.
    y : (n,) numbers, or numeric codes of labels.
    prep : the map from raw rows to scaled rows.
    weights : weight and unit of each row; None where every row is a unit of weight 1.
    labels : of more than two classes, for the rows of one of them.
    block_rows, threads : rows of one kernel call, and number of threads; None for as many as the work is worth. No sum
        depends on them.
    allocate : makes the arrays for facts about rows that passes of clipped gradients share; None for memory.
    """

    def __init__(
        self, X: Any, y: Any, prep: Prep, *, weights: RowWeights | None = None, labels: Labels | None = None,
        block_rows: int | None = None, threads: int | None = None, allocate: Allocate | None = None,
    ) -> None:  # fmt: skip
        table = as_table(X)
        is_encoded = table is not None or (prep.layout is not None and not prep.layout.plain)
        self._encoder = Encoder(X if table is None else table, prep.layout) if is_encoded else None
        self.columns: Sequence[str] | None = None if self._encoder is None else self._encoder.features
        self._X: Any = None if is_encoded else X  # None until a table is encoded as a whole
        is_native = _target_is_native(y)
        if is_native and y.dtype.char == "?":
            y = y.view(np.uint8)
        self._y = np.require(y, np.float64, "A") if is_encoded and not is_native else y
        self._in_place = is_native and not is_encoded and _is_native(X)
        self._marks: tuple[int, ...] = ()  # of the encoding of the whole table, for the faults of every sum
        self.prep: Prep = prep
        self._weights, self._labels, self._notice = weights, labels, BoundsNotice()
        self._of_rows: Weights = None if weights is None else weights.of_rows
        self._block_rows, self._threads, self._allocate = block_rows, threads, allocate

    def __len__(self) -> int:
        return len(self._y)

    @property
    def units(self) -> int:
        return len(self) if self._weights is None else self._weights.units

    def of_units(self, units: Integers) -> Integers:
        if self._weights is None or self._weights.persons is None:
            return units
        is_chosen = np.zeros(self.units, bool)
        is_chosen[units] = True
        return np.flatnonzero(is_chosen[self._weights.persons])

    def not_finite(self) -> Mapping[str, int]:
        return {} if self._encoder is None else self._encoder.not_finite()

    def of_class(self, position: int) -> Self:
        assert self._labels is not None
        return self._with(_y=self._labels.against_the_rest(position), sound=False)

    def mapped(self, prep: Prep) -> Self:
        self._encode()
        return self._with(prep=prep)

    def _with(self, **changes: Any) -> Self:
        """These rows with other targets or another map, and without what was made of those before."""
        rows = copy.copy(self)
        kept = {name: value for name, value in vars(rows).items() if name not in ("clipped_rows", "_all_rows")}
        rows.__dict__ = kept | changes
        return rows

    def _blocks(self, query: Any, rows: Selection, start: int, end: int) -> Iterator[tuple[Block, Any]]:
        """The selected rows from `start` to `end`, and what their encoding counted.

        Blocks lie where the rows lie, or are converted, or encoded.
        """
        weights: Any = self._weights if query.by_person else self._of_rows
        encoder = self._encoder if self._X is None else None
        in_place = self._in_place and rows.indices is None
        usual = encoder.block_rows if encoder else query.most_rows if in_place else _BLOCK_ROWS
        size, step, X, marks = self._block_rows or min(usual, query.most_rows), rows.step, None, None
        for first in range(start, end, size):
            last = min(first + size, end)
            here: Any = slice(first * step, (last - 1) * step + 1, step)
            if rows.indices is not None:
                here = rows.indices[first:last]
            y = self._y[here]
            if encoder:
                X, marks = encoder.block(here, X)
            elif in_place:
                X = self._X[here]
            else:
                X, y = _as_native(self._X[here]), np.require(y, np.float64, "A")
            yield Block(X, y, self.prep, None if weights is None else weights[here]), marks

    def _encode(self) -> None:
        """Encode a table as a whole, and keep it so for the passes to come."""
        if self._X is None and self._encoder is not None:
            self._X, marks = self._encoder.block()
            self._marks, self._in_place = tuple(marks.tolist()), True

    def arrays(self) -> tuple[NDArray[Any], NDArray[Any], Weights]:
        """X, encoded, y and weights as kernels take them; views where they are native already."""
        self._encode()
        y = self._y if self._in_place else np.require(self._y, np.float64, "A")
        return _as_native(self._X), y, self._of_rows

    def sum(self, query: Any, coef: Any = None, rows: Selection = ALL) -> Any:
        """Sum the query over the selected rows; faults are left to the caller.

        Exact sums merge in any order, and a table is encoded block by block, unless an earlier sum needed it as a
        whole. Sums in float64 merge in the order of rows. Clipped gradients share facts that earlier passes cached.
        """
        if isinstance(query, ClippedGradient) and self._block_rows is None and rows.step == 1:
            return self._clipped(query, coef, rows.indices)
        n = -(-len(self) // rows.step) if rows.indices is None else len(rows.indices)
        parts = 1 if query.by_person else self._parts(query, n)  # all threads would write into one array
        if not isinstance(query, LossGradient):
            return self._merged(query, coef, rows, [(0, n)] if parts == 1 else _pool.spans(n, parts), parts)
        self._encode()  # passes are many
        if parts > 1:
            size = self._block_rows or CHUNK_ROWS
            return self._merged(query, coef, rows, [(a, min(a + size, n)) for a in range(0, n, size)], parts)
        if self._block_rows or rows.step > 1 or rows.indices is not None or self._all_rows is None:
            return self._merged(query, coef, rows, [(0, n)], 1)
        return _marked(query.over(self._all_rows, coef), self._marks)

    def _merged(self, query: Any, coef: Any, rows: Selection, pieces: list[tuple[int, int]], parts: int) -> Any:
        """The sum over spans, merged in their order: each part of them is read by a thread of its own."""

        def total(span: tuple[int, int]) -> Any:
            out = query.partial()
            counted: Any = None
            for block, marks in self._blocks(query, rows, *span):
                query.add_block(block, coef, out)
                counted = marks if counted is None else counted + marks
            return _marked(out.total(), self._marks if counted is None else tuple(counted.tolist()))

        if parts == 1:
            return total(pieces[0])
        shares = [pieces[a:b] for a, b in _pool.spans(len(pieces), parts)]
        totals = itertools.chain.from_iterable(_pool.run(lambda share: [total(span) for span in share], shares))
        return _marked(functools.reduce(operator.add, totals), self._marks)

    def _parts(self, query: Any, n: int) -> int:
        """In how many parts, each on a thread of its own, a sum over n rows is made."""
        shape = query.shape
        q = shape[-1] if len(shape) > 1 else 1
        products = float(n) * max(q, query.d) * (q + 16)  # packing costs 16 products
        return min(_pool.threads_for(products, self._threads), max(1, n // (self._block_rows or _BLOCK_ROWS)))

    @functools.cached_property
    def clipped_rows(self) -> ClippedRows:
        """All rows for sums of clipped gradients, with facts that passes share, such as norms, and a copy on the grid.

        Passes are many: what kernels cannot read in place is converted, once.
        """
        X, y, weights = self.arrays()
        self._reads = 0
        return clipped_rows(X, y, self.prep, weights, self._allocate)

    def _clipped(self, query: ClippedGradient, coef: Vector, index: Integers | None) -> Total:
        """The sum over all rows or those that `index` names; faults are those of all rows."""
        kernel, d, n = self.clipped_rows, self.geometry.d, len(self) if index is None else len(index)
        self._keep(kernel, n, index is not None)
        non_finite, unknown = kernel.faults.tolist()
        faults = Faults(len(self), non_finite, unknown, (0,) * (d + 1))

        def work(span: tuple[int, int]) -> Total:
            hi, lo = np.zeros((2, *query.shape), np.int64)
            query.add_rows(kernel, coef, hi, lo, span, index)
            return Total(hi, lo, query.exponent, faults)

        parts = 1 if n < _FEW_ROWS else _pool.threads_for(float(n) * d * _PRODUCTS_AN_ENTRY, self._threads)
        totals = _pool.run(work, [(0, n)] if parts == 1 else _pool.spans(n, parts))
        return totals[0] if parts == 1 else replace(functools.reduce(operator.add, totals), faults=faults)

    def _keep(self, kernel: ClippedRows, n: int, is_subset: bool) -> None:
        """Count what is read, and keep the rows on the grid where that saves more than it costs."""
        if not kernel.is_kept(chosen=is_subset):
            self._reads += n
            passes = _PASSES_CHOSEN if is_subset else _PASSES_IN_PLACE if kernel.in_place else _PASSES_BOUNDED
            if self._reads > passes * len(self) and kernel.kept_bytes <= _MOST_KEPT_BYTES:
                kernel.keep(chosen=is_subset)

    @property
    def sample_step(self) -> int:
        return sample_step(len(self), self.geometry.n_coefs)

    @functools.cached_property
    def _all_rows(self) -> LossRows | None:
        """All rows, with the facts that passes cache; None where rows must be converted: no copy of them is kept."""
        return native_rows(*self.arrays()[:2], self.prep, self._of_rows) if self._in_place else None

    def loss_rows(self, step: int = 1) -> LossRows | None:
        self._encode()
        if step == 1:
            several = _pool.threads_for(float(len(self)) * self.geometry.d * 16, self._threads) > 1
            return None if several else self._all_rows
        some = slice(None, None, step)  # a copy: rows far apart are slow to read more than once
        parts = (self._X[some], self._y[some])
        if self._in_place:
            X, y = (np.ascontiguousarray(part) for part in parts)
        else:
            X, y = (np.require(part, np.float64, "A") for part in parts)
        return native_rows(X, y, self.prep, None if self._of_rows is None else self._of_rows[some])

    def loss_gradients(self, loss: Loss, coefs: Vector) -> Vector:
        self._encode()
        if self._all_rows is None or len(coefs) <= _FEW_MODELS:
            query = LossGradient(loss, self.geometry.d, self.geometry.intercept > 0)
            return np.array([self.sum(query, coef).gradient for coef in coefs])
        return gradients_of_many(self._all_rows, kernel_of(loss), loss.width, coefs)


def _marked(total: Any, marks: tuple[int, ...]) -> Any:
    """The total with the marks that encoding left, if it left any."""
    return replace(total, faults=total.faults._replace(marks=marks)) if marks else total


def _is_native(X: Any) -> bool:
    """Whether the kernel reads it as it is."""
    return isinstance(X, np.ndarray) and X.dtype.char in "df" and X.dtype.isnative and X.flags.aligned


def _as_native(block: Any) -> NDArray[Any]:
    """A float64 or float32 view of the block where it is one already, else an aligned copy of this block."""
    return block if _is_native(block) else np.require(block, np.float64, "A")


def _target_is_native(y: Any) -> bool:
    """Whether the kernel reads these targets as they are, booleans as bytes."""
    return (
        isinstance(y, np.ndarray)
        and (y.dtype.char in "d?" or (y.dtype.kind == "i" and y.dtype.itemsize == 8))
        and y.dtype.isnative
        and y.flags.aligned
    )


def check_shapes(X: Any, y: Target) -> tuple[int, int]:
    """(n, d) of a fitting pair, or ValueError."""
    if getattr(X, "ndim", None) != 2:
        raise ValueError(sentence("X", "must be two-dimensional", getattr(X, "shape", X)))
    if y.values.ndim != 1:
        raise ValueError(sentence("y", "must be one-dimensional", y.values.shape))
    n, d = X.shape
    if n != len(y):
        raise ValueError(f"`y` must have one entry for each row of X; got {len(y)} entries and {n} rows.")
    return n, d
