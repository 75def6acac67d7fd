"""Exact random positions among many cells, and exact geometric numbers: rational chances alone, decided by fair bits.

Proofs: histogram.md, section 2.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dplr.noise import Source
from dplr.privacy.calibration import RATE_UNITS

# int64 where every cell has one, else Python's integers in an array of objects.
Positions = NDArray[Any]
LARGEST_INT64 = 2**62

_DENSE = 14  # chances of at least 2^-14 are drawn cell by cell in compiled code, smaller ones by spans of cells
_SPAN = 10  # a span has a hit with a chance of at most 2^-10
_FINE = 32  # bits of a rate of the compiled process
_EXTRA = 64  # bits of a chance that is rounded up
_WORDS = 256  # drawn at once


@dataclass(frozen=True, slots=True)
class Chance:
    """A fraction in [0, 1], and its first digit in base 2^64, which decides nearly every event; 2^64 for 1."""

    numerator: int
    denominator: int
    first: int = field(init=False)

    def __post_init__(self) -> None:
        # Divide once: the numbers may have many thousand bits.
        object.__setattr__(self, "first", (self.numerator << 64) // self.denominator)


class Words:
    """Uniform words of 64 bits from a source, and what is decided with them."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self._next: Iterator[int] = iter(())

    def draw(self, count: int) -> NDArray[np.uint64]:
        """That many words, each of 64 fair bits."""
        bits = np.zeros(64 * count, np.uint8)
        bits[self.source.bernoulli_indices(len(bits), RATE_UNITS // 2)] = 1
        return np.packbits(bits).view(np.uint64)

    def word(self) -> int:
        """One word."""
        for word in self._next:
            return word
        self._next = iter(self.draw(_WORDS).tolist())
        return next(self._next)

    def below(self, bound: int) -> int:
        """Uniform on {0, ..., bound - 1}, exactly: drawn again where the bits make a number too large."""
        bits = (bound - 1).bit_length()
        while True:
            value = 0
            for _ in range(0, bits, 64):
                value = value << 64 | self.word()
            value >>= -bits % 64
            if value < bound:
                return value

    def happens(self, chance: Chance) -> bool:
        """True with exactly this chance: digits of a uniform number are compared with its digits, in base 2^64."""
        digit, word = chance.first, self.word()
        if word != digit:
            return word < digit
        rest = (chance.numerator << 64) % chance.denominator
        while True:
            digit, rest = divmod(rest << 64, chance.denominator)
            word = self.word()
            if word != digit:
                return word < digit


def geometric(source: Source, count: int, stop: int) -> NDArray[np.int64]:
    """Independent numbers, P[g] = a^g (1 - a) with a = 1 - stop / 2^32: the gaps of a Bernoulli process (lemma 3)."""
    positions, total, start = [np.full(1, -1, np.int64)], 0, 0
    while total < count:
        cells = _stretch(count - total, stop)
        positions.append(source.bernoulli_indices(cells, stop) + start)
        total, start = total + len(positions[-1]), start + cells
    return np.diff(np.concatenate(positions)[: count + 1]) - 1


def _stretch(count: int, stop: int) -> int:
    """Cells that most likely hold that many hits; more are looked at if they do not."""
    return int(count * (RATE_UNITS / stop) * 1.01) + 64 * RATE_UNITS // stop


def two_sided(source: Source, count: int, stop: int) -> NDArray[np.int64]:
    """Independent numbers with P[x] proportional to a^|x|: differences of two geometric numbers (lemma 3)."""
    return geometric(source, count, stop) - geometric(source, count, stop)


def hits(words: Words, cells: int, numerator: int, denominator: int) -> Positions:
    """Sorted positions of range(cells), each one in with probability exactly numerator / denominator, independently.

    The chance is at most 1/2. Any number of cells will do; time and memory grow with the number of positions.
    """
    positions = np.empty(0, np.int64 if cells < LARGEST_INT64 else object)
    if numerator << _DENSE >= denominator:
        # With chance u / 2^32, or else with the rest of the chance: the union of two processes (lemma 4).
        units = (numerator << _FINE) // denominator
        positions = words.source.bernoulli_indices(cells, units * (RATE_UNITS >> _FINE))
        numerator, denominator = (numerator << _FINE) - units * denominator, denominator * ((1 << _FINE) - units)
    rare = _rare(words, cells, numerator, denominator) if numerator else []
    if rare and len(positions):
        return np.union1d(positions, np.array(rare, positions.dtype))
    return np.array(rare, positions.dtype) if rare else positions


def _rare(words: Words, cells: int, numerator: int, denominator: int) -> list[int]:
    """Hits with a chance below 2^-14, span by span (lemma 5).

    The chance is rounded up to a number of few bits, and each position is kept with the ratio of the two.
    """
    shift = _EXTRA + denominator.bit_length() - numerator.bit_length()
    rate = -(-(numerator << shift) // denominator)
    kept = Chance(numerator << shift, rate * denominator)
    scale = 1 << shift
    span = scale // (rate << _SPAN)
    units = -(-(span * rate << _FINE) // scale)
    candidate = Chance(span * rate << _FINE, units * scale)

    def first(length: int) -> int | None:
        """The first hit of that many cells, if any."""
        return placed(length) if length and words.happens(Chance(length * rate, scale)) else None

    def placed(length: int) -> int | None:
        """A uniform place, if no hit is before it."""
        place = words.below(length)
        return place if first(place) is None else None

    positions = []
    for block in words.source.bernoulli_indices(-(-cells // span), units * (RATE_UNITS >> _FINE)).tolist():
        if not words.happens(candidate):
            continue
        start, place = block * span, placed(span)
        while place is not None:
            start += place + 1
            if start <= cells and words.happens(kept):
                positions.append(start - 1)
            place = first((block + 1) * span - start)
    return positions
