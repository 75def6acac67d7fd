"""The losses whose score is released: the logistic one, a smooth Huber loss, and the Poisson likelihood.

For each its query, how fast its Hessian changes, and the length of the first step.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from dplr.inference.reading import Curvature
from dplr.problem.losses import Loss, smooth_huber
from dplr.problem.problem import Problem
from dplr.rows.scores_at import ScoreMoments
from dplr.solvers.stein import stein_coef

if TYPE_CHECKING:
    from dplr.rows.scores_at import MeatMoments

Vector = NDArray[np.float64]
# The mean of a target counts as at least this part of the rate at zero.
_LEAST_MEAN = 2.0**-8
# The slope at which the Huber loss is cut in the first round: no residual is longer.
_WIDEST = 2.0


def smooth(problem: Problem) -> Problem:
    """The problem with the loss whose score is released: a Huber loss without its kinks."""
    loss = problem.loss
    return replace(problem, loss=smooth_huber(loss.width)) if loss.name == "huber_residual" else problem


def of_round(loss: Loss, place: int, rounds: int) -> Loss:
    """The loss of a round, counted from 0: the slope of a Huber loss falls to its own, so that no step is too long."""
    if loss.name != "smooth_huber":
        return loss
    share = place / (rounds - 1) if rounds > 1 else 1.0
    return smooth_huber(max(loss.width, loss.width**share * _WIDEST ** (1 - share)))


def query_of(problem: Problem, loss: Loss) -> ScoreMoments:
    """The query for score and Hessian of a loss."""
    facts = _facts(problem, loss)
    if loss.classification:
        return ScoreMoments(*facts)
    from dplr.rows.scores_at import RateMoments, SoftHuberMoments

    return RateMoments(*facts) if loss.link == "log" else SoftHuberMoments(*facts)


def query_of_squares(problem: Problem) -> MeatMoments:
    """The query for the squares of scores."""
    from dplr.rows.scores_at import MeatMoments

    return MeatMoments(*_facts(problem, problem.loss))


def _facts(problem: Problem, loss: Loss) -> tuple[Loss, int, bool, float]:
    """The common part of the queries; no gradient is longer than the last number, the clip, which is at least 1."""
    geometry = problem.geometry
    return loss, geometry.d, geometry.intercept > 0, max(1.0, geometry.row_norm * loss.lipschitz)


def curvature_of(loss: Loss) -> Curvature:
    """How the second derivative of a loss changes; of a residual its own sign decides."""
    if loss.classification:
        return Curvature.LOGISTIC
    return Curvature.EXPONENTIAL if loss.link == "log" else Curvature.UNSIGNED


def steepness(loss: Loss) -> float:
    """Largest derivative of the logarithm of the loss's second derivative, where it has one."""
    return 1 / loss.width if loss.name == "smooth_huber" else 1.0


def lengthened(problem: Problem, hessian: Vector, score: Vector, coef: Vector) -> Vector:
    """The step from zero with the length that fits rows with a Gaussian law; of a Huber loss it has it already.

    Where the number of rows is not known, the step stays as it is.
    """
    loss, iota = problem.loss, problem.geometry.intercept
    if loss.link == "log":
        return _log_linear(loss, hessian, score, coef, iota)
    if not loss.classification:
        return coef
    n_rows = problem.reference_total or 0.0
    if iota:
        n_rows = 4 * float(hessian[-1, -1]) / iota**2  # public, or released
    if n_rows < 1:
        return coef
    mean_label = 2 * float(score[-1]) / (iota * n_rows) if iota else 0.0
    return stein_coef(coef, 4 * hessian / n_rows, iota, mean_label)


def _log_linear(loss: Loss, hessian: Vector, score: Vector, coef: Vector, iota: float) -> Vector:
    """The Poisson coefficients whose least-squares solution is a step from zero, for Gaussian rows.

    There cov(y, x) = E[y] cov(x) w, and E[y] is the rate at the mean row times exp(w' cov(x) w / 2).
    """
    assert loss.knots is not None
    rate = float(np.interp(0.0, loss.knots.places, loss.knots.values)) - float(loss.knots.values[0])
    n_rows = float(hessian[-1, -1]) / (rate * iota**2) if iota else 0.0
    if n_rows < 1:
        return coef
    change = max(1 + float(score[-1]) / (iota * n_rows * rate), _LEAST_MEAN)
    result, mean = coef / change, hessian[:-1, -1] / (rate * iota * n_rows)
    slopes = result[:-1]
    spread = float(slopes @ hessian[:-1, :-1] @ slopes) / (rate * n_rows) - float(slopes @ mean) ** 2
    result[-1] = (math.log(change) - float(slopes @ mean) - max(spread, 0.0) / 2) / iota
    return result
