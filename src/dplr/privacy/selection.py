"""Which model a search takes: permute-and-flip, exact in integers. Proofs in tuning.md."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Protocol

from dplr.privacy.composition import exact
from dplr.privacy.sensitivity import score_sum

# A record's score is a whole number of these units, from 0 (best) to 1 (worst).
SCORE_UNITS = 2**20


class Coins(Protocol):
    """The events that a choice is made of: what `dplr.noise.Source` has."""

    def below(self, bound: int) -> int:
        """Uniform on {0, ..., bound - 1}."""

    def happens_exp(self, exponent: Fraction) -> bool:
        """True with probability exp(-exponent)."""


def rounded_down(eps: float) -> Fraction:
    """A fraction that is at most the float, and at most the decimal that Python prints for it."""
    return min(Fraction(eps), exact(eps))


def choose(costs: Sequence[int], eps: float, coins: Coins) -> int:
    """A position by permute-and-flip: eps-DP, exactly (lemma 3).

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
