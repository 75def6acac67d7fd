"""Rows that are read again for every sum: the sums that mechanisms need, by passes over parts.

A batch becomes rows in memory, which are summed as any others; what is different is where sums are made, what is kept
for later passes, and that all of it is counted.
"""

from __future__ import annotations

import contextlib
import copy
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from dplr._core import LossRows
from dplr._kit.validation import sentence
from dplr._kit.warnings import DataWarning, muted
from dplr.bounds.scaling import Prep
from dplr.problem.losses import Loss
from dplr.rows.array import ArrayRows
from dplr.rows.base import Rows
from dplr.rows.exact import ClippedGradient, Integers, Vector
from dplr.rows.faults import BoundsNotice
from dplr.rows.losses import LossGradient, native_rows
from dplr.rows.streams.holding import keep
from dplr.rows.streams.parts import Holder, Parts, Pass, Progress, Sums, one_pass, row_count_error
from dplr.rows.streams.passes import Arrays, SampledPass, SumPass, Totals, WherePass, joined
from dplr.rows.streams.recipe import Recipe
from dplr.rows.weights import ALL, Selection, Tally
from dplr.solvers.newton import sample_step

# Shows how far a pass is: (what it is called, rows if known) -> a context that takes numbers of rows.
Bar = Callable[[str, int | None], contextlib.AbstractContextManager[Progress]]
# Rows of a sample are held in memory: at most this many bytes of them.
_MOST_SAMPLED_BYTES = 3 * 2**23
# A fit makes many passes of clipped gradients: after this many, rows are kept.
_PASSES_READ = 2


@contextlib.contextmanager
def no_bar(label: str, rows: int | None) -> Iterator[Progress]:
    """Show nothing."""
    yield lambda rows: None


@dataclass(eq=False)
class StreamSource:
    """The parts of rows, and results of earlier passes that all maps to scaled rows share.

    Attributes
    ----------
    count : number of rows.
    units : number of persons, or of rows.
    bar : shows how far a pass is.
    folder : where rows may be kept while a fit runs: "" for a folder of each worker's own, None for nowhere.
    kept : all rows in files of this machine.
    worker_rows, worker_sample : all rows, and a sample, that workers hold.
    tally : what persons weigh in a pass; None where rows are units.
    """

    parts: Parts
    count: int
    units: int
    bar: Bar = no_bar
    folder: str | None = None
    passes: int = 0
    clipped_passes: int = 0
    sample: Arrays | None = None
    kept: ArrayRows | None = None
    worker_rows: Sums | None = None
    worker_sample: Sums | None = None
    tally: Tally | None = None

    def run(self, job: Pass[Any], label: str, rows_of: Sums | None = None) -> Any:
        """One pass over all rows, wherever they are read, or over those that workers hold."""
        self.passes += 1
        if self.tally is not None:
            self.tally.begin()
        # Later passes would repeat the warnings of the first one.
        quiet = muted(DataWarning) if self.passes > 1 else contextlib.nullcontext()
        with self.bar(f"{label}, pass {self.passes}", self.count) as show, quiet:
            answer = one_pass(self.parts if rows_of is None else rows_of, job, show)
        if self.tally is not None:
            self.tally.check()
        return answer

    def totals(self, job: SumPass, label: str, rows_of: Sums | None = None) -> Totals:
        return self.counted(self.run(job, label, rows_of))

    def counted(self, totals: Totals | None) -> Totals:
        """Refuse sums over another number of rows: a row that is read twice counts twice. No row, no totals."""
        rows = totals[0].faults.rows if totals else 0
        if not totals or rows != self.count:
            raise row_count_error("all parts", self.count, rows)
        return totals


class StreamedRows(Rows):
    """Rows of parts, summed batch by batch: equal in every bit of exact sums to the same rows in one array."""

    in_memory = False

    def __init__(self, source: StreamSource, recipe: Recipe) -> None:
        self._source, self._recipe = source, recipe
        self.prep: Prep = recipe.prep if recipe.mapping is None else recipe.mapping
        self.columns: Sequence[str] | None = recipe.features
        self._notice = BoundsNotice()
        # The rows on this machine's disk, with facts that passes share.
        self._local_rows: ArrayRows | None = None

    def __len__(self) -> int:
        return self._source.count

    @property
    def units(self) -> int:
        return self._source.units

    def of_units(self, units: Integers) -> Integers:
        # Refuse: rows of a stream have no numbers by which they could be found.
        remedy = "Use full batches, or read the rows into memory."
        raise ValueError(sentence("batch", "must be None where rows are streamed", len(units), remedy))

    def of_class(self, position: int) -> Self:
        of, rows = self._source, copy.copy(self)
        rows._source = StreamSource(of.parts, of.count, of.units, of.bar, of.folder, tally=of.tally)
        rows._recipe, rows._local_rows = replace(self._recipe, position=position), None
        return rows

    def mapped(self, prep: Prep) -> Self:
        rows = copy.copy(self)
        rows.prep, rows._recipe, rows._local_rows = prep, self._recipe.mapped(prep), None
        return rows

    def not_finite(self) -> Mapping[str, int]:
        where = self._source.run(WherePass(self._recipe), "faults") if self._source.parts.is_local else None
        return {name: count for name, count in (where or {}).items() if count}

    def sum(self, query: Any, coef: Any = None, rows: Selection = ALL) -> Any:
        source, job = self._source, SumPass(self._recipe, [(query, coef)])
        of_loss = isinstance(query, LossGradient)
        if rows.step > 1 and of_loss and source.worker_sample is not None:
            return source.run(job, "a sample", source.worker_sample)[0]
        if rows.indices is not None or rows.step > 1:  # a sum of other rows than were asked for must not be released
            remedy = "Read the rows into memory to sum some of them."
            raise ValueError(sentence("rows", "must be all rows where they are streamed", rows, remedy))
        if isinstance(query, ClippedGradient):
            self._local_rows = self._local_rows or self._kept_rows()
            if self._local_rows is not None:
                return self._local_rows.sum(query, coef)
            source.clipped_passes += 1
            return source.totals(job, "gradients", self._held_rows())[0]
        is_known = source.sample is not None or source.worker_sample is not None
        if not of_loss or is_known or (step := self.sample_step) == 1:
            return source.totals(job, "sums")[0]
        if isinstance(source.parts, Holder):
            source.worker_sample = source.parts.held(self._recipe.mapped(None), step, None)
            return source.totals(job, "sums", source.worker_sample)[0]
        totals, kept = source.run(SampledPass(job, step), "sums") or (None, [])
        total = source.counted(totals)[0]
        source.sample = joined(kept)
        return total

    def _kept_rows(self) -> ArrayRows | None:
        """All rows, encoded, in files of this machine without a name; None while it does not pay or is not allowed."""
        source = self._source
        if source.clipped_passes < _PASSES_READ or source.folder is None or not source.parts.is_local:
            return None
        if source.kept is None:
            source.kept = keep(source.parts, self._recipe, source.count, source.folder, source.run)
            source.folder = source.folder if source.kept else None
        return None if source.kept is None else source.kept.mapped(self.prep)

    def _held_rows(self) -> Sums | None:
        """All rows as workers hold them, or will after this pass; None while it does not pay or is not allowed."""
        source = self._source
        pays = source.clipped_passes > _PASSES_READ and source.folder is not None
        if source.worker_rows is None and pays and isinstance(source.parts, Holder):
            source.worker_rows = source.parts.held(self._recipe.mapped(None), 1, source.folder)
        return source.worker_rows

    def loss_gradients(self, loss: Loss, coefs: Vector) -> Vector:
        query = LossGradient(loss, self.geometry.d, self.geometry.intercept > 0)
        totals: Any = self._source.totals(SumPass(self._recipe, [(query, coef) for coef in coefs]), "gradients")
        return np.array([total.gradient for total in totals])

    @property
    def sample_step(self) -> int:
        if not (self._source.parts.is_local or isinstance(self._source.parts, Holder)):
            return 1
        n, d = len(self), self.geometry.d
        most = _MOST_SAMPLED_BYTES // (8 * (d + 2))
        return max(sample_step(n, self.geometry.n_coefs), -(-n // most) if n > most else 1)

    def loss_rows(self, step: int = 1) -> LossRows | None:
        # The rows that were kept for a first guess, for a compiled loop; None for all rows, which are on no worker.
        if step == 1 or self._source.sample is None:
            return None
        return native_rows(*self._source.sample[:2], self.prep, self._source.sample[2])
