"""Law and scale of the linear term of objective perturbation, and the ridge in force. Theorems: objective.md."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dplr._kit.validation import sentence
from dplr.mechanisms.perturbation import ABOUT_OBJECTIVE
from dplr.mechanisms.perturbation import noise as objective_noise
from dplr.mechanisms.perturbation.ridge import gauge_deviations
from dplr.privacy import sensitivity
from dplr.privacy.law import Law
from dplr.problem.geometry import Geometry
from dplr.problem.problem import Problem

# More than the floats of a privacy loss may lack where the curvature takes nearly all of eps.
_ROUNDING = 2.0**-40


@dataclass(frozen=True, slots=True)
class LinearTerm:
    """The ridge in force, the law and scale of the linear term, the eps it costs, and the theorem."""

    ridge: float
    law: Law
    scale: float
    eps: float
    named: str

    def longest(self, geometry: Geometry, eps: float) -> float:
        """A norm that the linear term exceeds with probability at most 2^-64 / (1 + e^eps) (objective.md, lemma 6)."""
        if not self.scale:
            return 0.0
        tail = eps + math.log1p(math.exp(-eps)) - math.log(ABOUT_OBJECTIVE.least_delta)
        gamma = geometry.n_coefs / (2 if self.law is Law.GAUSSIAN else 1)
        reach = (gamma + math.sqrt(2 * gamma * tail) + tail) * (1 + 2.0**-30)  # of its rounded draw too
        if self.law is Law.GAUSSIAN:
            return self.scale * math.sqrt(2 * reach)
        return self.scale * reach * (geometry.row_norm if self.law is Law.GAUGE else 1.0)

    def deviations(self, geometry: Geometry) -> NDArray[np.float64]:
        """Standard deviations of the coordinates."""
        if self.law is Law.GAUGE:
            return gauge_deviations(geometry) * self.scale
        return np.array([self.scale * math.sqrt(geometry.n_coefs + 1) if self.law is Law.NORM_GAMMA else self.scale])


def _tight(problem: Problem, eps: float, ridge: float) -> LinearTerm:
    cost = privacy_loss(problem, ridge, problem.neighbouring.records_changed)
    noise_eps = objective_noise.largest_noise_eps(cost, eps * (1 - _ROUNDING))
    if noise_eps is None:
        raise _too_small(problem, eps)
    named = f"tight: {_theorem(problem)}, eps' = {noise_eps:.6g}"
    if problem.geometry.half_width is None:
        return LinearTerm(ridge, Law.NORM_GAMMA, moved(problem) / noise_eps, eps, named)
    named += f", N the gauge of {problem.geometry}"
    return LinearTerm(ridge, Law.GAUGE, moved_in_gauge(problem) / noise_eps, eps, named)


def _cms11(problem: Problem, eps: float, ridge: float) -> LinearTerm:
    noise_eps, factor = objective_noise.cms11(eps, _curvature(problem, ridge))
    named = f"cms11: CMS11 Algorithm 2, eps' = {noise_eps:.6g}" + (", ridge raised" if factor > 1 else "")
    return LinearTerm(ridge * factor, Law.NORM_GAMMA, moved(problem) / noise_eps, eps, named)


def _cm08(problem: Problem, eps: float, ridge: float) -> LinearTerm:
    spent = privacy_loss(problem, ridge, problem.neighbouring.records_changed)(eps) * (1 + _ROUNDING)
    named = f"cm08: CM08 Algorithm 2 as printed for eps = {eps:.6g}, whose privacy loss is {spent:.6g}"
    return LinearTerm(ridge, Law.NORM_GAMMA, moved(problem) / eps, spent, named)


def moved(problem: Problem) -> float:
    """The largest distance of the gradients of neighbouring data sets."""
    return sensitivity.gradient(problem.neighbouring.records_changed, problem.loss.lipschitz, problem.geometry.row_norm)


def one_record(problem: Problem) -> float:
    """The largest norm of one record's gradient."""
    return sensitivity.gradient(1, problem.loss.lipschitz, problem.geometry.row_norm)


def moved_in_gauge(problem: Problem) -> float:
    """The largest distance of the gradients of neighbours, in the gauge of the body of the declared bounds."""
    return sensitivity.gradient_gauge(problem.neighbouring.records_changed, problem.loss.lipschitz)


def _curvature(problem: Problem, ridge: float) -> float:
    """kappa = c R~^2 / Lam: how much one record adds to the Hessian, in units of the ridge."""
    return problem.loss.smoothness * problem.geometry.row_norm**2 / ridge


def privacy_loss(problem: Problem, ridge: float, records: int) -> Callable[[float], float]:
    """Privacy loss, as a function of e, of noise with density proportional to exp(-e ||b|| / sensitivity)."""
    kappa = problem.geometry.row_norm**2 / ridge if problem.loss.fading else _curvature(problem, ridge)
    of_unit = objective_noise.ranked(_loss_of_row(problem, records), problem.unit.rank(problem.geometry.n_coefs))
    return lambda e: of_unit(e, kappa)


def _loss_of_row(problem: Problem, records: int) -> Callable[[float, float], float]:
    """Privacy loss as a function of e and kappa, where one row adds a matrix of rank 1 to the Hessian."""
    loss = problem.loss
    if loss.name == "logistic":
        return lambda e, kappa: objective_noise.logistic_loss(e, kappa, records)
    if loss.fading == "logistic":
        return lambda e, kappa: objective_noise.soft_logistic_loss(e, kappa, records, loss.lipschitz)
    if loss.fading == "linear":
        return lambda e, kappa: objective_noise.soft_huber_loss(e, kappa, records)
    return objective_noise.rank_one_loss


def _theorem(problem: Problem) -> str:
    """The words for the theorem that calibrates pure noise, and whether its bound is attained."""
    loss = problem.loss
    if problem.unit.person is not None:
        number = 1 if not loss.fading else 2 if loss.name == "logistic" else 5
        return f"theorem {number} for persons, whose Hessians have ranks up to {problem.geometry.n_coefs}"
    if not loss.fading:
        return "theorem 1, rank-one bound"
    if loss.name != "logistic":
        return "theorem 5"
    # With one coefficient, two records cannot have large gradients in opposite directions.
    attained = problem.geometry.n_coefs > 1 or problem.neighbouring.records_changed == 1
    return "theorem 2, exact for the logistic loss" if attained else "theorem 2, an upper bound with one coefficient"


def gaussian(problem: Problem, eps: float, delta: float, ridge: float) -> LinearTerm:
    """Gaussian noise; raises ValueError where the curvature alone would cost more than eps."""
    loss, records = problem.loss, problem.neighbouring.records_changed
    alone = privacy_loss(problem, ridge, records=1)
    sigma = objective_noise.gaussian_sigma(eps, delta, one_record(problem), alone, records, loss.one_signed)
    if sigma is None:
        raise _too_small(problem, eps)
    return LinearTerm(ridge, Law.GAUSSIAN, sigma, eps, f"tight: theorem 3, sigma = {sigma:.6g}")


def _too_small(problem: Problem, eps: float) -> ValueError:
    assert problem.n_rows is not None
    rank = problem.unit.rank(problem.geometry.n_coefs)
    least = problem.loss.smoothness * problem.geometry.row_norm**2 / (rank * math.expm1(eps / rank)) / problem.n_rows
    rule = f"must be above {least:.3g} for this eps: the curvature alone would cost more"
    return ValueError(sentence("l2", rule, problem.l2, "Use l2='auto', or a larger eps."))


# Pure noise of each calibration, which takes the problem, eps and the ridge.
PURE = {"tight": _tight, "cms11": _cms11, "cm08": _cm08}
