"""Fits of streamed rows: an empty table in place of X and y before a row is read, and the rows."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

from dplr._kit.progress import row_bar
from dplr._kit.validation import sentence
from dplr._kit.warnings import PrivacyWarning, warn
from dplr.bounds.scaling import Prep
from dplr.fitting.intake import Intake, RawRows
from dplr.fitting.planning import PublicFacts
from dplr.fitting.units import ClassWeight, with_classes
from dplr.privacy.statement import PrivacyStatement
from dplr.privacy.unit import Unit
from dplr.problem.losses import Loss
from dplr.problem.plan import Plan
from dplr.rows import FROM_DATA, BoundsNotice, FaultyRows, LabelRule, Labels, PersonCounts, Rows, Target, as_table
from dplr.rows.persons import row_weights
from dplr.rows.streams import Recipe, StreamedRows, StreamSource, Weighing, one_pass
from dplr.rows.streams.passes import CountPass, PersonPass
from dplr.rows.streams.rows import no_bar
from dplr.rows.streams.source import Stream, as_stream, lasting
from dplr.rows.weights import Tally

_FROM_ONE = "each row of the query comes from one record alone"


@dataclass(frozen=True, eq=False, slots=True)
class Streamed(Intake):
    """Rows that are streamed.

    Attributes
    ----------
    stream : the source of the rows.
    target : the column of y; None for sums of X alone.
    progress : whether to show how far passes are.
    rule : the rule for labels; None for numbers.
    labels : the labels of a classifier, without rows; None for a numeric target.
    weighing : the facts that weigh rows; None where every row has weight 1.
    count : the number of rows.
    """

    stream: Stream
    target: str | None
    progress: bool = False
    rule: LabelRule | None = None
    labels: Labels | None = None
    weighing: Weighing | None = None
    count: int = 0

    @property
    def units(self) -> int:
        counts = None if self.weighing is None else self.weighing.counts
        return self.count if counts is None else len(counts)

    def labelled(self, rule: LabelRule | None, y: Target) -> Self:
        """These rows, with labels that depend on no row."""
        if rule is None:
            return self
        if rule.declared == FROM_DATA:
            remedy = "Declare them: a stream is not read for its labels."
            raise ValueError(sentence("classes", "must be declared where rows are streamed", FROM_DATA, remedy))
        return replace(self, rule=rule, labels=rule.of(y))

    def counted(self, data: RawRows, class_weight: ClassWeight, loss: Loss) -> tuple[Self, Unit]:
        """These rows with counts, and the whole unit. Only ids are read, or all rows where they must be counted."""
        person, labels, counts = data.unit.person, self.labels, None
        unit = with_classes(data.unit, class_weight, None if labels is None else labels.classes.tolist(), loss)
        if person is None:
            count = count_rows(self.stream)
        else:
            count, counts = count_persons(self.stream, person)
        if not unit.weighted:
            return replace(self, count=count), unit
        return replace(self, count=count, weighing=Weighing(unit, data.weight_column, counts)), unit

    def rows(self, facts: PublicFacts, position: int | None, told: BoundsNotice | None = None) -> Rows:
        layout = facts.layout
        columns = facts.columns if layout is None or not layout.named else layout.features
        assert columns is not None
        several = bool(facts.model_labels)
        return self.summed(Recipe(tuple(columns), self.target, self.rule, position, several, facts.prep, self.weighing))

    def summed(self, recipe: Recipe) -> Rows:
        """The rows that a recipe makes."""
        parts, bar = self.stream.parts.chosen(recipe.columns), row_bar if self.progress else no_bar
        source, weighing = StreamSource(parts, self.count, self.units, bar, self._folder), recipe.weighing
        if weighing is not None and weighing.counts is not None:
            source.tally = Tally(self.units)
            recipe = replace(recipe, weighing=replace(weighing, tally=source.tally))
        return StreamedRows(source, recipe)

    def check_plans(self, plans: Sequence[Plan]) -> None:
        """Refuse Poisson batches, which need rows by their numbers."""
        if any(plan.settings is not None and plan.settings.samples_rows for plan in plans):
            remedy = "Take full batches, the default, or read the rows into memory."
            raise ValueError(sentence("batch", "must be None where rows are streamed", "Poisson batches", remedy))

    def explained(self, error: FaultyRows) -> str:
        """The sentence without values: nothing is read for it."""
        return str(error)

    @property
    def _folder(self) -> str | None:
        keep, here = self.stream.keep, self.stream.parts.is_local
        default = tempfile.gettempdir() if here else ""  # each worker has a folder of its own
        return None if keep is False else default if keep is None else os.fspath(keep)


def _refuse_far_ids(stream: Stream, person: str) -> None:
    """Refuse persons whose ids would have to leave the workers of a cluster."""
    if not stream.parts.is_local:
        rule = "must be None where rows lie on a cluster: ids stay there"
        raise ValueError(sentence("person", rule, person, "Read the rows on this machine."))


def count_rows(stream: Stream) -> int:
    """The number of rows: as parts say, or counted in a pass. Raises ValueError where there are none."""
    if stream.count is None:
        parts = stream.parts
        table = as_table(parts.empty)
        assert table is not None
        rows = parts.rows
        stream.count = (one_pass(parts.chosen(table.columns[:1]), CountPass()) or 0) if rows is None else rows
    return _at_least_one(stream.count)


def _at_least_one(rows: int) -> int:
    """The number of rows; ValueError where there are none."""
    if not rows:
        raise ValueError(sentence("X", "must have at least one row", rows))
    return rows


def count_persons(stream: Stream, person: str) -> tuple[int, PersonCounts]:
    """The number of rows, and how many each person has; ValueError for rows without an id.

    They are counted once in files, whose changes are seen, and anew for every fit of what may be other rows by then.
    """
    _refuse_far_ids(stream, person)
    if person not in stream.persons or not lasting(stream.parts):
        job = PersonPass(person)
        stream.persons[person] = job.result(one_pass(stream.parts.chosen((person,)), job))
    count, counts = stream.persons[person]
    return _at_least_one(count), counts


def count_units(X: Any, person: str | None) -> int:
    """The number of persons of a table or a stream, or of rows where nobody tells persons apart."""
    if not isinstance(X, Stream):
        return len(X) if person is None else row_weights(len(X), Unit(person), X[person]).units
    return count_rows(X) if person is None else len(count_persons(X, person)[1])


def rows_without_target(stream: Stream, features: Sequence[str], prep: Prep) -> Rows:
    """The rows for sums of X alone."""
    recipe = Recipe(tuple(features), None, None, None, False, prep)
    return Streamed(stream, None, count=count_rows(stream)).summed(recipe)


def query_facts(stream: Stream | None) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """What a statement assumes of a query, and what it does not cover, of which the user is warned."""
    if stream is None or stream.query is None:
        return (), ()
    name, mixing = stream.query
    uncovered = (f"{name} may mix rows ({', '.join(mixing)}), and is covered only if {_FROM_ONE}",) if mixing else ()
    for fact in uncovered:
        remedy = "Declare bounds, which scale and impute; or write rows that come from one record each to a file."
        warn(f"{fact}: the privacy statement does not cover it. {remedy}", PrivacyWarning)
    return (f"{_FROM_ONE}, and no two from the same one",), uncovered


def of_query(statement: PrivacyStatement, stream: Stream | None) -> PrivacyStatement:
    """The statement of a release of these rows."""
    assumed, uncovered = query_facts(stream)
    assumptions = (*statement.assumptions, *assumed)
    return replace(statement, assumptions=assumptions, uncovered=(*statement.uncovered, *uncovered))


def as_streamed(X: Any, y: Any, person: Any, sample_weight: Any, progress: bool) -> tuple[Any, Any, Streamed | None]:
    """X and y in memory; or a table without rows that stands for X, its target, and the rows.

    `y` may name a column of X. Raises ValueError or TypeError for a stream whose columns are not given by their names.
    """
    stream = as_stream(X)
    if stream is None and not isinstance(y, str):
        return X, y, None
    table = as_table(X if stream is None else stream.parts.empty)
    if not isinstance(y, str):
        raise TypeError(sentence("y", "must be the name of a column where rows are streamed", type(y).__name__))
    if table is None or y not in table.columns:
        columns = type(X).__name__ if table is None else list(table.columns)[:20]
        remedy = f"X has the columns {columns}." if table is not None else f"X is of type {columns}, without names."
        raise ValueError(sentence("y", "must be an array, or the name of a column of X", y, remedy))
    for name, value in (("person", person), ("sample_weight", sample_weight)):
        if stream is not None and value is not None and not isinstance(value, str):
            raise TypeError(sentence(name, "must name a column where rows are streamed", type(value).__name__))
    place = table.columns.index(y)
    rest, target = table.without([place]).native, table.chosen([place]).native
    return rest, target, None if stream is None else Streamed(stream, y, progress)


def refuse_stream(X: Any, where: str) -> None:
    """Refuse a stream where all rows must be in memory."""
    if as_stream(X) is not None:
        remedy = "Read the rows, or some of them, into a table."
        raise TypeError(sentence("X", f"must be in memory {where}", type(X).__name__, remedy))
