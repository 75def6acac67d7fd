"""Which model a search takes: permute-and-flip, and noisy scores, exact in integers. Proofs in tuning.md."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

from dplr._kit.validation import sentence
from dplr.privacy.calibration import LARGEST_UNITS
from dplr.privacy.composition import exact
from dplr.privacy.search.counts import Coins
from dplr.privacy.sensitivity import score_sum

# A record's score is a whole number of these units, from 0 (best) to 1 (worst).
SCORE_UNITS = 2**20


def rounded_down(eps: float) -> Fraction:
    """A fraction that is at most the float, and at most the decimal that Python prints for it."""
    return min(Fraction(eps), exact(eps))


def choose(costs: Sequence[int], eps: float, coins: Coins) -> int:
    """A position by permute-and-flip: eps-DP, exactly (lemma 4).

    Positions come in a random order, and the first is taken whose coin falls on exp(-eps (cost - least) / (2 N)), N the
    sensitivity. The best one's coin always does.

    Parameters
    ----------
    costs : sums of scores in units, the smaller the better.
    eps : of the choice.
    coins : exact events.
    """
    rate = rounded_down(eps) / (2 * score_sum(SCORE_UNITS))
    least, places = min(costs), list(range(len(costs)))
    while True:
        place = places.pop(coins.below(len(places)))
        if coins.happens_exp(rate * (costs[place] - least)):
            return place


def score_noise(eps: Fraction) -> int:
    """Scale in units of the discrete Laplace noise that makes a sum of scores eps-DP, rounded up (lemma 2).

    Raises ValueError where eps is so small that the sampler has no such scale.
    """
    scale = math.ceil(score_sum(SCORE_UNITS) / eps)
    if scale > LARGEST_UNITS:
        remedy = "Use a larger eps, or fewer runs."
        raise ValueError(sentence("eps", "is too small to release a score in each run", float(eps), remedy))
    return scale
