"""Public facts of a fit as a user gives them where there is no table."""

from __future__ import annotations

from collections.abc import Callable
from typing import ParamSpec, TypedDict, TypeVar

from dplr._kit.keywords import suggests
from dplr._kit.validation import check_count, sentence
from dplr.bounds.declared import BoundsLike, as_bounds, codebook_of
from dplr.fitting.planning import PublicFacts
from dplr.fitting.pretraining import PublicLike, column_names
from dplr.fitting.units import ClassWeight, UnitDeclaration, with_classes
from dplr.mechanisms.automatic import AUTO
from dplr.mechanisms.protocol import AIMS, MechanismLike
from dplr.privacy.guarantees import Neighbouring
from dplr.problem.losses import Loss, known_loss
from dplr.rows import declared_classes

P = ParamSpec("P")
R = TypeVar("R")


class FitFacts(TypedDict, total=False):
    """Parameters that `dplr.plan` and `dplr.fit` have alike, of the same types."""

    bounds: BoundsLike
    mechanism: MechanismLike
    fit_intercept: bool
    l2: float | str
    neighbouring: str
    public: PublicLike
    curves: int | str | None
    aim: str


class Facts(FitFacts, total=False):
    """Parameters of `dplr.plan` that a simulation or an audit passes on as they are."""

    n_features: int | None
    model: str | Loss
    person: str | None


def takes_facts(function: Callable[P, R]) -> Callable[P, R]:
    """Refuse keywords that neither the function nor `Facts` has."""
    return suggests(function, Facts.__annotations__)


def public_facts(
    *,
    n_rows: int | None = None,
    n_features: int | None = None,
    bounds: BoundsLike = None,
    model: str | Loss = "logistic",
    mechanism: MechanismLike = AUTO,
    delta: float = 0.0,
    fit_intercept: bool = True,
    l2: float | str = "auto",
    neighbouring: str = Neighbouring.REPLACE_ONE,
    public: PublicLike = None,
    curves: int | str | None = None,
    aim: str = AIMS[0],
    person: str | None = None,
    class_weight: ClassWeight = None,
) -> PublicFacts:
    """The facts that a user gives where there is no table: see `dplr.plan`."""
    declared = as_bounds(bounds)
    codebook = codebook_of(declared)
    if codebook is not None and n_features is None:
        n_features = len(codebook.columns)
    if n_features is None:
        raise ValueError(sentence("n_features", "is required without bounds", None))
    loss = known_loss(model)
    classes = codebook.target_classes() if codebook is not None and loss.classification else None
    if classes is not None:
        classes = tuple(declared_classes(classes).tolist())
    unit = UnitDeclaration.of(person, declared).unit()
    return PublicFacts(
        loss=loss,
        mechanism=mechanism,
        delta=delta,
        bounds=codebook,
        fit_intercept=fit_intercept,
        l2=l2,
        neighbouring=neighbouring,
        public=public,
        curves=curves,
        aim=aim,
        n_rows=None if n_rows is None else check_count("n_rows", n_rows),
        n_features=check_count("n_features", n_features),
        columns=codebook.names if codebook is not None else None,
        classes=classes,
        unit=with_classes(unit, class_weight, classes, loss),
        public_columns=column_names(public),
    )
