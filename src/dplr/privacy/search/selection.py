"""Which model a search takes: the exponential mechanism and noisy scores, exact in integers. Proofs in tuning.md."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

from dplr._kit.validation import sentence
from dplr.privacy.calibration import LARGEST_SCALE
from dplr.privacy.composition import exact
from dplr.privacy.search.counts import Coins
from dplr.privacy.sensitivity import score_sum

# A record's score is a whole number of these units, from 0 (best) to 1 (worst).
SCORE_UNITS = 2**20


def rounded_down(eps: float) -> Fraction:
    """A fraction that is at most the float, and at most the decimal that Python prints for it."""
    return min(Fraction(eps), exact(eps))


def choose(costs: Sequence[int], eps: float, coins: Coins) -> int:
    """A position, with probability proportional to exp(-eps cost / (2 sensitivity)): eps-DP, exactly (theorem 1).

    `costs` are sums of scores in units, the smaller the better.
    """
    rate = rounded_down(eps) / (2 * score_sum(SCORE_UNITS))
    least = min(costs)
    while True:
        place = coins.below(len(costs))
        if coins.happens_exp(rate * (costs[place] - least)):
            return place


def score_noise(eps: Fraction) -> int:
    """Scale in units of the discrete Laplace noise that makes a sum of scores eps-DP, rounded up (lemma 2).

    Raises ValueError where eps is so small that the sampler has no such scale.
    """
    scale = math.ceil(score_sum(SCORE_UNITS) / eps)
    if scale > LARGEST_SCALE:
        remedy = "Use a larger eps, or fewer runs."
        raise ValueError(sentence("eps", "is too small to release a score in each run", float(eps), remedy))
    return scale
