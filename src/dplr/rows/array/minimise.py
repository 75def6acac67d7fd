"""Minimise an objective over the sums of a loss: in the compiled loop where rows offer it, else through their sums.

Faulty rows are refused here too; how many were clipped is said where rows are checked.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from dplr._core import LossRows, NativeSums
from dplr.problem.losses import Loss
from dplr.rows.faults import refuse
from dplr.rows.queries.kernel import kernel_of
from dplr.rows.queries.losses import FineGradient, LossGradient, LossGradientHessian, LossSums, RealTotal
from dplr.rows.queries.totals import Faults
from dplr.rows.selection import every
from dplr.solvers import FineObjective, certified, descend, newton, newton_many, refine, sample_step
from dplr.solvers.certificate import NEWTON_PASSES, NotCertified, Objective

Vector = NDArray[np.float64]


def minimise(sums: LossSums, objective: Objective, tau: float, cap: int) -> tuple[Vector, float]:
    """Minimise over all rows to a certified distance of at most tau / ridge: see `solvers.newton` and `solvers.refine`.

    Returns
    -------
    coef : (q,)
    bound : the ridge times a certified bound on the distance. Depends on the data: never release it.

    Raises
    ------
    ValueError
        A row holds a NaN or an infinity, or an undeclared label.
    NotCertified
        `cap` passes over the rows were not enough.
    """
    try:
        coef, bound = _in_float64(sums, objective, tau, min(cap, NEWTON_PASSES))
    except NotCertified:
        if cap <= NEWTON_PASSES:
            raise
        return descend(_fine(sums, objective), tau, cap - NEWTON_PASSES)
    return (coef, bound) if bound <= tau else _refined(sums, objective, coef, tau, cap)


def minimise_many(
    sums: LossSums, objectives: Sequence[Objective], tau: float, cap: int
) -> tuple[Vector, NDArray[np.float64]]:
    """Minimise objectives of one loss that differ in ridge, center and linear term: see `solvers.newton_many`.

    Parameters
    ----------
    objectives : such as one for each draw of an objective perturbation.
    tau, cap : for each of them, as in `minimise`.

    Returns
    -------
    coefs : (len(objectives), q)
    bounds : the ridges times certified bounds on the distances. Depend on the data: never release them.

    Raises
    ------
    ValueError
        A row holds a NaN or an infinity, or an undeclared label; or the losses differ.
    NotCertified
        `cap` passes over the rows were not enough for one of them.
    """
    loss, n, d = objectives[0].loss, sums.units, sums.geometry.d
    if any(objective.loss != loss for objective in objectives):
        raise ValueError("`objectives` must share their loss; got several. Minimise them one by one.")
    base = replace(objectives[0], linear=np.mean([objective.linear for objective in objectives], axis=0))
    start, _ = minimise(sums, base, max(tau, 1e-6 * n), cap)

    def gradients(coefs: Vector) -> Vector:
        return sums.loss_gradients(loss, coefs)

    with np.errstate(all="ignore"):  # what a refit does is secret
        coefs, bounds = newton_many(gradients, _hessian(sums, loss, start), start, objectives, n, d, _radius(sums), tau)
    for k, objective in enumerate(objectives):
        if np.isinf(bounds[k]):
            coefs[k], bounds[k] = minimise(sums, objective, tau, cap)
        elif bounds[k] > tau:
            coefs[k], bounds[k] = _refined(sums, objective, coefs[k], tau, cap)
    return coefs, bounds


def _in_float64(sums: LossSums, objective: Objective, tau: float, cap: int) -> tuple[Vector, float]:
    known = sums.loss_rows()
    return _through_sums(sums, objective, tau, cap) if known is None else _compiled(sums, known, objective, tau, cap)


def _refined(sums: LossSums, objective: Objective, coef: Vector, tau: float, cap: int) -> tuple[Vector, float]:
    """From a point that float64 certified to one that pairs of numbers do."""
    fine = _fine(sums, objective)
    return refine(fine, coef, tau) or descend(fine, tau, cap - NEWTON_PASSES)


def _fine(sums: LossSums, objective: Objective) -> FineObjective:
    query = FineGradient(objective.loss, sums.geometry.d, sums.geometry.intercept > 0)

    def gradient(high: Vector, low: Vector) -> tuple[Vector, Vector]:
        total = sums.loss_sum(query, np.array([high, low]))
        return total.hi[:-1], total.lo[:-1]

    def hessian(coef: Vector) -> Vector:
        return _hessian(sums, objective.loss, coef)

    return FineObjective(objective, sums.units, _radius(sums), gradient, hessian)


def _hessian(sums: LossSums, loss: Loss, coef: Vector) -> Vector:
    query = LossGradientHessian(loss, sums.geometry.d, sums.geometry.intercept > 0)
    hessian = sums.loss_sum(query, coef).hessian
    assert hessian is not None
    return hessian


def _radius(sums: LossSums) -> float:
    return math.hypot(sums.geometry.radius, sums.geometry.intercept)


def _compiled(sums: LossSums, known: LossRows, objective: Objective, tau: float, cap: int) -> tuple[Vector, float]:
    d, loss = sums.geometry.d, objective.loss
    step = sample_step(len(sums), len(objective.center))
    every_row, sample = NativeSums(known, kernel_of(loss), loss.width), None
    if step > 1 and (some := sums.loss_rows(step)) is not None:
        sample = NativeSums(some, kernel_of(loss), loss.width)
    try:
        return certified(every_row, sample, objective, sums.units, d, _radius(sums), tau, cap)
    finally:
        if every_row.seen is not None:
            non_finite, unknown, *outside = every_row.seen.tolist()
            refuse(Faults(len(sums), non_finite, unknown, tuple(outside)))


def _through_sums(sums: LossSums, objective: Objective, tau: float, cap: int) -> tuple[Vector, float]:
    d = sums.geometry.d
    queries = [query(objective.loss, d, sums.geometry.intercept > 0) for query in (LossGradient, LossGradientHessian)]

    def total(coef: Vector, with_hessian: bool, step: int) -> RealTotal:
        value = sums.loss_sum(queries[with_hessian], coef, every(step))
        refuse(value.faults)
        return value

    return newton(total, len(sums), objective, sums.units, d, _radius(sums), tau, cap)
