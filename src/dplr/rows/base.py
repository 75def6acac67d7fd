"""Rows as mechanisms use them: sums, other maps to scaled rows, and minima.

A minimisation runs in the compiled loop where rows offer it, else through their sums. It refuses faulty rows too; the
warning of clipped values is given where rows are checked.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Self, overload

import numpy as np

from dplr._core import CalledSums, LossRows, NativeSums
from dplr.bounds.scaling import Prep
from dplr.problem.geometry import Geometry
from dplr.problem.losses import Loss
from dplr.rows.exact import ExactQuery, Faults, Integers, Total, Vector, kernel_of
from dplr.rows.faults import BoundsNotice, refuse, warn_outside
from dplr.rows.losses import FineGradient, LossGradient, LossGradientHessian, RealTotal
from dplr.rows.weights import ALL, Selection, every
from dplr.solvers import FineObjective, Minimum, certified, descend, newton_many, refine
from dplr.solvers.certificate import NEWTON_PASSES, NotCertified, Objective


class Rows(ABC):
    """A source of rows. Every mechanism needs only sums over them.

    Attributes
    ----------
    prep : the map from raw rows to scaled rows.
    columns : names of the columns of X; None where they have none.
    in_memory : whether a read of all rows costs their arithmetic and no more.
    sound : whether they are in memory, and a sum over all of them, under this map or another one, met no fault.
    """

    prep: Prep
    columns: Sequence[str] | None
    in_memory = True
    sound: bool = False
    _notice: BoundsNotice

    @property
    def geometry(self) -> Geometry:
        """Where the scaled rows lie: must be the geometry that the problem was planned for."""
        return self.prep.geometry

    @abstractmethod
    def __len__(self) -> int: ...

    @property
    @abstractmethod
    def units(self) -> int:
        """Number of units of privacy: of persons, or of rows. The weights of all rows add up to at most this."""

    @abstractmethod
    def of_units(self, units: Integers) -> Integers:
        """The rows of the units with these numbers, for sums over some of them."""

    @overload
    def total(self, query: ExactQuery, coef: Vector | None = None, rows: Selection = ALL) -> Total: ...
    @overload
    def total(self, query: LossGradient, coef: Vector, rows: Selection = ALL) -> RealTotal: ...
    def total(self, query: Any, coef: Any = None, rows: Selection = ALL) -> Any:
        """Sum the query over the selected rows, at `coef` (q,) where the query needs a point.

        Raises ValueError where a selected row holds a NaN or an infinity, or an undeclared label; or where rows changed
        since they were counted.
        """
        total = self.sum(query, coef, rows)
        refuse(total.faults, self.not_finite)
        self.sound = self.sound or (rows is ALL and self.in_memory)  # a first pass over streamed rows keeps a sample
        if query.counts_outside and not self._notice.already:
            self._notice.already = True
            if any(total.faults.outside) or any(total.faults.marks):
                warn_outside(total.faults, self.prep.layout, self.prep.geometry.half_width is None, self.columns)
        return total

    @abstractmethod
    def sum(self, query: Any, coef: Any = None, rows: Selection = ALL) -> Any:
        """Sum the query over the selected rows; faults are left to the caller."""

    @abstractmethod
    def not_finite(self) -> Mapping[str, int]:
        """The number of rows with a NaN or an infinity per column that has one; empty where columns are not counted."""

    @abstractmethod
    def of_class(self, position: int) -> Self:
        """These rows with 1 for the class at a position and 0 for the rest, without a copy."""

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

    @property
    @abstractmethod
    def sample_step(self) -> int:
        """The step of the sample of rows on which a minimisation begins; 1 for all rows, where there is no sample."""

    @abstractmethod
    def loss_gradients(self, loss: Loss, coefs: Vector) -> Vector:
        """The summed loss's gradients (k, q) at points (k, q)."""

    @abstractmethod
    def loss_rows(self, step: int = 1) -> LossRows | None:
        """All rows, or every `step`-th, in memory: for a compiled loop that makes many passes on one thread.

        None where rows cannot offer it: all rows that lie elsewhere, must be converted first, or are worth several
        threads. The loop then asks for sums. It reads a sample often, so a sample should be kept.
        """

    def minimise(self, objective: Objective, tau: float, cap: int) -> tuple[Vector, float]:
        """Coefficients (q,) at a certified distance of at most tau / ridge from the minimum over all rows.

        Beside them the ridge times a certified bound on the distance, which depends on the data: never release it.
        Raises NotCertified where `cap` passes over the rows were not enough, and ValueError for faulty rows.
        """
        minimum = _minimum(self, objective, tau, cap)
        return minimum.coef, minimum.bound

    def minimise_many(self, objectives: Sequence[Objective], tau: float, cap: int) -> tuple[Vector, Vector]:
        """As `minimise`, of objectives of one loss that differ in ridge, center and linear term: `solvers.newton_many`.

        Returns coefficients (len(objectives), q) and their bounds.
        """
        loss, n, d = objectives[0].loss, self.units, self.geometry.d
        if any(objective.loss != loss for objective in objectives):
            raise ValueError("`objectives` must share their loss; got several. Minimise them one by one.")
        between = replace(objectives[0], linear=np.mean([objective.linear for objective in objectives], axis=0))
        base = _minimum(self, between, max(tau, 1e-6 * n), cap)
        hessian = _hessian(self, loss, base.coef) if base.hessian is None else base.hessian

        def gradients(coefs: Vector) -> Vector:
            return self.loss_gradients(loss, coefs)

        with np.errstate(all="ignore"):  # what a refit does is secret
            coefs, bounds = newton_many(gradients, hessian, base.coef, objectives, n, d, _radius(self), tau)
        for k, objective in enumerate(objectives):
            if np.isinf(bounds[k]):
                coefs[k], bounds[k] = self.minimise(objective, tau, cap)
            elif bounds[k] > tau:
                coefs[k], bounds[k] = _refined(self, objective, Minimum(coefs[k], bounds[k]), tau, cap)
        return coefs, bounds


def _minimum(rows: Rows, objective: Objective, tau: float, cap: int) -> Minimum:
    """The minimum of `minimise`, with the Hessian where it was computed."""
    try:
        minimum = _in_float64(rows, objective, tau, min(cap, NEWTON_PASSES))
    except NotCertified:
        if cap <= NEWTON_PASSES:
            raise
        return Minimum(*descend(_fine(rows, objective), tau, cap - NEWTON_PASSES))
    if minimum.bound <= tau:
        return minimum
    return Minimum(*_refined(rows, objective, minimum, tau, cap), minimum.upper)


def _refined(rows: Rows, objective: Objective, start: Minimum, tau: float, cap: int) -> tuple[Vector, float]:
    """Refine a minimum that float64 certified, in pairs of float64 numbers."""
    fine = _fine(rows, objective)
    return refine(fine, start.coef, tau, start.hessian) or descend(fine, tau, cap - NEWTON_PASSES)


def _fine(rows: Rows, objective: Objective) -> FineObjective:
    query = FineGradient(objective.loss, rows.geometry.d, rows.geometry.intercept > 0)

    def gradient(high: Vector, low: Vector) -> tuple[Vector, Vector]:
        total = rows.sum(query, np.array([high, low]))
        return total.hi[:-1], total.lo[:-1]

    def hessian(coef: Vector) -> Vector:
        return _hessian(rows, objective.loss, coef)

    return FineObjective(objective, rows.units, _radius(rows), gradient, hessian)


def _hessian(rows: Rows, loss: Loss, coef: Vector) -> Vector:
    query = LossGradientHessian(loss, rows.geometry.d, rows.geometry.intercept > 0)
    hessian: Vector = rows.sum(query, coef).hessian
    return hessian


def _radius(rows: Rows) -> float:
    return math.hypot(rows.geometry.radius, rows.geometry.intercept)


def _in_float64(rows: Rows, objective: Objective, tau: float, cap: int) -> Minimum:
    every_row, step = _sums(rows, objective.loss, 1), rows.sample_step
    sample = _sums(rows, objective.loss, step) if step > 1 else None
    d, price = rows.geometry.d, _hessian_price(rows, step)
    try:
        return certified(every_row, sample, objective, rows.units, d, _radius(rows), tau, cap, price)
    finally:
        if isinstance(every_row, NativeSums) and every_row.seen is not None:
            non_finite, unknown, *outside = every_row.seen.tolist()
            refuse(Faults(len(rows), non_finite, unknown, tuple(outside)))


def _hessian_price(rows: Rows, step: int) -> float:
    """The cost of a Hessian beside its gradient, in gradients of all rows, as measured; infinite where none pays."""
    geometry, q = rows.geometry, rows.geometry.n_coefs
    if not rows.in_memory:
        return q / 256
    # In the ball a gradient is much cheaper than a Hessian; and ten reads of a large sample cost too much.
    return math.inf if geometry.half_width is None or step < 8 else 0.7 + q / 64


def _sums(rows: Rows, loss: Loss, step: int) -> NativeSums | CalledSums:
    """Sums over every `step`-th row: of rows in memory where there are any, else by calls, which refuse faulty rows."""
    native = rows.loss_rows(step)
    if native is not None:
        return NativeSums(native, kernel_of(loss), loss.width)
    d, intercept, selection = rows.geometry.d, rows.geometry.intercept > 0, every(step)
    queries = [query(loss, d, intercept) for query in (LossGradient, LossGradientHessian)]

    def total(coef: Vector, with_hessian: bool) -> tuple[Vector, Vector | None]:
        value = rows.sum(queries[with_hessian], coef, selection)
        refuse(value.faults)
        return value.gradient, value.upper

    return CalledSums(-(-len(rows) // step), d + intercept, total)
