"""From eps, delta and what each round may move to the integer noise of every block. Proofs: score.md."""

from __future__ import annotations

import functools
import math
from fractions import Fraction
from typing import NamedTuple

from dplr._kit.validation import sentence
from dplr.privacy import sensitivity
from dplr.privacy.calibration import (
    MOST_GAUSSIAN_NUMBERS,
    SUM_EXPONENT,
    GaussianBlock,
    continuous_target,
    gaussian_blocks,
    root_above,
)
from dplr.privacy.gaussian import gaussian_mu
from dplr.privacy.guarantees import Neighbouring

# Sums at zero are quarters of moments.
EXACT = SUM_EXPONENT - 2


class Round(NamedTuple):
    """One release of a score and its Hessian.

    Attributes
    ----------
    share : of mu^2.
    weight : of the Hessian, in the norm in which the sensitivity is measured.
    sensitivity : joint L2 sensitivity of (score, weight * Hessian in Frobenius norm).
    """

    share: Fraction
    weight: float
    sensitivity: float


class Noise(NamedTuple):
    """mu of all rounds together; for each round its charged sensitivity and a block for each kind of cells."""

    mu: float
    rounds: tuple[tuple[float, tuple[GaussianBlock, ...]], ...]


def round_at_zero(
    share: Fraction, first_weight: float, radius: float, iota: float, neighbouring: Neighbouring
) -> Round:
    """The sums at zero, where every record has p = 1/2; `first_weight` is that of the Hessian over a row's norm."""
    replaced = neighbouring is Neighbouring.REPLACE_ONE
    moved = sensitivity.first_score_replace_one if replaced else sensitivity.first_score_add_remove
    weight = first_weight / math.hypot(radius, iota)
    return Round(share, weight, moved(radius, weight, iota))


def round_anywhere(share: Fraction, radius: float, iota: float, neighbouring: Neighbouring) -> Round:
    """The sums at a point that was released, with the largest weight at which the Hessian is free."""
    replaced = neighbouring is Neighbouring.REPLACE_ONE
    moved = sensitivity.score_replace_one if replaced else sensitivity.score_add_remove
    weight = sensitivity.FREE_HESSIAN * (math.sqrt(2) if replaced else 1.0) / math.hypot(radius, iota)
    return Round(share, weight, moved(radius, weight, iota))


@functools.lru_cache(maxsize=256)
def gaussian_rounds(rounds: tuple[Round, ...], sizes: tuple[tuple[str, int], ...], eps: float, delta: float) -> Noise:
    """Variances that make all rounds (eps, delta)-DP together; each round may depend on the earlier ones.

    Squares of mu add, and the draws of all rounds count together (score.md, theorem 1). A cell off the diagonal
    counts twice in the Frobenius norm. Flooring is charged to each round.

    Raises
    ------
    ValueError
        The discrete law is too far from the continuous one, or the sampler cannot draw it.
    """
    numbers = len(rounds) * sum(size for _, size in sizes)
    if numbers > MOST_GAUSSIAN_NUMBERS:
        rule = f"must be such that at most {MOST_GAUSSIAN_NUMBERS} numbers are released"
        raise ValueError(sentence("n_features", rule, numbers, "Use fewer features."))
    remedy = "Use a larger eps or delta."
    mu = gaussian_mu(*continuous_target(eps, delta, numbers, remedy))
    noise = []
    for step in rounds:
        factors = {"score": 1.0, "diagonal": step.weight, "off_diagonal": step.weight * math.sqrt(2)}
        weights = tuple(factors[name] for name, _ in sizes)
        ratio = root_above(1 / step.share) / Fraction(mu)
        blocks = gaussian_blocks(step.sensitivity, ratio, weights, tuple(size for _, size in sizes), EXACT)
        if blocks is None:
            raise ValueError(sentence("eps", "is out of the range of the Gaussian noise", eps, remedy))
        noise.append(blocks)
    return Noise(mu, tuple(noise))
