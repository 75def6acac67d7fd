"""mu-Gaussian differential privacy and (eps, delta): both ways between them, rounded to the safe side."""

from __future__ import annotations

import math

import numpy as np
from scipy import special

from dplr._kit.validation import sentence

SMALLEST_MU = 1e-12


def gaussian_log_delta(eps: float, mu: float) -> float:
    """Log of the delta of mu-GDP at eps: log(Phi(-eps/mu + mu/2) - e^eps Phi(-eps/mu - mu/2)), without cancellation.

    Balle and Wang 2018, Theorem 8, for sensitivity / standard deviation = mu.
    """
    near, far = eps / mu - mu / 2, eps / mu + mu / 2
    if near >= 0:
        difference = special.erfcx(near / math.sqrt(2)) - special.erfcx(far / math.sqrt(2))
        return -near * near / 2 + math.log(difference / 2) if difference > 0 else -math.inf
    head, tail = special.log_ndtr(-near), special.log_ndtr(-far)
    return float(head + np.log1p(-np.exp(eps + tail - head)))


def gaussian_mu(eps: float, delta: float) -> float:
    """Largest mu such that mu-GDP implies (eps, delta)-DP, rounded down: standard deviation = sensitivity / mu.

    Raises ValueError where it is below 1e-12.
    """
    low, high = SMALLEST_MU, 1e6
    if gaussian_log_delta(eps, low) > math.log(delta):
        remedy = "Give a larger eps or delta; classes and parts of a release share them."
        rule = f"must leave Gaussian noise a mu of {low:g} at delta = {delta:g}"
        raise ValueError(sentence("eps", rule, eps, remedy))
    for _ in range(200):  # bisection of the logarithm: the curve is monotone, and steep at both ends
        middle = math.sqrt(low * high)
        low, high = (middle, high) if gaussian_log_delta(eps, middle) <= math.log(delta) else (low, middle)
    return low * (1 - mu_margin(low))


def mu_margin(mu: float) -> float:
    """More than the share of a mu that rounding of the curve may hide: at most 2.1e-15 / mu was found near eps = mu."""
    return max(1e-10 + 1e-15 / mu, 8e-15 / mu)


def gaussian_eps(mu: float, delta: float) -> float:
    """Smallest eps >= 0 such that mu-GDP implies (eps, delta)-DP, rounded up.

    A float's rounding of log delta moves eps by a few 2^-52 of 1 + eps + mu^2; the margin is a thousand times that of
    eps, and three times the largest that was found near eps = 0, where two tails cancel.
    """
    if mu <= 0 or math.erf(mu / math.sqrt(8)) * (1 + 1e-15) <= delta:  # delta at eps = 0
        return 0.0
    # delta(eps) <= Phi(mu/2 - eps/mu), which is delta here.
    low, high = 0.0, (mu * mu / 2 - mu * float(special.ndtri(delta))) * (1 + 1e-9)
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (middle, high) if gaussian_log_delta(middle, mu) > math.log(delta) else (low, middle)
    return high * (1 + 1e-12) + 4e-15 * (1 + mu * mu)


def pure_mu(eps: float) -> float:
    """Smallest mu such that eps-DP implies mu-GDP, 2 Phi^-1(e^eps/(1 + e^eps)), rounded up: composition.md, lemma 4."""
    return -2 * float(special.ndtri(special.expit(-eps))) * (1 + 2.0**-40) + 2.0**-45


def pure_eps(mu: float) -> float:
    """The eps of `pure_mu`, log(Phi(mu / 2) / Phi(-mu / 2)), up to rounding."""
    return float(special.log_ndtr(mu / 2) - special.log_ndtr(-mu / 2))
