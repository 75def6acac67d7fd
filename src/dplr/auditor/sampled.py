"""Lower bounds of eps from scores of many releases on each of two neighbouring data sets."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from dplr._kit.validation import real_number, sentence
from dplr.privacy import gaussian

_THRESHOLDS = 97
_LARGEST_EPS = 1e3
Array = NDArray[np.float64]


def eps_lower_bound(
    positive: ArrayLike, negative: ArrayLike, *, delta: float = 0.0, confidence: float = 0.999
) -> float:
    """Lower bound of eps from one event: the score is at least a threshold; -inf where the event was never seen.

    log((P - delta) / Q), with Clopper-Pearson bounds for the chance P of the event on one data set (from below) and Q
    on the other (from above). The threshold is chosen on the first half of the scores, the bound comes from the second.
    """
    scores, false_scores = _checked(positive, negative, confidence)
    half, false_half = len(scores) // 2, len(false_scores) // 2
    sample = np.concatenate([scores[:half], false_scores[:false_half]])

    def bound(threshold: float, part: slice, false_part: slice) -> float:
        low = 1 - _upper(scores[part] < threshold, confidence) - delta
        return math.log(low / _upper(false_scores[false_part] >= threshold, confidence)) if low > 0 else -math.inf

    thresholds = np.quantile(sample, np.linspace(0.02, 0.98, _THRESHOLDS)).tolist()
    best = max(thresholds, key=lambda threshold: bound(threshold, slice(half), slice(false_half)))
    return bound(best, slice(half, None), slice(false_half, None))


def mu_lower_bound(positive: ArrayLike, negative: ArrayLike, *, confidence: float = 0.999) -> float:
    """Lower bound of mu for a mechanism that is mu-Gaussian private; another one may exceed it at a threshold.

    Phi^-1(1 - false positives) - Phi^-1(false negatives) of one threshold (Nasr et al. 2023, section 4), with
    Clopper-Pearson bounds from above for both rates. The threshold is halfway between the medians of the first tenths
    of the scores, near the best one for Gaussian scores; the bound comes from the rest.
    """
    scores, false_scores = _checked(positive, negative, confidence)
    tenth, false_tenth = -(-len(scores) // 10), -(-len(false_scores) // 10)
    threshold = (np.median(scores[:tenth]) + np.median(false_scores[:false_tenth])) / 2
    missed = _upper(scores[tenth:] < threshold, confidence)
    fooled = _upper(false_scores[false_tenth:] >= threshold, confidence)
    return float(-special.ndtri(fooled) - special.ndtri(missed))


def gaussian_eps(mu: float, delta: float) -> float:
    """Smallest eps >= 0 for which mu-Gaussian differential privacy implies (eps, delta), rounded down; at most 1000."""
    if not 0 < real_number("delta", delta) < 1:
        raise ValueError(sentence("delta", "must be between 0 and 1", delta))
    above = gaussian.gaussian_eps(mu, delta)  # rounded up, by less than what is taken away here
    return min(max(above * (1 - 2**-38) - 2**-46 * (1 + mu * mu), 0.0), _LARGEST_EPS) if above else 0.0


def _checked(positive: ArrayLike, negative: ArrayLike, confidence: float) -> tuple[Array, Array]:
    if not 0 < real_number("confidence", confidence) < 1:
        raise ValueError(sentence("confidence", "must be between 0 and 1", confidence))
    scores, false_scores = (np.asarray(part, dtype=np.float64) for part in (positive, negative))
    for name, part in (("positive", scores), ("negative", false_scores)):
        if part.ndim != 1 or len(part) < 2 or np.isnan(part).any():
            raise ValueError(sentence(name, "must be one-dimensional, at least two scores, none of them NaN", part))
    return scores, false_scores


def _upper(hits: NDArray[np.bool_], confidence: float) -> float:
    """Clopper-Pearson upper bound of a chance; two such bounds hold together with the given confidence."""
    count, n = int(hits.sum()), len(hits)
    return 1.0 if count == n else float(special.betaincinv(count + 1, n - count, (1 + confidence) / 2))
