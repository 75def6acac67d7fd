"""Rows of one array or data frame, summed block by block without a copy of the whole."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from dplr._core import ClippedRows, LossRows
from dplr._validation import sentence
from dplr.bounds.scaling import Prep
from dplr.problem.geometry import Geometry
from dplr.rows import threads as _pool
from dplr.rows.array import blocks as _blocks
from dplr.rows.array import clipped as _clipped
from dplr.rows.array import minimise as _minimise
from dplr.rows.array.native import as_native, as_numbers, is_native, target_is_native
from dplr.rows.faults import refuse, warn_outside
from dplr.rows.queries.clipped import ClippedGradient, clipped_rows
from dplr.rows.queries.losses import LossGradient, RealTotal, native_rows
from dplr.rows.queries.moments import Moments
from dplr.rows.queries.totals import Faults, Total
from dplr.rows.selection import ALL, Selection
from dplr.rows.tables.encoder import Encoder
from dplr.rows.tables.table import as_table
from dplr.rows.tables.target import Target
from dplr.solvers.certificate import Objective


class ArrayRows:
    """Rows of an array (any float type and memory order, read-only or memory-mapped) or of a table.

    Parameters
    ----------
    X : (n, d) array, or a table of any library; never changed. An array of floats is never copied as a whole. A table
        is encoded block by block for exact sums, and once as a whole for kernels that make many passes.
    y : (n,) numbers, or numeric codes of labels.
    prep : the row's way into the scaled problem.
    block_rows : rows of one kernel call; None for a good number. The sum does not depend on it.
    threads : number of threads; None for as many as the work is worth. The sum does not depend on it.
    """

    def __init__(
        self, X: Any, y: Any, prep: Prep, *, block_rows: int | None = None, threads: int | None = None
    ) -> None:
        table = as_table(X)
        self._X: Any = X if table is None else table
        needed = table is not None or (prep.layout is not None and not prep.layout.plain)
        self._encoder = Encoder(self._X, prep.layout) if needed else None
        self._matrix: NDArray[np.float64] | None = None
        self._marks: tuple[int, ...] = ()
        self._y = np.require(y, np.float64, "A") if needed and not target_is_native(y) else y
        self._prep = prep
        self._block_rows = block_rows
        self._threads = threads
        self._loss_rows: LossRows | None = None
        self._clipped_rows: ClippedRows | None = None
        self._clipped_faults = Faults(0, 0, 0, ())
        self.clipped_reads = 0

    @property
    def geometry(self) -> Geometry:
        """Where the scaled rows lie."""
        return self._prep.geometry

    @overload
    def total(self, query: Moments, coef: None = None, rows: Selection = ALL) -> Total: ...
    @overload
    def total(self, query: ClippedGradient, coef: NDArray[np.float64], rows: Selection = ALL) -> Total: ...
    @overload
    def total(self, query: LossGradient, coef: NDArray[np.float64], rows: Selection = ALL) -> RealTotal: ...
    def total(self, query: Any, coef: Any = None, rows: Selection = ALL) -> Any:
        """Sum the query over the rows, at `coef` (q,) where the query needs a point.

        Raises
        ------
        ValueError
            A selected row holds a NaN or an infinity, or an undeclared label.
        """
        total = self.sum(query, coef, rows)
        if total.faults.non_finite_rows and self._encoder is not None:
            refuse(total.faults, self._encoder.not_finite())
        refuse(total.faults)
        if not isinstance(query, ClippedGradient):  # it counts nothing outside
            warn_outside(total.faults, self._prep, self._encoder.features if self._encoder else None)
        return total

    def totals(self, queries: Sequence[ClippedGradient], coefs: Sequence[NDArray[np.float64]]) -> list[Total]:
        """Sum clipped gradients of one loss over all rows, each query at its points (k, q): totals of that shape."""
        totals = _clipped.together(self, queries, coefs)
        refuse(totals[0].faults)
        return totals

    def minimise(self, objective: Objective, tau: float, cap: int) -> tuple[NDArray[np.float64], float]:
        """Minimise over all rows to a certified gradient norm of at most tau, in sum form: see `solvers.newton`.

        Returns
        -------
        coef : (q,)
        bound : certified bound on the gradient's norm. Depends on the data: never release it.

        Raises
        ------
        ValueError
            A row holds a NaN or an infinity, or an undeclared label.
        NotCertified
            `cap` passes over the rows were not enough.
        """
        return _minimise.alone(self, objective, tau, cap)

    def minimise_many(
        self, objectives: Sequence[Objective], tau: float, cap: int
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Minimise objectives of one loss that differ in ridge, center and linear term: see `solvers.newton_many`.

        Parameters
        ----------
        objectives : such as one for each draw of an objective perturbation.
        tau, cap : for each of them, as in `minimise`.

        Returns
        -------
        coefs : (len(objectives), q)
        bounds : certified bounds on the gradients' norms. Depend on the data: never release them.

        Raises
        ------
        ValueError
            A row holds a NaN or an infinity, or an undeclared label; or the losses differ.
        NotCertified
            `cap` passes over the rows were not enough for one of them.
        """
        return _minimise.together(self, objectives, tau, cap)

    def native(self) -> tuple[NDArray[Any], NDArray[Any]] | None:
        """X and y as kernels read them in place, or None where they must be converted; a table is encoded, once."""
        X = self._whole()
        return (X, as_numbers(self._y)) if is_native(X) and target_is_native(self._y) else None

    def loss_rows(self) -> LossRows | None:
        """Rows as the loss kernels take them, on one thread; kept, because a pass learns what later ones can use."""
        if self._loss_rows is None:
            native = self.native()
            self._loss_rows = None if native is None else native_rows(*native, self._prep)
        return self._loss_rows

    def clipped_rows(self) -> ClippedRows:
        """Rows as the kernels of clipped gradients take them; kept, because every pass uses what the first one learns.

        A frame, or an array of another type than float, is converted once: its passes are many.
        """
        if self._clipped_rows is None:
            X, y = self.native() or (as_native(self._whole()), np.require(self._y, np.float64, "A"))
            self._clipped_rows = clipped_rows(X, y, self._prep)
            non_finite, unknown = self._clipped_rows.faults.tolist()
            self._clipped_faults = Faults(len(self), non_finite, unknown, (0,) * (self.geometry.d + 1))
        return self._clipped_rows

    def clipped_faults(self) -> Faults:
        """What was found while norms were measured, of all rows; counts of values outside stay zero."""
        self.clipped_rows()
        return self._clipped_faults

    def threads_for(self, products: float) -> int:
        """How many threads a sum of that many products gets."""
        return self._threads or _pool.threads_for(products)

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self._y)

    @property
    def prep(self) -> Prep:
        """The row's way into the scaled problem."""
        return self._prep

    def sum(self, query: Any, coef: Any, rows: Selection = ALL) -> Any:
        """Sum the query, and leave the judgement of faults to the caller."""
        total = self._sum(query, coef, rows)
        return _blocks.marked(total, self._marks) if self._marks and not isinstance(query, ClippedGradient) else total

    def _sum(self, query: Any, coef: Any, rows: Selection) -> Any:
        if isinstance(query, ClippedGradient) and self._block_rows is None and rows.step == 1:
            return _clipped.alone(self, query, coef, rows.indices)
        # One pass may encode as it goes; for many, and where the order of summing matters, the whole is encoded.
        encoder = self._encoder if self._matrix is None and query.exact else None
        X: Any = self._whole() if encoder is None else self._X
        y, index = self._y, None
        if rows.indices is not None:
            index = rows.indices
        elif rows.step > 1 and encoder is not None:
            index = np.arange(0, len(y), rows.step)
        elif rows.step > 1:
            X, y = X[:: rows.step], y[:: rows.step]
        n = len(y) if index is None else len(index)
        q = query.shape[-1] if len(query.shape) > 1 else 1
        threads = self.threads_for(float(n) * max(q, query.d) * (q + 16))  # packing costs 16 products
        parts = min(threads, max(1, n // (self._block_rows or _blocks.BLOCK_ROWS)))
        shared = (query, coef, self._prep, self._block_rows)
        if encoder is not None:
            work = functools.partial(_blocks.sum_encoded, *shared, encoder, y, index)
        elif index is None and is_native(X) and target_is_native(y):
            work = functools.partial(_blocks.sum_native, *shared, X, as_numbers(y))
        else:
            work = functools.partial(_blocks.sum_converted, *shared, X, y, index)
        if parts == 1 and index is None and rows.step == 1 and not query.exact and self._block_rows is None:
            known = self.loss_rows()
            if known is not None:
                return _blocks.sum_known(query, coef, known)
        return _blocks.sum_spans(work, n, parts, query.exact, self._block_rows)

    def _whole(self) -> Any:
        """All rows: the array itself, or the encoded table, kept for the next pass."""
        if self._encoder is None:
            return self._X
        if self._matrix is None:
            self._matrix, marks = self._encoder.block()
            self._marks = tuple(marks.tolist())
        return self._matrix


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
