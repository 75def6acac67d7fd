"""Squares of the scores of persons at a point, each the sum over all rows of one person: an exact sum.

Rows of one person may lie anywhere in a table or a stream, so there is a whole number for each person and coefficient
until all rows were read.
"""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dplr._kit.validation import sentence
from dplr.bounds.scaling import Prep
from dplr.rows.queries.clipped import ClippedPartial, clipped_rows
from dplr.rows.queries.kernel import kernel_of
from dplr.rows.queries.meat import MeatMoments, numbered
from dplr.rows.queries.moments import Moments
from dplr.rows.queries.totals import ExactSums, Faults, Total, normalised
from dplr.rows.selection import ALL, Selection
from dplr.rows.weights import BITS, RowWeights

Vector = NDArray[np.float64]
# Bytes of the scores of all persons: public, so that a refusal says nothing but how many persons there are.
MOST_BYTES = 2**31
# Bits of a residual times a weight beyond those of the residual: sums then lose next to nothing by truncation.
_FINER = 15
# Rows whose residuals are held at once; and persons whose squares add up to less than 2^53, exactly, in float64.
_ROWS, _PERSONS = 2**14, 2**12


def check_memory(persons: int, coefficients: int) -> None:
    """Refuse more scores than fit into `MOST_BYTES`."""
    most = MOST_BYTES // (8 * coefficients)
    if persons > most:
        rule = f"must tell at most {most} persons apart for intervals of {coefficients} coefficients"
        remedy = "Use fewer columns, or one random row of each person, without person=."
        raise ValueError(sentence("person", rule, persons, remedy))


class PersonScores:
    """The scores of persons, of one pass. Its total has no cell: it counts faults, and `squares` has the sum.

    A score is s = sum a u v / L over a person's rows: v, the residual u and its largest size L are those of the query,
    and the weights a of a person add up to at most 1. Every s is truncated towards zero to a multiple of 2^-20, so it
    is no longer than a row may be (functional.md, lemma 18).

    Sensitivity of the sum of s s': sensitivity.meat_* in L2, sensitivity.clusters_change in L1.

    Parameters
    ----------
    query : the residuals, and the rows that they multiply.
    persons : number of persons.
    """

    counts_outside = False
    exponent: int = Moments.exponent
    shape: tuple[int] = (0,)

    def __init__(self, query: MeatMoments, persons: int) -> None:
        self.query: MeatMoments = query
        self.d: int = query.d
        self._sums = np.zeros((persons, query.d + query.intercept), np.int64)
        self._shares = np.zeros(persons, np.int64)  # of the rows that were read, in units of 2^-30
        self._lock = threading.Lock()  # parts of a stream may be read at once

    def sum_over(self, rows: ExactSums, coef: Vector, selection: Selection = ALL) -> Total:
        """Add all rows to the scores of their persons."""
        assert selection is ALL
        return rows.sum_of_units(self, coef)

    def partial(self) -> ClippedPartial:
        """Fresh counts of faults."""
        return ClippedPartial(self.shape, self.exponent, self.d)

    def add_block(
        self, X: NDArray[Any], y: NDArray[Any], prep: Prep, coef: Vector, out: ClippedPartial, weights: RowWeights
    ) -> None:
        """Bound, scale and snap the rows of a block and add their parts of the scores at `coef` (q,)."""
        y, prep = numbered(self.query.loss, y, prep)
        for start in range(0, len(X), _ROWS):
            part = slice(start, start + _ROWS)
            self._add_rows(X[part], y[part], prep, coef, out, weights[part])

    def _add_rows(
        self, X: NDArray[Any], y: NDArray[Any], prep: Prep, coef: Vector, out: ClippedPartial, weights: RowWeights
    ) -> None:
        rows, n, loss, gradient = clipped_rows(X, y, prep), len(X), self.query.loss, self.query.gradient
        residuals, unit = np.empty(n, np.int64), gradient.per_unit
        hi, lo = np.zeros((2, len(coef)), np.int64)  # of the sum over all rows, which nothing needs
        rows.add_with_residuals(
            kernel_of(loss), loss.width, coef * 2.0**20, gradient.clip * unit, unit, 0, n, hi, lo, residuals
        )
        shares = (weights.of_rows * 2.0**BITS).astype(np.int64)
        factors = np.sign(residuals) * (np.abs(residuals) * shares >> (BITS - _FINER))
        assert weights.persons is not None
        with self._lock:
            np.add.at(self._shares, weights.persons, shares)
            rows.add_to_persons(factors, np.ascontiguousarray(weights.persons), 0, n, self._sums)
        non_finite, unknown = rows.faults.tolist()
        out.faults += Faults(n, non_finite, unknown, (0,) * (self.d + 1))

    def squares(self, faults: Faults) -> Total:
        """The upper triangle of the sum of s s' over persons, exactly, with the faults of the pass.

        Raises RuntimeError where the rows of a person weigh more than 1: they are not those that were counted.
        """
        if np.any(self._shares > 2**BITS):
            raise RuntimeError("rows of X changed while they were read: a person has more than were counted")
        size = self._sums.shape[1]
        hi, lo = np.zeros((2, size, size), np.int64)
        bits = self.query.one.bit_length() - 1 + _FINER
        for start in range(0, len(self._sums), _PERSONS):
            sums = self._sums[start : start + _PERSONS]
            scores = (np.sign(sums) * (np.abs(sums) >> bits)).astype(np.float64)
            products = (scores.T @ scores).astype(np.int64)
            hi += products >> 32
            lo += products & (2**32 - 1)
        return normalised(np.triu(hi), np.triu(lo), self.exponent, faults)
