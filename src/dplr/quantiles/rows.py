"""The private rows of a release of bounds, in memory or streamed: their number, and exact histograms."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dplr._kit.validation import sentence
from dplr.fitting.data import Data, Streamed
from dplr.quantiles.columns import numbers_of, texts_of
from dplr.quantiles.grid import Kind
from dplr.rows import Table, as_table
from dplr.rows.streams import one_pass
from dplr.rows.streams.histograms import HistogramPass, Histograms, added


@dataclass(frozen=True, eq=False, slots=True)
class PrivateRows:
    """The private rows, which are counted, and the kinds of their columns."""

    data: Data
    kinds: dict[str, Kind]

    @property
    def units(self) -> int:
        """Number of records, or of persons."""
        if not self.data.units:
            raise ValueError(sentence("X", "must have at least one row", 0))
        return self.data.units

    def counted(self) -> Histograms:
        """The exact histograms."""
        job, data = HistogramPass(numbers_of(self.kinds), texts_of(self.kinds)), self.data
        if not isinstance(data, Streamed):
            names = names_of(data.X)
            places = [[names.index(name) for name in some] for some in (job.numbers, job.texts)]
            weights = None if data.weights is None else data.weights.of_rows
            return added(job.zero(), data.X, places[0], places[1], weights)
        weighing, tally = data.tallied()
        columns = [name for name in (*job.numbers, *job.texts, data.unit.person, data.weight_column) if name]
        histograms = one_pass(data.stream.parts.chosen(columns), replace(job, weighing=weighing)) or job.zero()
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
