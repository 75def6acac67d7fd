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
from dplr.rows.faults import refuse
from dplr.rows.queries.losses import LossGradient, LossGradientHessian, LossSums, RealTotal
from dplr.rows.queries.totals import Faults
from dplr.rows.selection import every
from dplr.solvers import certified, newton, newton_many, sample_step
from dplr.solvers.certificate import Objective

Vector = NDArray[np.float64]


def minimise(sums: LossSums, objective: Objective, tau: float, cap: int) -> tuple[Vector, float]:
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
    known = sums.loss_rows()
    return _through_sums(sums, objective, tau, cap) if known is None else _compiled(sums, known, objective, tau, cap)


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
    bounds : certified bounds on the gradients' norms. Depend on the data: never release them.

    Raises
    ------
    ValueError
        A row holds a NaN or an infinity, or an undeclared label; or the losses differ.
    NotCertified
        `cap` passes over the rows were not enough for one of them.
    """
    loss, n, d = objectives[0].loss, len(sums), sums.geometry.d
    if any(objective.loss != loss for objective in objectives):
        raise ValueError("`objectives` must share their loss; got several. Minimise them one by one.")
    base = replace(objectives[0], linear=np.mean([objective.linear for objective in objectives], axis=0))
    start, _ = minimise(sums, base, max(tau, 1e-6 * n), cap)
    hessian = sums.loss_sum(LossGradientHessian(loss, d, sums.geometry.intercept > 0), start).hessian
    assert hessian is not None

    def gradients(coefs: Vector) -> Vector:
        return sums.loss_gradients(loss, coefs)

    with np.errstate(all="ignore"):  # what a refit does is secret
        coefs, bounds = newton_many(gradients, hessian, start, objectives, n, d, _radius(sums), tau)
    for k in np.flatnonzero(np.isinf(bounds)).tolist():
        coefs[k], bounds[k] = minimise(sums, objectives[k], tau, cap)
    return coefs, bounds


def _radius(sums: LossSums) -> float:
    return math.hypot(sums.geometry.radius, sums.geometry.intercept)


def _compiled(sums: LossSums, known: LossRows, objective: Objective, tau: float, cap: int) -> tuple[Vector, float]:
    n, d, loss = len(sums), sums.geometry.d, objective.loss
    step = sample_step(n, len(objective.center))
    every_row, sample = NativeSums(known, loss.name, loss.width), None
    if step > 1 and (some := sums.loss_rows(step)) is not None:
        sample = NativeSums(some, loss.name, loss.width)
    try:
        return certified(every_row, sample, objective, n, d, _radius(sums), tau, cap)
    finally:
        if every_row.seen is not None:
            non_finite, unknown, *outside = every_row.seen.tolist()
            refuse(Faults(n, non_finite, unknown, tuple(outside)))


def _through_sums(sums: LossSums, objective: Objective, tau: float, cap: int) -> tuple[Vector, float]:
    d = sums.geometry.d
    queries = [query(objective.loss, d, sums.geometry.intercept > 0) for query in (LossGradient, LossGradientHessian)]

    def total(coef: Vector, with_hessian: bool, step: int) -> RealTotal:
        value = sums.loss_sum(queries[with_hessian], coef, every(step))
        refuse(value.faults)
        return value

    return newton(total, objective, len(sums), d, _radius(sums), tau, cap)
