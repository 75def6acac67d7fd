"""The budget of each run of a search, so that all of it costs (eps, delta). Proofs in tuning.md, section 5."""

from __future__ import annotations

import functools
import math
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from dplr.privacy.composition import exact, float_down, float_up
from dplr.privacy.search.counts import NegativeBinomial, TruncatedPoisson

Law = NegativeBinomial | TruncatedPoisson
Vector = NDArray[np.float64]
# Covers the rounding of a formula of a few dozen float operations.
_MARGIN = 2.0**-40
# Orders minus 1 at which Renyi divergences are looked at: any is valid, these are close to the best.
_EXCESS = np.exp(np.linspace(-12.0, 16.0, 1_200))


def run_eps(law: NegativeBinomial, eps: float) -> Fraction:
    """The largest eps of one run, pure or approximate, whose search costs at most eps: rounded down (theorem 2)."""
    low, high = eps / (2 + float(law.shape)) * (1 - _MARGIN), eps  # of a run whose cost is surely no more, and no less
    while (middle := (low + high) / 2) not in (low, high):
        low, high = (middle, high) if search_eps(law, middle) <= eps else (low, middle)
    return exact(low)


def search_eps(law: NegativeBinomial, eps: float) -> float:
    """The eps of a search whose runs have this eps, rounded up (theorem 2)."""
    gamma, shrunk = float(law.gamma), math.exp(-eps)
    ratio = math.log1p((1 - gamma) * -math.expm1(-eps) / (gamma + shrunk))
    return (eps + (1 + float(law.shape)) * ratio) * (1 + _MARGIN)


def run_delta(law: Law, delta: float) -> float:
    """The delta of one run such that all of them lose at most delta, rounded down (theorem 2)."""
    return float_down(exact(delta) / exact(law.mean))


def lost_delta(law: Law, delta: float) -> float:
    """The delta that all runs lose together if one loses at most `delta`, rounded up (theorem 2)."""
    return float_up(exact(delta) * exact(law.mean))


def renyi_eps(law: Law, rho: float, delta: float) -> float:
    """eps at delta of a search whose runs are rho-zCDP each, rounded up (theorems 3 and 4)."""
    orders = 1 + _EXCESS
    run, mean_term = orders * rho, math.log(law.mean) / _EXCESS
    if isinstance(law, NegativeBinomial):
        log = -math.log(law.gamma)
        order = max(1.0, math.sqrt(log / rho))
        divergence = run + (1 + float(law.shape)) * ((order - 1) * rho + log / order) + mean_term
    else:
        rate = float(law.rate)
        divergence = run + rate * _deltas(rho, np.log1p(1 / _EXCESS)) + mean_term
    way_back = np.log1p(-1 / orders) - (math.log(delta) + np.log(orders)) / _EXCESS
    size = divergence + np.abs(np.log1p(-1 / orders)) + (np.log(orders) - math.log(delta)) / _EXCESS
    return max(float((divergence + way_back + _MARGIN * size).min()), 0.0)


def _deltas(rho: float, eps: Vector) -> Vector:
    """Of rho-zCDP, a delta at each eps, rounded up (CKS 2020, Proposition 12)."""
    excess = _EXCESS[::4, None]
    orders = 1 + excess
    exponent = excess * (orders * rho - eps + np.log1p(-1 / orders)) - np.log(orders)
    return np.asarray(np.minimum(np.exp(exponent.min(axis=0)) * (1 + 2.0**-20), 1.0))


@functools.lru_cache(maxsize=256)
def largest_rho(law: Law, eps: float, delta: float) -> float:
    """Largest rho of each run with which the search is (eps, delta)-DP, rounded down; 0 where none is found."""
    low, high = 0.0, eps
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if renyi_eps(law, middle, delta) <= eps else (low, middle)
    return low
