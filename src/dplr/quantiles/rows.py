"""The private rows of a release of bounds, in memory or streamed: their number, and exact histograms."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dplr._kit.validation import sentence
from dplr.fitting.intake import RawRows
from dplr.fitting.streaming import count_persons, count_rows
from dplr.quantiles.columns import numbers_of, texts_of
from dplr.quantiles.grid import Kind
from dplr.rows import PersonCounts, RowWeights, Table, as_table, row_weights
from dplr.rows.streams import one_pass
from dplr.rows.streams.histograms import HistogramPass, Histograms, added
from dplr.rows.streams.recipe import Weighing
from dplr.rows.streams.source import Stream
from dplr.rows.weights import Tally


@dataclass(frozen=True, eq=False, slots=True)
class PrivateRows:
    """The private rows, in memory or streamed.

    Attributes
    ----------
    table : the rows; without rows where they are streamed.
    stream : None for rows in memory.
    data : ids and weights.
    kinds : of the columns.
    """

    table: Table | NDArray[Any]
    stream: Stream | None
    data: RawRows
    kinds: dict[str, Kind]

    @property
    def units(self) -> int:
        """Number of records, or of persons."""
        if self.stream is not None:
            person = self.data.unit.person
            return count_rows(self.stream) if person is None else len(self._persons())
        if not len(self.table):
            raise ValueError(sentence("X", "must have at least one row", 0))
        return len(self.table) if self.data.unit.person is None else self._weights().units

    def _persons(self) -> PersonCounts:
        assert self.stream is not None
        assert self.data.unit.person is not None
        return count_persons(self.stream, self.data.unit.person)[1]

    def _weights(self) -> RowWeights:
        data = self.data
        return row_weights(len(self.table), data.unit, data.ids, data.weights)

    def counted(self) -> Histograms:
        """The exact histograms."""
        job = HistogramPass(numbers_of(self.kinds), texts_of(self.kinds))
        weighted = self.data.unit.weighted
        if self.stream is None:
            names = names_of(self.table)
            places = [[names.index(name) for name in some] for some in (job.numbers, job.texts)]
            weights = self._weights().of_rows if weighted else None
            return added(job.zero(), self.table, places[0], places[1], weights)
        return self._streamed(job, weighted)

    def _streamed(self, job: HistogramPass, weighted: bool) -> Histograms:
        assert self.stream is not None
        unit, tally = self.data.unit, None
        if weighted:
            counts = None if unit.person is None else self._persons()
            tally = None if counts is None else Tally(len(counts))
            job = replace(job, weighing=Weighing(unit, self.data.weight_column, counts, tally))
        columns = [name for name in (*job.numbers, *job.texts, unit.person, self.data.weight_column) if name]
        histograms = one_pass(self.stream.parts.chosen(columns), job) or job.zero()
        if tally is not None:
            tally.check()
        return histograms


def table_of(X: Any) -> Table | NDArray[Any]:
    """X as a table, or as an array of numbers."""
    table = as_table(X)
    if table is not None:
        return table
    rule = "must be a data frame, or a two-dimensional array of numbers"
    if not isinstance(X, np.ndarray) or isinstance(X, np.ma.MaskedArray):  # the type of a list depends on its values
        raise TypeError(sentence("X", rule, type(X).__name__))
    if X.ndim != 2 or X.dtype.kind not in "biuf":
        raise ValueError(sentence("X", rule, f"{X.dtype} of shape {X.shape}"))
    return X


def names_of(table: Table | NDArray[Any]) -> list[str]:
    """Names of the columns."""
    return list(table.columns) if isinstance(table, Table) else [f"column {place}" for place in range(table.shape[1])]
