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
from dplr.problem.geometry import Geometry
from dplr.problem.losses import Loss

# Sums at zero are quarters of moments.
EXACT = SUM_EXPONENT - 2
# Weight of the Hessian of rates, over the norm of a row: its noise then costs the score an eighth at most.
RATE_WEIGHT = 0.5


class Step(NamedTuple):
    """One release: a score with its Hessian, or squares of scores.

    Attributes
    ----------
    share : of mu^2.
    sensitivity : joint L2 sensitivity of the blocks, each times its weight.
    blocks : name, numbers and weight of each.
    """

    share: Fraction
    sensitivity: float
    blocks: tuple[tuple[str, int, float], ...]


class Noise(NamedTuple):
    """mu of all steps together; for each its charged sensitivity and the noise of its blocks."""

    mu: float
    steps: tuple[tuple[float, tuple[GaussianBlock, ...]], ...]


def round_at_zero(geometry: Geometry, first_weight: float, neighbouring: Neighbouring) -> tuple[float, float]:
    """Weight of the Hessian at zero, where every record has p = 1/2, and the joint sensitivity of score and Hessian.

    `first_weight` is the weight over a row's norm.
    """
    replaced = neighbouring is Neighbouring.REPLACE_ONE
    moved = sensitivity.first_score_replace_one if replaced else sensitivity.first_score_add_remove
    weight = first_weight / geometry.row_norm
    return weight, moved(geometry.radius, weight, geometry.intercept)


def round_anywhere(geometry: Geometry, loss: Loss, neighbouring: Neighbouring) -> tuple[float, float]:
    """Weight of the Hessian at a released point, the largest at which it is free, and the joint sensitivity.

    Beside the score of rates no Hessian is free: `RATE_WEIGHT` is a compromise.
    """
    replaced, norm, most = neighbouring is Neighbouring.REPLACE_ONE, geometry.row_norm, loss.lipschitz
    free = math.sqrt(2) if replaced else 1.0
    if loss.link == "log":
        moved = sensitivity.rate_score_replace_one if replaced else sensitivity.rate_score_add_remove
        weight = RATE_WEIGHT / norm
        return weight, moved(norm, weight, most - 2, most)
    if loss.classification:
        of_labels = sensitivity.score_replace_one if replaced else sensitivity.score_add_remove
        weight = sensitivity.FREE_HESSIAN * free / norm
        return weight, of_labels(geometry.radius, weight, geometry.intercept)
    of_numbers = sensitivity.huber_score_replace_one if replaced else sensitivity.huber_score_add_remove
    weight = most * free / norm
    return weight, of_numbers(norm, weight, most)


@functools.lru_cache(maxsize=256)
def gaussian_steps(steps: tuple[Step, ...], eps: float, delta: float) -> Noise:
    """Variances that make all steps (eps, delta)-DP together; each may depend on the earlier ones.

    Squares of mu add, and the draws of all steps count together (score.md, theorem 1). A cell off the diagonal counts
    twice in the Frobenius norm. Flooring is charged to each step.

    Raises
    ------
    ValueError
        The discrete law is too far from the continuous one, or the sampler cannot draw it.
    """
    numbers = sum(size for step in steps for _, size, _ in step.blocks)
    if numbers > MOST_GAUSSIAN_NUMBERS:
        rule = f"must be such that at most {MOST_GAUSSIAN_NUMBERS} numbers are released"
        raise ValueError(sentence("n_features", rule, numbers, "Use fewer features."))
    remedy = "Use a larger eps or delta."
    mu = gaussian_mu(*continuous_target(eps, delta, numbers, remedy))
    noise = []
    for step in steps:
        _, sizes, weights = zip(*step.blocks, strict=True)
        ratio = root_above(1 / step.share) / Fraction(mu)
        blocks = gaussian_blocks(step.sensitivity, ratio, weights, sizes, EXACT)
        if blocks is None:
            raise ValueError(sentence("eps", "is out of the range of the Gaussian noise", eps, remedy))
        noise.append(blocks)
    return Noise(mu, tuple(noise))
