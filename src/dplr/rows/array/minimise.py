"""Minimise an objective over the rows of an array: in the compiled loop on one thread, or through sums on several.

Faulty rows are refused here too; how many were clipped is said where rows are checked.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from dplr._core import LossRows, NativeSums, gradients_of_many
from dplr.problem.losses import LossCurve
from dplr.rows.faults import refuse
from dplr.rows.queries.losses import LossGradient, LossGradientHessian, RealTotal, native_rows
from dplr.rows.queries.totals import Faults
from dplr.rows.selection import every
from dplr.solvers import certified, newton, newton_many, sample_step
from dplr.solvers.certificate import Objective

if TYPE_CHECKING:
    from dplr.rows.array.rows import ArrayRows

Vector = NDArray[np.float64]

# So few passes of one model are quicker than one of a whole panel.
_FEW_MODELS = 10


def alone(rows: ArrayRows, objective: Objective, tau: float, cap: int) -> tuple[Vector, float]:
    """See `ArrayRows.minimise`."""
    n, d = len(rows), rows.geometry.d
    known = rows.loss_rows()
    if known is not None and rows.threads_for(float(n) * d * 16) == 1:
        return _compiled(rows, known, objective, tau, cap)
    return _through_sums(rows, objective, tau, cap)


def _radius(rows: ArrayRows) -> float:
    return math.hypot(rows.geometry.radius, rows.geometry.intercept)


def _compiled(rows: ArrayRows, known: LossRows, objective: Objective, tau: float, cap: int) -> tuple[Vector, float]:
    n, d, loss = len(rows), rows.geometry.d, objective.loss
    step = sample_step(n, len(objective.center))
    sums, sample = NativeSums(known, loss.name, loss.width), None
    native = rows.native()
    if step > 1 and native is not None:
        # A copy: rows far apart are slow to read more than once.
        X, y = (np.ascontiguousarray(part[::step]) for part in native)
        sample = NativeSums(native_rows(X, y, rows.prep), loss.name, loss.width)
    try:
        return certified(sums, sample, objective, n, d, _radius(rows), tau, cap)
    finally:
        if sums.seen is not None:
            non_finite, unknown, *outside = sums.seen.tolist()
            refuse(Faults(n, non_finite, unknown, tuple(outside)))


def _through_sums(rows: ArrayRows, objective: Objective, tau: float, cap: int) -> tuple[Vector, float]:
    d = rows.geometry.d
    queries = [query(objective.loss, d, rows.geometry.intercept > 0) for query in (LossGradient, LossGradientHessian)]

    def total(coef: Vector, with_hessian: bool, step: int) -> RealTotal:
        value: RealTotal = rows.sum(queries[with_hessian], coef, every(step))
        refuse(value.faults)
        return value

    return newton(total, objective, len(rows), d, _radius(rows), tau, cap)


def together(
    rows: ArrayRows, objectives: Sequence[Objective], tau: float, cap: int
) -> tuple[Vector, NDArray[np.float64]]:
    """See `ArrayRows.minimise_many`."""
    loss, n, d = objectives[0].loss, len(rows), rows.geometry.d
    if any(objective.loss != loss for objective in objectives):
        raise ValueError("`objectives` must share their loss; got several. Minimise them one by one.")
    base = replace(objectives[0], linear=np.mean([objective.linear for objective in objectives], axis=0))
    start, _ = rows.minimise(base, max(tau, 1e-6 * n), cap)
    hessian = rows.sum(LossGradientHessian(loss, d, rows.geometry.intercept > 0), start).hessian
    with np.errstate(all="ignore"):  # what a refit does is secret
        coefs, bounds = newton_many(gradients(rows, loss), hessian, start, objectives, n, d, _radius(rows), tau)
    for k in np.flatnonzero(np.isinf(bounds)).tolist():
        coefs[k], bounds[k] = rows.minimise(objectives[k], tau, cap)
    return coefs, bounds


def gradients(rows: ArrayRows, loss: LossCurve) -> Callable[[Vector], Vector]:
    """The summed loss's gradients (k, q) at points (k, q)."""
    known = rows.loss_rows()
    query = LossGradient(loss, rows.geometry.d, rows.geometry.intercept > 0)

    def summed(coefs: Vector) -> Vector:
        if known is None or len(coefs) <= _FEW_MODELS:
            return np.array([rows.sum(query, coef).gradient for coef in coefs])
        return gradients_of_many(known, loss.name, loss.width, coefs)

    return summed
