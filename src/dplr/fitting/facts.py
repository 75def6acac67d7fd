"""Public facts of a fit as a user gives them where there is no table."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

from dplr._kit.keywords import suggests
from dplr._kit.validation import check_count, sentence
from dplr.bounds.declared import BoundsLike, as_bounds, codebook_of
from dplr.fitting.data import ClassWeight, declared_unit, of_persons, with_classes
from dplr.fitting.options import PLANNED, PlanKeywords, declared, takes
from dplr.fitting.planning import PublicFacts
from dplr.fitting.pretraining import column_names
from dplr.problem.losses import Loss, known_loss
from dplr.rows import declared_classes

P = ParamSpec("P")
R = TypeVar("R")


def takes_facts(function: Callable[P, R]) -> Callable[P, R]:
    """Refuse keywords that neither the function nor `PlanKeywords` has."""
    return suggests(function, PlanKeywords.__annotations__)


@takes(declared(*PLANNED))
def public_facts(
    *,
    n_rows: int | None = None,
    n_features: int | None = None,
    bounds: BoundsLike = None,
    model: str | Loss = "logistic",
    person: str | None = None,
    class_weight: ClassWeight = None,
    **options: Any,
) -> PublicFacts:
    """The facts that a user gives where there is no table: see `dplr.plan`."""
    everything = as_bounds(bounds)
    codebook = codebook_of(everything)
    if codebook is not None and n_features is None:
        n_features = len(codebook.columns)
    if n_features is None:
        raise ValueError(sentence("n_features", "is required without bounds", None))
    loss = known_loss(model)
    classes = codebook.target_classes() if codebook is not None and loss.classification else None
    if classes is not None:
        classes = tuple(declared_classes(classes).tolist())
    unit = of_persons(declared_unit(person, everything)[0])
    return PublicFacts(
        loss=loss,
        bounds=codebook,
        n_rows=None if n_rows is None else check_count("n_rows", n_rows),
        n_features=check_count("n_features", n_features),
        columns=codebook.names if codebook is not None else None,
        classes=classes,
        unit=with_classes(unit, class_weight, classes, loss),
        public_columns=column_names(options.get("public")),
        **options,
    )
