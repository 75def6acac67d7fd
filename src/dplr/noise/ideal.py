"""Ideal draws of real vectors, rounded to the integers: exactly the law of the rounded vector, in integer arithmetic.

A real number is known as an interval between two whole multiples of 2^-bits. Where a rounding is not decided by the
intervals, every number gets 64 more binary digits, and it is tried again. `ideal.md` has the lemmas.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import NamedTuple, TypeAlias

import numpy as np

from dplr._core import IntegerSampler

_FIRST_BITS, _MORE_BITS = 96, 64
_FINE_BITS = 56  # of an exponential, after the 40 of its first number
# Ends of a numerator and of a denominator: low, high, low, high.
Quotient: TypeAlias = tuple[int, int, int, int]


class Interval(NamedTuple):
    """A real number between two whole numbers of a unit."""

    low: int
    high: int


class Point(NamedTuple):
    """A point of the unit square, of which `bits` binary digits of both coordinates are drawn."""

    u: int
    v: int
    bits: int

    @property
    def outside(self) -> bool:
        """Whether it lies outside the unit disc, whatever its next digits are."""
        return self.u**2 + self.v**2 >= 1 << 2 * self.bits

    @property
    def inside(self) -> bool:
        """Whether it lies inside the disc and off the axes, whatever its next digits are."""
        return self.u > 0 and self.v > 0 and (self.u + 1) ** 2 + (self.v + 1) ** 2 <= 1 << 2 * self.bits


class Reals:
    """Independent real numbers, as many binary digits of each as are asked for.

    Attributes
    ----------
    bits : the number of digits of the exponentials that are drawn.
    exponentials : floor(2^bits E) for each exponential number E of mean 1.
    points : uniform points of the quarter of the unit disc.
    signs : +1 or -1 with equal odds.
    """

    def __init__(self, sampler: IntegerSampler, exponentials: int, points: int, signs: int) -> None:
        self._sampler = sampler
        self.bits: int = _FIRST_BITS
        coarse, fine = np.empty(exponentials, np.int64), np.empty(exponentials, np.int64)
        sampler.exponentials(coarse, fine)
        digits = zip(coarse.tolist(), fine.tolist(), strict=True)
        self.exponentials: list[int] = [(first << _FINE_BITS) + rest for first, rest in digits]
        coarse.fill(0)
        fine.fill(0)
        self.points: list[Point] = [self._in_disc(point) for point in self._of_square(points)]
        coins = self.uniform(signs)
        self.signs: list[int] = [1 - 2 * (coins >> place & 1) for place in range(signs)]

    def refine(self) -> None:
        """Draw more digits of every number, by the law that they have given the digits before."""
        self.exponentials = [(number << _MORE_BITS) + self._rest() for number in self.exponentials]
        self.bits += _MORE_BITS
        self.points = [self._finer(point) for point in self.points]

    def uniform(self, bits: int) -> int:
        """A uniform whole number below 2^bits."""
        words = np.empty(-(-bits // 64), np.uint64)
        self._sampler.words(words)
        number = sum(word << 64 * place for place, word in enumerate(words.tolist()))  # the same on every byte order
        words.fill(0)
        return number >> (64 * len(words) - bits)

    def _rest(self) -> int:
        """The next digits of an exponential: j with probability proportional to exp(-j / 2^(bits + 64))."""
        digits = self.uniform(_MORE_BITS)
        while not self._exp_minus(digits, 1 << (self.bits + _MORE_BITS)):
            digits = self.uniform(_MORE_BITS)
        return digits

    def _exp_minus(self, numerator: int, denominator: int) -> bool:
        """True with probability exp(-numerator / denominator), a ratio of at most 1 (CKS20 Algorithm 1)."""
        step = 1
        while self._at_odds(numerator, step * denominator):
            step += 1
        return step % 2 == 1

    def _at_odds(self, numerator: int, denominator: int) -> bool:
        """True with probability numerator / denominator: a uniform number is compared with it, 64 digits at a time."""
        while True:
            numerator <<= 64
            lower = denominator * self.uniform(64)
            if lower >= numerator:
                return False
            if lower + denominator <= numerator:
                return True
            numerator -= lower

    def _of_square(self, count: int) -> list[Point]:
        words = np.empty((count, 2), np.uint64)
        self._sampler.words(words.reshape(-1))
        points = [Point(u, v, _MORE_BITS) for u, v in words.tolist()]
        words.fill(0)
        return points

    def _in_disc(self, point: Point) -> Point:
        """The point, or the first of fresh ones that lies in the disc, with enough digits to tell."""
        while not point.inside:
            (point,) = self._of_square(1) if point.outside else (self._finer(point),)
        return point

    def _finer(self, point: Point) -> Point:
        u, v = ((digits << _MORE_BITS) + self.uniform(_MORE_BITS) for digits in point[:2])
        return Point(u, v, point.bits + _MORE_BITS)


def norm_gamma(sampler: IntegerSampler, scale: Fraction, size: int) -> list[int]:
    """round(b) for b of density proportional to exp(-||b|| / scale): a norm of law Gamma(size), a uniform direction."""
    pairs = (size + 1) // 2
    reals = Reals(sampler, size + pairs, pairs, size)

    def squares(reals: Reals) -> list[Quotient]:
        length, exponentials = _sum(reals.exponentials[:size]), reals.exponentials[size:]
        norm = _half_norm(exponentials, reals.points, size)
        return _squares(exponentials, reals.points, Interval(length.low**2, length.high**2), norm)[:size]

    return _rounded(reals, squares, [scale**2] * size, power=2)  # b^2 = scale^2 length^2 n^2 / ||n||^2


def normals(sampler: IntegerSampler, deviation: Fraction, size: int) -> list[int]:
    """round(y) for independent Gaussian numbers y of that deviation."""
    pairs = (size + 1) // 2
    reals = Reals(sampler, pairs, pairs, size)

    def squares(reals: Reals) -> list[Quotient]:
        one = 1 << reals.bits
        return _squares(reals.exponentials, reals.points, Interval(one, one), Interval(1, 1))[:size]

    return _rounded(reals, squares, [2 * deviation**2] * size, power=2)  # y^2 = deviation^2 n^2


def in_body(sampler: IntegerSampler, scales: Sequence[Fraction], groups: Sequence[int]) -> list[int]:
    """round(b) for b of density proportional to exp(-N(b)), N the gauge of a body (Hardt and Talwar 2010).

    The body is a product over groups of coordinates, in their order: of a group of one the interval of that half-width,
    its scale; of m coordinates the cross-polytope of theirs. b is a Gamma(size + 1) number times a uniform point of the
    body, and a point of a cross-polytope is m exponentials with signs over the sum of m + 1.
    """
    size = len(scales)
    reals = Reals(sampler, size + len(groups) + size + 1, 0, size)

    def quotients(reals: Reals) -> list[Quotient]:
        length = _sum(reals.exponentials[size + len(groups) :])
        pairs, first = [], 0
        for group, rest in zip(groups, reals.exponentials[size:], strict=False):
            members = reals.exponentials[first : first + group]
            low = sum(members) + rest
            for number in members:
                pairs.append((length.low * number, length.high * (number + 1), low, low + group + 1))
            first += group
        return pairs  # |b| / scale = length E / sum, in units of 2^-bits

    return _rounded(reals, quotients, scales)


def _sum(numbers: Sequence[int]) -> Interval:
    """The sum of numbers of which floors are known."""
    low = sum(numbers)
    return Interval(low, low + len(numbers))


def _squares(
    exponentials: Sequence[int], points: Sequence[Point], factor: Interval, divisor: Interval
) -> list[Quotient]:
    """Half of the squares of Gaussian numbers of deviation 1, times factor / divisor.

    Two are sqrt(2 E) (u, v) / sqrt(u^2 + v^2): a squared length of law 2 E, and a uniform direction.
    """
    squares = []
    for exponential, (u, v, _) in zip(exponentials, points, strict=True):
        low, high = factor.low * exponential, factor.high * (exponential + 1)
        least, most = divisor.low * (u * u + v * v), divisor.high * ((u + 1) ** 2 + (v + 1) ** 2)
        squares.append((low * u * u, high * (u + 1) ** 2, least, most))
        squares.append((low * v * v, high * (v + 1) ** 2, least, most))
    return squares


def _half_norm(exponentials: Sequence[int], points: Sequence[Point], size: int) -> Interval:
    """Half of the squared norm of that many Gaussian numbers, in units of 2^-bits: of a pair it is E."""
    pairs = _sum(exponentials[: size // 2])
    if size % 2 == 0:
        return pairs
    low, high, least, most = _squares(exponentials[-1:], points[-1:], Interval(1, 1), Interval(1, 1))[0]
    return Interval(pairs.low + low // most, pairs.high - -high // least)


def _rounded(
    reals: Reals, quotients: Callable[[Reals], list[Quotient]], scales: Sequence[Fraction], power: int = 1
) -> list[int]:
    """The whole numbers nearest to b, with signs, where b^power = scale * quotient; the power is 1 or 2.

    Digits are drawn until all are decided. A numerator is in the units of its denominator times 2^(-bits * power).
    """
    while True:
        numbers, shift, last = [], power * reals.bits, None
        for (low, high, least, most), scale in zip(quotients(reals), scales, strict=True):
            if scale is not last:
                factor, divisor, last = scale.numerator << power, scale.denominator << shift, scale  # of (2 b)^power
            value = factor * low // (divisor * most)
            number = ((math.isqrt(value) if power == 2 else value) + 1) // 2
            if factor * high >= (2 * number + 1) ** power * divisor * least:
                break
            numbers.append(number)
        else:
            return [sign * number for sign, number in zip(reals.signs, numbers, strict=True)]
        reals.refine()
