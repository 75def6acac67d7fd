"""Numbers for ids, from 0 on in the order in which ids first appear; NOBODY for a row without one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dplr._core import all_same, hash_integers, hash_texts, move_slots, number_rows

Integers = NDArray[np.int64]
Bytes = NDArray[np.uint8]

NOBODY = -1

_LEAST_SLOTS = 2**12
_GROWTH = 4
# Probes per row after which a pass is given up: with a table that is at most half full, other ids take two or three.
_PROBES = 16


@dataclass(frozen=True, eq=False, slots=True, repr=False)
class Numbering:
    """The person of each row, by number.

    Attributes
    ----------
    codes : (n,) number of each row's person, or NOBODY.
    counts : (persons,) number of rows of each person.
    texts : returns the canonical id of each person.
    """

    codes: Integers
    counts: Integers
    texts: Callable[[], list[str]]

    def spread(self, gaps: NDArray[np.bool_]) -> Numbering:
        """The numbering with a row of nobody's wherever there is a gap."""
        codes = np.full(len(gaps), NOBODY, np.int64)
        codes[~gaps] = self.codes
        return replace(self, codes=codes)

    def in_use(self) -> Numbering:
        """The numbering without persons that have no rows."""
        counts = np.bincount(self.codes[self.codes >= 0], minlength=len(self.counts))
        used = np.flatnonzero(counts)
        numbers = np.full(len(counts) + 1, NOBODY, np.int64)
        numbers[used] = np.arange(len(used))

        def texts() -> list[str]:
            all_texts = self.texts()
            return [all_texts[person] for person in used.tolist()]

        return Numbering(numbers[self.codes], counts[used], texts)


def of_integers(values: NDArray[Any]) -> Numbering:
    """Integers of any type."""
    wide = np.uint64 if values.dtype == np.uint64 else np.int64
    keys = np.ascontiguousarray(values, wide)
    hashes = np.empty(len(keys), np.int64)
    hash_integers(keys.view(np.int64), hashes)
    numbering = _numbered(hashes)
    if numbering is None:
        return _sorted_integers(keys)
    codes, counts, firsts = numbering
    return Numbering(codes, counts, lambda: [str(key) for key in keys[firsts].tolist()])


def of_bytes(data: Bytes, ends: Integers, decoded: Callable[[bytes], str]) -> Numbering:
    """Texts data[ends[i] : ends[i + 1]], none empty, that are one id where their bytes are the same."""
    hashes = np.empty(len(ends) - 1, np.int64)
    hash_texts(data, ends, hashes)
    numbering = _numbered(hashes)
    if numbering is not None:
        codes, counts, firsts = numbering
        starts, stops = ends[firsts], ends[firsts + 1]
        if all_same(data, ends, codes, starts, stops - starts):
            return Numbering(codes, counts, lambda: _decoded(data, starts, stops, decoded))
    return _looked_up(_decoded(data, ends[:-1], ends[1:], decoded))


def _decoded(data: Bytes, starts: Integers, stops: Integers, decoded: Callable[[bytes], str]) -> list[str]:
    return [decoded(data[start:stop].tobytes()) for start, stop in zip(starts.tolist(), stops.tolist(), strict=True)]


def of_texts(values: Sequence[Any]) -> Numbering:
    """Python's texts, by their code points; whatever is not one, or is empty, is nobody's."""
    # pandas marks a missing text with NaN, and may hold NumPy's texts.
    texts = [value if type(value) is str else str.__str__(value) if isinstance(value, str) else "" for value in values]
    sizes = np.fromiter(map(len, texts), np.int64, len(texts))
    points = np.frombuffer("".join(texts).encode("utf-32-le", "surrogatepass"), np.uint8)
    gaps = sizes == 0
    ends = np.append(0, 4 * np.cumsum(sizes[~gaps]))
    numbers = of_bytes(points, ends, lambda text: text.decode("utf-32-le", "surrogatepass"))
    return numbers.spread(gaps) if gaps.any() else numbers


def _looked_up(texts: Sequence[str]) -> Numbering:
    """The numbering of texts, none empty, by a dictionary of Python, whose hashes an attacker cannot predict."""
    numbers: dict[str, int] = {}
    codes = np.fromiter((numbers.setdefault(text, len(numbers)) for text in texts), np.int64, len(texts))
    return Numbering(codes, np.bincount(codes, minlength=len(numbers)), lambda: list(numbers))


def _numbered(hashes: Integers) -> tuple[Integers, Integers, Integers] | None:
    """(codes, counts, first rows), the codes in place of the hashes; None where too many hashes collide."""
    size = max(_LEAST_SLOTS, 1 << (len(hashes) // 2).bit_length())  # enough if persons have four rows on average
    row, persons, probes = 0, 0, _PROBES * (len(hashes) + size)
    slots = np.zeros((size, 2), np.int64)
    firsts, counts = np.empty(size // 2, np.int64), np.empty(size // 2, np.int64)
    while True:
        row, persons, probes = number_rows(hashes, row, persons, probes, slots, firsts, counts)
        if row < 0:
            return None
        if row == len(hashes):
            return hashes, counts[:persons].copy(), firsts[:persons].copy()
        larger = np.zeros((_GROWTH * len(slots), 2), np.int64)
        move_slots(slots, larger)
        slots = larger
        firsts, counts = (np.append(kept, np.empty((_GROWTH - 1) * len(kept), np.int64)) for kept in (firsts, counts))


def _sorted_integers(keys: NDArray[Any]) -> Numbering:
    """The numbering of integers by sorting, whose time no choice of ids makes long."""
    values, firsts, places, counts = np.unique(keys, return_index=True, return_inverse=True, return_counts=True)
    order = np.argsort(firsts)
    numbers = np.empty(len(values), np.int64)
    numbers[order] = np.arange(len(values))
    return Numbering(numbers[places], counts[order], lambda: [str(key) for key in values[order].tolist()])
