"""From sensitivity and eps to integer noise on a release grid. Pure functions of public numbers."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from dplr._validation import sentence

# The sums are multiples of 2^-40: a finer release grid would gain nothing.
SUM_EXPONENT = -40
# The noise scale is at least 2^26 grid units: rounding it up to an integer costs at most 2^-26 of it. Flooring p
# numbers costs up to p / 2^bits of privacy loss, so small eps and many numbers take a finer grid.
_LEAST_BITS, _MOST_BITS = 26, 38
_FLOOR_COST_BITS = 16
# What the integer sampler takes.
LARGEST_SCALE = 2**40
# Covers the rounding of the float formulas in sensitivity.py, which have at most a few dozen operations.
_FLOAT_MARGIN = 1 + Fraction(1, 2**40)


@dataclass(frozen=True, slots=True)
class LaplaceBlock:
    """Noise of one block: the block is floored to 2^exponent and gets discrete Laplace noise of `units` grid units."""

    exponent: int
    units: int

    @property
    def grid(self) -> float:
        """Spacing of the released numbers."""
        return math.ldexp(1.0, self.exponent)

    @property
    def scale(self) -> float:
        """Scale of the noise, exact in float64."""
        return math.ldexp(float(self.units), self.exponent)


def grid_exponent(scale: Fraction, bits: int) -> int:
    """Exponent k with 2^bits <= scale / 2^k < 2^(bits + 1), but no finer than the sums themselves."""
    k = scale.numerator.bit_length() - scale.denominator.bit_length()  # 2^(k-1) < scale < 2^(k+1)
    if scale < Fraction(2) ** k:
        k -= 1
    return max(k - bits, SUM_EXPONENT)


def _grid_bits(numbers: int, eps: Fraction) -> int:
    """Bits of the noise scale in grid units, such that flooring costs at most 2^-16 of eps where they suffice."""
    wanted = math.ceil(math.log2(numbers) - math.log2(eps)) + _FLOOR_COST_BITS
    return min(max(wanted, _LEAST_BITS), _MOST_BITS)


def discrete_laplace(
    sensitivity: float, eps: float, weights: tuple[float, ...], sizes: tuple[int, ...]
) -> tuple[float, tuple[LaplaceBlock, ...]]:
    """Scales that make the joint release of several blocks exactly eps-DP.

    `sensitivity` bounds sum_i weights[i] * ||change of block i||_1. Flooring block i to its grid g_i lets each of its
    sizes[i] numbers change by less than one unit more (by nothing where g_i is the spacing of the sums themselves), so
    the joint sensitivity of the floored blocks is at most sensitivity + sum_i weights[i] * sizes[i] * g_i. Every scale
    is that over weights[i] * eps, rounded up to an integer number of units. Discrete Laplace noise of these scales is
    eps-DP exactly, without an approximation of any probability (CKS20, with rational scales).

    Raises ValueError where eps is so small that the noise scale exceeds what the sampler draws.

    Returns
    -------
    The charged sensitivity (a float rounded up) and one `LaplaceBlock` a block.
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
        LaplaceBlock(k, math.ceil(charged / (share * budget * Fraction(2) ** k)))
        for share, k in zip(shares, exponents, strict=True)
    )
    if any(block.units > LARGEST_SCALE for block in blocks):
        remedy = "Use fewer features or a larger eps."
        raise ValueError(sentence("eps", f"is too small to release {sum(sizes)} numbers", eps, remedy))
    return math.nextafter(float(charged), math.inf), blocks
