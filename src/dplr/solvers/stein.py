"""Logistic coefficients from those of a linear probability, for margins with a Gaussian law."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

# Gauss-Hermite nodes and weights for the mean of a function of N(0, 1).
_NODES, _WEIGHTS = np.polynomial.hermite_e.hermegauss(61)
_WEIGHTS = _WEIGHTS / _WEIGHTS.sum()
# Binary features and noise can ask for endless coefficients: margins never get a larger standard deviation than this.
_LARGEST_MARGIN_DEVIATION = 2.5


def stein_coef(
    coef: NDArray[np.float64], second_moments: NDArray[np.float64], iota: float, mean_label: float
) -> NDArray[np.float64]:
    """The logistic coefficients whose linear-probability solution is `coef`, for margins with a Gaussian law.

    Stein's lemma: for Gaussian x and P(y = 1 | x) = sigma(z), z = x.w + w0 iota, the slopes of the least-squares fit of
    the probability are E[sigma'(z)] w. `coef` is Taylor's solution: four times those slopes. So w = coef / (4 k), where
    k in (0, 1/4] solves k = E sigma'(N(m, v / (4 k)^2)), v the variance of x.coef, and with an intercept the mean m of
    the margins solves E sigma(N(m, .)) = (1 + mean_label) / 2.

    Parameters
    ----------
    coef : (q,) Taylor's solution, the intercept's coordinate last where iota > 0.
    second_moments : (q, q) mean of (x, iota)(x, iota)'; noisy, possibly indefinite.
    iota : the intercept's constant, 0 for none.
    mean_label : mean of y in {-1, 1}; used with an intercept.
    """
    d = len(coef) - (iota > 0)
    slopes = coef[:d]
    mean = second_moments[:d, d] / iota if iota else np.zeros(d)
    variance = float(slopes @ second_moments[:d, :d] @ slopes) - float(slopes @ mean) ** 2
    if not variance > 0:
        return coef
    share = min(max((1 + mean_label) / 2, 1e-6), 1 - 1e-6)

    def center(deviation: float) -> float:
        """Mean of the margins at which positives have their share."""
        if not iota:
            return 0.0
        low, high, middle = -100.0 - 10 * deviation, 100.0 + 10 * deviation, 0.0
        for _ in range(100):  # Newton's method inside a bracket
            half = _half_margins(middle, deviation)
            excess = _mean_sigmoid(half) - share
            low, high = (low, middle) if excess > 0 else (middle, high)
            slope = _mean_slope(half)
            candidate = middle - excess / slope if slope > 0 else low
            candidate = candidate if low < candidate < high else (low + high) / 2
            if abs(candidate - middle) <= 1e-11 * (1 + abs(middle)):
                break
            middle = candidate
        return candidate

    # 4 length E sigma' grows with the length 1 / (4 k), so bisection finds where it is 1.
    low, high = 1.0, _LARGEST_MARGIN_DEVIATION / float(np.sqrt(variance))
    if high <= low:
        return coef
    for _ in range(60):
        length = (low + high) / 2
        if length == low:
            break
        deviation = length * float(np.sqrt(variance))
        gain = length * 4 * _mean_slope(_half_margins(center(deviation), deviation))
        low, high = (length, high) if gain < 1 else (low, length)
    result = coef * low
    if iota:
        result[d] = (center(low * float(np.sqrt(variance))) - float(result[:d] @ mean)) / iota
    return result


def _half_margins(center: float, deviation: float) -> NDArray[np.float64]:
    """Half of each margin at the nodes, which is what both means below are of."""
    return np.asarray((center + deviation * _NODES) / 2)


def _mean_sigmoid(half: NDArray[np.float64]) -> float:
    return float(_WEIGHTS @ (0.5 * (1 + np.tanh(half))))


def _mean_slope(half: NDArray[np.float64]) -> float:
    return float(_WEIGHTS @ (0.25 / np.cosh(np.minimum(np.maximum(half, -300), 300)) ** 2))
