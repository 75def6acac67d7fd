"""How many rows each person has, over the parts of a table; and ids that look alike, for the data holder."""

from __future__ import annotations

import functools
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dplr.rows.persons.ids import Ids, read_ids


class PersonCounts:
    """Numbers of rows by canonical id; the order in which parts were added does not matter.

    Every part of the table must be counted before `shares` makes weights of `rows_of`. It holds the ids, and is as
    private as the table. It is a value: adding and merging make a new one, so a part that is counted again after a
    crash counts once.
    """

    __slots__ = ("_counts", "_numbers")

    def __init__(self) -> None:
        self._counts: dict[str, int] = {}
        self._numbers: dict[str, int] | None = None

    def add(self, ids: Any) -> PersonCounts:
        """These counts and the rows of one more part; rows without a readable id count for nobody."""
        return self.merge(PersonCounts.of(read_ids(ids)))

    @classmethod
    def of(cls, ids: Ids) -> PersonCounts:
        """The counts of one part alone, whose ids were read."""
        part = cls()
        part._counts = dict(zip(ids.numbers.texts(), ids.numbers.counts.tolist(), strict=True))
        return part

    def merge(self, *others: PersonCounts) -> PersonCounts:
        """These counts and those of other parts; many parts are merged best in one call."""
        merged = PersonCounts()
        counts = merged._counts = dict(self._counts)
        for part in others:
            for text, count in part._counts.items():
                counts[text] = counts.get(text, 0) + count
        return merged

    def rows_of(self, ids: Any) -> NDArray[np.int64]:
        """(n,) the number of counted rows of each row's person; 0 for nobody, and for whoever was not counted."""
        return self.weighed(ids)[1]

    def weighed(self, ids: Any) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """(n,) the number of each row's person, one for all parts, and that of `rows_of`; 0 and 0 for nobody."""
        if self._numbers is None:
            self._numbers = {text: number for number, text in enumerate(self._counts)}
        persons = read_ids(ids)
        texts = persons.numbers.texts()
        numbers, counts = (
            np.array([of.get(text, 0) for text in texts], np.int64) for of in (self._numbers, self._counts)
        )
        return persons.of_persons(numbers), persons.of_persons(counts)

    def __len__(self) -> int:
        """Return the number of persons."""
        return len(self._counts)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PersonCounts) and self._counts == other._counts

    def __repr__(self) -> str:
        return "PersonCounts()"


def look_alikes(ids: Any) -> dict[str, int]:
    """How many persons have an id that resembles another person's id. For the data holder: never part of a release.

    Returns
    -------
    dict : the only thing in which ids differ -> number of persons with such ids: "Unicode form", "case", "white space"
        around them, "decimal zeros" as in 7.0, "leading zeros"; and "any" of these together.
    """
    texts = read_ids(ids).numbers.texts()
    counts = {name: _shared(map(rule, texts)) for name, rule in _RULES.items()}
    for rule in _RULES.values():
        texts = [rule(text) for text in texts]
    return counts | {"any": _shared(texts)}


_RULES: dict[str, Callable[[str], str]] = {
    "Unicode form": functools.partial(unicodedata.normalize, "NFKC"),
    "case": str.casefold,
    "white space": str.strip,
    "decimal zeros": functools.partial(re.compile(r"(?<=[0-9])\.0*$").sub, ""),
    "leading zeros": lambda text: text.lstrip("0") or "0",
}


def _shared(texts: Iterable[str]) -> int:
    """How many texts occur more than once."""
    return sum(count for count in Counter(texts).values() if count > 1)
