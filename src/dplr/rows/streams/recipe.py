"""How batches become rows of a problem: public facts alone, picklable, the same for every batch."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dplr._kit.validation import sentence
from dplr._kit.warnings import DataWarning, muted
from dplr.bounds.scaling import Prep
from dplr.privacy.unit import Unit
from dplr.rows.array import ArrayRows
from dplr.rows.ids import PersonCounts
from dplr.rows.labels import LabelRule, Labels
from dplr.rows.persons import class_factors, row_weights
from dplr.rows.tables.table import NUMERIC, Table, Target, as_table, as_target
from dplr.rows.weights import RowWeights, Tally


@dataclass(frozen=True, eq=False)
class Weighing:
    """The public facts that weigh rows: see `persons.row_weights`.

    Attributes
    ----------
    unit : whom the guarantee protects; `unit.person` is the column of the ids.
    weight : the column of the weights; None for none.
    counts : how many rows each person has, once a pass counted them. As private as the rows: never sent to a worker.
    tally : adds up what persons weigh in a pass; like the counts, never sent to a worker.
    """

    unit: Unit
    weight: str | None
    counts: PersonCounts | None = None
    tally: Tally | None = None

    def of(self, table: Table, labels: Labels | None) -> RowWeights:
        ids, weights = (None if name is None else _column(table, name) for name in (self.unit.person, self.weight))
        with muted(DataWarning):  # about shares of one batch, which say nothing of the whole
            of_rows = row_weights(len(table), self.unit, ids, weights, class_factors(labels, self.unit), self.counts)
        if self.tally is not None:
            self.tally.add(of_rows)
        return of_rows


@dataclass(frozen=True, eq=False)
class Recipe:
    """The public facts that turn a batch, a table in memory, into rows.

    Attributes
    ----------
    features : the columns of X, in order.
    target : the column of y; None for sums of X alone, where every y is 0.
    labels : the rule for the labels of y; None for numbers.
    position : place of the class that is fitted against the rest; None for two classes, for numbers and for checks.
    several : whether there are more than two classes.
    prep : the map from raw rows to scaled rows, which encodes tables.
    weighing : the facts that weigh rows; None where every row has weight 1.
    mapping : another map from encoded rows to scaled rows; None for that of `prep`.
    """

    features: tuple[str, ...]
    target: str | None
    labels: LabelRule | None
    position: int | None
    several: bool
    prep: Prep
    weighing: Weighing | None = None
    mapping: Prep | None = None

    @property
    def columns(self) -> tuple[str, ...]:
        """All columns that are read."""
        weight_columns = () if self.weighing is None else (self.weighing.unit.person, self.weighing.weight)
        return (*self.features, *(name for name in (self.target, *weight_columns) if name is not None))

    def rows_of(self, batch: Any) -> ArrayRows:
        """The rows of a batch, which may be rows that were encoded before."""
        if isinstance(batch, ArrayRows):
            return batch if self.mapping is None else batch.mapped(self.mapping)
        table = as_table(batch)
        assert table is not None
        target = self.target_of(table)
        labels = None if self.labels is None else self.labels.of(target)
        weights = None if self.weighing is None else self.weighing.of(table, labels)
        rows = ArrayRows(self.table_of(table), self._numbers(target, labels), self.prep, weights=weights)
        return rows if self.mapping is None else rows.mapped(self.mapping)

    def table_of(self, table: Table) -> Table:
        return table.chosen([_place(table, name) for name in self.features])

    def target_of(self, table: Table) -> Target:
        if self.target is None:
            return Target(NUMERIC, np.zeros(len(table)), "nothing")
        target = as_target(_column(table, self.target))
        numeric = target.numeric or self.labels is not None
        return target if numeric else Target(NUMERIC, target.as_float(), target.type_name)

    def mapped(self, mapping: Prep | None) -> Recipe:
        """The recipe with another map to scaled rows; None for that of `prep`."""
        return replace(self, mapping=mapping)

    def _numbers(self, target: Target, labels: Labels | None) -> np.ndarray[Any, Any]:
        if labels is None:
            return target.values
        if not self.several and labels.codes != self.prep.labels:
            got = f"{target.type_name} in one part, and another type in others"
            raise ValueError(sentence("y", "must have one type in all parts", got, "Write all parts with one schema."))
        return labels.against_the_rest(self.position) if self.several else labels.y


def _column(table: Table, name: str) -> Any:
    return table.column(_place(table, name)).to_native()


def _place(table: Table, name: str) -> int:
    try:
        return table.columns.index(name)
    except ValueError:
        rule = f"must have the column {name!r} in every part"
        raise ValueError(sentence("X", rule, list(table.columns), "Write all parts with one schema.")) from None
