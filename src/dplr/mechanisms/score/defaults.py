"""Shares of mu^2 of the rounds, and guesses that shorten the steps: functions of public facts, score.md, section 4."""

from __future__ import annotations

import math
from fractions import Fraction

# Of mu^2: the sums at zero, one further round, and the last one, which the intervals are made of.
_SHARES = {1: (Fraction(3, 10), Fraction(7, 10)), 2: (Fraction(15, 100), Fraction(15, 100), Fraction(70, 100))}
# Of mu^2: squares of scores, where the Hessian does not show how much the score varies.
MEAT_SHARE = Fraction(15, 100)
# Weight of the Hessian at zero, over the norm of a row: least noise in the equation of coefficients of norm 2.
FIRST_WEIGHT = 2.2
# Public guesses of the standard deviation of a scaled coefficient, and of how far a step is still from it.
COEF_DEVIATION, STEP_DEVIATION = 2.0, 1.0


def shares(rounds: int, *, started: bool) -> tuple[Fraction, ...]:
    """Shares of mu^2, in the order of the rounds; a public start takes the place of the sums at zero."""
    parts = _SHARES[rounds]
    return (parts[0] + parts[1], *parts[2:]) if started else parts


def reach(size: int) -> float:
    """A public guess of the largest norm of coefficients in the scaled problem: no round is made further out."""
    return 8 * math.sqrt(size)
