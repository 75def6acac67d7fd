"""A table made up for streams, parts of it in memory, and fits of both."""

from __future__ import annotations

import itertools
import os
import pathlib
import signal
import tempfile
import warnings
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import parquet

import dplr
from declared_units import declared
from dplr.rows.streams import LocalParts
from dplr.rows.streams.far import Answered
from dplr.rows.streams.holding import Shelf, WorkerRows, kind_of

N = 50_000
COLUMNS = {
    "age": (18, 90),
    "job": {"levels": ["a", "b", "c"]},
    "income": {"lower": -3, "upper": 3, "missing": "indicator"},
}
BOUNDS = dplr.Bounds(COLUMNS)
NGD = dplr.NoisyGradientDescent(steps=5)
# What fits differ in: mechanisms, targets, weights. `person` is for rows that this process reads.
FITS = {
    "fm": {"mechanism": "fm"},
    "objective": {"mechanism": "objective"},
    "output": {"mechanism": "output"},
    "ngd": {"mechanism": NGD, "delta": 1e-6},
    "score": {"mechanism": "score", "delta": 1e-6},
    "text": {"mechanism": "fm", "y": "said", "classes": ["no", "yes"]},
    "rest": {"mechanism": "objective", "y": "kind", "classes": ["u", "v", "w"]},
    "weights": {"mechanism": "fm", "sample_weight": "weight", "weight_max": 1.5},
    "linear": {"mechanism": "fm", "y": "sum"},
}
# Fits whose sums are not exact: their last bits hang on where parts and batches begin.
IN_FLOAT64 = ("objective", "output", "rest", "persons")
OF_PERSONS = {
    "persons": {"mechanism": "objective", "person": "id"},
    "persons, weights": {"mechanism": "fm", "person": "id", "sample_weight": "weight", "weight_max": 1.5},
}


def people(n: int = N, seed: int = 0) -> pa.Table:
    """Numbers, levels and nulls; targets of every kind; ids and weights."""
    rng = np.random.default_rng(seed)
    income = rng.normal(size=n)
    return pa.table({
        "age": pa.array(rng.integers(18, 90, n), pa.int8()),
        "job": rng.choice(["a", "b", "c"], n),
        "income": pa.array(income, mask=rng.random(n) < 0.1),
        "old": (income + rng.normal(size=n) > 0).astype(np.int64),
        "said": rng.choice(["no", "yes"], n),
        "kind": rng.choice(["u", "v", "w"], n),
        "sum": income + rng.normal(size=n),
        "id": rng.integers(0, n // 3 + 1, n),
        "weight": rng.uniform(0, 2, n),
    })  # fmt: skip


@dataclass(frozen=True, eq=False)
class MemoryPart:
    """Rows of a table in memory, in batches of some size."""

    table: pa.Table
    size: int = 1000
    name: str = "rows in memory"

    @property
    def rows(self) -> int:
        return len(self.table)

    def chosen(self, columns: Any) -> MemoryPart:
        return replace(self, table=self.table.select(list(dict.fromkeys(columns))))

    def batches(self) -> Any:
        return iter(self.table.to_batches(max_chunksize=self.size))


@dataclass(frozen=True, eq=False)
class DeadlyPart:
    """A part whose reader is killed when parts were read for the n-th time in all; so many times, or for ever."""

    part: Any
    folder: str
    kill_at: int
    kills: int = 1

    @property
    def rows(self) -> int:
        return self.part.rows

    @property
    def name(self) -> str:
        return self.part.name

    def chosen(self, columns: Any) -> DeadlyPart:
        return replace(self, part=self.part.chosen(columns))

    def batches(self) -> Any:
        os.close(tempfile.mkstemp(dir=self.folder)[0])
        read = len(os.listdir(self.folder))
        if self.kill_at <= read < self.kill_at + self.kills:
            os.kill(os.getpid(), signal.SIGKILL)
        return self.part.batches()


@dataclass(frozen=True, eq=False)
class CountedPart(DeadlyPart):
    """A part that notes when it is read, and kills nobody."""

    kill_at: int = 2**60


class FarParts(LocalParts):
    """Parts that this process reads as if they were elsewhere: no row is kept for a first guess."""

    is_local = False

    def chosen(self, columns: Any) -> FarParts:
        return FarParts([part.chosen(columns) for part in self.parts], self.empty, 1)


class HoldingParts(FarParts):
    """Parts that this process reads as if they were elsewhere, and holds as workers do: each part by itself."""

    def chosen(self, columns: Any) -> HoldingParts:
        return HoldingParts([part.chosen(columns) for part in self.parts], self.empty, 1)

    def groups(self) -> list[Any]:
        return [[part] for part in self.parts]

    def held(self, recipe: Any, step: int, folder: str | None) -> Any:
        shelf = Shelf(recipe, step, kind_of(self, recipe), folder, learns=len(self.parts) % 2 == 0)
        return HeldHere([WorkerRows(parts, shelf) for parts in self.groups()])


class HeldHere(Answered):
    """Rows that the first pass leaves in this process, as workers do."""

    def __init__(self, groups: list[WorkerRows]) -> None:
        self._groups, self._were_read = groups, False

    def answers(self, job: Any) -> Any:
        folder, first = tempfile.gettempdir(), not self._were_read
        self._were_read = True
        return (group.reading(job, folder).answer if first else group.sums(job, folder) for group in self._groups)


@dataclass(frozen=True, eq=False)
class FaultyPart(MemoryPart):
    """A part that cannot be read, for a reason that quotes a value."""

    def batches(self) -> Any:
        raise ValueError("could not convert 'Jane Doe'")


def parts_of(table: pa.Table, count: int, size: int = 1000, threads: int | None = None) -> LocalParts:
    """A table in some parts, of which the first may be longer."""
    edges = np.linspace(0, len(table), count + 1).astype(int)
    parts = [MemoryPart(table.slice(a, b - a), size) for a, b in itertools.pairwise(edges)]
    return LocalParts(parts, table.slice(0, 0), threads)


def written(folder: pathlib.Path, table: pa.Table, **options: Any) -> pathlib.Path:
    """The rows in seven Parquet files of a folder."""
    for number, part in enumerate(parts_of(table, 7).parts):
        parquet.write_table(part.table, folder / f"{number}.parquet", **options)
    return folder


def fitted(X: Any, *, y: str = "old", **given: Any) -> Any:
    """A fit whose noise is that of every other fit."""
    if y == "sum":
        given = {"model": "linear", "bounds": dplr.Bounds(COLUMNS, target=(-8.0, 8.0)), **given}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return dplr.fit(X, y, **declared({"bounds": BOUNDS, "eps": 1.0, "rng": 3, **given}))


def assert_same(first: Any, second: Any, name: str = "") -> None:
    """Every bit of what was released; of sums in float64, all except steps of the grid that their order moves."""
    least = 1e-7 if name in IN_FLOAT64 else 0
    assert np.abs(first.coef_ - second.coef_).max() <= least
    assert np.abs(first.intercept_ - second.intercept_).max() <= least
    one, other = (replace(of.privacy_, assumptions=without_the_query(of)) for of in (first, second))
    assert str(one) == str(other)


def without_the_query(model: Any) -> tuple[str, ...]:
    """What a statement assumes, except of a query."""
    return tuple(fact for fact in model.privacy_.assumptions if not fact.startswith("each row of the query"))
