"""The Poisson likelihood of counts, with a bounded log-rate."""

from __future__ import annotations

import math

from dplr._kit.validation import sentence
from dplr.problem.losses.loss import Loss, loss_of

# That of counts from 0 on, whatever their largest is: public facts replace it by that of the declared target.
POISSON = Loss("poisson", classification=False, lipschitz=2.0, smoothness=2.0, link="log")

_PER_UNIT = 128.0
# Rates below this share of the largest count are told apart no more.
_LEAST_RATE = 2.0**-40


def from_zero(low: float, high: float) -> tuple[float, float]:
    """A declared range of counts, which are never below 0."""
    return (max(low, 0.0) if high > 0 else low), high


def check_counts(low: float, high: float) -> None:
    """Refuse what is no range of counts."""
    if not (0 <= low < high and 2.0**-100 <= high <= 2.0**100 and high / (high - low) <= 2**20):
        remedy = "Declare the smallest and the largest count from public knowledge: Bounds(..., target=(0, 50))."
        raise ValueError(sentence("bounds", "must have a target with 0 <= lower < upper", (low, high), remedy))


def log_offset(low: float, high: float) -> float:
    """The log-rate that coefficients of 0 have beside an intercept: of an eighth of the way from low to high.

    The ridge pulls towards it, so a model does not depend on the unit of the counts.
    """
    check_counts(low, high)
    return math.log(low + (high - low) / 8)


def poisson(low: float, high: float, offset: float = 0.0) -> Loss:
    """exp(z + offset) - y z for log-rates up to log(high), linear beyond: counts in [low, high], over half their range.

    With m and h the middle and half the length of [low, high] and u = (y - m) / h in [-1, 1], the target as it is
    scaled, the loss divided by h is f(z) - u z with f'(z) = (min(exp(z + offset), high) - m) / h. So dl/dz =
    (rate - y) / h lies in [-high / h, high / h], and d2l/dz2 is at most high / h: 2 and 2 where low is 0. Between knots
    a 128th apart the rate is linear, off by at most 8e-6 of itself.
    """
    import numpy as np  # the help of the command line does not wait for it

    from dplr.problem.losses.knots import knotted

    check_counts(low, high)
    middle, half = (low + high) / 2, (high - low) / 2
    first = math.floor((math.log(high * _LEAST_RATE) - offset) * _PER_UNIT)
    last = math.ceil((math.log(high) - offset) * _PER_UNIT)
    rates = np.minimum(np.exp(np.arange(first, last + 1) / _PER_UNIT + offset), high)
    rates[0], rates[-1] = 0.0, high
    return loss_of("poisson", knotted("family", first, _PER_UNIT, (rates - middle) / half), link="log")
