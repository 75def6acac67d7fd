"""Secret splits of rows into parts: right for whatever order a table is kept in. Proofs in splits.md."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from dplr.noise import Source, source_of
from dplr.privacy.guarantees import Neighbouring

# Added to the seed of reproducible noise: a split and the noise of one fit have streams of their own.
_SPLIT = 2**64


def split_source(rng: int | None) -> Source:
    """The source of a split that is drawn before a fit has made its own."""
    source = source_of(rng)
    return source if rng is None else Source(int(rng) + _SPLIT)


def split_words(seeded: bool) -> str:
    """A split in a statement."""
    return "a split from a seed, which is not secret" if seeded else "a secret split"


def part_sizes(n: int, shares: Sequence[Fraction]) -> list[int]:
    """Numbers of rows of the parts of a table with a public number of rows; shares add up to 1."""
    ends = [round(n * end) for end in itertools.accumulate(shares)]
    return [end - start for start, end in itertools.pairwise([0, *ends])]


def secret_parts(source: Source, n: int, shares: Sequence[Fraction], neighbouring: str) -> list[NDArray[np.intp]]:
    """Sorted positions of the rows of each part: a draw that must not be released, nor anything that shows it.

    Under replace_one a uniformly random order is cut at public sizes (theorem 1); under add_remove every row draws its
    own part, with its share as probability (theorem 2).
    """
    if neighbouring == Neighbouring.REPLACE_ONE:
        cuts = list(itertools.accumulate(part_sizes(n, shares)))[:-1]
        return [np.sort(part) for part in np.split(_order(source, n), cuts)]
    ends = [math.floor(end * 2**64) for end in itertools.accumulate(shares)][:-1]
    labels = np.searchsorted(np.array(ends, np.uint64), source.words(n), side="right")
    return [np.flatnonzero(labels == part) for part in range(len(shares))]


def _order(source: Source, n: int) -> NDArray[np.intp]:
    """A uniformly random order of n positions, exactly: by keys that all differ."""
    while True:
        keys = source.words(n)
        order = np.argsort(keys)
        if (np.diff(keys[order]) > 0).all():
            return order
