"""Lower bounds of eps from scores of many releases on each of two neighbouring data sets."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from dplr._kit.validation import real_number, sentence
from dplr.auditing._losses import Array
from dplr.privacy import gaussian

_THRESHOLDS = 97
_LARGEST_EPS = 1e3


def eps_lower_bound(
    positive: ArrayLike, negative: ArrayLike, *, delta: float = 0.0, confidence: float = 0.999
) -> float:
    """Lower bound of eps from one event: the score is at least a threshold.

    log((P - delta) / Q), with Clopper-Pearson bounds for the chance P of the event on one data set (from below) and Q
    on the other (from above). The threshold is chosen on the first half of the scores, the bound comes from the second.

    Parameters
    ----------
    positive : array-like of shape (n,)
        Independent scores of releases on one data set; any score is valid, the log likelihood ratio is the strongest.
        Round scores to 1e-9 where floating-point residues are not the question.
    negative : array-like of shape (m,)
        Independent scores of releases on a neighbouring data set.
    delta : float, default=0.0
        Delta of the claim, in [0, 1).
    confidence : float, default=0.999
        The bound holds with this probability, in (0, 1).

    Returns
    -------
    float
        Lower bound of eps; -inf where the event was never seen.

    Raises
    ------
    ValueError, TypeError
        Fewer than two scores, or a parameter outside its range.

    Privacy
    -------
    For releases made for an audit: a bound above the claim proves the claim wrong, one below it proves nothing.

    See Also
    --------
    dplr.auditing.mu_lower_bound : For Gaussian noise alone.

    References
    ----------
    Clopper and Pearson 1934 for the bounds of a chance.

    Examples
    --------
    Laplace noise of scale 1 on two numbers that are 1 apart:

    >>> import numpy as np
    >>> from dplr.auditing import eps_lower_bound
    >>> rng = np.random.default_rng(0)
    >>> noise = rng.laplace(size=(2, 100_000))
    >>> 0.9 < eps_lower_bound(noise[0] + 1, noise[1]) < 1
    True
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
    """Lower bound of mu for a mechanism that is mu-Gaussian differentially private.

    Phi^-1(1 - false positives) - Phi^-1(false negatives) of one threshold, with Clopper-Pearson bounds from above for
    both rates. The threshold is halfway between the medians of the first tenths of the scores, near the best one for
    Gaussian scores; the bound comes from the rest.

    Parameters
    ----------
    positive : array-like of shape (n,)
        Independent scores of releases on one data set, as in `eps_lower_bound`.
    negative : array-like of shape (m,)
        Independent scores of releases on a neighbouring data set.
    confidence : float, default=0.999
        The bound holds with this probability, in (0, 1).

    Returns
    -------
    float
        Lower bound of mu; -inf where nothing was told apart. `gaussian_eps` turns it into eps at a delta.

    Raises
    ------
    ValueError, TypeError
        Fewer than two scores, or a parameter outside its range.

    Privacy
    -------
    For releases made for an audit. Sound for Gaussian noise only: another mechanism of the same (eps, delta) may exceed
    it at a threshold.

    See Also
    --------
    dplr.auditing.gaussian_eps : The eps that a mu implies.

    References
    ----------
    Nasr et al. 2023, section 4.

    Examples
    --------
    >>> import numpy as np
    >>> from dplr.auditing import mu_lower_bound
    >>> rng = np.random.default_rng(0)
    >>> noise = rng.normal(size=(2, 100_000))
    >>> 0.9 < mu_lower_bound(noise[0] + 1, noise[1]) < 1
    True
    """
    scores, false_scores = _checked(positive, negative, confidence)
    tenth, false_tenth = -(-len(scores) // 10), -(-len(false_scores) // 10)
    threshold = (np.median(scores[:tenth]) + np.median(false_scores[:false_tenth])) / 2
    missed = _upper(scores[tenth:] < threshold, confidence)
    fooled = _upper(false_scores[false_tenth:] >= threshold, confidence)
    return float(-special.ndtri(fooled) - special.ndtri(missed))


def gaussian_eps(mu: float, delta: float) -> float:
    """Smallest eps >= 0 for which mu-Gaussian differential privacy implies (eps, delta), rounded down.

    Parameters
    ----------
    mu : float
        Sensitivity over standard deviation; the eps is 0 where it is not positive.
    delta : float
        What is added to what the factor exp(eps) allows, in (0, 1).

    Returns
    -------
    float
        The eps, at most 1000.

    Raises
    ------
    ValueError
        `delta` is outside (0, 1).

    Privacy
    -------
    Uses no data.

    See Also
    --------
    dplr.auditing.mu_lower_bound : A lower bound of mu from releases.

    References
    ----------
    Balle and Wang 2018, Theorem 8.

    Examples
    --------
    >>> from dplr.auditing import gaussian_eps
    >>> print(f"{gaussian_eps(1 / 4.2247, 1e-6):.3f}")
    1.000
    """
    if not 0 < real_number("delta", delta) < 1:
        raise ValueError(sentence("delta", "must be between 0 and 1", delta))
    above = gaussian.gaussian_eps(mu, delta)  # rounded up, by less than what is taken away here
    return min(max(above * (1 - 2**-38) - 2**-46 * (1 + mu * mu), 0.0), _LARGEST_EPS) if above else 0.0


def _checked(positive: ArrayLike, negative: ArrayLike, confidence: float) -> tuple[Array, Array]:
    """Scores as arrays."""
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
