"""Another model from the same release: post-processing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, replace
from typing import Any

from sklearn.base import clone

from dplr._kit.validation import check_choice, sentence
from dplr.fitting.options import check_l2
from dplr.fitting.planning import solution
from dplr.fitting.run import Release
from dplr.mechanisms import SHORTHANDS
from dplr.mechanisms.protocol import AIMS, Refitting
from dplr.privacy.statement import PrivacyStatement
from dplr.problem.losses import Loss
from dplr.summary.columns import positions

SAME_RELEASE = "another model from an earlier release: no further privacy loss"


def refit(
    fitted: Any,
    l2: float | str | None,
    approximation: str | None,
    aim: str | None,
    columns: Sequence[str] | None,
) -> Any:
    """A new fitted estimator: see `PrivateLinearModel.refit`."""
    record: Release = fitted._record
    mechanism: Any = record.mechanism  # a frozen dataclass of options
    plan, parts = record.plan, record.parts
    if not isinstance(record.mechanism, Refitting):
        those = " or ".join(f'"{name}"' for name, about in SHORTHANDS.items() if issubclass(about.kind, Refitting))
        remedy = "Only there do the released numbers hold more than one model."
        raise ValueError(sentence("mechanism", f"must be {those} to refit without data", mechanism.about.name, remedy))
    if approximation is not None:
        if "approximation" not in {option.name for option in fields(mechanism)}:
            rule = f'must be None with mechanism="{mechanism.about.name}"'
            raise ValueError(sentence("approximation", rule, approximation))
        mechanism = replace(mechanism, approximation=approximation)
    if aim is not None:
        mechanism = _aimed(mechanism, check_choice("aim", aim, AIMS), plan.problem.loss, approximation)
    if columns is not None:
        mechanism = replace(mechanism, columns=positions(fitted.coef_names_, record.prep.layout, columns))
    if l2 is not None:
        plan = replace(plan, problem=replace(plan.problem, l2=check_l2(l2)))
        mechanism.check(plan.problem)
    statement: PrivacyStatement = fitted.privacy_
    words = (*solution(mechanism, plan.problem, statement.eps), SAME_RELEASE)
    plan = replace(plan, mechanism=mechanism, statement=replace(plan.statement, solution=words))
    statement = replace(statement, solution=words)
    model = clone(fitted).set_params(  # the parameters of the release, whatever was set since
        mechanism=mechanism,
        eps=statement.eps,
        delta=statement.delta,
        neighbouring=str(statement.neighbouring),
        l2="auto" if plan.problem.l2 is None else plan.problem.l2,
        public=fitted.public,
        aim=AIMS[0],  # the mechanism has its options already
    )
    columns_and_labels = ("n_features_in_", "feature_names_in_", "classes_", "outcome_", "target_name_")
    for name in (*columns_and_labels, "_weight_column", "_searched"):
        if hasattr(fitted, name):
            setattr(model, name, getattr(fitted, name))
    coefs = mechanism.solve(plan, parts)
    return model._take(replace(record, plan=plan, statement=statement, coefs=coefs, models=coefs))


def _aimed(mechanism: Any, aim: str, loss: Loss, approximation: str | None) -> Any:
    """The mechanism with the usual options of an aim; an approximation that was asked for stays."""
    defaults = type(mechanism)()
    aimed = defaults.unbiased(loss)
    override = {"approximation": approximation} if approximation is not None else {}
    template = defaults if aim == AIMS[0] else aimed
    names = [
        option.name for option in fields(defaults) if getattr(defaults, option.name) != getattr(aimed, option.name)
    ]
    return replace(mechanism, **({name: getattr(template, name) for name in names} | override))
