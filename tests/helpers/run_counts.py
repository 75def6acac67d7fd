"""The laws of the number of runs of a search, by the formulas of the papers."""

import math

import numpy as np
from scipy import special, stats

from dplr.privacy.search.counts import TruncatedPoisson


def pmf(law, most):
    """P[K = k] of k = 1, ..., most by the formulas of the papers."""
    k = np.arange(1, most + 1)
    if isinstance(law, TruncatedPoisson):
        rate = float(law.rate)
        return stats.poisson.pmf(k, rate) / -math.expm1(-rate)
    eta, gamma = float(law.shape), float(law.gamma)
    if eta == 0:
        return (1 - gamma) ** k / (k * math.log(1 / gamma))
    factors = special.gammaln(k + eta) - special.gammaln(k + 1) - special.gammaln(eta + 1)
    return np.exp(factors) * eta * (1 - gamma) ** k / (gamma**-eta - 1)
