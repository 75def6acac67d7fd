"""The distribution of strips of a Gaussian, P[q] proportional to exp(-q^2 / 2048) for q = 0, 1, ..., to any bit."""

from __future__ import annotations

import itertools
import math
from array import array
from bisect import bisect_left
from decimal import ROUND_HALF_EVEN, Context, Decimal, DivisionByZero, InvalidOperation, Overflow, localcontext

_TWICE_VARIANCE = 2048
# No table so far needed more digits than the first try has.
_MORE_DIGITS = 200
_made: tuple[array[int], array[int]] | None = None


def strip_bounds(bits: int) -> list[int]:
    """floor(2^bits F_k) for F_k = P[q < k], k = 1, 2, ..., up to the first that is 2^bits - 1.

    Decimal's exp is rounded correctly, so a weight is off by a relative 10^(1 - digits) at most. A sum of `count`
    weights, with what is behind the last one, and the quotient of two sums are then off by less than 4 count times
    that (noise.md, section 2); digits are added until no floor depends on it.

    Raises ArithmeticError if hundreds of further digits are not enough, which depends on `bits` alone.
    """
    start = math.ceil(0.302 * bits) + 20
    for digits in range(start, start + _MORE_DIGITS, 20):
        # The weights behind the last one add up to less than 10^-digits of the first, which is 1.
        count = math.isqrt(math.ceil(_TWICE_VARIANCE * 2.303 * (digits + 3))) + 1
        with localcontext(_context(digits)):
            weights = ((Decimal(-q * q) / _TWICE_VARIANCE).exp() for q in range(count))
            sums = list(itertools.accumulate(weights))
            error = 4 * count * Decimal(10) ** (1 - digits)
            bounds = []
            for total in sums:
                ratio, top = total / sums[-1], 1 << bits
                low, high = (min(math.floor(value * top), top - 1) for value in (ratio - error, ratio + error))
                if low != high:
                    break
                bounds.append(low)
                if low == top - 1:
                    return bounds
    raise ArithmeticError(f"{_MORE_DIGITS} digits more than {start} do not decide the strips to {bits} bits.")


def strip_table() -> tuple[array[int], array[int]]:
    """The bounds to 32 bits, and for each first byte how many of them are below it: read alone, for all samplers."""
    global _made  # two threads may both make it: the tables are equal
    if _made is None:
        bounds = strip_bounds(32)
        _made = array("I", bounds), array("H", [bisect_left(bounds, byte << 24) for byte in range(256)])
    return _made


def _context(digits: int) -> Context:
    """A context that does not depend on the caller's, whose traps or exponent limits could stop or never end a fit."""
    return Context(
        prec=digits,
        rounding=ROUND_HALF_EVEN,
        Emin=-999_999,
        Emax=999_999,
        capitals=1,
        clamp=0,
        flags=[],
        traps=[InvalidOperation, DivisionByZero, Overflow],
    )
