"""Shares of mu^2 of the rounds, guesses that shorten their steps, and what each may move: functions of public facts.

Proofs: score.md; the defaults: its section 4.
"""

from __future__ import annotations

import math
from fractions import Fraction

from dplr.privacy import sensitivity
from dplr.privacy.guarantees import Neighbouring
from dplr.problem.geometry import Geometry
from dplr.problem.losses import Loss

# Of mu^2: the sums at zero, one further round, and the last one, which the intervals are made of.
_SHARES = {1: (Fraction(3, 10), Fraction(7, 10)), 2: (Fraction(15, 100), Fraction(15, 100), Fraction(70, 100))}
# Of mu^2: squares of scores, where the Hessian does not show how much the score varies.
MEAT_SHARE = Fraction(15, 100)
# Weight of the Hessian at zero, over the norm of a row: least noise in the equation of coefficients of norm 2.
FIRST_WEIGHT = 2.2
# Weight of the Hessian of rates, over the norm of a row: its noise then costs the score an eighth at most.
RATE_WEIGHT = 0.5
# Public guesses of the standard deviation of a scaled coefficient, and of how far a step is still from it.
COEF_DEVIATION, STEP_DEVIATION = 2.0, 1.0


def shares(rounds: int, *, started: bool) -> tuple[Fraction, ...]:
    """Shares of mu^2, in the order of the rounds; a public start takes the place of the sums at zero."""
    parts = _SHARES[rounds]
    return (parts[0] + parts[1], *parts[2:]) if started else parts


def reach(size: int) -> float:
    """A public guess of the largest norm of coefficients in the scaled problem: no round is made further out."""
    return 8 * math.sqrt(size)


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
