"""How often a search runs: laws of a secret number of runs, drawn exactly. Proofs in tuning.md, section 4."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol

from dplr._kit.validation import real_number, sentence
from dplr.privacy.composition import exact

_MARGIN = 1 + 2.0**-40
# Parameters of a law are whole numbers of these units, so that its coins have small fractions.
_UNITS = 2**32
# Means of laws with smaller shapes lose their digits.
_LEAST_SHAPE = 2.0**-40
# A draw takes so many parts.
_LARGEST_SHAPE = 1000
# Smaller ones need thousands of coins to draw the number of runs.
_SMALLEST_GAMMA = 2.0**-12
MOST_RUNS = 1000


class Coins(Protocol):
    """The events that a draw is made of: what `dplr.noise.Source` has."""

    def below(self, bound: int) -> int:
        """Uniform on {0, ..., bound - 1}."""
        ...

    def happens(self, probability: Fraction) -> bool:
        """True with this probability."""
        ...

    def happens_exp(self, exponent: Fraction) -> bool:
        """True with probability exp(-exponent)."""
        ...


@dataclass(frozen=True, slots=True)
class NegativeBinomial:
    """K >= 1 with P[K = k] proportional to (1 - gamma)^k times the product of (l + shape) / (l + 1) over 0 < l < k.

    The truncated negative binomial law: logarithmic for shape 0, geometric for shape 1.
    """

    shape: Fraction
    gamma: Fraction

    @property
    def mean(self) -> float:
        """Expected number of runs, rounded up."""
        return _mean(float(self.shape), float(self.gamma)) * _MARGIN

    def draw(self, coins: Coins) -> int:
        """The number of runs, exactly of this law."""
        if self.shape <= 1:
            return _climb(coins, self.shape, self.gamma, 1)
        parts = math.ceil(self.shape)
        while True:
            count = sum(_climb(coins, self.shape / parts, self.gamma, 0) for _ in range(parts))
            if count:
                return count

    def __str__(self) -> str:
        """Return the law in words."""
        name = {0: "logarithmic", 1: "geometric"}.get(int(self.shape) if self.shape.denominator == 1 else -1)
        words = name or f"truncated negative binomial of shape {float(self.shape):g}"
        return f"{words}, mean {self.mean:.6g}"


@dataclass(frozen=True, slots=True)
class TruncatedPoisson:
    """K >= 1 with P[K = k] proportional to rate^k / k!: a Poisson number that is not 0."""

    rate: Fraction

    @property
    def mean(self) -> float:
        """Expected number of runs, rounded up."""
        rate = float(self.rate)
        return rate / -math.expm1(-rate) * _MARGIN

    def draw(self, coins: Coins) -> int:
        """The number of runs, exactly of this law: a sum of Poisson numbers of rate at most 1/2."""
        parts = math.ceil(2 * self.rate)
        while True:
            count = sum(_small_poisson(coins, self.rate / parts) for _ in range(parts))
            if count:
                return count

    def __str__(self) -> str:
        """Return the law in words."""
        return f"Poisson without 0, mean {self.mean:.6g}"


def law_of(runs: float, shape: float) -> NegativeBinomial | TruncatedPoisson:
    """The law of this shape (inf: Poisson) whose mean is `runs`, or up to a 2^-32 part of its parameter less.

    Raises ValueError or TypeError for parameters out of their ranges.
    """
    mean, eta = real_number("runs", runs), real_number("shape", shape)
    if not 1 < mean <= MOST_RUNS:
        raise ValueError(sentence("runs", f"must be above 1 and at most {MOST_RUNS}", runs))
    if not eta > -1:
        raise ValueError(sentence("shape", "must be above -1", shape, "0 is logarithmic, 1 geometric, inf Poisson."))
    if _LARGEST_SHAPE < eta < math.inf:
        raise ValueError(sentence("shape", f"must be at most {_LARGEST_SHAPE}, or inf", shape, "inf is Poisson."))
    if 0 < abs(eta) < _LEAST_SHAPE:
        raise ValueError(sentence("shape", f"must be 0 or at least {_LEAST_SHAPE:.3g} in size", shape))
    if math.isinf(eta):
        rate = _bisect(lambda value: value / -math.expm1(-value), mean, 2.0**-20, mean)
        return TruncatedPoisson(Fraction(max(math.floor(rate * _UNITS), 1), _UNITS))
    gamma = math.exp(-_bisect(lambda depth: _mean(eta, math.exp(-depth)), mean, 2.0**-40, 700.0))
    if gamma < _SMALLEST_GAMMA:
        remedy = "Use fewer runs, or a larger shape."
        raise ValueError(sentence("runs", f"is too large for shape = {eta:g}", runs, remedy))
    units = math.ceil(gamma * _UNITS)
    if units >= _UNITS:
        raise ValueError(
            sentence("runs", f"is too small for shape = {eta:g}", runs, "Use more runs, or a smaller shape.")
        )
    return NegativeBinomial(exact(eta), Fraction(units, _UNITS))


def _mean(shape: float, gamma: float) -> float:
    log = -math.log(gamma)
    return (1 - gamma) / gamma * (shape / -math.expm1(-shape * log) if shape else 1 / log)


def _bisect(rising: Callable[[float], float], mean: float, low: float, high: float) -> float:
    """Where a rising function reaches the mean, from below."""
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if rising(middle) <= mean else (low, middle)
    return low


def _climb(coins: Coins, shape: Fraction, gamma: Fraction, first: int) -> int:
    """k >= first with P[k] proportional to (1 - gamma)^k times the product of (l + shape) / (l + 1), first <= l < k.

    The factors are probabilities for shapes of at most 1, and for `first` = 0 of more than 0.
    """
    count = first
    while not coins.happens(gamma):
        count = count + 1 if coins.happens((count + shape) / (count + 1)) else first
    return count


def _small_poisson(coins: Coins, rate: Fraction) -> int:
    """A Poisson number of rate at most 1: each further one comes with odds rate, and stays with odds 1 / count."""
    count = 0
    while coins.happens(rate):
        count = count + 1 if coins.happens(Fraction(1, count + 1)) else 0
    return count
