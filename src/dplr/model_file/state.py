"""A fitted estimator as plain values and back: what was released and public facts, field by field.

Nothing is taken over as it stands: every field is named here, so nothing that is not named can get into a file.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from dplr.bounds.declared import MAX_FEATURES, Bounds, codebook_of, with_numbers
from dplr.bounds.fourier import FourierMap
from dplr.bounds.scaling import Prep
from dplr.estimators._models import ESTIMATORS, OWN, PrivateClassifier
from dplr.fitting.one_vs_rest import is_several
from dplr.fitting.options import limits_of
from dplr.fitting.planning import PublicFacts
from dplr.fitting.ranges import columns_of, intervals
from dplr.fitting.run import Release, clipped
from dplr.mechanisms.protocol import Mechanism, chosen_columns
from dplr.model_file.bounds import (
    plain_labels,
    read_bounds,
    read_classes,
    read_features,
    write_bounds,
    write_classes,
    write_features,
)
from dplr.model_file.evaluation import evaluation_of, read_evaluation, write_evaluation
from dplr.model_file.link import check_link, read_link, write_link
from dplr.model_file.loss import read_loss, write_loss
from dplr.model_file.monotone import check_monotone, read_monotone, write_monotone
from dplr.model_file.readers import (
    Reader,
    anything,
    array,
    choice,
    either,
    flag,
    integer,
    label_list,
    list_of,
    number,
    or_infinite,
    table,
    text,
)
from dplr.model_file.released import (
    read_histories,
    read_parts,
    read_ranges,
    write_histories,
    write_part,
    write_parts,
)
from dplr.model_file.rules import (
    check_blocks,
    check_clipped,
    check_coef_names,
    check_features,
    check_half_width,
    check_labels,
    check_mechanism,
    check_names,
    check_parameters,
)
from dplr.model_file.statement import finite, read_mechanism, read_statement, write_mechanism, write_statement
from dplr.model_file.strict_json import ModelFileError, refuse
from dplr.model_file.units import check_unit
from dplr.privacy.statement import PrivacyStatement
from dplr.privacy.unit import Unit
from dplr.problem.link import LOGIT
from dplr.problem.plan import Plan
from dplr.problem.problem import Problem
from dplr.rows import FROM_DATA

# Name -> how a parameter is read, and what is written of a fitted model.
_PARAMETERS: dict[str, tuple[Reader, Callable[[Any, Problem], Any]]] = {
    "eps": (or_infinite(number(0.0, above=True)), lambda fitted, _: finite(fitted.eps)),
    "delta": (number(0.0, 1.0), lambda fitted, _: float(fitted.delta)),
    "mechanism": (read_mechanism, lambda fitted, _: write_mechanism(fitted._record.mechanism)),
    "fit_intercept": (flag, lambda _, problem: problem.geometry.intercept > 0),
    "l2": (either("auto", number(0.0)), lambda _, problem: "auto" if problem.l2 is None else float(problem.l2)),
    "neighbouring": (choice("replace_one", "add_remove"), lambda _, problem: str(problem.neighbouring)),
    "n_rows": (either(None, integer(1, 2**63)), lambda fitted, _: fitted.n_rows and int(fitted.n_rows)),
}
_CLASSES_PARAMETER = either(None, either(FROM_DATA, label_list(2)))


def kinds() -> dict[str, Any]:
    """The estimators that a model file may hold, by the names of their classes."""
    return {kind.__name__: kind for kind in (*ESTIMATORS.values(), *OWN.values())}


def _kind(where: str, value: Any) -> str:
    name: str = choice(*kinds())(where, value)
    return name


def _parameters_of(kind: Any) -> Reader:
    classes = {"classes": _CLASSES_PARAMETER} if issubclass(kind, PrivateClassifier) else {}
    loss = {"loss": read_loss} if kind in OWN.values() else {}
    limits = {name: number(rule.least, rule.largest) for name, rule in limits_of(kind).items()}
    return table({name: reader for name, (reader, _) in _PARAMETERS.items()} | classes | loss | limits)


_NAMES = either(None, list_of(text, 1, MAX_FEATURES))
_MODEL: dict[str, Reader] = {
    "estimator": _kind,
    "parameters": anything,
    "bounds": read_bounds,
    "n_features": integer(1, MAX_FEATURES),
    "feature_names": _NAMES,
    "column_names": _NAMES,
    "coef_names": list_of(text, 1, MAX_FEATURES),
    "target_name": either(None, text),
    "half_width": either(None, number(0.0, 1.0, above=True)),
    "n_rows": either(None, integer(1, 2**63)),
    "start": anything,
    "classes": either(None, read_classes),
    "coef": anything,
    "intercept": anything,
    "statement": read_statement,
    "statement_of_one": either(None, read_statement),
    "ranges": anything,
    "released": anything,
    "history": anything,
}


# Keys that only files have whose models need them.
_FURTHER: dict[str, Reader] = {
    "features": read_features,
    "weight_column": text,
    "link": read_link,
    "monotone": read_monotone,
    "evaluation": read_evaluation,
}


def _plain_classes(classes: Any) -> Any:
    return classes if classes is None or isinstance(classes, str) else plain_labels(classes)


def values_of(fitted: Any) -> dict[str, Any]:
    """Everything of a fitted estimator that a model file holds."""
    record: Release = fitted._record
    problem, layout = record.plan.problem, record.prep.layout
    own = isinstance(fitted.bounds, Bounds) and fitted.curves is None
    bounds = codebook_of(fitted.bounds) if own else record.bounds
    names = getattr(fitted, "feature_names_in_", None)
    of_one, by_position = record.plan.statement, None
    if layout is not None and isinstance(bounds, Bounds) and layout.features != bounds.layout.features:
        by_position = list(layout.features)
    parameters = {name: write(fitted, problem) for name, (_, write) in _PARAMETERS.items()}
    if hasattr(fitted, "classes_"):
        parameters["classes"] = _plain_classes(fitted.classes)
    if hasattr(fitted, "loss"):
        parameters["loss"] = write_loss(fitted._loss())
    parameters |= {name: float(getattr(fitted, name)) for name in limits_of(fitted)}
    features = {} if record.features is None else {"features": write_features(record.features)}
    weights = {} if fitted._weight_column is None else {"weight_column": fitted._weight_column}
    return (
        {
            "estimator": type(fitted).__name__,
            "parameters": parameters,
            "bounds": write_bounds(bounds),
            "n_features": int(fitted.n_features_in_),
            "feature_names": None if names is None else [str(name) for name in names],
            "column_names": by_position,
            "coef_names": [str(name) for name in fitted.coef_names_],
            "target_name": fitted.target_name_,
            "half_width": record.prep.geometry.half_width,
            "n_rows": problem.n_rows,
            "start": None if problem.w0 is None else [float(coef) for coef in problem.w0],
            "classes": write_classes(fitted._labels) if hasattr(fitted, "classes_") else None,
            "coef": np.atleast_2d(fitted.coef_).tolist(),
            "intercept": np.atleast_1d(fitted.intercept_).tolist(),
            "statement": write_statement(fitted.privacy_),
            "statement_of_one": None if of_one == fitted.privacy_ else write_statement(of_one),
            "ranges": write_part(record.ranges) if record.ranges else None,
            "released": write_parts(record.parts),
            "history": write_histories(fitted.history_),
        }
        | features
        | weights
        | ({} if record.link == LOGIT else {"link": write_link(record.link)})
        | ({"monotone": write_monotone(fitted._monotone)} if fitted._monotone else {})
        | write_evaluation(fitted)
    )


def estimator_of(value: Any) -> Any:
    """The fitted estimator of plain values that keep every rule; `ModelFileError` else."""
    keys = value if isinstance(value, dict) else {}
    further = {key: reader for key, reader in _FURTHER.items() if key in keys}
    values = table(_MODEL | further)("model", value)
    parameters = _parameters_of(kinds()[values["estimator"]])("model.parameters", values["parameters"])
    statement: PrivacyStatement = values["statement"]
    features: FourierMap | None = values.get("features")
    check_features(features, values, statement)
    fitted = _unfitted(values, parameters, statement.unit)
    try:
        check_unit(values, values["bounds"] if features is None else features.bounds, statement)
        problem, prep = _public_facts(fitted, values, statement)
        check_mechanism(parameters["mechanism"], problem, statement)
        check_labels(fitted, values, values["bounds"] if features is None else features.bounds)
    except ModelFileError:
        raise
    except (ValueError, TypeError, OverflowError) as error:
        refuse("model", "must hold public facts that fit each other", str(error))
    check_parameters(parameters, values, statement)
    check_names(fitted, values, prep)
    check_coef_names(values, prep)
    check_half_width(values, prep)
    classes = [] if values["classes"] is None else values["classes"].tolist()
    of_one = values["statement_of_one"] or statement
    check_blocks(problem, prep, parameters["mechanism"], statement, of_one, classes)
    models = len(classes) if is_several(classes) else 1
    shared = parameters["mechanism"].joint
    parts = read_parts("model.released", values["released"], of_one, models, shared)
    histories = read_histories("model.history", values["history"], parts, of_one, prep.geometry.d)
    _set_model(fitted, values, prep)
    _check_chosen(parameters["mechanism"], fitted.coef_)
    numbers = read_ranges("model.ranges", values["ranges"], statement)
    plan = Plan(mechanism := parameters["mechanism"], problem, of_one)
    if numbers:
        prep = prep.narrowed(*intervals(numbers, statement.released, problem, columns_of(prep)))
    else:
        prep = clipped(prep, plan, parts)
        check_clipped(prep, statement)
    link = check_link(values.get("link", LOGIT), fitted, mechanism, plan)
    facts = values["bounds"], features, link
    fitted._adopt(Release(plan, statement, prep, parts, numbers, *facts, histories=histories))
    if "evaluation" in values:
        fitted.evaluation_ = evaluation_of(values["evaluation"], fitted, statement)
    return fitted


def _unfitted(values: dict[str, Any], parameters: dict[str, Any], unit: Unit) -> Any:
    """The estimator as it was constructed, without what is not public: ledger, seed, public data."""
    spec: Mechanism = parameters["mechanism"]
    shorthand = spec.about.name if spec == spec.about.kind() else spec
    units: dict[str, Any] = {"person": unit.person}
    bounds = values["bounds"]
    if bounds is None:  # the unit ball is written nowhere else
        bounds = with_numbers(None, unit.rows_per_person, unit.weight_max)
    if unit.class_weights and "classes" in parameters and values["classes"] is not None:
        factors = [factor for _, factor in unit.class_weights]
        units["class_weight"] = dict(zip(values["classes"].tolist(), factors, strict=False))
    return kinds()[values["estimator"]](**{**parameters, **units, "mechanism": shorthand, "bounds": bounds})


def _public_facts(fitted: Any, values: dict[str, Any], statement: PrivacyStatement) -> tuple[Problem, Prep]:
    """The scaled problem and the way of rows into it, from public facts as in a fit."""
    bounds: Bounds | None = values["bounds"]
    columns = values["column_names"]
    if bounds is not None and bounds.names is not None:
        columns = bounds.names
    features: FourierMap | None = values.get("features")
    bounds = bounds if features is None else features.bounds
    declared = {"bounds": bounds, "columns": columns, "features": features, "unit": statement.unit}
    facts = PublicFacts.of(fitted, n_rows=values["n_rows"], n_features=values["n_features"], **declared)
    problem, prep = facts.problem, facts.prep
    w0 = None
    if values["start"] is not None:
        size = prep.geometry.d + (prep.geometry.intercept > 0)
        w0 = tuple(array("model.start", values["start"], (size,)).tolist())
    clippable = problem.clippable if w0 is None else ()
    return replace(problem, assumptions=statement.assumptions, w0=w0, clippable=clippable), prep


def _check_chosen(mechanism: Mechanism, coef: Any) -> None:
    """Columns that the model is not made of have coefficients of 0."""
    chosen = chosen_columns(mechanism)
    if chosen is not None and np.delete(np.atleast_2d(coef), chosen, axis=1).any():
        refuse("model.coef", "must be 0 outside the columns of the model", list(chosen))


def _set_model(fitted: Any, values: dict[str, Any], prep: Prep) -> None:
    """Coefficients, labels and names, as a fit sets them."""
    classes = values["classes"]
    models = len(classes) if is_several(classes) else 1
    coef = array("model.coef", values["coef"], (models, prep.geometry.d)).copy()
    intercept = array("model.intercept", values["intercept"], (models,)).copy()
    if not fitted.fit_intercept and intercept.any():
        refuse("model.intercept", "must be 0 without an intercept", values["intercept"])
    fitted._set_coef(coef, intercept)
    if classes is not None:
        fitted._set_labels(classes)
    if "weight_column" in values:
        fitted._weight_column = values["weight_column"]
    if "monotone" in values:
        check_monotone(values["monotone"], prep, np.atleast_2d(coef))
        fitted._monotone = values["monotone"]
    fitted.n_features_in_, fitted.target_name_ = values["n_features"], values["target_name"]
    if values["feature_names"] is not None:
        fitted.feature_names_in_ = np.array(values["feature_names"], dtype=object)
