"""Passes over rows: sums for queries, counts of rows and of persons, and rows that are kept."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dplr.rows.ids import PersonCounts, read_ids, refuse_faults
from dplr.rows.streams.answers import AnyTotal, check, dump, load
from dplr.rows.streams.parts import Pass, RemotePass
from dplr.rows.streams.recipe import Recipe
from dplr.rows.tables.encoder import Encoder
from dplr.rows.tables.table import as_table

Totals = list[AnyTotal]
Arrays = tuple[NDArray[Any], NDArray[Any], NDArray[np.float64] | None]
Persons = tuple[int, list[PersonCounts]]
# Counts of this many batches are merged at once, because every merge copies all counts.
_FEW_COUNTS = 16


@dataclass(frozen=True, eq=False)
class SumPass(RemotePass[Totals]):
    """Sums of queries, each at its point or None."""

    recipe: Recipe
    queries: Sequence[tuple[Any, Any]]

    def partial(self, batch: Any) -> Totals:
        rows = self.recipe.rows_of(batch)
        return [rows.sum(query, coef) for query, coef in self.queries]

    def merge(self, first: Totals, second: Totals) -> Totals:
        pairs: Any = zip(first, second, strict=True)  # of one kind each
        return [one + two for one, two in pairs]

    def dump(self, state: Totals) -> bytes:
        return dump(state)

    def load(self, data: bytes) -> Totals:
        totals = load(data)
        if len(totals) != len(self.queries):
            raise ValueError(f"a worker's answer must have {len(self.queries)} totals; got {len(totals)}.")
        for total, (query, _) in zip(totals, self.queries, strict=True):
            check(total, query)
        return totals


@dataclass(frozen=True, eq=False)
class SampledPass(Pass[tuple[Totals, list[Arrays]]]):
    """Sums, and every `step`-th row of each batch, kept as kernels take it. For rows that this process reads."""

    sums: SumPass
    step: int

    def partial(self, batch: Any) -> tuple[Totals, list[Arrays]]:
        rows = self.sums.recipe.rows_of(batch)
        totals, (X, y, weights) = self.sums.partial(rows), rows.arrays()
        some = slice(None, None, self.step)
        return totals, [(X[some].copy(), y[some].copy(), None if weights is None else weights[some].copy())]

    def merge(self, first: tuple[Totals, list[Arrays]], second: Any) -> tuple[Totals, list[Arrays]]:
        return self.sums.merge(first[0], second[0]), first[1] + second[1]


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


class CountPass(RemotePass[int]):
    """How many rows there are."""

    def partial(self, batch: Any) -> int:
        return len(batch)

    def merge(self, first: int, second: int) -> int:
        return first + second

    def dump(self, state: int) -> bytes:
        return str(state).encode()

    def load(self, data: bytes) -> int:
        if not (isinstance(data, bytes) and data.isdigit() and len(data) < 19):
            load(data)  # raises what the worker says
            raise ValueError("a worker's answer must be a number of rows.")
        return int(data)


@dataclass(frozen=True, eq=False)
class PersonPass(Pass[Persons]):
    """How many rows there are, and how many each person has. For rows that this process reads: ids never leave it."""

    person: str  # the column of the ids

    def partial(self, batch: Any) -> Persons:
        table = as_table(batch)
        assert table is not None
        ids = read_ids(table.column(table.columns.index(self.person)).to_native())
        refuse_faults(ids)
        return len(table), [PersonCounts(ids)]

    def merge(self, first: Persons, second: Persons) -> Persons:
        rows, counts = first[0] + second[0], first[1] + second[1]
        return rows, [PersonCounts().merge(*counts)] if len(counts) >= _FEW_COUNTS else counts

    def result(self, state: Persons | None) -> tuple[int, PersonCounts]:
        """The number of rows, and the counts of all of them."""
        rows, counts = state or (0, [])
        return rows, PersonCounts().merge(*counts)


@dataclass(frozen=True, eq=False)
class WherePass(Pass[dict[str, int]]):
    """In how many rows each column is infinite, or missing without a policy: for the data holder's error."""

    recipe: Recipe

    def partial(self, batch: Any) -> dict[str, int]:
        table = as_table(batch)
        assert table is not None
        return Encoder(self.recipe.table_of(table), self.recipe.prep.layout).not_finite()

    def merge(self, first: dict[str, int], second: dict[str, int]) -> dict[str, int]:
        return {name: first.get(name, 0) + second.get(name, 0) for name in {**first, **second}}
