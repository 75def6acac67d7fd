"""From eps and the ridge to the noise of objective perturbation. Pure floats; theorems in mechanisms/objective.md.

Throughout, `kappa` is R~^2 / Lam (row norm squared over the ridge of the sum objective), and a `signs` of 2 stands for
replace-one, 1 for add/remove: the number of records in which neighbours' gradients may differ.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from dplr.privacy.gaussian import gaussian_log_delta

# Root finding ends this close, and results are rounded to the safe side by as much.
_CLOSE = 1e-12
# Where a loss is flat in eps', a root that ends early is not below it: such losses are rounded up themselves.
_ROUNDED_UP = 1 + 2.0**-50


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
    """The same for noise exp(-noise_eps ||b|| / (signs C R~)) and curvature min(s (1 - s), C - s) (theorem 5).

    (signs - 1) t + max over s in [0, C] of [t s / C + log(1 + kappa a(s))] with t = noise_eps / signs. The curvatures
    meet at s1, and on either side of it the bracket is concave.
    """
    share = noise_eps / signs
    slope, turn = share / cut, 1 - math.sqrt(1 - cut)
    product = slope * kappa
    linear = 2 * kappa - product
    before = 2 * (slope + kappa) / (linear + math.sqrt(linear * linear + 4 * product * (slope + kappa)))
    before = min(turn, before)
    after = min(cut, max(turn, cut - 1 / slope + 1 / kappa))
    worst = max(
        slope * before + math.log1p(kappa * before * (1 - before)), slope * after + math.log1p(kappa * (cut - after))
    )
    return ((signs - 1) * share + worst) * _ROUNDED_UP


def soft_huber_loss(noise_eps: float, kappa: float, signs: int) -> float:
    """The same for curvature 1 - s/C, whatever C is (theorem 5): concave in s/C, and largest where 1/t - 1/kappa is."""
    share = noise_eps / signs
    rest = min(1.0, max(0.0, 1 / share - 1 / kappa))  # 1 - s/C
    return (signs * share - share * rest + math.log1p(kappa * rest)) * _ROUNDED_UP


def rank_one_loss(noise_eps: float, smoothness_kappa: float) -> float:
    """Privacy loss for any smooth loss: the determinants differ by a factor of at most 1 + c kappa (theorem 1)."""
    return noise_eps + math.log1p(smoothness_kappa)


def largest_noise_eps(loss: Callable[[float], float], eps: float) -> float | None:
    """The largest noise_eps with loss(noise_eps) <= eps, rounded down; None where none is positive."""
    if loss(_CLOSE * eps) > eps:
        return None
    low, high = 0.0, eps
    if loss(high) <= eps:
        return high
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
    eps: float, delta: float, row_norm: float, smoothness_kappa: float, signs: int, one_signed: bool
) -> float | None:
    """Standard deviation of Gaussian noise in the objective (theorem 3), rounded up; None where eps is too small.

    With e = eps - log(1 + c kappa) and s = L R~ / sigma: add/remove delta(eps) <= H_s(e), twice that for losses whose
    derivative takes both signs; replace-one <= H_2s(e) + 2 H_s(e), or 4 H_2s(e).
    """
    # Both numbers carry rounding errors, which count where next to nothing is left.
    left = eps * (1 - 2.0**-50) - math.log1p(smoothness_kappa) * (1 + 2.0**-50)
    if left <= 0:
        return None

    def log_delta(s: float) -> float:
        if signs == 1:
            return gaussian_log_delta(left, s) + (0.0 if one_signed else math.log(2))
        far = gaussian_log_delta(left, 2 * s)
        if not one_signed:
            return far + math.log(4)
        near = gaussian_log_delta(left, s) + math.log(2)
        high, low = max(far, near), min(far, near)
        return high if high == -math.inf else high + math.log1p(math.exp(low - high))

    low, high = 1e-12, 1e6
    if log_delta(low) > math.log(delta):
        return None  # more noise than the formulas can be evaluated for
    for _ in range(200):
        middle = math.sqrt(low * high)
        low, high = (middle, high) if log_delta(middle) <= math.log(delta) else (low, middle)
    return row_norm / (low * (1 - 1e-10 - 1e-15 / low))
