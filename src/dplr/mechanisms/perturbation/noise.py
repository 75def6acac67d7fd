"""From eps and the ridge to the noise of objective perturbation. Pure floats; theorems in mechanisms/objective.md.

Throughout, `kappa` is R~^2 / Lam (row norm squared over the ridge of the sum objective), and a `signs` of 2 stands for
replace-one, 1 for add/remove: the number of records in which neighbours' gradients may differ.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from dplr.privacy.gaussian import SMALLEST_MU, gaussian_log_delta, mu_margin
from dplr.privacy.profiles import Profile

# Root finding ends this close, and results are rounded to the safe side by as much.
_CLOSE = 1e-12
# Where a loss is flat in eps', a root that ends early is not below it: such losses are rounded up themselves.
_ROUNDED_UP = 1 + 2.0**-50
# Of eps, for the roundings of kappa and of a privacy loss where next to nothing is left.
_ROUNDING = 2.0**-48
_HALVINGS = 100  # of the interval of a standard deviation, on the scale of logarithms: down to adjacent floats
# Shares of eps for the other record's gradient alone, of which the best is taken (objective.md, theorem 3).
_SHARES = (1 / 2, 9 / 16, 3 / 4, 1.0)


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
