"""Rows of one array or data frame, summed block by block without a copy of the whole."""

from __future__ import annotations

import copy
import dataclasses
import functools
from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from dplr._core import LossRows, gradients_of_many
from dplr._kit.validation import sentence
from dplr.bounds.scaling import Prep
from dplr.problem.losses import Loss
from dplr.rows import threads as _pool
from dplr.rows.array.blocks import BLOCK_ROWS, WholeReader, marked, reader_of, sum_exact, sum_ordered
from dplr.rows.array.clipped import ClippedSums
from dplr.rows.base import Rows
from dplr.rows.faults import BoundsNotice, refuse
from dplr.rows.queries.clipped import Allocate, ClippedGradient
from dplr.rows.queries.kernel import kernel_of
from dplr.rows.queries.losses import LossGradient, RealTotal
from dplr.rows.queries.totals import Total
from dplr.rows.selection import ALL, Selection
from dplr.rows.tables.encoder import Encoder
from dplr.rows.tables.table import as_table
from dplr.rows.tables.target import Target
from dplr.rows.weights import RowWeights, Weights
from dplr.solvers import sample_step

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
    block_rows : rows of one kernel call; None for a default. The sum does not depend on it.
    threads : number of threads; None for as many as the work is worth. The sum does not depend on it.
    allocate : makes the arrays for facts about rows that passes of clipped gradients share; None for memory.
    told : whether the data holder was warned, shared by all rows of a fit; None for rows that share it with no others.
    """

    in_memory = True

    def __init__(
        self,
        X: Any,
        y: Any,
        prep: Prep,
        *,
        weights: RowWeights | None = None,
        block_rows: int | None = None,
        threads: int | None = None,
        allocate: Allocate | None = None,
        told: BoundsNotice | None = None,
    ) -> None:
        table = as_table(X)
        source: Any = X if table is None else table
        needed = table is not None or (prep.layout is not None and not prep.layout.plain)
        self._encoder = Encoder(source, prep.layout) if needed else None
        self.columns: Sequence[str] | None = None if self._encoder is None else self._encoder.features
        self._weights = weights
        self._reader = reader_of(source, y, self._encoder, prep, block_rows, self._of_rows)
        self.prep = prep
        self._block_rows = block_rows
        self._threads = threads
        self._notice = told or BoundsNotice()
        self._allocate = allocate

    def not_finite(self) -> Mapping[str, int]:
        """Columns of a table with a NaN or an infinity, and in how many rows; empty for an array."""
        return {} if self._encoder is None else self._encoder.not_finite()

    def totals(self, queries: Sequence[ClippedGradient], coefs: Sequence[NDArray[np.float64]]) -> list[Total]:
        """Sum clipped gradients of one loss over all rows, each query at its points (k, q): totals of that shape."""
        totals = self.clipped_sums.of_many(queries, coefs)
        refuse(totals[0].faults)
        return totals

    def arrays(self) -> tuple[NDArray[Any], NDArray[Any], Weights]:
        """X, encoded, y and weights as kernels take them; views where they are native already."""
        return *self._array_reader().arrays(), self._of_rows

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self._reader)

    @property
    def units(self) -> int:
        """Number of units of privacy: of persons, or of rows. The weights of all rows add up to at most this."""
        return len(self) if self._weights is None else self._weights.units

    def of_units(self, units: NDArray[np.int64]) -> NDArray[np.int64]:
        """The rows of the units with these numbers, for sums over some of them."""
        if self._weights is None or self._weights.persons is None:
            return units
        is_chosen = np.zeros(self.units, bool)
        is_chosen[units] = True
        return np.flatnonzero(is_chosen[self._weights.persons])

    @property
    def _of_rows(self) -> Weights:
        return None if self._weights is None else self._weights.of_rows

    def sum(self, query: Any, coef: Any, rows: Selection = ALL) -> Any:
        """Sum the query by its own `sum_over`; faults are left to the caller."""
        return query.sum_over(self, coef, rows)

    def exact_sum(self, query: Any, coef: Any, rows: Selection = ALL) -> Total:
        """Sum an exact query in one pass; faults are left to the caller.

        A table is encoded block by block, unless an earlier sum needed it as a whole.
        """
        part = self._reader.selected(rows)
        total = sum_exact(functools.partial(part.sum, query, coef), len(part), self._parts(query, len(part)))
        return marked(total, self._reader.marks)

    def sum_of_units(self, query: Any, coef: Any) -> Total:
        """Sum a query that asks for the person of each row; faults are left to the caller.

        All threads would write into one array, so there is one.
        """
        weights: Any = self._weights  # with their persons, which no other query is told
        reader = dataclasses.replace(self._reader, weights=weights)
        total: Total = marked(reader.sum(query, coef, (0, len(reader))), self._reader.marks)
        return total

    def loss_sum(self, query: LossGradient, coef: NDArray[np.float64], rows: Selection = ALL) -> RealTotal:
        """Sum a loss in float64; faults are left to the caller.

        Passes are many and the order of rows matters, so a table is encoded once, as a whole.
        """
        reader = self._array_reader()
        part = reader.selected(rows)
        parts = self._parts(query, len(part))
        loss_rows = reader.loss_rows() if part is reader and parts == 1 and self._block_rows is None else None
        if loss_rows is None:
            total = sum_ordered(functools.partial(part.sum, query, coef), len(part), parts, self._block_rows)
        else:
            total = query.over(loss_rows, coef)
        return marked(total, reader.marks)

    @property
    def sample_step(self) -> int:
        """The step of the sample of rows on which a minimisation begins; 1 for all rows."""
        return sample_step(len(self), self.geometry.n_coefs)

    def loss_gradients(self, loss: Loss, coefs: NDArray[np.float64]) -> NDArray[np.float64]:
        """The summed loss's gradients (k, q) at points (k, q), for many points in one pass."""
        loss_rows = self._array_reader().loss_rows()
        if loss_rows is None or len(coefs) <= _FEW_MODELS:
            query = LossGradient(loss, self.geometry.d, self.geometry.intercept > 0)
            return np.array([self.loss_sum(query, coef).gradient for coef in coefs])
        return gradients_of_many(loss_rows, kernel_of(loss), loss.width, coefs)

    def loss_rows(self, step: int = 1) -> LossRows | None:
        """Every `step`-th row; with step 1, None if rows must be converted or are worth several threads."""
        several = _pool.threads_for(float(len(self)) * self.geometry.d * 16, self._threads) > 1
        return None if several and step == 1 else self._array_reader().loss_rows(step)

    def clipped_sum(self, query: ClippedGradient, coef: NDArray[np.float64], rows: Selection = ALL) -> Total:
        """Sum clipped gradients with facts that earlier passes cached; faults, of all rows, are left to the caller.

        Blocks of a given size, and every `step`-th row, are summed as any other exact query.
        """
        if self._block_rows is None and rows.step == 1:
            return self.clipped_sums.of_one(query, coef, rows.indices)
        return self.exact_sum(query, coef, rows)

    @functools.cached_property
    def clipped_sums(self) -> ClippedSums:
        """Sums of clipped gradients. Their passes are many: what kernels cannot read in place is converted, once."""
        return ClippedSums(*self._array_reader().arrays(), self.prep, self._threads, self._of_rows, self._allocate)

    def mapped(self, prep: Prep) -> Self:
        """These rows with another map to scaled rows, without a copy."""
        rows = copy.copy(self)
        rows.__dict__.pop("clipped_sums", None)  # made with the old map
        rows.prep, rows._reader = prep, self._array_reader().mapped(prep)
        return rows

    def _parts(self, query: Any, n: int) -> int:
        """In how many parts, each on a thread of its own, a sum over n rows is made."""
        q = query.shape[-1] if len(query.shape) > 1 else 1
        products = float(n) * max(q, query.d) * (q + 16)  # packing costs 16 products
        return min(_pool.threads_for(products, self._threads), max(1, n // (self._block_rows or BLOCK_ROWS)))

    def _array_reader(self) -> WholeReader:
        """A reader of all rows in arrays: a table is encoded, and kept so for the next pass."""
        self._reader = reader = self._reader.whole()
        return reader


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
