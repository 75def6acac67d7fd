"""Made-up tables within and beyond public bounds, and pairs of them that differ in one record or person."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from dplr.bounds.columns import Bins, Column, Curve, Levels, Numeric
from dplr.bounds.declared import UNKNOWN
from dplr.fitting.planning import PublicFacts

Matrix = NDArray[np.float64]
BEYOND = 9.0  # widths of the bounds by which some values lie outside them
_MOST_LEVELS = 8
_MATES = 0.25  # share of the persons whose rows are of two kinds
_AT_THE_TOP = 0.42  # where a product of a number and its square moves most


@dataclass(frozen=True, eq=False, slots=True)
class Record:
    """One record, or one person with rows of one or two kinds.

    Attributes
    ----------
    x : (n_features,) values of the columns, in which a level is its place.
    y : the target.
    rows : how many rows the person has; 1 for a record.
    weight : of each row.
    mate : values and target of every second row of a person; None where all rows are alike.
    """

    x: Matrix
    y: float
    rows: int = 1
    weight: float = 1.0
    mate: tuple[Matrix, float] | None = None

    def row(self, number: int) -> tuple[Matrix, float]:
        """Values and target of one of the rows."""
        return (self.x, self.y) if self.mate is None or number % 2 == 0 else self.mate


@dataclass(frozen=True, eq=False, slots=True)
class Table:
    """Rows, their targets, whose they are, and how much each counts."""

    X: Matrix
    y: Matrix
    ids: NDArray[np.intp]
    weights: Matrix


@dataclass(frozen=True, eq=False, slots=True)
class Pair:
    """Two neighbours.

    Attributes
    ----------
    first : the record in one table.
    second : the record in its place in the other one; None where nobody is there.
    others : the records that both tables have.
    """

    first: Record
    second: Record | None
    others: tuple[Record, ...]

    def table(self, which: int) -> Table:
        """One of both tables: the record that differs is the last."""
        last = self.second if which else self.first
        records = self.others if last is None else (*self.others, last)
        counts = [record.rows for record in records]
        rows = [record.row(number) for record in records for number in range(record.rows)]
        return Table(
            np.array([x for x, _ in rows]),
            np.array([y for _, y in rows]),
            np.repeat(np.arange(len(records)), counts),
            np.repeat([record.weight for record in records], counts),
        )


@dataclass(frozen=True, eq=False)
class Pool:
    """Everything that a record may hold under public bounds, and beyond them.

    Attributes
    ----------
    values : those that are tried of each column; empty for rows of the unit ball.
    targets : those that are tried of the target.
    width : number of columns.
    rows : numbers of rows that a person may have.
    weights : those that are tried of a row.
    """

    values: tuple[Matrix, ...]
    targets: Matrix
    width: int
    rows: tuple[int, ...]
    weights: tuple[float, ...]

    def record(self, rng: np.random.Generator) -> Record:
        """A record at random."""
        mate = self._row(rng) if len(self.rows) > 1 and rng.random() < _MATES else None
        return Record(*self._row(rng), int(rng.choice(self.rows)), float(rng.choice(self.weights)), mate)

    def changed(self, record: Record, rng: np.random.Generator) -> Record:
        """A record that differs in one respect."""
        if len(self.rows) > 1 and rng.random() < _MATES / 2:
            return replace(record, mate=None if record.mate is not None and rng.random() < 0.5 else self._row(rng))
        place = int(rng.integers(self.width + 3)) if self.values else int(rng.choice([0, -1, -2, -3]))
        if place in (self.width, -1):
            return replace(record, y=float(rng.choice(self.targets)))
        if place in (self.width + 1, -2):
            return replace(record, rows=int(rng.choice(self.rows)))
        if place in (self.width + 2, -3):
            return replace(record, weight=float(rng.choice(self.weights)))
        x = record.x.copy()
        if self.values:
            x[place] = rng.choice(self.values[place])
        else:
            x = rng.choice([-1.0, 0.42, 1.0]) * x if rng.random() < 0.5 else self._in_ball(rng)
        return replace(record, x=x)

    def others(self, count: int, kind: int, rng: np.random.Generator) -> tuple[Record, ...]:
        """Records that both tables have: all alike with targets that take turns, one target for all, or at random."""
        if kind == 2:
            return tuple(replace(self.record(rng), rows=1, weight=self.weights[-1], mate=None) for _ in range(count))
        one = replace(self.record(rng), rows=1, weight=self.weights[-1], mate=None)
        targets = [one.y] if kind else self.targets[:2].tolist()
        return tuple(replace(one, y=targets[place % len(targets)]) for place in range(count))

    def _row(self, rng: np.random.Generator) -> tuple[Matrix, float]:
        """Values and a target at random."""
        x = np.array([rng.choice(of) for of in self.values]) if self.values else self._in_ball(rng)
        return x, float(rng.choice(self.targets))

    def _in_ball(self, rng: np.random.Generator) -> Matrix:
        """A row on an axis, on the diagonal, or anywhere: on the sphere, inside, or beyond it."""
        row = rng.normal(size=self.width)
        kind = rng.integers(3)
        if kind == 0:
            row = np.eye(self.width)[rng.integers(self.width)] * rng.choice([-1.0, 1.0])
        elif kind == 1:
            row = np.sign(row)
        length = float(rng.choice([1.0, 1.0, 1.0, _AT_THE_TOP, BEYOND]))
        return np.asarray(row / np.linalg.norm(row) * length)


def pool_of(facts: PublicFacts, classes: int) -> Pool:
    """The values that records of these facts may hold; `classes` counts the labels, 0 for numbers."""
    columns: Sequence[Column] = () if facts.bounds is None else facts.bounds.columns
    values = tuple(_values(column) for column in columns)
    unit, largest = facts.unit, facts.unit.weight_max
    per_person = unit.rows_per_person
    return Pool(
        values=values,
        targets=np.arange(float(classes)) if classes else _targets(facts),
        width=facts.n_features,
        rows=(1,) if unit.person is None else tuple(sorted({1, per_person, 4 * per_person + 3})),
        weights=(1.0,) if largest is None else (0.0, largest / 2, BEYOND * largest, largest),
    )


def _values(column: Column) -> Matrix:
    """The values of a column that are tried, where they count by their place: ends, between, beyond, and missing."""
    missing = [] if getattr(column, "missing", None) is None else [math.nan]
    if isinstance(column, Levels):
        places = [float(place) for place in range(min(len(column.levels), _MOST_LEVELS))]
        return np.array([*places, UNKNOWN, *missing])
    assert isinstance(column, (Numeric, Bins))
    low, high = column.lower, column.upper
    between = np.linspace(low, high, 9) if isinstance(column, Curve) else [(low + high) / 2, _share(low, high)]
    edges = column.edges if isinstance(column, Bins) else ()
    away = BEYOND * (high - low)
    return np.array([low, high, low, high, *between, *edges, low - away, high + away, *missing])


def _targets(facts: PublicFacts) -> Matrix:
    """The numbers that are tried of a target: its ends, between, and beyond."""
    low, high = facts.target_pair or (-1.0, 1.0)
    numbers = np.array([low, high, _share(low, high), low - BEYOND * (high - low), high + BEYOND * (high - low)])
    return np.maximum(np.rint(numbers), 0.0) if facts.loss.link == "log" else numbers


def _share(low: float, high: float) -> float:
    return low + _AT_THE_TOP * (high - low)
