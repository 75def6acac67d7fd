"""Where rows come from, behind one verb: total(query, coef, rows). Private.

The private room. `array/` sums rows in memory, `streams/` rows that are read batch by batch, `files/` and `tables/`
read what users have, `persons/` says whose each row is, and `queries/` what may be summed. A mechanism sees sums, never
a row.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol, overload

import numpy as np
from numpy.typing import NDArray

from dplr._kit.recorder import Recorder
from dplr.bounds.scaling import Prep
from dplr.problem.geometry import Geometry
from dplr.rows.array.rows import ArrayRows, check_shapes
from dplr.rows.faults import FaultyRows, Told, explained, other_values, warn_narrow
from dplr.rows.labels import FROM_DATA, LabelRule, Labels, above
from dplr.rows.labels import resolve as resolve_labels
from dplr.rows.persons import PersonCounts, class_factors, look_alikes, row_weights
from dplr.rows.queries.clipped import ClippedGradient
from dplr.rows.queries.columns import ColumnMoments
from dplr.rows.queries.losses import LossGradient, RealTotal
from dplr.rows.queries.moments import Moments
from dplr.rows.queries.score import ScoreMoments
from dplr.rows.queries.squares import ScoreSquares
from dplr.rows.queries.totals import Total
from dplr.rows.selection import ALL, Selection, chosen, every
from dplr.rows.tables.encoder import Encoder, encoded, predictors
from dplr.rows.tables.survey import Survey, of_numbers, survey
from dplr.rows.tables.table import Table, as_table, declared_kinds, declares_text
from dplr.rows.tables.target import NUMERIC, OBJECTS, Target, as_float, as_target
from dplr.rows.tables.writers import numbers
from dplr.rows.weights import RowWeights
from dplr.solvers.certificate import Objective

__all__ = [
    "ALL", "FROM_DATA", "NUMERIC", "OBJECTS", "ArrayRows", "Encoder", "FaultyRows", "LabelRule", "Labels",
    "PersonCounts", "RowWeights", "Rows", "Selection", "Survey", "Table", "Target", "Told", "above", "as_float",
    "as_rows", "as_table", "as_target", "check_shapes", "chosen", "class_factors", "declared_kinds", "declares_text",
    "encoded", "every", "explained", "look_alikes", "numbers", "of_numbers", "other_values", "predictors",
    "resolve_labels", "row_weights", "survey", "warn_narrow",
]  # fmt: skip


class Rows(Protocol):
    """A source of rows. Every mechanism needs only sums over them."""

    @property
    def geometry(self) -> Geometry:
        """Where the scaled rows lie: must be the geometry that the problem was planned for."""
        ...

    def __len__(self) -> int:
        """Return the number of rows; private under add_remove, and of persons."""
        ...

    @property
    def units(self) -> int:
        """Number of units of privacy, persons or rows; private under add_remove."""
        ...

    def of_units(self, units: NDArray[np.int64]) -> NDArray[np.int64]:
        """The rows of the units with these numbers."""
        ...

    @overload
    def total(self, query: Moments, coef: None = None, rows: Selection = ALL) -> Total: ...
    @overload
    def total(self, query: ColumnMoments, coef: None = None, rows: Selection = ALL) -> Total: ...
    @overload
    def total(self, query: ScoreMoments | ScoreSquares, coef: NDArray[np.float64], rows: Selection = ALL) -> Total: ...
    @overload
    def total(self, query: ClippedGradient, coef: NDArray[np.float64], rows: Selection = ALL) -> Total: ...
    @overload
    def total(self, query: LossGradient, coef: NDArray[np.float64], rows: Selection = ALL) -> RealTotal: ...
    def total(self, query: Any, coef: Any = None, rows: Selection = ALL) -> Any:
        """Sum a query over the selected rows; value faults raise ValueError."""
        ...

    def totals(self, queries: Sequence[ClippedGradient], coefs: Sequence[NDArray[np.float64]]) -> list[Total]:
        """Clipped gradients of one loss over all rows, each query at its points (k, q)."""
        ...

    def recorded(self, recorder: Recorder) -> Rows:
        """These rows; those that are read in parts record exact sums of finished parts."""
        ...

    def weighted(self, weights: Sequence[float]) -> Rows:
        """These rows, with their columns multiplied by these weights; themselves for (). For minimising alone."""
        ...

    def narrowed(self, middles: NDArray[np.float64], half_widths: NDArray[np.float64]) -> Rows:
        """These rows, entries outside middle +- half-width clipped to it, and stretched to the old half-width."""
        ...

    def clipped(self, middles: NDArray[np.float64], half_widths: NDArray[np.float64]) -> Rows:
        """These rows, entries outside middle +- half-width clipped to it."""
        ...

    def standardised(self, center: NDArray[np.float64], factors: NDArray[np.float64], constant: float) -> Rows:
        """These rows as factors * (x - center), with this constant for the intercept, for sums of gradients."""
        ...

    def minimise(self, objective: Objective, tau: float, cap: int) -> tuple[NDArray[np.float64], float]:
        """Coefficients with a gradient of norm at most tau over all rows, and the certified norm, which is secret."""
        ...

    def minimise_many(
        self, objectives: Sequence[Objective], tau: float, cap: int
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Minimise many objectives of one loss: coefficients with one row per objective, and the certified norms."""
        ...


def as_rows(
    X: Any,
    y: Any,
    prep: Prep,
    *,
    weights: RowWeights | None = None,
    block_rows: int | None = None,
    threads: int | None = None,
    told: Told | None = None,
) -> ArrayRows:
    """Rows of one array or table: see `ArrayRows`."""
    return ArrayRows(X, y, prep, weights=weights, block_rows=block_rows, threads=threads, told=told)
