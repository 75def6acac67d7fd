"""The unit that a fit protects, and weights of rows, as parameters and bounds declare them: public facts alone."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dplr._kit.validation import check_positive, real_number, sentence
from dplr.bounds.declared import Bounds
from dplr.bounds.units import check_name, check_rows_per_person
from dplr.privacy.unit import Unit
from dplr.problem.losses import Loss, model_of

ClassWeight = Mapping[Any, float] | None
USUAL_CAP = "About twice the population over the sample is usual, which a survey's documentation says."


@dataclass(frozen=True, slots=True)
class UnitDeclaration:
    """The declaration of persons and weights.

    Attributes
    ----------
    person, weight : the columns of ids and of weights; None for none.
    rows_per_person : k of `Unit`.
    weight_max : what weights are clipped to; None where rows have none.
    """

    person: str | None = None
    rows_per_person: int = 1
    weight: str | None = None
    weight_max: float | None = None

    @classmethod
    def of(cls, person: Any, rows_per_person: Any, weight_bounds: Any, bounds: Bounds | None) -> UnitDeclaration:
        """Parameters and bounds together; refused where they contradict each other."""
        parameters = cls(
            None if person is None else check_name("person", person),
            check_rows_per_person(rows_per_person),
            None,
            None if weight_bounds is None else _cap(weight_bounds),
        )
        if bounds is None:
            return parameters
        columns = cls(bounds.person, bounds.rows_per_person, bounds.weight, bounds.weight_max)
        declared: dict[str, Any] = {"weight": columns.weight}
        for name, silent in (("person", None), ("rows_per_person", 1), ("weight_max", None)):
            ours, theirs = getattr(parameters, name), getattr(columns, name)
            if silent not in (ours, theirs) and ours != theirs:
                shown, got = ("weight_bounds", (0, ours)) if name == "weight_max" else (name, ours)
                rule = f"must be {(0, theirs) if name == 'weight_max' else theirs!r}, as the bounds say"
                raise ValueError(sentence(shown, rule, got, "Declare it in one place."))
            if ours == silent:
                declared[name] = theirs
        return replace(parameters, **declared)

    def unit(self, label: str | None = None) -> Unit:
        """The unit, of persons under this label where the ids came from no declared column."""
        person = self.person or label
        if person is None and self.rows_per_person != 1:
            remedy = "Name the column of the ids: person='id'."
            raise ValueError(sentence("rows_per_person", "must be 1 without persons", self.rows_per_person, remedy))
        return Unit(person, self.rows_per_person, self.weight_max)


def _cap(weight_bounds: Any) -> float:
    """W of (0, W)."""
    listed = isinstance(weight_bounds, (Sequence, np.ndarray)) and not isinstance(weight_bounds, (str, bytes))
    if not listed or len(weight_bounds) != 2:
        raise ValueError(sentence("weight_bounds", "must be a pair (0, W)", weight_bounds, USUAL_CAP))
    low, high = weight_bounds
    if isinstance(low, bool) or low != 0:
        remedy = "Weights are clipped from above: give (0, W)."
        raise ValueError(sentence("weight_bounds", "must begin at 0", low, remedy))
    return check_positive("weight_bounds", high)


def refuse_units(bounds: Bounds | None, where: str) -> None:
    """Raise ValueError for bounds with persons or weights, for a release that protects records alone."""
    named = {} if bounds is None else {"person": bounds.person, "weight": bounds.weight}
    for name, column in named.items():
        if column is not None:
            remedy = "It protects one record, and every record counts alike: leave it out of the bounds."
            raise ValueError(sentence("bounds", f"must declare no `{name}` {where}", column, remedy))


def with_classes(unit: Unit, class_weight: ClassWeight, classes: Sequence[Any] | None, loss: Loss) -> Unit:
    """The unit with the public factor of each label; without labels those that the mapping names."""
    if class_weight is None:
        return unit
    if not loss.classification:
        rule = f'must be None with model="{model_of(loss)}"'
        raise ValueError(sentence("class_weight", rule, class_weight, "Numbers have no classes: use sample_weight."))
    factors = factors_of(class_weight, classes)
    return replace(unit, class_weights=tuple((str(label), factor) for label, factor in factors))


def factors_of(class_weight: Any, classes: Sequence[Any] | None) -> list[tuple[Any, float]]:
    """Label and factor, in the order of the labels, each named once."""
    if not isinstance(class_weight, Mapping):
        remedy = "Give public factors, such as {'no': 1, 'yes': 3}: 'balanced' would take them from the private labels."
        raise TypeError(sentence("class_weight", "must be a mapping of labels to factors", class_weight, remedy))
    factors = {_plain(label): factor for label, factor in class_weight.items()}
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
    return [(label, float(factors[label])) for label in labels]


def _ordered(labels: Iterable[Any]) -> list[Any]:
    try:
        return sorted(labels)
    except TypeError:
        rule, remedy = "must name labels of one type", "Name them as y has them."
        raise TypeError(sentence("class_weight", rule, list(labels), remedy)) from None


def _plain(label: Any) -> Any:
    return label.item() if isinstance(label, np.generic) else label
