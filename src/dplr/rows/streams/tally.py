"""How much the rows of each person weigh together in one pass: no more than one, whatever the source of rows gives."""

from __future__ import annotations

import threading

import numpy as np

from dplr.rows.weights import BITS, RowWeights


class Tally:
    """The weights of persons in the rows that one pass reads, in whole units of 2^-30.

    Rows weigh what an earlier pass counted. A query may give other rows since, of which a person may have more; then a
    sum would hold that person more than once.

    Parameters
    ----------
    persons : number of persons.
    """

    def __init__(self, persons: int) -> None:
        self._shares = np.zeros(persons, np.int64)
        self._lock = threading.Lock()  # parts of a stream may be read at once

    def begin(self) -> None:
        """No row was read yet."""
        self._shares[:] = 0

    def add(self, weights: RowWeights) -> None:
        """Add the rows of a batch."""
        assert weights.persons is not None
        shares = (weights.of_rows * 2.0**BITS).astype(np.int64)
        with self._lock:
            np.add.at(self._shares, weights.persons, shares)

    def check(self) -> None:
        """Raise RuntimeError where the rows of a person weigh more than 1: they are not those that were counted."""
        if np.any(self._shares > 2**BITS):
            raise RuntimeError("rows of X changed while they were read: a person has more than were counted")
