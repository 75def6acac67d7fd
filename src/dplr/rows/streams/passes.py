"""Passes over rows: sums for a query, sums for many models, counts of persons, and rows that are kept."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dplr.rows.exact import ClippedGradient
from dplr.rows.ids import PersonCounts, read_ids, refuse_faults
from dplr.rows.streams.answers import AnyTotal, check, dump, load
from dplr.rows.streams.recipe import Recipe
from dplr.rows.tables.encoder import Encoder
from dplr.rows.tables.table import as_table

Totals = list[AnyTotal]
Arrays = tuple[NDArray[Any], NDArray[Any], NDArray[np.float64] | None]
Persons = tuple[int, list[PersonCounts]]
# Counts of this many batches are merged at once, because every merge copies all counts.
_FEW_COUNTS = 16


class _OfTotals(ABC):
    """Passes whose state is a list of totals, empty before the first row."""

    def zero(self) -> Totals:
        """No totals yet."""
        return []

    def merge(self, first: Totals, second: Totals) -> Totals:
        """The totals of both, merged query by query."""
        if not first or not second:
            return first or second
        pairs: Any = zip(first, second, strict=True)  # of one kind each
        return [one + two for one, two in pairs]

    def dump(self, state: Totals) -> bytes:
        """The totals as bytes."""
        return dump(state)

    def load(self, data: bytes) -> Totals:
        """The totals that a worker sent, of the queries that were asked; none from a part without rows."""
        totals, shapes = load(data), self.shapes
        if totals and len(totals) != len(shapes):
            raise ValueError(f"a worker's answer must have {len(shapes)} totals; got {len(totals)}.")
        for total, (shape, query) in zip(totals, shapes, strict=False):
            check(total, shape, query)
        return totals

    @property
    @abstractmethod
    def shapes(self) -> list[tuple[tuple[int, ...], Any]]:
        """The shape of each total, and its query."""


@dataclass(frozen=True, eq=False)
class SumPass(_OfTotals):
    """Sums of queries, each at its point or None."""

    recipe: Recipe
    queries: Sequence[tuple[Any, Any]]

    def accumulate(self, state: Totals, batch: Any) -> Totals:
        """The sums with those of one more batch."""
        rows = self.recipe.rows_of(batch)
        return self.merge(state, [rows.sum(query, coef) for query, coef in self.queries])

    @property
    def shapes(self) -> list[tuple[tuple[int, ...], Any]]:
        """The shape of each total, and its query."""
        return [(query.shape, query) for query, _ in self.queries]


@dataclass(frozen=True, eq=False)
class ClippedPass(_OfTotals):
    """Sums of clipped gradients, each query at its points (k, q)."""

    recipe: Recipe
    queries: Sequence[ClippedGradient]
    coefs: Sequence[NDArray[np.float64]]

    def accumulate(self, state: Totals, batch: Any) -> Totals:
        """The sums with those of one more batch."""
        rows = self.recipe.rows_of(batch)
        return self.merge(state, list(rows.clipped_sums.of_many(self.queries, self.coefs)))

    @property
    def shapes(self) -> list[tuple[tuple[int, ...], Any]]:
        """The shape of each total, and its query."""
        return [(coefs.shape, query) for query, coefs in zip(self.queries, self.coefs, strict=True)]


@dataclass(frozen=True, eq=False)
class SampledPass(_OfTotals):
    """Sums, and every `step`-th row of each batch, kept as kernels take it. For rows that this process reads."""

    sums: SumPass
    step: int

    def accumulate(self, state: Any, batch: Any) -> Any:
        """The sums, and the kept rows."""
        rows = self.sums.recipe.rows_of(batch)
        totals = [rows.sum(query, coef) for query, coef in self.sums.queries]
        X, y, weights = rows.arrays()
        some = slice(None, None, self.step)
        kept = tuple(None if array is None else array[some].copy() for array in (X, y, weights))
        return self.merge(state, [(totals, [kept])])

    @property
    def shapes(self) -> list[tuple[tuple[int, ...], Any]]:
        """Those of the sums: kept rows come from no worker."""
        return self.sums.shapes

    def merge(self, first: Any, second: Any) -> Any:
        """Totals merged, kept rows in their order."""
        if not first or not second:
            return first or second
        ((one, kept),), ((two, tail),) = first, second
        return [(self.sums.merge(one, two), kept + tail)]


def joined(kept: list[Arrays]) -> Arrays:
    """Kept rows as three arrays; the list is emptied on the way, so that few of them are there twice."""
    n, first = sum(len(y) for _, y, _ in kept), kept[0]
    X, y = np.empty((n, first[0].shape[1]), first[0].dtype), np.empty(n, first[1].dtype)
    weights, end = None if first[2] is None else np.empty(n), n
    while kept:
        some, targets, counts = kept.pop()
        start = end - len(targets)
        X[start:end], y[start:end] = some, targets
        if weights is not None:
            weights[start:end] = counts
        end = start
    return X, y, weights


class CountPass:
    """How many rows there are."""

    def zero(self) -> int:
        """No rows."""
        return 0

    def accumulate(self, state: int, batch: Any) -> int:
        """The number with the rows of one more batch."""
        return state + len(batch)

    def merge(self, first: int, second: int) -> int:
        """The sum of both numbers."""
        return first + second

    def dump(self, state: int) -> bytes:
        """The number as text."""
        return str(state).encode()

    def load(self, data: bytes) -> int:
        """The number that a worker sent."""
        if not (isinstance(data, bytes) and data.isdigit() and len(data) < 19):
            load(data)  # raises what the worker says
            raise ValueError("a worker's answer must be a number of rows.")
        return int(data)


@dataclass(frozen=True, eq=False)
class PersonPass:
    """How many rows there are, and how many each person has. For rows that this process reads: ids never leave it.

    Attributes
    ----------
    person : the column of the ids.
    """

    person: str

    def zero(self) -> Persons:
        """No rows and no persons."""
        return 0, []

    def accumulate(self, state: Persons, batch: Any) -> Persons:
        """The counts of one more batch, beside the others: they are merged a few at a time."""
        table = as_table(batch)
        assert table is not None
        ids = read_ids(table.column(table.columns.index(self.person), slice(None)).to_native())
        refuse_faults(ids)
        rows, counts = state
        counts = [*counts, PersonCounts(ids)]
        return rows + len(table), [_together(counts)] if len(counts) >= _FEW_COUNTS else counts

    def merge(self, first: Persons, second: Persons) -> Persons:
        """The counts of both."""
        return first[0] + second[0], [_together(first[1] + second[1])]

    def result(self, state: Persons) -> tuple[int, PersonCounts]:
        """The number of rows, and the counts of all of them."""
        return state[0], _together(state[1])


def _together(counts: list[PersonCounts]) -> PersonCounts:
    return PersonCounts().merge(*counts)


@dataclass(frozen=True, eq=False)
class WherePass:
    """In how many rows each column is infinite, or missing without a policy: for the data holder's error."""

    recipe: Recipe

    def zero(self) -> dict[str, int]:
        """Nothing found."""
        return {}

    def accumulate(self, state: dict[str, int], batch: Any) -> dict[str, int]:
        """The counts with those of one more batch."""
        table = as_table(batch)
        assert table is not None
        counts = Encoder(self.recipe.table_of(table), self.recipe.prep.layout).not_finite()
        return self.merge(state, counts)

    def merge(self, first: dict[str, int], second: dict[str, int]) -> dict[str, int]:
        """Counts added by column."""
        return {name: first.get(name, 0) + second.get(name, 0) for name in {**first, **second}}
