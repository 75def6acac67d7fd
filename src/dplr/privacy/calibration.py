"""From sensitivity and eps to integer noise on a release grid. Pure functions of public numbers."""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction

from scipy import special

from dplr._kit.validation import sentence
from dplr.privacy.gaussian import gaussian_mu
from dplr.privacy.guarantees import Gaussian, Pure
from dplr.privacy.law import Law
from dplr.privacy.statement import Release

# The sums are multiples of 2^-40: a finer release grid would gain nothing.
SUM_EXPONENT = -40
# The noise scale is at least 2^26 grid units: rounding it up to an integer costs at most 2^-26 of it. Flooring p
# numbers costs up to p / 2^bits of privacy loss, so small eps and many numbers take a finer grid.
_LEAST_BITS, _MOST_BITS = 26, 38
_FLOOR_COST_BITS = 16
# What the integer samplers take.
LARGEST_UNITS = 2**40
LARGEST_VARIANCE = 2**44
# A sampling rate is a whole number of these units.
RATE_UNITS = 2**32
# The standard deviation of Gaussian noise is at least 2^20 grid units: gaussian_mu's correction is then below 1e-6.
GAUSSIAN_BITS = 20
MOST_GAUSSIAN_NUMBERS = 10**6
# Covers the rounding of the float formulas in sensitivity.py, which have at most a few dozen operations.
_FLOAT_MARGIN = 1 + Fraction(1, 2**40)


@dataclass(frozen=True, slots=True)
class Noise:
    """Noise of one block, which is floored to 2^exponent.

    Attributes
    ----------
    units : what the sampler is given: the scale in grid units, or where it is `gaussian` the variance in their squares.
    grid : spacing of the released numbers.
    scale : of the noise, exact in float64; or its standard deviation, that of the continuous law with this parameter.
    """

    exponent: int
    units: int
    gaussian: bool = False
    grid: float = field(init=False)
    scale: float = field(init=False)

    def __post_init__(self) -> None:
        units = math.sqrt(self.units) if self.gaussian else float(self.units)
        object.__setattr__(self, "grid", math.ldexp(1.0, self.exponent))
        object.__setattr__(self, "scale", math.ldexp(units, self.exponent))


def grid_exponent(scale: Fraction, bits: int, sum_exponent: int = SUM_EXPONENT) -> int:
    """Exponent k with 2^bits <= scale / 2^k < 2^(bits + 1), but no finer than the sums themselves."""
    k = scale.numerator.bit_length() - scale.denominator.bit_length()  # 2^(k-1) < scale < 2^(k+1)
    if scale < Fraction(2) ** k:
        k -= 1
    return max(k - bits, sum_exponent)


def _grid_bits(numbers: int, eps: Fraction) -> int:
    """Bits of the noise scale in grid units, such that flooring costs at most 2^-16 of eps where they suffice."""
    bits = math.ceil(math.log2(numbers) - math.log2(eps)) + _FLOOR_COST_BITS
    return min(max(bits, _LEAST_BITS), _MOST_BITS)


@functools.lru_cache(maxsize=256)  # pure, and exact rational arithmetic takes a while
def discrete_laplace(
    sensitivity: float, eps: float, weights: tuple[float, ...], sizes: tuple[int, ...]
) -> tuple[float, tuple[Noise, ...]]:
    """Scales that make the joint release of several blocks exactly eps-DP.

    `sensitivity` bounds sum_i weights[i] * ||change of block i||_1. Flooring block i to its grid g_i lets each of its
    sizes[i] numbers change by less than one unit more (by nothing where g_i is the spacing of the sums themselves), so
    the joint sensitivity of the floored blocks is at most sensitivity + sum_i weights[i] * sizes[i] * g_i. Every scale
    is that over weights[i] * eps, rounded up to an integer number of units. Discrete Laplace noise of these scales is
    eps-DP exactly, without an approximation of any probability (CKS20, with rational scales).

    Raises ValueError where eps is so small that the noise scale exceeds what the sampler draws.

    Returns
    -------
    The charged sensitivity (a float rounded up) and one `Noise` per block.
    """
    budget = Fraction(eps)
    exact = Fraction(sensitivity) * _FLOAT_MARGIN
    shares = [Fraction(weight) for weight in weights]
    bits = _grid_bits(sum(sizes), budget)
    exponents = [grid_exponent(exact / (share * budget), bits) for share in shares]
    charged = exact
    for share, size, k in zip(shares, sizes, exponents, strict=True):
        if k > SUM_EXPONENT:
            charged += share * size * Fraction(2) ** k
    blocks = tuple(
        Noise(k, math.ceil(charged / (share * budget * Fraction(2) ** k)))
        for share, k in zip(shares, exponents, strict=True)
    )
    if any(block.units > LARGEST_UNITS for block in blocks):
        remedy = "Use fewer features or a larger eps."
        raise ValueError(sentence("eps", f"is too small to release {sum(sizes)} numbers", eps, remedy))
    return math.nextafter(float(charged), math.inf), blocks


def rest_of(eps: float, part: float) -> float:
    """The rest of eps after a part, rounded down: both add up to eps at most, as rationals."""
    rest = eps - part
    while Fraction(rest) + Fraction(part) > Fraction(eps):
        rest = math.nextafter(rest, 0.0)
    return rest


def continuous_delta(delta: float, numbers: int) -> float:
    """The remainder of delta for continuous noise: delta (1 - 10^-6) / e^(N/(24 s^2)) for N draws."""
    return delta * (1 - 1e-6) * math.exp(-numbers / (24 * 4.0**GAUSSIAN_BITS))


def continuous_target(eps: float, delta: float, numbers: int, remedy: str = "Use delta=0.") -> tuple[float, float]:
    """The (eps, delta) that continuous noise must meet for `numbers` discrete draws to meet those given.

    The rounded continuous Gaussian is post-processing of the continuous one, and its probabilities differ from the
    discrete Gaussian's by factors in [e^(-1/(24 s^2)), Z e^(t^2/(24 s^2))] up to |z| <= t s (functional.md, lemma 5):
    delta <= e^(N/(24 s^2)) (delta_continuous(eps - eta) + 2 N e^eps Phi(-t + 1/(2s))), eta = N (1 + t^2)/(24 s^2) + 2 N
    log Z, for standard deviations s of at least 2^20 grid units. The first factor is charged in full, to both terms. A
    share of 10^-6 of delta is set aside: the tail takes half of it, and the other half covers the half unit 1/(2s).
    This holds for any number of draws, and for adaptive steps on random batches too (accounting.md, lemma 3).
    """
    variance = 4.0**GAUSSIAN_BITS
    for t in range(12, 60):
        tail = math.log(2 * numbers) + eps + float(special.log_ndtr(-t)) + numbers / (24 * variance)
        eta = numbers * (1 + t * t) / (24 * variance)  # Z - 1 < exp(-10^13) adds nothing a float could show
        if tail <= math.log(delta) + math.log(5e-7) and eta < eps / 2:
            return math.nextafter(eps - eta, 0.0), continuous_delta(delta, numbers)
    rule = f"and delta = {delta:g} are out of the range of Gaussian noise on {numbers} numbers"
    raise ValueError(sentence("eps", rule, eps, remedy))


def discrete_gaussian_mu(eps: float, delta: float, numbers: int) -> float:
    """Largest mu that (eps, delta) allows for `numbers` discrete Gaussian draws of deviation >= 2^20 grid units."""
    return gaussian_mu(*continuous_target(eps, delta, numbers))


def root_above(number: Fraction) -> Fraction:
    """The square root, rounded up by at most 2^-64."""
    return Fraction(math.isqrt(math.ceil(number * 4**64) - 1) + 1, 2**64)


def gaussian_blocks(
    sensitivity: float, ratio: Fraction, weights: tuple[float, ...], sizes: tuple[int, ...], sum_exponent: int
) -> tuple[float, tuple[Noise, ...]] | None:
    """Charged sensitivity (rounded up), blocks of standard deviation ratio * charged / weight; None if out of range."""
    norm = Fraction(sensitivity) * _FLOAT_MARGIN
    shares = [Fraction(weight) for weight in weights]
    exponents = [grid_exponent(norm * ratio / share, GAUSSIAN_BITS, sum_exponent) for share in shares]
    floored = sum(
        size * (weight * math.ldexp(1.0, k)) ** 2
        for weight, size, k in zip(weights, sizes, exponents, strict=True)
        if k > sum_exponent
    )
    charged = norm + Fraction(math.sqrt(floored)) * _FLOAT_MARGIN
    blocks = tuple(
        Noise(k, math.ceil((charged * ratio / (share * Fraction(2) ** k)) ** 2), gaussian=True)
        for share, k in zip(shares, exponents, strict=True)
    )
    if any(not 4**GAUSSIAN_BITS <= block.units <= LARGEST_VARIANCE for block in blocks):
        return None
    return math.nextafter(float(charged), math.inf), blocks


@functools.lru_cache(maxsize=256)
def discrete_gaussian(
    sensitivity: float, eps: float, delta: float, weights: tuple[float, ...], sizes: tuple[int, ...]
) -> tuple[float, float, tuple[Noise, ...]]:
    """Variances that make the joint release of several blocks (eps, delta)-DP.

    `sensitivity` bounds the L2 norm of the change of (weights[i] * block i). Flooring block i to its grid g_i adds at
    most one unit to the change of each of its sizes[i] numbers, so by the triangle inequality the floored blocks have
    at most sensitivity + sqrt(sum_i sizes[i] (weights[i] g_i)^2). The standard deviations are that over weights[i] *
    mu, the variances rounded up to integers.

    Raises ValueError where the discrete law is too far from the continuous one, or the sampler cannot draw it.

    Returns
    -------
    The charged sensitivity (rounded up), mu, and one `Noise` per block.
    """
    numbers = sum(sizes)
    if numbers > MOST_GAUSSIAN_NUMBERS:
        raise ValueError(sentence("delta", f"must be 0 to release {numbers} numbers", delta, "Use fewer features."))
    mu = discrete_gaussian_mu(eps, delta, numbers)
    noise = gaussian_blocks(sensitivity, 1 / Fraction(mu), weights, sizes, SUM_EXPONENT)
    if noise is None:
        raise ValueError(sentence("eps", "is out of the range of the Gaussian noise", eps, "Use delta=0."))
    charged, blocks = noise
    return charged, mu, blocks


def integer_blocks(
    sizes: Mapping[str, int], weights: Mapping[str, float], moved: float, eps: float, delta: float = 0.0
) -> tuple[dict[str, Release], Pure | Gaussian]:
    """Blocks with discrete noise that together are eps-DP or (eps, delta)-DP, and their guarantee.

    `moved` bounds the norm, L1 or with a delta L2, of the changes of all blocks, each times its weight.
    """
    guarantee: Pure | Gaussian = Pure(eps)
    if math.isinf(eps):
        exact = math.ldexp(1.0, SUM_EXPONENT)
        blocks = {name: Release((size,), moved, Law.NONE, 0.0, exact, weights[name]) for name, size in sizes.items()}
        return blocks, guarantee
    of_blocks = tuple(map(weights.__getitem__, sizes)), tuple(sizes.values())
    if delta > 0:
        charged, mu, noises = discrete_gaussian(moved, eps, delta, *of_blocks)
        law, guarantee = Law.DISCRETE_GAUSSIAN, Gaussian(mu)
    else:
        charged, noises = discrete_laplace(moved, eps, *of_blocks)
        law = Law.DISCRETE_LAPLACE
    return {
        name: Release((size,), charged, law, noise.scale, noise.grid, weights[name], noise.units)
        for (name, size), noise in zip(sizes.items(), noises, strict=True)
    }, guarantee
