"""From sensitivity and eps to integer noise on a release grid. Pure functions of public numbers."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

# The sums are multiples of 2^-40: a finer release grid would gain nothing.
SUM_EXPONENT = -40
# The noise scale lies in [2^26, 2^27) grid units, so that rounding it up to an integer costs at most 2^-26 of it.
_LAPLACE_BITS = 26
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


def grid_exponent(scale: Fraction) -> int:
    """Exponent k with 2^26 <= scale / 2^k < 2^27, but no finer than the sums themselves."""
    k = scale.numerator.bit_length() - scale.denominator.bit_length()  # 2^(k-1) < scale < 2^(k+1)
    if scale < Fraction(2) ** k:
        k -= 1
    return max(k - _LAPLACE_BITS, SUM_EXPONENT)


def discrete_laplace(
    sensitivity: float, eps: float, weights: tuple[float, ...], sizes: tuple[int, ...]
) -> tuple[float, tuple[LaplaceBlock, ...]]:
    """Scales that make the joint release of several blocks exactly eps-DP.

    `sensitivity` bounds sum_i weights[i] * ||change of block i||_1. Flooring block i to its grid g_i changes each of its
    sizes[i] numbers by less than one unit more, so the joint sensitivity of the floored blocks is at most
    sensitivity + sum_i weights[i] * sizes[i] * g_i; every scale is that over weights[i] * eps, rounded up to an integer
    number of units. Discrete Laplace noise of these scales is eps-DP exactly (CKS20 Theorem 14 with a rational scale).

    Returns
    -------
    The charged sensitivity (a float rounded up) and one `LaplaceBlock` a block.
    """
    budget = Fraction(eps)
    exact = Fraction(sensitivity) * _FLOAT_MARGIN
    shares = [Fraction(weight) for weight in weights]
    exponents = [grid_exponent(exact / (share * budget)) for share in shares]
    charged = exact + sum(
        (share * size * Fraction(2) ** k for share, size, k in zip(shares, sizes, exponents, strict=True)), Fraction(0)
    )
    blocks = tuple(
        LaplaceBlock(k, math.ceil(charged / (share * budget * Fraction(2) ** k)))
        for share, k in zip(shares, exponents, strict=True)
    )
    return math.nextafter(float(charged), math.inf), blocks
