"""A fitted estimator as plain values and back: what was released and public facts, field by field.

Nothing is taken over as it stands: every field is named here, so nothing that is not named can get into a file.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from dplr._model_bounds import plain_labels, read_bounds, read_classes, write_bounds, write_classes
from dplr._model_json import ModelFileError, refuse
from dplr._model_rules import check_labels, check_mechanism, check_names, check_parameters
from dplr._model_schema import (
    anything,
    array,
    choice,
    either,
    flag,
    integer,
    label,
    list_of,
    number,
    or_infinite,
    table,
    text,
)
from dplr._model_statement import (
    check_blocks,
    expected_blocks,
    finite,
    read_mechanism,
    read_statement,
    write_mechanism,
    write_statement,
)  # fmt: skip
from dplr.bounds import MAX_FEATURES, Bounds, Prep
from dplr.estimators import HuberSVC, LinearRegression, LogisticRegression
from dplr.mechanisms import SHORTHANDS
from dplr.planning import prepare
from dplr.privacy import PrivacyStatement
from dplr.problem import Plan, Problem
from dplr.result import History

ESTIMATORS: dict[str, Any] = {kind.__name__: kind for kind in (LogisticRegression, LinearRegression, HuberSVC)}

_PARAMETERS = {
    "eps": or_infinite(number(0.0, above=True)),
    "delta": number(0.0, 1.0),
    "mechanism": read_mechanism,
    "fit_intercept": flag,
    "l2": either("auto", number(0.0)),
    "neighbouring": choice("replace_one", "add_remove"),
    "n_rows": either(None, integer(1, 2**63)),
}
_CLASSES_PARAMETER = either(None, list_of(label, 2))
_PARAMETERS_OF = {
    "LinearRegression": table(_PARAMETERS),
    "LogisticRegression": table(_PARAMETERS | {"classes": _CLASSES_PARAMETER}),
    "HuberSVC": table(_PARAMETERS | {"classes": _CLASSES_PARAMETER, "width": number(0.01, 10.0)}),
}
_NAMES = either(None, list_of(text, 1, MAX_FEATURES))
_BLOCKS = list_of(table({"block": text, "numbers": anything}))
_MODEL = table(
    {
        "estimator": choice(*ESTIMATORS),
        "parameters": anything,
        "bounds": read_bounds,
        "n_features": integer(1, MAX_FEATURES),
        "feature_names": _NAMES,
        "column_names": _NAMES,
        "n_rows": either(None, integer(1, 2**63)),
        "start": anything,
        "classes": either(None, read_classes),
        "coef": anything,
        "intercept": anything,
        "statement": read_statement,
        "released": list_of(_BLOCKS, 1, 1),
        "history": either(None, list_of(table(dict.fromkeys(("coefs", "intercepts", "public_loss"), anything)))),
    }
)


def values_of(fitted: Any) -> dict[str, Any]:
    """Everything of a fitted estimator that a model file holds."""
    mechanism, plan, prep = fitted._release
    problem: Problem = plan.problem
    names = getattr(fitted, "feature_names_in_", None)
    layout, bounds = prep.layout, fitted.bounds
    by_position = layout is not None and isinstance(bounds, Bounds) and layout.features != bounds.layout.features
    parameters = {
        "eps": finite(fitted.eps),
        "delta": float(fitted.delta),
        "mechanism": write_mechanism(mechanism),
        "fit_intercept": problem.geometry.intercept > 0,
        "l2": "auto" if problem.l2 is None else float(problem.l2),
        "neighbouring": str(problem.neighbouring),
        "n_rows": None if fitted.n_rows is None else int(fitted.n_rows),
    }
    if hasattr(fitted, "classes_"):
        parameters["classes"] = None if fitted.classes is None else plain_labels(fitted.classes)
    if isinstance(fitted, HuberSVC):
        parameters["width"] = float(fitted.width)
    return {
        "estimator": type(fitted).__name__,
        "parameters": parameters,
        "bounds": write_bounds(bounds),
        "n_features": int(fitted.n_features_in_),
        "feature_names": None if names is None else [str(name) for name in names],
        "column_names": list(layout.features) if by_position else None,
        "n_rows": problem.n_rows,
        "start": None if problem.w0 is None else [float(each) for each in problem.w0],
        "classes": write_classes(fitted.classes_) if hasattr(fitted, "classes_") else None,
        "coef": np.atleast_2d(fitted.coef_).tolist(),
        "intercept": np.atleast_1d(fitted.intercept_).tolist(),
        "statement": write_statement(fitted.privacy_),
        "released": [[{"block": name, "numbers": block.tolist()} for name, block in fitted.released_.items()]],
        "history": None if fitted.history_ is None else [_write_history(fitted.history_)],
    }


def estimator_of(value: Any) -> Any:
    """The fitted estimator of plain values that keep every rule; `ModelFileError` else."""
    values = _MODEL("model", value)
    parameters = _PARAMETERS_OF[values["estimator"]]("model.parameters", values["parameters"])
    statement: PrivacyStatement = values["statement"]
    fitted = _unfitted(values["estimator"], parameters, values["bounds"])
    try:
        problem, prep = _public_facts(fitted, values, statement)
        check_mechanism(parameters["mechanism"], problem, statement)
    except ModelFileError:
        raise
    except (ValueError, TypeError, OverflowError) as error:
        refuse("model", "must hold public facts that fit each other", str(error))
    check_parameters(parameters, values, statement)
    check_labels(fitted, values)
    check_names(fitted, values, prep)
    check_blocks("model.statement", statement, expected_blocks(problem, parameters["mechanism"], statement))
    fitted._release = (parameters["mechanism"], Plan(problem, statement), prep)
    fitted.privacy_ = statement
    fitted.released_ = _read_released("model.released[0]", values["released"][0], statement)
    fitted.history_ = _read_history("model.history", values["history"], fitted.released_, prep.geometry.d)
    _set_model(fitted, values, prep)
    return fitted


def _unfitted(name: str, parameters: dict[str, Any], bounds: Bounds | None) -> Any:
    """The estimator as it was constructed, without what is not public: ledger, seed, public data."""
    spec = parameters["mechanism"]
    shorthand = next((word for word, known in SHORTHANDS.items() if known == spec), spec)
    return ESTIMATORS[name](**{**parameters, "mechanism": shorthand, "bounds": bounds})


def _public_facts(fitted: Any, values: dict[str, Any], statement: PrivacyStatement) -> tuple[Problem, Prep]:
    """The scaled problem and the way of rows into it, from public facts as in a fit."""
    bounds: Bounds | None = fitted.bounds
    columns = values["column_names"]
    if bounds is not None and bounds.names is not None:
        columns = bounds.names
    layout = None if bounds is None else bounds.for_columns(columns, values["n_features"])
    problem, prep = prepare(
        n_rows=values["n_rows"],
        n_features=values["n_features"],
        columns=columns,
        bounds=bounds,
        layout=layout,
        loss=fitted._loss(),
        fit_intercept=fitted.fit_intercept,
        l2=fitted.l2,
        neighbouring=fitted.neighbouring,
        label_codes=(0.0, 1.0),  # of a fitted model it only matters whether it has labels
    )
    w0 = None
    if values["start"] is not None:
        size = prep.geometry.d + (prep.geometry.intercept > 0)
        w0 = tuple(array("model.start", values["start"], (size,)).tolist())
    return replace(problem, assumptions=statement.assumptions, w0=w0), prep


def _read_released(where: str, parts: Sequence[dict[str, Any]], statement: PrivacyStatement) -> dict[str, Any]:
    """The noisy numbers of every block that the statement is about, on its grid; none where there is but a model."""
    stated = statement.released if statement.mechanism in ("fm", "ngd") else {}
    if [part["block"] for part in parts] != list(stated):
        refuse(where, f"must hold the blocks {list(stated)}", [part["block"] for part in parts])
    released = {}
    for k, part in enumerate(parts):
        block = stated[part["block"]]
        numbers = array(f"{where}[{k}].numbers", part["numbers"], block.shape)
        if block.grid == 0 or not (np.fmod(numbers, block.grid) == 0).all():
            refuse(f"{where}[{k}].numbers", f"must be multiples of the grid, {block.grid:g}", part["numbers"])
        released[part["block"]] = numbers
    return released


def _write_history(history: History) -> dict[str, Any]:
    """Without the gradients: they are a released block."""
    loss = history.public_loss
    return {
        "coefs": history.coefs.tolist(),
        "intercepts": history.intercepts.tolist(),
        "public_loss": None if loss is None else loss.tolist(),
    }


def _read_history(where: str, value: Any, released: dict[str, Any], d: int) -> History | None:
    gradients = released.get("gradients")
    if (value is None) is not (gradients is None) or (value is not None and len(value) != 1):
        refuse(where, "must be given for noisy gradient descent, and for nothing else", value)
    if value is None or gradients is None:
        return None
    ways, points = value[0], len(gradients) + 1
    loss = ways["public_loss"]
    return History(
        gradients,
        array(f"{where}[0].coefs", ways["coefs"], (points, d)),
        array(f"{where}[0].intercepts", ways["intercepts"], (points,)),
        None if loss is None else array(f"{where}[0].public_loss", loss, (points,)),
    )


def _set_model(fitted: Any, values: dict[str, Any], prep: Prep) -> None:
    """Coefficients, labels and names, as a fit sets them."""
    classes = values["classes"]
    models = 1 if classes is None or len(classes) == 2 else len(classes)
    coef = array("model.coef", values["coef"], (models, prep.geometry.d)).copy()
    intercept = array("model.intercept", values["intercept"], (models,)).copy()
    if not fitted.fit_intercept and intercept.any():
        refuse("model.intercept", "must be 0 without an intercept", values["intercept"])
    if classes is None:
        fitted.coef_, fitted.intercept_ = coef[0], float(intercept[0])
    else:
        fitted.coef_, fitted.intercept_, fitted.classes_ = coef, intercept, classes
    fitted.n_features_in_ = values["n_features"]
    if values["feature_names"] is not None:
        fitted.feature_names_in_ = np.array(values["feature_names"], dtype=object)
