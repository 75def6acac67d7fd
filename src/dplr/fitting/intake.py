"""The rows of a fit before it begins: ids and weights apart from X, and one interface for memory and streams."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from dplr._kit.validation import sentence
from dplr.bounds.beside import check_name
from dplr.bounds.declared import Bounds
from dplr.bounds.scaling import Prep
from dplr.fitting.planning import PublicFacts
from dplr.fitting.units import USUAL_CAP, ClassWeight, UnitDeclaration, with_classes
from dplr.privacy.unit import Unit
from dplr.problem.losses import Loss
from dplr.problem.plan import Plan
from dplr.rows import (
    ArrayRows,
    BoundsNotice,
    FaultyRows,
    LabelRule,
    Labels,
    Rows,
    RowWeights,
    Table,
    Target,
    as_table,
    check_indexes,
    class_factors,
    explained,
    row_weights,
    warn_narrow,
)

_UNNAMED = "person"  # a label for ids that have no name


@dataclass(frozen=True, eq=False, repr=False, slots=True)
class RawRows:
    """A table without its columns of ids and weights, and these columns; it has no repr, so no error shows them.

    Attributes
    ----------
    X : the rows, without these columns.
    ids, weights : (n,) of any library; None for none.
    unit : the unit that the fit protects, without the factors of labels.
    weight_column : the column of X that held the weights; None for none.
    """

    X: Any
    ids: Any
    weights: Any
    unit: Unit
    weight_column: str | None


class Intake(ABC):
    """The rows of a fit, with checked shapes and types; no value is read except ids of persons.

    Attributes
    ----------
    labels : of a classifier; None for a numeric target.
    """

    __slots__ = ()
    labels: Labels | None

    @property
    @abstractmethod
    def units(self) -> int:
        """The number of persons, or of rows."""

    @abstractmethod
    def labelled(self, rule: LabelRule | None, y: Target) -> Self:
        """These rows, with labels by a rule; None for numbers."""

    @abstractmethod
    def counted(self, data: RawRows, class_weight: ClassWeight, loss: Loss) -> tuple[Self, Unit]:
        """These rows, with their number and weights, and the whole unit."""

    @abstractmethod
    def rows(self, facts: PublicFacts, position: int | None, told: BoundsNotice | None = None) -> Rows:
        """The rows of one class against the rest; None: of all."""

    def check_plans(self, plans: Sequence[Plan]) -> None:  # noqa: B027
        """Refuse plans that these rows cannot serve, before anything is reserved."""

    def warn_narrow(self, prep: Prep) -> None:  # noqa: B027
        """Warn of target bounds that are far wider than the target, where this needs no pass over the rows."""

    @abstractmethod
    def explained(self, error: FaultyRows) -> str:
        """The sentence for the data holder about faulty rows."""


@dataclass(frozen=True, eq=False, slots=True)
class InMemory(Intake):
    """Rows in memory.

    Attributes
    ----------
    X, y : the rows and their target.
    labels : of a classifier; None for a numeric target.
    weights : weights of the rows; None where every row has weight 1.
    """

    X: Any
    y: Target
    labels: Labels | None = None
    weights: RowWeights | None = None

    def labelled(self, rule: LabelRule | None, y: Target) -> Self:
        return self if rule is None else replace(self, labels=rule.of(y))

    def counted(self, data: RawRows, class_weight: ClassWeight, loss: Loss) -> tuple[Self, Unit]:
        labels = self.labels
        unit = with_classes(data.unit, class_weight, None if labels is None else labels.classes.tolist(), loss)
        if not unit.weighted:
            return self, unit
        weights = row_weights(len(self.y), unit, data.ids, data.weights, class_factors(labels, unit))
        return replace(self, weights=weights), unit

    @property
    def units(self) -> int:
        return len(self.y) if self.weights is None else self.weights.units

    @property
    def codes(self) -> NDArray[Any]:
        """(n,) the numbers of the target, or those that stand for two labels."""
        return self.y.values if self.labels is None else self.labels.y

    def rows(self, facts: PublicFacts, position: int | None, told: BoundsNotice | None = None) -> Rows:
        labels, y = self.labels, self.y.values
        if labels is not None:
            y = labels.against_the_rest(position) if facts.model_labels else labels.y
        return ArrayRows(self.X, y, facts.prep, weights=self.weights, told=told)

    def warn_narrow(self, prep: Prep) -> None:
        if prep.target is not None:
            warn_narrow(self.y, prep.target)

    def explained(self, error: FaultyRows) -> str:
        """The sentence that names some of the faulty values."""
        return explained(error, self.y, self.labels)

    def take(self, indices: NDArray[np.intp]) -> InMemory:
        """Some of the rows."""
        rows = self.X.take(indices) if isinstance(self.X, Table) else self.X[indices]
        labels = None if self.labels is None else self.labels.take(indices)
        weights = None if self.weights is None else self.weights.take(indices)
        return InMemory(rows, self.y.take(indices), labels, weights)


def raw_rows(
    X: Any, declared: UnitDeclaration, bounds: Bounds | None, sample_weight: Any = None, person: Any = None,
    **beside: Any,
) -> RawRows:  # fmt: skip
    """The data of a fit, its ids and weights apart from X. No value is looked at.

    `beside` is what else has an entry for each row: y, or answers of models. Raises ValueError or TypeError where ids
    or weights are given twice, or not where they are declared, or undeclared; and for indexes of other orders.
    """
    check_indexes(X=X, **beside, person=person, sample_weight=sample_weight)
    column, ids = _source("person", person, declared.person)
    weight_column, weights = _source("sample_weight", sample_weight, declared.weight)
    weighted = weight_column is not None or weights is not None
    if weighted is (declared.weight_max is None):
        if weighted:
            remedy = f"Give bounds=Bounds(..., weight_max=W) from public knowledge. {USUAL_CAP}"
            raise ValueError(sentence("weight_max", "is required with sample_weight", None, remedy))
        remedy = "Give them to `fit`, as an array or as the name of a column; or leave weight_max out of the bounds."
        raise ValueError(sentence("sample_weight", "is required with weight_max", None, remedy))
    names = [name for name in (column, weight_column) if name is not None]
    if len(set(names)) < len(names):
        raise ValueError(sentence("sample_weight", "must not be the column of the ids", weight_column))
    rest, columns = without(X, names, bounds)
    ids = columns.get(column, ids)
    unit = declared.unit(None if ids is None else column or _label(ids))
    _check_apart(rest, unit.person, declared.weight)
    return RawRows(rest, ids, columns.get(weight_column, weights), unit, weight_column)


def without(X: Any, names: Sequence[str], bounds: Bounds | None) -> tuple[Any, dict[str | None, Any]]:
    """A table without these columns, and the columns."""
    if not names:
        return X, {}
    table = None if type(X) is np.ndarray else as_table(X)
    for name in names:
        if bounds is not None and bounds.names is not None and name in bounds.names:
            remedy = "Ids and weights are not features: take it out of the bounds."
            raise ValueError(sentence("bounds", "must not name the column of ids or weights", name, remedy))
        if table is None or name not in table.columns:
            got = type(X).__name__ if table is None else list(table.columns)
            remedy = "Correct the name, or give the values to `fit`: person=ids, sample_weight=weights."
            raise ValueError(sentence("X", f"must have the column {name!r}", got, remedy))
    assert table is not None
    places = {name: table.columns.index(name) for name in names}
    columns: dict[str | None, Any] = {
        name: table.column(place, slice(None)).to_native() for name, place in places.items()
    }
    return table.without(list(places.values())).native, columns


def features_alone(X: Any, person: str | None, weight_column: str | None) -> Any:
    """A table to predict, without the columns of ids and weights; they may be missing."""
    ignored = {person, weight_column} - {None}
    table = as_table(X) if ignored and type(X) is not np.ndarray else None
    if table is None:
        return X
    places = [place for place, name in enumerate(table.columns) if name in ignored]
    return table.without(places).native if places else X


def _source(parameter: str, value: Any, declared: str | None) -> tuple[str | None, Any]:
    """The column of X that holds ids or weights, or None and the values."""
    if value is None:
        return declared, None
    if not isinstance(value, str):
        return None, value
    if declared is not None and value != declared:
        raise ValueError(sentence(parameter, f"must be {declared!r}, which was declared", value, "Leave it out."))
    return check_name(parameter, value), None


def _label(ids: Any) -> str:
    """The name of a Series, where it can be written."""
    name = getattr(ids, "name", None)
    if not isinstance(name, str) or not name:
        return _UNNAMED
    try:
        return check_name("person", name)
    except ValueError:
        return _UNNAMED


def _check_apart(X: Any, person: str | None, weight: str | None) -> None:
    """Ids given beside X must not be among its features too."""
    table = None if type(X) is np.ndarray else as_table(X)
    for parameter, name in (("person", person), ("sample_weight", weight)):
        if table is not None and name in table.columns:
            remedy = "Give them once: leave the parameter out, or take the column out of X."
            raise ValueError(sentence(parameter, f"must not be given beside a column {name!r} of X", "both", remedy))
