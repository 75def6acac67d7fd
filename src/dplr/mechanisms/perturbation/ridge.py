"""The default ridge of output and objective perturbation: functions of public facts alone (objective.md, section 7).

`total` is a public guess of the sum of the rows' weights, which is n in the formulas (`Problem.reference_total`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from dplr.privacy.gaussian import gaussian_mu
from dplr.privacy.guarantees import Neighbouring
from dplr.privacy.statement import MOVED
from dplr.problem.geometry import Geometry
from dplr.problem.losses import Loss
from dplr.problem.outlook import MOST_MOVED, middle_rate, reach
from dplr.problem.plan import Plan
from dplr.problem.problem import Problem

# The least default ridge, above the smallest that `minimisation.check` accepts. It binds only for a very large eps.
_LEAST = 1e-5
# The ridge of the sum objective without noise: scikit-learn's default, C = 1.
PLAIN = 1.0
# Guesses of the size of a coefficient of counts, log rates in scaled units: of a column, and of the intercept, since
# most counts lie far below the largest.
_RATE_SLOPE, _RATE_INTERCEPT = 1.5, 6.0
# Rows times eps from which on counts have these, and the pull on their sum is taken back: below, noise is as large.
_LEAST_SIZE = 1_000.0


def noise_norm(size: int, eps: float, delta: float, norm: float, signs: int) -> float:
    """Root mean square norm c of the noise that hides one record's gradient, the linear term b or Lam times z.

    The norm is Gamma(q, D/eps) for pure eps, so c^2 = q (q + 1) (D/eps)^2; for Gaussian noise c^2 = q (D/mu)^2. D, the
    distance of two gradients, is `signs` times `norm`.
    """
    distance = signs * norm
    if delta > 0:
        return math.sqrt(size) * distance / gaussian_mu(eps, delta)
    return math.sqrt(size * (size + 1)) * distance / eps


def slope_cut(loss: Loss, total: float, geometry: Geometry, eps: float, delta: float, signs: int) -> float:
    """Largest slope C of the loss that objective perturbation minimises, between two public limits.

    Noise grows with C, and so does the influence of rows that contradict the model. N is the norm of the noise per row
    at C = 1, in the gauge of declared bounds where delta is 0. Labels: C = 0.02 / sqrt(N) in [0.5, 1]; numbers: C =
    0.035 / sqrt(N) in [0.3, 2].
    """
    share, least, largest = (0.02, 0.5, 1.0) if loss.classification else (0.035, 0.3, 2.0)
    if math.isinf(eps):
        return largest
    if delta == 0 and geometry.half_width is not None:
        norm = float(np.linalg.norm(gauge_deviations(geometry))) * signs / eps
    else:
        norm = noise_norm(geometry.n_coefs, eps, delta, geometry.row_norm, signs)
    return min(largest, max(least, share / math.sqrt(norm / total)))


def objective_ridge(
    loss: Loss, total: float, size: int, eps: float, delta: float, norm: float, signs: int, coef_norm: float | None
) -> float:
    """Ridge Lam of objective perturbation: the largest of four.

    c / coef_norm       minimises a bound of the excess loss, (Lam coef_norm^2 + c^2 / Lam) / 4
    c^2 / (4 n)         larger only where the noise exceeds the data: the coefficients shrink to 0
    the free ridge      below it the curvature takes more than a small share of eps
    1e-5                no noise is left to speak of
    """
    if math.isinf(eps):
        return PLAIN
    c = noise_norm(size, eps, delta, loss.lipschitz * norm, signs)
    guess = _coef_guess(loss, size) if coef_norm is None else coef_norm
    return max(c / guess, c * c / (4 * total), _free_ridge(loss, eps, norm, signs), _LEAST)


def gauge_ridges(
    loss: Loss, total: float, geometry: Geometry, eps: float, signs: int, coef_norm: float | None
) -> NDArray[np.float64]:
    """(q,) ridge of each coefficient for pure noise in the gauge of the body: the same three terms, column by column.

    s_j / B + s_j^2 q / (4 n), s_j the deviation of the linear term's j-th number and B a guess of a coefficient's size;
    all are raised by one factor until the curvature, kappa = sum over groups of half-width^2 / ridge, is free.
    """
    size = geometry.n_coefs
    deviations = gauge_deviations(geometry) * (signs * loss.lipschitz / eps)
    guess: float | NDArray[np.float64]
    counts = loss.link == "log" and total * eps >= _LEAST_SIZE
    if coef_norm is not None:
        guess = coef_norm / math.sqrt(size)
    elif counts:
        guess = np.append(np.full(size - 1, _RATE_SLOPE), _RATE_INTERCEPT if geometry.intercept else _RATE_SLOPE)
    else:
        guess = 1.5 * _coef_guess(loss, size) / math.sqrt(size) if loss.classification else 0.7
    ridges = np.maximum(deviations / guess + deviations**2 * (size / (4 * total)), _LEAST)
    first = list(geometry.firsts)  # the columns of a block have one half-width, and so one ridge
    kappa = float((np.square(geometry.half_widths) / ridges)[first].sum())
    # Of counts the ridge costs more than noise: the curvature may take a third of eps.
    free = 3 * loss.smoothness / eps if counts else _free_ridge(loss, eps, 1.0, signs)
    return np.asarray(ridges * max(1.0, kappa * free))


def pull_words(problem: Problem, eps: float) -> tuple[str, ...]:
    """The sentence of a statement on a pull that `without_pull` takes back; () where it stays.

    It stays with a ridge that was asked for, where the number of rows is private, and where noise is as large as the
    sum of the rates.
    """
    public = problem.neighbouring is Neighbouring.REPLACE_ONE and problem.l2 is None and problem.n_rows is not None
    counts = problem.loss.link == "log" and problem.geometry.intercept > 0
    return (MOVED,) if counts and public and _LEAST_SIZE <= (problem.n_rows or 0) * eps < math.inf else ()


def without_pull(coef: NDArray[np.float64], plan: Plan, flags: Sequence[bool]) -> NDArray[np.float64]:
    """Coefficients of counts whose intercept is moved by what the default ridge adds to the sum of fitted rates.

    At the minimum that sum is above that of the counts by P = -ridge (w - w0) / iota in half-ranges of the target, up
    to noise: w, the intercept's coordinate, is released. Every rate is multiplied by 1 - P / S, with S the sum of the
    fitted rates, for which a guess from the same coefficients stands: rather too large, so that less is taken back
    (objective.md, section 7).
    """
    problem = plan.problem
    iota, start = problem.geometry.intercept, problem.w0[-1] if problem.w0 else 0.0
    pulled = -plan.settings.ridge * (float(coef[-1]) - start) / iota
    rates = max((problem.n_rows or 0) * middle_rate(problem, coef, reach(problem.geometry, coef, flags)), 1e-300)
    factor = min(max(1 - pulled / rates, 1 / MOST_MOVED), MOST_MOVED)
    return np.append(coef[:-1], coef[-1] + math.log(factor) / iota)


def gauge_deviations(geometry: Geometry) -> NDArray[np.float64]:
    """(q,) standard deviations of gauge noise of scale 1 (objective.md, lemma 7)."""
    size, sizes = geometry.n_coefs, np.repeat(geometry.groups, geometry.groups)
    point = np.asarray(geometry.half_widths) * np.sqrt(2 / ((sizes + 1) * (sizes + 2)))
    return np.asarray(point * math.sqrt((size + 1) * (size + 2)))


def _coef_guess(loss: Loss, size: int) -> float:
    """A guess of ||coef||: of margins of labels, and of targets in [-1, 1]."""
    return min(16.0, 2 * math.sqrt(size)) if loss.classification else 0.7 * math.sqrt(size)


def _free_ridge(loss: Loss, eps: float, norm: float, signs: int) -> float:
    """The ridge at which the curvature costs nothing (a curvature that fades), or next to nothing.

    Free: kappa <= eps/(s C), or eps/s (objective.md, theorems 3 and 5; with Gaussian noise under replace-one it costs a
    few percent of it). All others: 4 h s R~^2 / eps, h the smoothness.
    """
    if loss.fading == "logistic":
        return signs * loss.lipschitz * norm**2 / eps
    if loss.fading == "linear":
        return signs * norm**2 / eps
    return 4 * loss.smoothness * signs * norm**2 / eps


def output_ridge(
    loss: Loss, total: float, size: int, eps: float, delta: float, norm: float, signs: int, coef_norm: float | None
) -> float:
    """Ridge Lam of output perturbation: the largest of three, c the norm of the noise at Lam = 1.

    (n R~^2 c^2 / (q coef_norm^2))^(1/3)    minimises Lam coef_norm^2 / 4 + n R~^2 c^2 / (8 q Lam^2)
    c^2 / n                                 larger only where the noise drowns the data
    1e-5                                    no noise is left to speak of
    """
    if math.isinf(eps):
        return PLAIN
    c = loss.lipschitz * noise_norm(size, eps, delta, norm, signs)
    guess = min(8.0, math.sqrt(size)) if loss.classification else _coef_guess(loss, size)
    guess = guess if coef_norm is None else coef_norm
    return max(math.cbrt(total * (norm * c / guess) ** 2 / size), c * c / total, _LEAST)
