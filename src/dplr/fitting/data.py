"""Rows before a release: what a caller gave, in memory or streamed, and what is public of it.

One door for fits, evaluations, moments, learned bounds, searches and checks: X, y, ids and weights in, `Data` out.
"""

from __future__ import annotations

import contextlib
import math
import os
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from dplr._kit.progress import row_bar
from dplr._kit.validation import real_number, sentence
from dplr._kit.warnings import PrivacyWarning, warn
from dplr.bounds.beside import UNIT_DEFAULTS, check_name
from dplr.bounds.declared import Bounds
from dplr.bounds.scaling import Prep
from dplr.privacy.statement import PrivacyStatement
from dplr.privacy.unit import Unit
from dplr.problem.losses import SQUARED, Loss, model_of
from dplr.problem.plan import Plan
from dplr.rows import (
    FROM_DATA,
    ArrayRows,
    FaultyRows,
    LabelRule,
    Labels,
    PersonCounts,
    Rows,
    RowWeights,
    Table,
    as_table,
    check_indexes,
    class_factors,
    explained,
    row_weights,
    warn_narrow,
)
from dplr.rows.files.whole import REMEDY, memory_limit, memory_used, rounded
from dplr.rows.streams import Recipe, StreamedRows, StreamSource, Weighing, one_pass
from dplr.rows.streams.passes import CountPass, PersonPass
from dplr.rows.streams.rows import no_bar
from dplr.rows.streams.source import Stream, as_stream, lasting
from dplr.rows.weights import Tally

ClassWeight = Mapping[Any, float] | None
Declared = tuple[Unit, str | None]

NO_TARGET: Any = object()
_USUAL_CAP = "About twice the population over the sample is usual, which a survey's documentation says."
_UNNAMED = "person"  # a label for ids that have no name
_FROM_ONE = "each row of the query comes from one record alone"
_SHOWN = 20  # columns in an error


@dataclass(frozen=True, eq=False, repr=False, slots=True, kw_only=True)
class Data:
    """X without the columns of y, of ids and of weights, and these; it has no repr, so no error shows a row.

    Until `counted`, X, y and the unit are as the caller gave them, and no value was looked at.

    Attributes
    ----------
    X : a table of any library is a `Table`; without rows where they are streamed.
    y : None for none.
    name : of y, where it can be written; None for none.
    ids, sample_weight : (n,) of any library; None for none.
    unit : that the release protects; with the factors of labels once rows are counted.
    weight_column : the column of X that held the weights; None for none.
    labels : of a classifier; None for a numeric target.
    weights : None where every row has weight 1, and where rows are streamed.
    """

    X: Any
    y: Any
    name: str | None
    ids: Any
    sample_weight: Any
    unit: Unit
    weight_column: str | None
    labels: Labels | None = None
    weights: RowWeights | None = None

    @property
    def units(self) -> int:
        """The number of persons, or of rows, once they are counted."""
        return len(self.X) if self.weights is None else self.weights.units

    def counted(
        self, X: Any, y: Any, rule: LabelRule | None = None, class_weight: ClassWeight = None, loss: Loss = SQUARED
    ) -> Self:
        """These rows with X and y of checked shapes and types, labels by a rule, weights, and their number.

        No value is read except ids and weights, and of a stream all that must be read to count its rows.
        """
        labels, weights = None if rule is None else rule.of(y), None
        unit = with_classes(self.unit, class_weight, labels, loss)
        if unit.weighted:
            weights = row_weights(len(X), unit, self.ids, self.sample_weight, class_factors(labels, unit))
        return replace(self, X=X, y=y, labels=labels, unit=unit, weights=weights)

    def rows(self, prep: Prep) -> Rows:
        """The rows; of more than two classes, with 1 for all of them."""
        if self.y is None:
            y = np.zeros(len(self.X))
        elif self.labels is None:
            y = self.y.values
        else:
            y = self.labels.against_the_rest(None) if self.several else self.labels.y
        return ArrayRows(self.X, y, prep, weights=self.weights, labels=self.labels)

    @property
    def several(self) -> bool:
        """Whether there are more than two classes."""
        return self.labels is not None and len(self.labels.classes) > 2

    def take(self, indices: NDArray[np.intp]) -> Self:
        """Some of the rows, which are counted and in memory."""
        X = self.X.take(indices) if isinstance(self.X, Table) else self.X[indices]
        labels = None if self.labels is None else self.labels.take(indices)
        weights = None if self.weights is None else self.weights.take(indices)
        return replace(self, X=X, y=self.y.take(indices), labels=labels, weights=weights)

    def check_plans(self, plans: Sequence[Plan]) -> None:
        """Refuse plans that these rows cannot serve, before anything is reserved."""

    def warn_narrow(self, prep: Prep) -> None:
        """Warn of target bounds that are far wider than the target, where this needs no pass over the rows."""
        if prep.target is not None:
            warn_narrow(self.y, prep.target)

    def explained(self, error: FaultyRows) -> str:
        """The sentence for the data holder about faulty rows."""
        return explained(error, self.y, self.labels)

    def query_facts(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """What a statement assumes of a query, and what it does not cover, of which the user is warned."""
        return (), ()

    def stated(self, statement: PrivacyStatement) -> PrivacyStatement:
        """The statement of a release of these rows."""
        assumed, uncovered = self.query_facts()
        assumptions = (*statement.assumptions, *assumed)
        return replace(statement, assumptions=assumptions, uncovered=(*statement.uncovered, *uncovered))


@dataclass(frozen=True, eq=False, repr=False, slots=True, kw_only=True)
class Streamed(Data):
    """Rows that are streamed.

    Attributes
    ----------
    target : the column of y; None for sums of X alone.
    progress : whether to show how far passes are.
    rule : the rule for labels; None for numbers.
    weighing : the facts that weigh rows; None where every row has weight 1.
    count : the number of rows.
    """

    stream: Stream
    target: str | None
    progress: bool = False
    rule: LabelRule | None = None
    weighing: Weighing | None = None
    count: int = 0

    @property
    def units(self) -> int:
        counts = None if self.weighing is None else self.weighing.counts
        return self.count if counts is None else len(counts)

    def counted(
        self, X: Any, y: Any, rule: LabelRule | None = None, class_weight: ClassWeight = None, loss: Loss = SQUARED
    ) -> Self:
        if rule is not None and rule.declared == FROM_DATA:
            remedy = "Declare them: a stream is not read for its labels."
            raise ValueError(sentence("classes", "must be declared where rows are streamed", FROM_DATA, remedy))
        labels, counts = None if rule is None else rule.of(y), None
        unit = with_classes(self.unit, class_weight, labels, loss)
        if unit.person is None:
            count = count_rows(self.stream)
        else:
            count, counts = count_persons(self.stream, unit.person)
        weighing = Weighing(unit, self.weight_column, counts) if unit.weighted else None
        return replace(self, X=X, y=y, labels=labels, unit=unit, rule=rule, count=count, weighing=weighing)

    def tallied(self) -> tuple[Weighing | None, Tally | None]:
        """What weighs rows in a pass, and what adds up the weights of persons there; None for none."""
        if self.weighing is None or self.weighing.counts is None:
            return self.weighing, None
        tally = Tally(self.units)
        return replace(self.weighing, tally=tally), tally

    def rows(self, prep: Prep) -> Rows:
        layout, (weighing, tally) = prep.layout, self.tallied()
        columns = tuple(layout.features if layout is not None and layout.named else self.X.columns)
        recipe = Recipe(columns, self.target, self.rule, None, self.several, prep, weighing)
        parts, bar = self.stream.parts.chosen(recipe.columns), row_bar if self.progress else no_bar
        keep, here = self.stream.keep, self.stream.parts.is_local
        default = tempfile.gettempdir() if here else ""  # each worker has a folder of its own
        folder = None if keep is False else default if keep is None else os.fspath(keep)
        return StreamedRows(StreamSource(parts, self.count, self.units, bar, folder, tally=tally), recipe)

    def check_plans(self, plans: Sequence[Plan]) -> None:
        if any(plan.settings is not None and plan.settings.samples_rows for plan in plans):
            remedy = "Take full batches, the default, or read the rows into memory."
            raise ValueError(sentence("batch", "must be None where rows are streamed", "Poisson batches", remedy))

    def warn_narrow(self, prep: Prep) -> None:
        pass

    def explained(self, error: FaultyRows) -> str:
        return str(error)

    def query_facts(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        if self.stream.query is None:
            return (), ()
        name, mixing = self.stream.query
        mixed = f"{name} may mix rows ({', '.join(mixing)}), and is covered only if {_FROM_ONE}"
        uncovered = (mixed,) if mixing else ()
        for fact in uncovered:
            remedy = "Declare bounds, which scale and impute; or write rows that come from one record each to a file."
            warn(f"{fact}: the privacy statement does not cover it. {remedy}", PrivacyWarning)
        return (f"{_FROM_ONE}, and no two from the same one",), uncovered


# ---- what a caller gave ----


def read(
    X: Any, y: Any = NO_TARGET, sample_weight: Any = None, person: Any = None, *, declared: Declared,
    features: Sequence[str] | None = None, progress: bool = False, **beside: Any,
) -> Data:  # fmt: skip
    """The data of a release, with y, ids and weights apart from X. No value is looked at.

    Parameters
    ----------
    X : an array, a list, a table of any library, or a stream.
    y : a column, or the name of one of X.
    declared : the unit, and the column of weights, of `declared_unit`.
    features : names that bounds have; those of ids and weights must not be among them.
    beside : what else has an entry for each row: answers of models.

    Raises
    ------
    ValueError, TypeError
        y is no column, or streamed columns are not given by their names; ids or weights are given twice, or not where
        they are declared, or undeclared; and for indexes of other orders.
    """
    stream = as_stream(X)
    X = X if stream is None else stream.parts.empty
    table = None if type(X) is np.ndarray else as_table(X)
    target = y if isinstance(y, str) else None
    if stream is not None and y is not NO_TARGET:
        for parameter, value in (("y", y), ("person", person), ("sample_weight", sample_weight)):
            if not isinstance(value, str) and (value is not None or parameter == "y"):
                rule = "must be the name of a column" if parameter == "y" else "must name a column"
                raise TypeError(sentence(parameter, f"{rule} where rows are streamed", type(value).__name__))
    if target is not None:
        if table is None or target not in table.columns:
            got = f"is of type {type(X).__name__}, without names"
            got = got if table is None else f"has the columns {list(table.columns)[:_SHOWN]}"
            raise ValueError(sentence("y", "must be an array, or the name of a column of X", y, f"X {got}."))
        table, (y,) = table.parted([target])
    y = None if y is NO_TARGET else y
    X = X if table is None else table.native
    check_indexes(X=X, y=y, **beside, person=person, sample_weight=sample_weight)
    unit, weight = declared
    column, ids = _source("person", person, unit.person)
    weight_column, weights = _source("sample_weight", sample_weight, weight)
    weighted = weight_column is not None or weights is not None
    if weighted is (unit.weight_max is None):
        if weighted:
            remedy = f"Give bounds=Bounds(..., weight_max=W) from public knowledge. {_USUAL_CAP}"
            raise ValueError(sentence("weight_max", "is required with sample_weight", None, remedy))
        remedy = "Give them to `fit`, as an array or as the name of a column; or leave weight_max out of the bounds."
        raise ValueError(sentence("sample_weight", "is required with weight_max", None, remedy))
    if column is not None and column == weight_column:
        raise ValueError(sentence("sample_weight", "must not be the column of the ids", weight_column))
    names = [name for name in (column, weight_column) if name is not None]
    _check_columns(table, X, names, features or ())
    if table is not None and names:
        table, columns = table.parted(names)
        apart = dict(zip(names, columns, strict=True))
        ids, weights = apart.get(column or "", ids), apart.get(weight_column or "", weights)
    unit = of_persons(unit, None if ids is None else column or _name_of(ids) or _UNNAMED)
    for parameter, name in (("person", unit.person), ("sample_weight", weight)):
        if table is not None and name in table.columns:  # ids given beside X must not be among its features too
            remedy = "Give them once: leave the parameter out, or take the column out of X."
            raise ValueError(sentence(parameter, f"must not be given beside a column {name!r} of X", "both", remedy))
    facts: dict[str, Any] = {"ids": ids, "sample_weight": weights, "unit": unit, "weight_column": weight_column}
    facts |= {"X": X if table is None else table, "y": y, "name": target or _name_of(y, as_table(y, "y"))}
    return Data(**facts) if stream is None else Streamed(**facts, stream=stream, target=target, progress=progress)


def _check_columns(table: Table | None, X: Any, names: Sequence[str], features: Sequence[str]) -> None:
    """Refuse names of ids and weights that are not those of columns, or are those of features."""
    for name in names:
        if name in features:
            remedy = "Ids and weights are not features: take it out of the bounds."
            raise ValueError(sentence("bounds", "must not name the column of ids or weights", name, remedy))
        if table is None or name not in table.columns:
            got = type(X).__name__ if table is None else list(table.columns)
            remedy = "Correct the name, or give the values to `fit`: person=ids, sample_weight=weights."
            raise ValueError(sentence("X", f"must have the column {name!r}", got, remedy))


def features_alone(X: Any, person: str | None, weight_column: str | None) -> Any:
    """A table to predict, without the columns of ids and weights; they may be missing."""
    ignored = {person, weight_column} - {None}
    table = as_table(X) if ignored and type(X) is not np.ndarray else None
    names = [] if table is None else [name for name in table.columns if name in ignored]
    return X if table is None or not names else table.parted(names)[0].native


def refuse_stream(X: Any, where: str) -> None:
    """Refuse a stream where all rows must be in memory."""
    if as_stream(X) is not None:
        remedy = "Read the rows, or some of them, into a table."
        raise TypeError(sentence("X", f"must be in memory {where}", type(X).__name__, remedy))


def _source(parameter: str, value: Any, declared: str | None) -> tuple[str | None, Any]:
    """The column of X that holds ids or weights, or None and the values."""
    if value is None:
        return declared, None
    if not isinstance(value, str):
        return None, value
    if declared is not None and value != declared:
        raise ValueError(sentence(parameter, f"must be {declared!r}, which was declared", value, "Leave it out."))
    return check_name(parameter, value), None


def _name_of(column: Any, table: Table | None = None) -> str | None:
    """The name of a Series, or of a table's only column, where it can be written."""
    name = getattr(column, "name", None) if table is None or table.shape[1] != 1 else table.columns[0]
    with contextlib.suppress(ValueError):
        return check_name("y", name) if isinstance(name, str) else None
    return None


# ---- the unit of privacy, as parameters and bounds declare it ----


def declared_unit(person: Any, *declared: Bounds | None) -> Declared:
    """The unit of a parameter and bounds together, and the column of weights; refused where they contradict."""
    facts = {**UNIT_DEFAULTS, "person": None if person is None else check_name("person", person)}
    for bounds in declared:
        for name, silent in UNIT_DEFAULTS.items() if bounds is not None else ():
            ours, theirs = facts[name], getattr(bounds, name)
            if silent not in (ours, theirs) and ours != theirs:
                rule = f"must be {theirs!r}, as the bounds say"
                raise ValueError(sentence(name, rule, ours, "Declare it in one place."))
            facts[name] = theirs if ours == silent else ours
    weight = facts.pop("weight")
    return Unit(**facts), weight


def of_persons(unit: Unit, label: str | None = None) -> Unit:
    """The unit, of persons under this label where the ids came from no declared column."""
    person = unit.person or label
    if person is None and unit.rows_per_person != 1:
        remedy = "Name the column of the ids: person='id'."
        raise ValueError(sentence("rows_per_person", "must be 1 without persons", unit.rows_per_person, remedy))
    return replace(unit, person=person)


def refuse_units(bounds: Bounds | None, where: str) -> None:
    """Raise ValueError for bounds with persons or weights, for a release that protects records alone."""
    for name, silent in UNIT_DEFAULTS.items() if bounds is not None else ():
        if (value := getattr(bounds, name)) != silent:
            remedy = "It protects one record, and every record counts alike: leave it out of the bounds."
            raise ValueError(sentence("bounds", f"must declare no `{name}` {where}", value, remedy))


def with_classes(unit: Unit, class_weight: ClassWeight, of: Labels | Sequence[Any] | None, loss: Loss) -> Unit:
    """The unit with the public factor of each label; without labels those that the mapping names."""
    if class_weight is None:
        return unit
    if not loss.classification:
        rule = f'must be None with model="{model_of(loss)}"'
        raise ValueError(sentence("class_weight", rule, class_weight, "Numbers have no classes: use sample_weight."))
    if not isinstance(class_weight, Mapping):
        remedy = "Give public factors, such as {'no': 1, 'yes': 3}: 'balanced' would take them from the private labels."
        raise TypeError(sentence("class_weight", "must be a mapping of labels to factors", class_weight, remedy))
    factors = {_plain(label): factor for label, factor in class_weight.items()}
    classes = of.classes.tolist() if isinstance(of, Labels) else of
    labels = _ordered(factors) if classes is None else [_plain(label) for label in classes]
    if set(factors) != set(labels) or len(factors) < 2:
        rule = f"must name every label, {labels}" if classes is not None else "must name every label"
        raise ValueError(sentence("class_weight", rule, list(factors), "Give each a public factor."))
    for label, factor in factors.items():
        if isinstance(factor, bool) or not isinstance(factor, (int, float, np.number)):
            raise TypeError(sentence("class_weight", f"must be a number for {label!r}", factor))
        if not 0 < real_number(f"class_weight[{label!r}]", factor) < math.inf:
            remedy = "A label that must not count belongs into no row: leave such rows out by public rules."
            raise ValueError(sentence("class_weight", f"must be positive and finite for {label!r}", factor, remedy))
    return replace(unit, class_weights=tuple((str(label), float(factors[label])) for label in labels))


def _ordered(labels: Iterable[Any]) -> list[Any]:
    try:
        return sorted(labels)
    except TypeError:
        rule, remedy = "must name labels of one type", "Name them as y has them."
        raise TypeError(sentence("class_weight", rule, list(labels), remedy)) from None


def _plain(label: Any) -> Any:
    return label.item() if isinstance(label, np.generic) else label


# ---- how many there are, and how many would fit ----


def count_rows(stream: Stream) -> int:
    """The number of rows: as parts say, or counted in a pass. Raises ValueError where there are none."""
    if stream.count is None:
        parts, table = stream.parts, as_table(stream.parts.empty)
        one = parts.chosen(() if table is None else table.columns[:1])
        stream.count = (one_pass(one, CountPass()) or 0) if parts.rows is None else parts.rows
    return _at_least_one(stream.count)


def count_persons(stream: Stream, person: str) -> tuple[int, PersonCounts]:
    """The number of rows, and how many each person has; ValueError for rows without an id.

    They are counted once in files, whose changes are seen, and anew for every fit of what may be other rows by then.
    """
    if not stream.parts.is_local:
        rule = "must be None where rows lie on a cluster: ids stay there"
        raise ValueError(sentence("person", rule, person, "Read the rows on this machine."))
    if person not in stream.persons or not lasting(stream.parts):
        job = PersonPass(person)
        stream.persons[person] = job.result(one_pass(stream.parts.chosen((person,)), job))
    count, counts = stream.persons[person]
    return _at_least_one(count), counts


def _at_least_one(rows: int) -> int:
    if not rows:
        raise ValueError(sentence("X", "must have at least one row", rows))
    return rows


def count_units(X: Any, person: str | None) -> int:
    """The number of persons of a table or a stream, or of rows where nobody tells persons apart."""
    if isinstance(X, Stream):
        return count_rows(X) if person is None else len(count_persons(X, person)[1])
    return len(X) if person is None else row_weights(len(X), Unit(person), X[person]).units


def too_many(rows: Any, error: MemoryError) -> MemoryError:
    """The error that says how many of the rows would fit; it is for the data holder."""
    try:
        count = 0 if isinstance(rows, str) else len(rows)  # the name of a column that is streamed says nothing
    except TypeError:
        count = 0
    # Bytes of the array that NumPy could not make; other errors do not say.
    dtype = getattr(error, "dtype", None)
    request = 0 if dtype is None else math.prod(getattr(error, "shape", ())) * int(dtype.itemsize)
    limit = memory_limit()
    had = limit or memory_used()
    within = "" if limit is None else f" of {limit >> 20} MiB"
    got = f"got {count} rows, and it ran out" if count else "it ran out"
    most = f" At most about {rounded(count * had // (had + request))} rows fit." if count and request and had else ""
    return MemoryError(f"`X` and what the fit makes of it must fit into memory{within}; {got}.{most} {REMEDY}")
