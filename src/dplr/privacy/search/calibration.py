"""The budget of each run of a search, so that all of it costs (eps, delta). Proofs in tuning.md, section 5."""

from __future__ import annotations

import functools
import math
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray
from scipy import special

from dplr.privacy.calibration import discrete_eps
from dplr.privacy.composition import exact, float_down, float_up
from dplr.privacy.search.counts import NegativeBinomial, TruncatedPoisson

Law = NegativeBinomial | TruncatedPoisson
Vector = NDArray[np.float64]
# Covers the rounding of a formula of a few dozen float operations.
_MARGIN = 2.0**-40
# Orders minus 1 at which Renyi divergences are looked at: any is valid, these are close to the best.
_EXCESS = np.exp(np.linspace(-12.0, 16.0, 1_200))
# Deviations beyond which a tail is nothing beside gamma, and points of a grid between them.
_REACH, _POINTS = 10.0, 4_097
# What the discreteness of one number adds to log R, of a deviation of at least 2^20 units: more than 146 / (24 * 2^40).
_DISCRETE = 6e-12


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


def gaussian_search_eps(law: NegativeBinomial, mu: float, delta: float, numbers: int) -> float:
    """eps at delta of a search whose runs are mu-GDP, rounded up (theorem 3).

    `numbers` of a run are discrete Gaussian; 0 for continuous noise.
    """
    return discrete_eps(mu, run_delta(law, delta), numbers) + (1 + float(law.shape)) * (
        _log_ratio(float(law.gamma), mu) + numbers * _DISCRETE + _MARGIN
    )


def _log_ratio(gamma: float, mu: float) -> float:
    """The largest log((gamma + (1 - gamma) X(x)) / (gamma + (1 - gamma) x)), X(x) = Phi(Phi^-1(x) + mu), rounded up.

    Between two points z = Phi^-1(x) it exceeds the larger of both by at most its second derivative times the square of
    their distance over 8 (lemma 8).
    """
    reach = _REACH + mu
    bend = min(2 * max(reach**2 / 4, reach + 1), mu * (reach + 1) * ((reach + 1) ** 2 + 1))
    low, high = -reach, _REACH
    for _ in range(3):
        points = np.linspace(low, high, _POINTS)
        beyond, inside = (np.log(gamma + (1 - gamma) * special.ndtr(each)) for each in (points + mu, points))
        ratios, step = beyond - inside, points[1] - points[0]
        slack = bend * step * step / 8
        near = points[ratios >= ratios.max() - slack]
        low, high = near.min() - step, near.max() + step
    return float(ratios.max() + slack) + _MARGIN


@functools.lru_cache(maxsize=256)
def largest_mu(law: NegativeBinomial, eps: float, delta: float) -> float:
    """Largest mu of each run, of continuous noise, with which the search is (eps, delta)-DP; 0 where none is found."""
    low, high = 0.0, 4 * eps + 4
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if gaussian_search_eps(law, middle, delta, 0) <= eps else (low, middle)
    return low


def renyi_eps(law: TruncatedPoisson, rho: float, delta: float) -> float:
    """eps at delta of a search whose runs are rho-zCDP each, rounded up (theorem 4)."""
    orders = 1 + _EXCESS
    mean_term = math.log(law.mean) / _EXCESS
    divergence = orders * rho + float(law.rate) * _deltas(rho, np.log1p(1 / _EXCESS)) + mean_term
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
def largest_rho(law: TruncatedPoisson, eps: float, delta: float) -> float:
    """Largest rho of each run with which the search is (eps, delta)-DP, rounded down; 0 where none is found."""
    low, high = 0.0, eps
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if renyi_eps(law, middle, delta) <= eps else (low, middle)
    return low
