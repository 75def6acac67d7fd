"""Rows as mechanisms use them: sums, other maps to scaled rows, and minimisation."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Self, overload

import numpy as np
from numpy.typing import NDArray

from dplr.bounds.scaling import Prep
from dplr.problem.geometry import Geometry
from dplr.rows import minimise as _minimise
from dplr.rows.faults import BoundsNotice, refuse, warn_outside
from dplr.rows.queries.clipped import ClippedGradient
from dplr.rows.queries.columns import ColumnMoments
from dplr.rows.queries.losses import LossGradient, LossSums, RealTotal
from dplr.rows.queries.moments import Moments
from dplr.rows.queries.score import ScoreMoments
from dplr.rows.queries.squares import ScoreSquares
from dplr.rows.queries.totals import Total
from dplr.rows.selection import ALL, Selection
from dplr.solvers.certificate import Objective

if TYPE_CHECKING:
    from dplr.rows.queries.clusters import PersonScores

Vector = NDArray[np.float64]


class Rows(LossSums):
    """A source of rows. Every mechanism needs only sums over them.

    Attributes
    ----------
    prep : the map from raw rows to scaled rows.
    columns : names of the columns of X; None where they have none.
    of_class : the rows with 1 for the class at a position and 0 for the rest; a fit of several classes sets it.
    sound : whether they are in memory, and a sum over all of them, under this map or another one, met no fault.
    """

    prep: Prep
    columns: Sequence[str] | None
    of_class: Callable[[int], Rows]
    sound: bool = False
    _notice: BoundsNotice

    @property
    def geometry(self) -> Geometry:
        """Where the scaled rows lie: must be the geometry that the problem was planned for."""
        return self.prep.geometry

    @property
    @abstractmethod
    def units(self) -> int:
        """Number of units of privacy: of persons, or of rows."""

    @abstractmethod
    def of_units(self, units: NDArray[np.int64]) -> NDArray[np.int64]:
        """The rows of the units with these numbers, for sums over some of them."""

    @overload
    def total(self, query: Moments, coef: None = None, rows: Selection = ALL) -> Total: ...
    @overload
    def total(self, query: ColumnMoments, coef: None = None, rows: Selection = ALL) -> Total: ...
    @overload
    def total(self, query: ScoreMoments | ScoreSquares, coef: Vector, rows: Selection = ALL) -> Total: ...
    @overload
    def total(self, query: PersonScores, coef: Vector, rows: Selection = ALL) -> Total: ...
    @overload
    def total(self, query: ClippedGradient, coef: Vector, rows: Selection = ALL) -> Total: ...
    @overload
    def total(self, query: LossGradient, coef: Vector, rows: Selection = ALL) -> RealTotal: ...
    def total(self, query: Any, coef: Any = None, rows: Selection = ALL) -> Any:
        """Sum the query over the selected rows, at `coef` (q,) where the query needs a point.

        Raises
        ------
        ValueError
            A selected row holds a NaN or an infinity, or an undeclared label; or rows changed since they were counted.
        """
        total = self.sum(query, coef, rows)
        refuse(total.faults, self.not_finite)
        self.sound = self.sound or (rows is ALL and self.in_memory)  # a first pass over streamed rows keeps a sample
        if query.counts_outside and not self._notice.already:
            self._notice.already = True
            in_ball = self.prep.geometry.half_width is None
            warn_outside(total.faults, self.prep.layout, in_ball, self.columns)
        return total

    @abstractmethod
    def sum(self, query: Any, coef: Any, rows: Selection = ALL) -> Any:
        """Sum the query over the selected rows; faults are left to the caller."""

    @abstractmethod
    def totals(self, queries: Sequence[ClippedGradient], coefs: Sequence[Vector]) -> list[Total]:
        """Sum clipped gradients of one loss over all rows, each query at its points (k, q): totals of that shape."""

    @abstractmethod
    def not_finite(self) -> Mapping[str, int]:
        """The number of rows with a NaN or an infinity per column that has one; empty where columns are not counted."""

    @abstractmethod
    def mapped(self, prep: Prep) -> Self:
        """These rows with another map to scaled rows, without a copy."""

    def weighted(self, weights: Sequence[float]) -> Self:
        """These rows with columns multiplied by these weights, for minimisation only; the rows themselves for ()."""
        return self.mapped(self.prep.weighted(weights)) if weights else self

    def narrowed(self, middles: Vector, half_widths: Vector) -> Self:
        """These rows with entries clipped to middle +- half-width and then stretched to the old half-width."""
        return self._quiet(self.prep.narrowed(middles, half_widths))

    def clipped(self, middles: Vector, half_widths: Vector) -> Self:
        """These rows with entries clipped to middle +- half-width."""
        return self._quiet(self.prep.clipped(middles, half_widths))

    def standardised(self, center: Vector, factors: Vector, constant: float) -> Self:
        """These rows as factors * (x - center), with this constant for the intercept, for sums of gradients."""
        return self._quiet(self.prep.standardised(center, factors, constant))

    def _quiet(self, prep: Prep) -> Self:
        """These rows with another map. Clipping gives no warning: its limits are not the bounds that users declared."""
        rows = self.mapped(prep)
        rows._notice = BoundsNotice(already=True)
        return rows

    def minimise(self, objective: Objective, tau: float, cap: int) -> tuple[Vector, float]:
        """Coefficients with a gradient of norm at most tau over all rows, and the certified norm, which is secret.

        See `rows.minimise.minimise`.
        """
        return _minimise.minimise(self, objective, tau, cap)

    def minimise_many(self, objectives: Sequence[Objective], tau: float, cap: int) -> tuple[Vector, Vector]:
        """Minimise many objectives of one loss: coefficients with one row per objective, and the certified norms.

        See `rows.minimise.minimise_many`.
        """
        return _minimise.minimise_many(self, objectives, tau, cap)
