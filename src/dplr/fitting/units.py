"""The unit that a fit protects, and weights of rows, as parameters and bounds declare them: public facts alone."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from dplr._kit.validation import real_number, sentence
from dplr.bounds.beside import check_name
from dplr.bounds.declared import Bounds
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
    def of(cls, person: Any, *declared: Bounds | None) -> UnitDeclaration:
        """A parameter and bounds together; refused where they contradict each other."""
        facts = asdict(cls(None if person is None else check_name("person", person)))
        for bounds in declared:
            for name, silent in asdict(cls()).items() if bounds is not None else ():
                ours, theirs = facts[name], getattr(bounds, name)
                if silent not in (ours, theirs) and ours != theirs:
                    rule = f"must be {theirs!r}, as the bounds say"
                    raise ValueError(sentence(name, rule, ours, "Declare it in one place."))
                facts[name] = theirs if ours == silent else ours
        return cls(**facts)

    def unit(self, label: str | None = None) -> Unit:
        """The unit, of persons under this label where the ids came from no declared column."""
        person = self.person or label
        if person is None and self.rows_per_person != 1:
            remedy = "Name the column of the ids: person='id'."
            raise ValueError(sentence("rows_per_person", "must be 1 without persons", self.rows_per_person, remedy))
        return Unit(person, self.rows_per_person, self.weight_max)


def refuse_units(bounds: Bounds | None, where: str) -> None:
    """Raise ValueError for bounds with persons or weights, for a release that protects records alone."""
    for name, silent in asdict(UnitDeclaration()).items() if bounds is not None else ():
        if (value := getattr(bounds, name)) != silent:
            remedy = "It protects one record, and every record counts alike: leave it out of the bounds."
            raise ValueError(sentence("bounds", f"must declare no `{name}` {where}", value, remedy))


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
