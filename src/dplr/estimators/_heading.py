"""The title, facts and advice of a table, and the table of a model whose release allows no intervals."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from dplr.estimators._totals import total_words
from dplr.fitting.outlook import expected
from dplr.fitting.release import Record
from dplr.mechanisms import SHORTHANDS
from dplr.privacy.estimand import Estimand
from dplr.privacy.guarantees import Neighbouring
from dplr.privacy.statement import MOVED, PrivacyStatement, alarms, delta_number
from dplr.privacy.unit import Unit
from dplr.problem.losses import Loss
from dplr.summary.released import Coefficients, released_table
from dplr.summary.render import SUM
from dplr.summary.table import Summary

MODELS = {
    "logistic": "Logistic regression",
    "svm": "Linear support vector machine",
    "linear": "Linear regression",
    "huber": "Robust linear regression",
    "poisson": "Poisson regression",
    "margin": "Linear classifier",
    "residual": "Linear regression",
}


def title_of(fitted: Any) -> str:
    """The title of a table: model and mechanism."""
    about = SHORTHANDS[fitted._record.mechanism.about.name]
    return f"{MODELS[getattr(fitted, '_kind', 'logistic')]} by {about.title}"


def facts_of(statement: PrivacyStatement, target: str, n_rows: float | None, summed: bool = False) -> dict[str, str]:
    """The facts of a table: the target, the number of units or, `summed`, the sum of their weights, and the cost.

    Weights are released in parts of the largest one.
    """
    unit = statement.unit
    if summed and n_rows is not None:
        n_rows *= (unit.weight_max or 1.0) * max((factor for _, factor in unit.class_weights), default=1.0)
    n = "unknown" if n_rows is None else f"{n_rows:,.0f}"
    if n_rows is not None and statement.neighbouring is Neighbouring.ADD_REMOVE:
        n = f"about {n}"  # a noisy count, or a reference that was declared
    if n_rows is not None and unit.person is not None:
        n += f" {unit.many}"
    return {
        "target": target,
        SUM if summed else "n": n,
        "eps": "inf (no privacy)" if math.isinf(statement.eps) else f"{statement.eps:g}",
        "delta": delta_number(statement.delta),
        "neighbouring": str(statement.neighbouring),
    }


def notes_of_target(loss: Loss, target: tuple[float, float] | None, unit: Unit) -> list[str]:
    """The notes of a table about its target, and about rows that do not count whole."""
    notes = []
    if loss.link == "log" and target is not None:
        notes.append(
            f"Counts above {target[1]:g} count as {target[1]:g}, and fitted means are cut there: where many rows are "
            "near it, coefficients are not logarithms of the mean."
        )
    if loss.estimand is Estimand.LOCATION and target is not None:
        width = loss.width * (target[1] - target[0]) / 2
        notes.append(f"Robust location: a residual counts less the longer it is, and no more than one of {width:.4g}.")
    if unit.person is not None:
        few = "" if unit.rows_per_person == 1 else f", and as 1/{unit.rows_per_person} where there are fewer"
        notes.append(f"A row of a person with m rows counts as 1/m{few}.")
    if unit.class_weights:
        factors = ", ".join(f"{label}: {factor:g}" for label, factor in unit.class_weights)
        notes.append(f"Labels have weights ({factors}): intercept and probabilities are those of reweighted rows.")
    return notes


def target_of(fitted: Any) -> str:
    """The target, or the label that the model is about."""
    target = fitted.target_name_ or "y"
    outcome = getattr(fitted, "outcome_", None)
    return str(target) if outcome is None else f"{target} = {outcome}"


def drowned(fitted: Any) -> tuple[str, ...]:
    """The advice of a table where noise drowns the fit, or the sum of its predictions; empty where it does not."""
    record: Record = fitted._record
    outlook = expected(record.mechanism, record.plan, fitted.privacy_.eps)
    return (str(outlook),) if outlook is not None and outlook.drowned else total_words(fitted)


def table_without(fitted: Any, obstacle: str, notes: tuple[str, ...]) -> Summary:
    """The table of a model whose release allows no intervals, and why."""
    record: Record = fitted._record
    statement = record.plan.statement  # of one model alone
    coef = np.atleast_2d(fitted.coef_)
    coefficients = Coefficients(
        names=fitted.coef_names_,
        coef=coef,
        intercept=np.broadcast_to(np.asarray(fitted.intercept_, np.float64), len(coef)),
        labels=[str(label) for label in fitted.classes_.tolist()] if len(coef) > 1 else [""],
        prep=record.prep,
        deviation=0.0 if math.isinf(statement.eps) else record.mechanism.coef_noise(statement),
        moved=MOVED in statement.solution,
    )
    public = statement.neighbouring is Neighbouring.REPLACE_ONE
    facts = facts_of(fitted.privacy_, target_of(fitted), record.plan.problem.n_rows if public else None)
    estimand = statement.estimand or Estimand.MARGIN  # where a mechanism says nothing
    return released_table(
        coefficients, estimand, title_of(fitted), facts, obstacle, alarms(fitted.privacy_), drowned(fitted), notes
    )
