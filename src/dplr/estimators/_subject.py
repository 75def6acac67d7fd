"""What a table of a fitted model is made of: its title, facts, notes and advice, and its released equations."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dplr._kit.validation import capital, sentence
from dplr.estimators._totals import total_words
from dplr.fitting.aims import full_factors
from dplr.fitting.run import Release
from dplr.mechanisms.protocol import Refitting, Tabled, chosen_columns
from dplr.privacy.estimand import Estimand
from dplr.privacy.guarantees import Neighbouring
from dplr.privacy.statement import MOVED, PrivacyStatement, alarms, delta_number
from dplr.privacy.unit import Unit
from dplr.problem.geometry import GRID
from dplr.problem.losses import Loss
from dplr.summary.clipped import clippings
from dplr.summary.columns import compared_with, groups_of, parts_of_curves, positions
from dplr.summary.equations import equations_of, readings_of
from dplr.summary.released import Coefficients, released_table
from dplr.summary.render import SUM
from dplr.summary.subject import Subject, notes_of
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
_SEARCHED = ("The model was chosen among several on the same rows; the intervals do not count that.",)
# What does not need equal variances: another aim, or where that was taken a model whose columns are those of the table.
_ROBUST, _OWN_FIT = "; aim='coefficients' does not need it", "; a fit of these columns alone does not need it"
_MONOTONE = "its curves were made monotone after the release, which is about the curves before"


def obstacle_of(fitted: Any) -> str:
    """Why the release of a model allows no intervals; empty where it does."""
    record: Release = fitted._record
    if fitted._monotone and not isinstance(record.mechanism, Refitting):  # whose equation is about the coefficients
        return _MONOTONE
    return record.mechanism.lacks_intervals(record.plan)


def subject_of(fitted: Any, columns: Sequence[str] | None) -> Subject:
    """The subject of a model's tables; raises ValueError where its release allows none, and says why."""
    record, statement = fitted._record, fitted.privacy_
    mechanism, prep, loss, unit = record.mechanism, record.prep, record.plan.problem.loss, record.plan.problem.unit
    if lacking := obstacle_of(fitted):
        rule = "must release what confidence intervals need"
        raise ValueError(sentence("mechanism", rule, mechanism.about.name, f"{capital(lacking)}."))
    assert isinstance(mechanism, Tabled)
    coefs = [np.zeros(0)] * len(record.parts) if isinstance(mechanism, Refitting) else _scaled(fitted)
    readings = readings_of(record, coefs)
    clustered, robust = any(each.clustered for each in readings), any(each.robust for each in readings)
    names, weighted = fitted.coef_names_, bool(statement.unit.weighted)
    kept = chosen_columns(mechanism)
    if columns is not None:
        places = positions(names, prep.layout, columns)
        kept = places if kept is None else within(names, places, kept)
    if kept is not None and (mechanism.whole or clustered):
        remedy = "The equation of a score holds for its own columns alone: fit a model of these."
        if clustered:
            remedy = "How rows of one person depend on each other was released for all columns: fit a model of these."
        rule = "with persons" if clustered else f'with mechanism="{mechanism.about.name}"'
        raise ValueError(sentence("columns", f"must be None {rule}", columns, remedy))
    labels = _labels(fitted, len(readings))
    selection, equations = equations_of(record, readings, names, labels, kept)
    summed = weighted and not mechanism.whole and unit.person is None
    return Subject(
        equations=equations,
        names=selection.names,
        references=selection.references,
        title=title_of(fitted),
        facts=facts_of(statement, target_of(fitted), readings[0].n_rows, summed),
        notes=(
            *notes_of(prep.layout, selection.names, selection.references),
            *_notes_of_target(loss, prep.target, statement.unit),
            *_searched(fitted),
        ),
        against=compared_with(prep.layout, selection.references, selection.coordinates),
        alarms=alarms(statement),
        advice=drowned(fitted),
        clipped={name: clipping for name, clipping in clippings(names, prep).items() if name in selection.names},
        full=full_factors(prep.layout),
        parts=parts_of_curves(prep.layout),
        groups=groups_of(prep.layout, selection.names),
        unit=math.nan if prep.labels or weighted else GRID / float(prep.scale[-1]),
        weighted=weighted,
        whole=mechanism.whole or clustered,
        counted="" if summed else statement.unit.many if clustered else "rows",
        otherwise="" if prep.labels else _OWN_FIT if robust else _ROBUST,
        boxed=prep.geometry.half_width is not None,
    )


def table_without(fitted: Any, obstacle: str) -> Summary:
    """The table of a model whose release allows no intervals, and why."""
    record: Release = fitted._record
    statement = record.plan.statement  # of one model alone
    coef = np.atleast_2d(fitted.coef_)
    coefficients = Coefficients(
        names=fitted.coef_names_,
        coef=coef,
        intercept=np.broadcast_to(np.asarray(fitted.intercept_, np.float64), len(coef)),
        labels=_labels(fitted, len(coef)),
        prep=record.prep,
        deviation=0.0 if math.isinf(statement.eps) else record.mechanism.coef_noise(statement),
        moved=MOVED in statement.solution,
    )
    public = statement.neighbouring is Neighbouring.REPLACE_ONE
    facts = facts_of(fitted.privacy_, target_of(fitted), record.plan.problem.n_rows if public else None)
    estimand, notes = statement.estimand or Estimand.MARGIN, _searched(fitted)  # where a mechanism says nothing
    words = title_of(fitted), facts, obstacle, alarms(fitted.privacy_), drowned(fitted), notes
    return released_table(coefficients, estimand, *words)


def title_of(fitted: Any) -> str:
    """The title of a table: model and mechanism."""
    return f"{MODELS[getattr(fitted, '_kind', 'logistic')]} by {fitted._record.mechanism.about.title}"


def target_of(fitted: Any) -> str:
    """The target, or the label that the model is about."""
    target = fitted.target_name_ or "y"
    outcome = getattr(fitted, "outcome_", None)
    return str(target) if outcome is None else f"{target} = {outcome}"


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


def drowned(fitted: Any) -> tuple[str, ...]:
    """The advice of a table where noise drowns the fit, or the sum of its predictions; empty where it does not."""
    record: Release = fitted._record
    outlook = record.plan.outlook_at(fitted.privacy_.eps)
    return (str(outlook),) if outlook is not None and outlook.drowned else total_words(fitted)


def within(names: Sequence[str], places: Sequence[int], kept: Sequence[int]) -> tuple[int, ...]:
    """The columns asked for, which must be those of the model."""
    missing = [names[j] for j in places if j not in kept]
    if missing:
        raise ValueError(sentence("columns", "must be columns of this model", ", ".join(missing), "It was refitted."))
    return tuple(places)


def _notes_of_target(loss: Loss, target: tuple[float, float] | None, unit: Unit) -> list[str]:
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


def _searched(fitted: Any) -> tuple[str, ...]:
    return _SEARCHED if fitted._searched else ()


def _labels(fitted: Any, count: int) -> list[str]:
    """The labels of that many models; one alone has none."""
    return [str(label) for label in fitted.classes_.tolist()] if count > 1 else [""]


def _scaled(fitted: Any) -> list[NDArray[np.float64]]:
    """The scaled coefficients of each model."""
    prep = fitted._record.prep
    pairs = zip(np.atleast_2d(fitted.coef_), np.atleast_1d(fitted.intercept_), strict=True)
    return [np.array(prep.from_user_units(coef, float(intercept))) for coef, intercept in pairs]
