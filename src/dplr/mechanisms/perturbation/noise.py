"""From eps and the ridge to the noise of objective perturbation: the law and scale of its linear term.

Throughout, `kappa` is R~^2 / Lam (row norm squared over the ridge of the sum objective), and a `signs` of 2 stands for
replace-one, 1 for add/remove: the number of records in which neighbours' gradients may differ. Theorems: objective.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dplr._kit.validation import sentence
from dplr.mechanisms.descriptions import OBJECTIVE
from dplr.mechanisms.perturbation.ridge import gauge_deviations
from dplr.privacy import sensitivity
from dplr.privacy.gaussian import SMALLEST_MU, gaussian_log_delta, mu_margin
from dplr.privacy.law import Law
from dplr.privacy.profiles import Profile
from dplr.problem.geometry import Geometry
from dplr.problem.problem import Problem

# Root finding ends this close, and results are rounded to the safe side by as much.
_CLOSE = 1e-12
# Where a loss is flat in eps', a root that ends early is not below it: such losses are rounded up themselves.
_ROUNDED_UP = 1 + 2.0**-50
# Of eps, for the roundings of kappa and of a privacy loss where next to nothing is left; and more than the floats of a
# privacy loss may lack where the curvature takes nearly all of eps.
_ROUNDING, _LACKING = 2.0**-48, 2.0**-40
_HALVINGS = 100  # of the interval of a standard deviation, on the scale of logarithms: down to adjacent floats
# Shares of eps for the other record's gradient alone, of which the best is taken (objective.md, theorem 3).
_SHARES = (1 / 2, 9 / 16, 3 / 4, 1.0)


class LinearTerm(NamedTuple):
    """The ridge in force, the law and scale of the linear term, the eps it costs, the theorem, and what it hides.

    `moved` is the largest distance of the gradients of neighbouring data sets, of gauge noise in the gauge of the body
    of the declared bounds.
    """

    ridge: float
    law: Law
    scale: float
    eps: float
    named: str
    moved: float

    def longest(self, geometry: Geometry, eps: float) -> float:
        """A norm that the linear term exceeds with probability at most 2^-64 / (1 + e^eps) (objective.md, lemma 6)."""
        if not self.scale:
            return 0.0
        tail = eps + math.log1p(math.exp(-eps)) - math.log(OBJECTIVE.least_delta)
        gamma = geometry.n_coefs / (2 if self.law is Law.GAUSSIAN else 1)
        reach = (gamma + math.sqrt(2 * gamma * tail) + tail) * (1 + 2.0**-30)  # of its rounded draw too
        if self.law is Law.GAUSSIAN:
            return self.scale * math.sqrt(2 * reach)
        return self.scale * reach * (geometry.row_norm if self.law is Law.GAUGE else 1.0)


def deviations(law: Law, scale: float, geometry: Geometry) -> NDArray[np.float64]:
    """Standard deviations of the coordinates of a linear term; one number where they are the same."""
    if law is Law.GAUGE:
        return gauge_deviations(geometry) * scale
    return np.array([scale * math.sqrt(geometry.n_coefs + 1) if law is Law.NORM_GAMMA else scale])


def linear_term(calibration: str, problem: Problem, eps: float, delta: float, ridge: float) -> LinearTerm:
    """The linear term of a calibration; raises ValueError where the curvature alone would cost more than eps."""
    records, loss, geometry = problem.neighbouring.records_changed, problem.loss, problem.geometry
    moved = sensitivity.gradient(records, loss.lipschitz, geometry.row_norm)
    if math.isinf(eps):
        return LinearTerm(ridge, Law.NONE, 0.0, math.inf, "none: eps = inf", moved)
    if delta > 0:
        one, alone = sensitivity.gradient(1, loss.lipschitz, geometry.row_norm), privacy_loss(problem, ridge, 1)
        sigma = gaussian_sigma(eps, delta, one, alone, records, loss.one_signed)
        if sigma is None:
            raise _too_small(problem, eps)
        return LinearTerm(ridge, Law.GAUSSIAN, sigma, eps, f"tight: theorem 3, sigma = {sigma:.6g}", moved)
    cost, curvature = privacy_loss(problem, ridge, records), loss.smoothness * geometry.row_norm**2 / ridge
    if calibration == "cm08":
        spent = cost(eps) * (1 + _LACKING)
        named = f"cm08: CM08 Algorithm 2 as printed for eps = {eps:.6g}, whose privacy loss is {spent:.6g}"
        return LinearTerm(ridge, Law.NORM_GAMMA, moved / eps, spent, named, moved)
    if calibration == "cms11":
        noise_eps, factor = cms11(eps, curvature)
        named = f"cms11: CMS11 Algorithm 2, eps' = {noise_eps:.6g}" + (", ridge raised" if factor > 1 else "")
        return LinearTerm(ridge * factor, Law.NORM_GAMMA, moved / noise_eps, eps, named, moved)
    tight = largest_noise_eps(cost, eps * (1 - _LACKING))
    if tight is None:
        raise _too_small(problem, eps)
    named = f"tight: {_theorem(problem)}, eps' = {tight:.6g}"
    if geometry.half_width is None:
        return LinearTerm(ridge, Law.NORM_GAMMA, moved / tight, eps, named, moved)
    moved = sensitivity.gradient_gauge(records, loss.lipschitz)
    return LinearTerm(ridge, Law.GAUGE, moved / tight, eps, f"{named}, N the gauge of {geometry}", moved)


def privacy_loss(problem: Problem, ridge: float, records: int) -> Callable[[float], float]:
    """Privacy loss, as a function of e, of noise with density proportional to exp(-e ||b|| / sensitivity).

    One row adds a matrix of rank 1 to the Hessian, a unit of several rows one of a higher rank.
    """
    loss, square = problem.loss, problem.geometry.row_norm**2
    # How much one record adds to the Hessian, in units of the ridge.
    kappa = square / ridge if loss.fading else loss.smoothness * square / ridge

    def of_row(e: float, kappa: float) -> float:
        if loss.name == "logistic":
            return logistic_loss(e, kappa, records)
        if loss.fading == "logistic":
            return soft_logistic_loss(e, kappa, records, loss.lipschitz)
        return soft_huber_loss(e, kappa, records) if loss.fading == "linear" else rank_one_loss(e, kappa)

    of_unit = ranked(of_row, problem.unit.rank(problem.geometry.n_coefs))
    return lambda e: of_unit(e, kappa)


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


def _too_small(problem: Problem, eps: float) -> ValueError:
    assert problem.n_rows is not None
    rank = problem.unit.rank(problem.geometry.n_coefs)
    least = problem.loss.smoothness * problem.geometry.row_norm**2 / (rank * math.expm1(eps / rank)) / problem.n_rows
    rule = f"must be above {least:.3g} for this eps: the curvature alone would cost more"
    return ValueError(sentence("l2", rule, problem.l2, "Use l2='auto', or a larger eps."))


def logistic_loss(noise_eps: float, kappa: float, signs: int) -> float:
    """Privacy loss of objective perturbation with noise exp(-noise_eps ||b|| / (signs R~)), logistic loss (theorem 2).

    (signs - 1) e/2 + max over p of [(e/2 or e) p + log(1 + kappa p (1 - p))]; the supremum over data sets, except for
    one coefficient with signs = 2, where it is an upper bound.
    """
    slope = noise_eps / signs
    product = slope * kappa
    linear = 2 * kappa - product
    # The stationary p solves product p^2 + linear p - (slope + kappa) = 0; written without cancellation.
    p = min(1.0, 2 * (slope + kappa) / (linear + math.sqrt(linear * linear + 4 * product * (slope + kappa))))
    return (signs - 1) * slope + slope * p + math.log1p(kappa * p * (1 - p))


def soft_logistic_loss(noise_eps: float, kappa: float, signs: int, cut: float) -> float:
    """Privacy loss for noise exp(-noise_eps ||b|| / (signs C R~)), curvature min(s (1 - s), C - s) (theorem 5).

    (signs - 1) t + max over s in [0, C] of [t s / C + log(1 + kappa a(s))] with t = noise_eps / signs. The curvatures
    meet at s1, and on either side of it the bracket is concave.
    """
    share = noise_eps / signs
    slope, turn = share / cut, 1 - math.sqrt(1 - cut)
    product = slope * kappa
    linear = 2 * kappa - product
    before = 2 * (slope + kappa) / (linear + math.sqrt(linear * linear + 4 * product * (slope + kappa)))
    before = min(turn, before)
    after = min(cut, max(turn, cut - _inverse(slope) + 1 / kappa))
    worst = max(
        slope * before + math.log1p(kappa * before * (1 - before)), slope * after + math.log1p(kappa * (cut - after))
    )
    return ((signs - 1) * share + worst) * _ROUNDED_UP


def soft_huber_loss(noise_eps: float, kappa: float, signs: int) -> float:
    """Privacy loss for curvature 1 - s/C, whatever C is (theorem 5): concave in s/C, largest where 1/t - 1/kappa is."""
    share = noise_eps / signs
    rest = min(1.0, max(0.0, _inverse(share) - 1 / kappa))  # 1 - s/C
    return (signs * share - share * rest + math.log1p(kappa * rest)) * _ROUNDED_UP


def _inverse(value: float) -> float:
    return 1 / value if value else math.inf


def ranked(loss: Callable[[float, float], float], rank: int) -> Callable[[float, float], float]:
    """The loss, a function of noise_eps and kappa, where a unit's Hessian has up to this rank (unit.md, theorem 6)."""
    return lambda noise_eps, kappa: rank * loss(noise_eps / rank, kappa / rank)


def rank_one_loss(noise_eps: float, smoothness_kappa: float) -> float:
    """Privacy loss for any smooth loss: the determinants differ by a factor of at most 1 + c kappa (theorem 1)."""
    return noise_eps + math.log1p(smoothness_kappa)


def largest_noise_eps(loss: Callable[[float], float], eps: float) -> float | None:
    """The largest noise_eps with loss(noise_eps) <= eps, rounded down; None where none is positive."""
    if loss(_CLOSE * eps) > eps:
        return None
    low, high = 0.0, eps
    for free in (eps, eps * (1 - _CLOSE)):  # with the default ridge the curvature costs nothing but its rounding
        if loss(free) <= eps:
            return free
    while high - low > _CLOSE * eps / 4:
        middle = (low + high) / 2
        low, high = (middle, high) if loss(middle) <= eps else (low, middle)
    return low * (1 - _CLOSE)


def cms11(eps: float, smoothness_kappa: float) -> tuple[float, float]:
    """CMS11 Algorithm 2: (eps', factor of the ridge). Where eps' would not be positive, the ridge is raised."""
    noise_eps = eps - 2 * math.log1p(smoothness_kappa)
    if noise_eps > 0:
        return noise_eps, 1.0
    # c R^2 / (Lam + added) = e^(eps/4) - 1, of which the logarithm is charged twice: eps/2.
    return eps / 2, smoothness_kappa / math.expm1(eps / 4)


def gaussian_sigma(
    eps: float, delta: float, gradient: float, loss: Callable[[float], float], signs: int, one_signed: bool
) -> float | None:
    """Standard deviation of Gaussian noise in the objective (theorem 3), rounded up; None where eps is too small.

    `gradient` is the largest norm of one record's, and `loss` the privacy loss of pure noise under add/remove, where
    one record differs: it says what the curvature costs together with a gradient.
    """
    log_delta = _log_delta(eps, loss, signs, one_signed)
    low, high = SMALLEST_MU, 1e6
    if log_delta is None or log_delta(low) > math.log(delta):
        return None  # no noise is enough, or it is larger than the formulas can be evaluated for
    for _ in range(_HALVINGS):
        middle = math.sqrt(low * high)
        low, high = (middle, high) if log_delta(middle) <= math.log(delta) else (low, middle)
    return gradient / (low * (1 - mu_margin(low)))


def gaussian_profile(
    ratio: float, eps: float, missed: float, loss: Callable[[float], float], signs: int, one_signed: bool
) -> Profile:
    """Log of the delta of such a release at every eps, rounded up (theorem 7).

    `ratio` is the largest gradient over sigma. The linear term is too long for the solver with probability
    missed / (1 + e^eps), which counts as lost.
    """
    ratio = ratio * (1 + mu_margin(ratio))

    def log_delta(level: float) -> float:
        bound = _log_delta(level, loss, signs, one_signed) if level > 0 else None
        if bound is None:
            return 0.0  # the curvature alone costs more
        rarely = math.log(missed) + level - eps + math.log1p(math.exp(-level)) - math.log1p(math.exp(-eps))
        return min(_log_sum(bound(ratio), rarely), 0.0)

    return log_delta


def _log_delta(
    eps: float, loss: Callable[[float], float], signs: int, one_signed: bool
) -> Callable[[float], float] | None:
    """Log of theorem 3's delta as a function of t, the largest gradient over sigma; None where eps is too small."""
    sides = 0.0 if one_signed else math.log(2)
    parts = {share: noise_eps_beside(eps, loss, share) for share in ((0.0,) if signs == 1 else (0.0, *_SHARES))}
    if any(part is None for part in parts.values()):
        return None
    mixtures = {share: part for share, part in parts.items() if part is not None}
    alone = mixtures.pop(0.0)

    def log_delta(t: float) -> float:
        if signs == 1:
            return sides + gaussian_log_delta(alone, t)
        first = gaussian_log_delta(alone, t) if one_signed else -math.inf
        return min(_log_sum(first, _log_corners(t, part, share, one_signed)) for share, part in mixtures.items())

    return log_delta


def noise_eps_beside(eps: float, loss: Callable[[float], float], share: float) -> float | None:
    """The largest e with share e + loss((1 - share) e) <= eps, rounded down; None where none is positive."""
    # What the floats of a loss may lack: kappa has a few roundings of its own.
    return largest_noise_eps(lambda e: share * e + loss((1 - share) * e), eps * (1 - _ROUNDING))


def _log_corners(t: float, part: float, share: float, one_signed: bool) -> float:
    """Log of what the corners add where the other record's gradient is as long as can be (theorem 3)."""
    near, far = gaussian_log_delta(share * part, t), gaussian_log_delta(part, 2 * t)
    if one_signed:
        return _log_sum(near, far)
    # The four corners lie in pairs at t1 and t2, t1^2 + t2^2 = 4 t^2. Where H is convex in t^2, one pair counts.
    convex = 4 * t * t <= 2 * part * part / (1 + math.hypot(1, part))
    corners = far + math.log(2 if convex else 4)
    return corners if share == 1 else _log_sum(near + math.log(2), corners)


def _log_sum(one: float, two: float) -> float:
    high, low = max(one, two), min(one, two)
    return high if low == -math.inf else high + math.log1p(math.exp(low - high))
