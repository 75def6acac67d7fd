"""The exponential mechanism over a finite list, exact in whole numbers. Proof: quantiles.md, lemma 1."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from dplr.noise import Source
from dplr.privacy.calibration import RATE_UNITS

# Proposals at a time, first and then.
_FEW, _MANY = 32, 4096


def choose(rough: NDArray[np.float64], exponent: Callable[[int], Fraction], source: Source) -> int:
    """A position j with probability proportional to exp(-exponent(j)), exactly.

    Positions are proposed evenly. Each comes with a whole number G, G >= k with probability exp(-k). It is accepted
    where G is at least the whole part of its exponent, and a coin falls on exp(-the rest of it).

    Parameters
    ----------
    rough : (m,) at most `exponent` of each position, for a quick look.
    exponent : of a position; 0 for the most likely one.
    source : of exact events.
    """
    least = np.floor(rough)
    for place, height in _proposals(len(rough), source):
        if height < least[place]:
            continue
        value = exponent(place)
        floor = value.numerator // value.denominator
        if height >= floor and source.happens_exp(value - floor):
            return place
    raise AssertionError("proposals never end")


def _proposals(size: int, source: Source) -> Iterator[tuple[int, int]]:
    """Positions and geometric numbers, without end."""
    count = _FEW
    while True:
        places, wholes = _below(size, count, source), _geometric(count, source)
        yield from zip(places.tolist(), wholes.tolist(), strict=False)
        count = _MANY


def _geometric(count: int, source: Source) -> NDArray[np.int64]:
    """About that many G >= 0 with P(G >= k) = exp(-k): what is not negative of discrete Laplace noise of scale 1."""
    noise = source.laplace(1, count)
    return noise[noise >= 0]


def _below(size: int, count: int, source: Source) -> NDArray[np.int64]:
    """About that many whole numbers, even on 0..size - 1: fair bits, dropped where they make a number too large."""
    bits = (size - 1).bit_length()
    places = source.bernoulli_indices(bits * count, RATE_UNITS // 2)
    numbers = np.zeros(count, np.int64)
    np.add.at(numbers, places // max(bits, 1), 1 << (places % max(bits, 1)))
    return numbers[numbers < size]
