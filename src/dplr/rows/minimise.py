"""Minimise an objective over the sums of a loss: in the compiled loop where rows offer it, else through their sums.

Faulty rows are refused here too; the warning of clipped values is given where rows are checked.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from dplr._core import CalledSums, LossRows, NativeSums
from dplr.problem.losses import Loss
from dplr.rows.faults import refuse
from dplr.rows.queries.kernel import kernel_of
from dplr.rows.queries.losses import FineGradient, LossGradient, LossGradientHessian, LossSums
from dplr.rows.queries.totals import Faults
from dplr.rows.selection import every
from dplr.solvers import FineObjective, Minimum, certified, descend, newton_many, refine
from dplr.solvers.certificate import NEWTON_PASSES, NotCertified, Objective

Vector = NDArray[np.float64]


def minimise(sums: LossSums, objective: Objective, tau: float, cap: int) -> tuple[Vector, float]:
    """Minimise over all rows to a certified distance of at most tau / ridge, as `solvers` do.

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
    minimum = _minimum(sums, objective, tau, cap)
    return minimum.coef, minimum.bound


def minimise_many(
    sums: LossSums, objectives: Sequence[Objective], tau: float, cap: int
) -> tuple[Vector, NDArray[np.float64]]:
    """Minimise objectives of one loss that differ in ridge, center and linear term: see `solvers.newton_many`.

    Parameters
    ----------
    objectives : for example one per draw of an objective perturbation.
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
    between = replace(objectives[0], linear=np.mean([objective.linear for objective in objectives], axis=0))
    base = _minimum(sums, between, max(tau, 1e-6 * n), cap)
    hessian = base.hessian
    if hessian is None:
        hessian = _hessian(sums, loss, base.coef)

    def gradients(coefs: Vector) -> Vector:
        return sums.loss_gradients(loss, coefs)

    with np.errstate(all="ignore"):  # what a refit does is secret
        coefs, bounds = newton_many(gradients, hessian, base.coef, objectives, n, d, _radius(sums), tau)
    for k, objective in enumerate(objectives):
        if np.isinf(bounds[k]):
            coefs[k], bounds[k] = minimise(sums, objective, tau, cap)
        elif bounds[k] > tau:
            coefs[k], bounds[k] = _refined(sums, objective, Minimum(coefs[k], bounds[k]), tau, cap)
    return coefs, bounds


def _minimum(sums: LossSums, objective: Objective, tau: float, cap: int) -> Minimum:
    """The minimum of `minimise`, with the Hessian where it was computed."""
    try:
        minimum = _in_float64(sums, objective, tau, min(cap, NEWTON_PASSES))
    except NotCertified:
        if cap <= NEWTON_PASSES:
            raise
        return Minimum(*descend(_fine(sums, objective), tau, cap - NEWTON_PASSES))
    if minimum.bound <= tau:
        return minimum
    return Minimum(*_refined(sums, objective, minimum, tau, cap), minimum.upper)


def _refined(sums: LossSums, objective: Objective, start: Minimum, tau: float, cap: int) -> tuple[Vector, float]:
    """Refine a minimum that float64 certified, in pairs of float64 numbers."""
    fine = _fine(sums, objective)
    return refine(fine, start.coef, tau, start.hessian) or descend(fine, tau, cap - NEWTON_PASSES)


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


def _in_float64(sums: LossSums, objective: Objective, tau: float, cap: int) -> Minimum:
    rows, loss = sums.loss_rows(), objective.loss
    every_row = _called(sums, loss, 1) if rows is None else _native(rows, loss)
    step = sums.sample_step
    sample, price = _sample(sums, loss, step), _hessian_price(sums, step)
    try:
        return certified(every_row, sample, objective, sums.units, sums.geometry.d, _radius(sums), tau, cap, price)
    finally:
        if isinstance(every_row, NativeSums) and every_row.seen is not None:
            non_finite, unknown, *outside = every_row.seen.tolist()
            refuse(Faults(len(sums), non_finite, unknown, tuple(outside)))


def _hessian_price(sums: LossSums, step: int) -> float:
    """The cost of a Hessian beside its gradient, in gradients of all rows, as measured; infinite where none pays."""
    geometry = sums.geometry
    q = geometry.d + (geometry.intercept > 0)
    if not sums.in_memory:
        return q / 256
    # In the ball a gradient is much cheaper than a Hessian; and ten reads of a large sample cost too much.
    return math.inf if geometry.half_width is None or step < 8 else 0.7 + q / 64


def _sample(sums: LossSums, loss: Loss, step: int) -> NativeSums | CalledSums | None:
    """Sums over every `step`-th row: of a sample in memory where rows have one."""
    some = sums.loss_rows(step) if step > 1 else None
    if some is not None:
        return _native(some, loss)
    return _called(sums, loss, step) if step > 1 else None


def _native(rows: LossRows, loss: Loss) -> NativeSums:
    return NativeSums(rows, kernel_of(loss), loss.width)


def _called(sums: LossSums, loss: Loss, step: int) -> CalledSums:
    """Sums over every `step`-th row by calls, which refuse faulty rows."""
    d, intercept, selection = sums.geometry.d, sums.geometry.intercept > 0, every(step)
    queries = [query(loss, d, intercept) for query in (LossGradient, LossGradientHessian)]

    def total(coef: Vector, with_hessian: bool) -> tuple[Vector, Vector | None]:
        value = sums.loss_sum(queries[with_hessian], coef, selection)
        refuse(value.faults)
        return value.gradient, value.upper

    return CalledSums(-(-len(sums) // step), d + intercept, total)
