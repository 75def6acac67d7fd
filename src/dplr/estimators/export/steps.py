"""Released models as pipelines of scikit-learn, made only of its steps and of NumPy's functions."""

from __future__ import annotations

import copy
import importlib
import math
from collections.abc import Callable, Sequence
from itertools import groupby
from typing import Any

import numpy as np
from numpy.polynomial.polynomial import polyval
from sklearn.compose import ColumnTransformer, TransformedTargetRegressor
from sklearn.impute import MissingIndicator, SimpleImputer
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, OrdinalEncoder, SplineTransformer
from sklearn.svm import LinearSVC
from sklearn.utils import check_array

from dplr._kit.extras import missing_library
from dplr.bounds.columns import Level
from dplr.bounds.layout import Layout
from dplr.estimators._unit_ball import UnitBall
from dplr.estimators.export.parts import (
    Interval,
    Mark,
    Number,
    OneHot,
    Part,
    Position,
    Shares,
    Times,
    is_text,
    parts_of,
)
from dplr.fitting.one_vs_rest import is_several

# Transform -> the steps that it needs after the clip, of functions of NumPy.
_FORWARD: dict[str, Callable[[], list[Any]]] = {
    "clip": list,
    "log1p": lambda: [FunctionTransformer(np.log1p, feature_names_out="one-to-one")],
    "log": lambda: [FunctionTransformer(np.log, feature_names_out="one-to-one")],
    "sqrt": lambda: [FunctionTransformer(np.sqrt, feature_names_out="one-to-one")],
}
# Models of scikit-learn, by the names that ours give theirs.
_MODELS: dict[str, Any] = {model.__name__: model for model in (LinearRegression, LogisticRegression, LinearSVC)}
_LEAST = -np.finfo(np.float64).max
_LARGEST_LOG = 700.0  # its exponential is a float64


def pipeline_of(fitted: Any) -> Any:
    """A scikit-learn pipeline that predicts as the model does: the work of `PrivateLinearModel.to_sklearn`."""
    prep, names = fitted._record.prep, getattr(fitted, "feature_names_in_", None)
    if prep.layout is None:
        first: Any = UnitBall()
        rows = [np.zeros(2)] * fitted.n_features_in_
    else:
        parts = parts_of(prep)
        first = _columns(parts, prep.layout.features if prep.layout.named else None)
        rows = _fitting_rows(prep.layout, parts)
    first.set_output(transform="default")  # whatever is set globally: steps hand on arrays that no frame can hold
    first.fit(np.column_stack(rows) if names is None else _frame(dict(zip(names, rows, strict=True))))
    if not fitted._record.link.share:
        return Pipeline([("columns", first), ("model", _model(fitted))])
    return Pipeline([("columns", first), *_terms(fitted), ("model", _of_terms(fitted))])


def _columns(parts: Sequence[Part], names: Sequence[str] | None) -> ColumnTransformer:
    """Each part by itself, and neighbouring numbers that are only clipped all at once."""
    steps: list[tuple[str, Any, Any]] = []
    for plain, group in groupby(parts, _is_plain):
        members: list[Any] = list(group)
        for together in [members] if plain else [[part] for part in members]:
            places = [place for part in together for place in _places(part)]
            inputs = places if names is None else [names[place] for place in places]
            step = _numbers(together) if plain else _STEPS[type(together[0])](together[0])
            steps.append((f"step{len(steps)}", step, inputs))
    return ColumnTransformer(steps, sparse_threshold=0, verbose_feature_names_out=False)


def _places(part: Part) -> list[int]:
    """The declared columns that a part is made of, each once."""
    if not isinstance(part, Times):
        return [part.place]
    return list(dict.fromkeys(piece.place for factor in part.factors for piece in factor))


def _is_plain(part: Part) -> bool:
    """Whether it is a number that is only clipped."""
    return isinstance(part, Number) and part.transform == "clip" and part.filler is None


def _numbers(parts: Sequence[Number]) -> Any:
    """Numbers without a policy for missing values: NaN and infinity are refused."""
    ends = {"a_min": np.array([part.lower for part in parts]), "a_max": np.array([part.upper for part in parts])}
    return FunctionTransformer(np.clip, kw_args=ends, validate=True, feature_names_out="one-to-one")


def _number(part: Number) -> Any:
    fill = SimpleImputer(strategy="constant", fill_value=part.filler)
    filled = [] if part.filler is None else [_as_numbers(), fill]
    return make_pipeline(*filled, _numbers([part]), *_FORWARD[part.transform](), *_less(part.middle))


def _shares(part: Shares) -> Any:
    """Splines of degree 1 between the knots, which refuse missing values: one that has no share is a further knot.

    That knot is as far behind the last one as the one before it: no number that was clipped comes near it. Its share,
    the last one, is left out.
    """
    steps, places = [_as_numbers()], part.places
    if part.filler is not None:
        steps.append(SimpleImputer(strategy="constant", fill_value=part.filler))
    steps += [_clip(part.knots[0], part.knots[-1]), *_FORWARD[part.transform]()]
    marked = not part.refused and part.filler is None
    if marked:
        places = (*places, 2 * places[-1] - places[-2])
        steps.append(SimpleImputer(strategy="constant", fill_value=places[-1]))
    knots = np.array(places)[:, np.newaxis]
    return make_pipeline(*steps, SplineTransformer(degree=1, knots=knots, include_bias=not marked))


def _one_hot(part: OneHot) -> Any:
    """One column for each category; a value that is no category, such as the reference, is zero in all of them."""
    levels, order = _sorted(tuple(part.kept))
    encode = OneHotEncoder(categories=[levels], handle_unknown="ignore", sparse_output=False)
    merged = [] if part.width == len(levels) else [_product(np.eye(part.width)[list(part.kept.values())])]
    return make_pipeline(*_filled_in(part), encode, *_in_declared_order(order), *merged)


def _interval(part: Interval) -> Any:
    """Codes from 1 for the bins. A missing value without a filler becomes minus infinity, with the code 0."""
    if part.refused:
        steps = [FunctionTransformer(check_array, kw_args={"dtype": np.float64})]
    else:
        filler = -np.inf if part.filler is None else part.filler
        steps = [_as_numbers(), SimpleImputer(strategy="constant", fill_value=filler)]
    codes = FunctionTransformer(np.digitize, kw_args={"bins": np.array([_LEAST, *part.edges])})
    categories = [[place + 1 for place in part.kept]]
    return make_pipeline(
        *steps, codes, OneHotEncoder(categories=categories, handle_unknown="ignore", sparse_output=False)
    )


def _position(part: Position) -> Any:
    """A code that is NaN for what is not a level, which then counts as `fallback`."""
    levels, order = _sorted(part.levels)
    encode = OrdinalEncoder(categories=[levels], handle_unknown="use_encoded_value", unknown_value=np.nan)
    steps = [*_filled_in(part), encode]
    positions = np.array(part.positions, np.float64)
    if order is not None or positions[-1] + 1 < len(levels):  # the codes are places in the sorted values
        places = {"xp": np.arange(len(levels)), "fp": positions if order is None else positions[order]}
        steps.append(FunctionTransformer(np.interp, kw_args=places))
    return make_pipeline(*steps, SimpleImputer(strategy="constant", fill_value=part.fallback), *_less(part.middle))


def _mark(part: Mark) -> Any:
    if not is_text(part.levels):
        return make_pipeline(_as_numbers(), MissingIndicator(features="all"))
    gone = _no_level(part.levels)
    encode = OneHotEncoder(categories=[[gone]], handle_unknown="ignore", sparse_output=False)
    return make_pipeline(*_text_filled(gone), encode)


def _times(part: Times) -> Any:
    """The columns of both factors side by side, of which pairs are taken (rows, pairs, 2), and multiplied."""
    places, (first, second) = _places(part), part.widths
    every = [piece for factor in part.factors for piece in factor]
    steps = [(f"step{k}", _STEPS[type(piece)](piece), [places.index(piece.place)]) for k, piece in enumerate(every)]
    pairs = [[outer, first + inner] for outer in range(first) for inner in range(second)]
    ends = {} if part.ends is None else dict(zip(("a_min", "a_max"), part.ends, strict=True))
    return make_pipeline(
        ColumnTransformer(steps, sparse_threshold=0),
        FunctionTransformer(np.take, kw_args={"indices": pairs, "axis": 1}),
        FunctionTransformer(np.prod, kw_args={"axis": 2}),
        *([FunctionTransformer(np.clip, kw_args=ends)] if ends else []),
    )


_STEPS: dict[type[Part], Callable[[Any], Any]] = {
    Number: _number, Shares: _shares, OneHot: _one_hot, Interval: _interval, Position: _position, Mark: _mark,
    Times: _times,
}  # fmt: skip


def _less(middle: float) -> list[Any]:
    """The polynomial x - middle: the one of NumPy's functions that subtracts a keyword."""
    return [_line(-middle, 1.0)] if middle else []


def _as_numbers() -> Any:
    """Any column of numbers as float64, NaN where one is missing; infinity is refused."""
    how = {"dtype": np.float64, "ensure_all_finite": "allow-nan"}
    return FunctionTransformer(check_array, kw_args=how, feature_names_out="one-to-one")


def _filled_in(part: OneHot | Position) -> list[Any]:
    """Steps after which a missing value is the level that it counts as, or no level, or was refused."""
    if is_text(part.levels):
        filler = _no_level(part.levels) if part.filler is None else part.filler  # which may be ""
        return _text_refused() if part.refused else _text_filled(filler)
    if part.refused:
        return [FunctionTransformer(check_array, kw_args={"dtype": np.float64})]
    filled = [] if part.filler is None else [SimpleImputer(strategy="constant", fill_value=float(part.filler))]
    return [_as_numbers(), *filled]


def _as_objects() -> Any:
    return FunctionTransformer(np.asarray, kw_args={"dtype": object})


def _text_filled(filler: Any) -> list[Any]:
    """Steps that fill missing text: scikit-learn needs one for NaN and one for None."""
    fill = {"strategy": "constant", "fill_value": filler}
    return [_as_objects(), SimpleImputer(missing_values=np.nan, **fill), SimpleImputer(missing_values=None, **fill)]


def _text_refused() -> list[Any]:
    """None becomes NaN, which is refused."""
    nothing = SimpleImputer(missing_values=None, strategy="constant", fill_value=np.nan, keep_empty_features=True)
    return [_as_objects(), nothing, FunctionTransformer(check_array, kw_args={"dtype": object})]


def _no_level(levels: Sequence[Level]) -> str:
    """A text that is not a level, made of private characters of Unicode, so that no data should contain it."""
    text = "\ue000missing\ue000"
    while text in levels:
        text += "\ue000"
    return text


def _sorted(levels: Sequence[Level]) -> tuple[list[Any], Any]:
    """Levels as scikit-learn takes them, numbers sorted, and their order; None where it is the declared one."""
    if is_text(levels):
        return list(levels), None
    values = np.array(levels, np.float64)
    order = np.argsort(values, kind="stable")
    return values[order].tolist(), None if (np.diff(order) == 1).all() else order


def _in_declared_order(order: Any) -> list[Any]:
    """Columns of sorted levels in the declared order."""
    if order is None:
        return []
    return [FunctionTransformer(np.take, kw_args={"indices": np.argsort(order), "axis": 1})]


def _fitting_rows(layout: Layout, parts: Sequence[Part]) -> list[Any]:
    """A row of declared values twice, which sets the types of the steps: numbers, or text. Splines need two rows."""
    values: list[Any] = [None] * len(layout.columns)
    for part in parts:
        if isinstance(part, Number):
            values[part.place] = np.array([part.lower] * 2)
        elif isinstance(part, Shares):
            values[part.place] = np.array([part.knots[0]] * 2)
        elif isinstance(part, Interval):
            values[part.place] = np.array([part.edges[0]] * 2)
        elif isinstance(part, OneHot | Position):
            kind = object if is_text(part.levels) else np.float64
            values[part.place] = np.array([part.levels[0]] * 2, kind)
    return values


def _frame(columns: dict[Any, Any]) -> Any:
    """A data frame of an installed library: scikit-learn finds columns by name only in data frames."""
    for library in ("pandas", "polars"):
        try:
            return importlib.import_module(library).DataFrame(columns)
        except ModuleNotFoundError:
            continue
    raise missing_library("a pipeline of columns with names", "pandas or polars", "frames", "pandas")


def _model(fitted: Any) -> Any:
    """The last step, filled with the released numbers."""
    state = dict(zip(("coef_", "intercept_"), fitted._decision, strict=True))
    if fitted._plain == LogisticRegression.__name__ and is_several(fitted.classes_):
        return _one_vs_rest(fitted, *fitted._decision)
    model = _filled(
        _MODELS[fitted._plain](fit_intercept=fitted._record.plan.problem.geometry.intercept > 0), fitted, **state
    )
    target = fitted._record.prep.target
    if target is None:
        return model
    ends = dict(zip(("a_min", "a_max"), target, strict=True))
    clip: Any = FunctionTransformer(inverse_func=np.clip, inv_kw_args=ends, check_inverse=False)
    if fitted._record.prep.link == "log":
        exp = FunctionTransformer(inverse_func=np.exp, check_inverse=False)
        rates = {"a_min": None, "a_max": math.log(target[1])}  # clipped before exp could overflow
        largest = FunctionTransformer(inverse_func=np.clip, inv_kw_args=rates, check_inverse=False)
        clip = make_pipeline(clip, exp, largest)
    clipped = TransformedTargetRegressor(model, transformer=clip, check_inverse=False)
    clipped.fit(np.zeros((2, len(fitted.coef_))), np.zeros(2))
    clipped.regressor_ = copy.deepcopy(model)
    return _filled(clipped, fitted, **state)


def _terms(fitted: Any) -> list[tuple[str, Any]]:
    """From encoded rows to margins, and to the terms of `Link.log_odds`: three for each model, 0 where the margin is.

    The margins themselves, then differences of each of two functions at the margins and at their negatives.
    """
    link, coef, intercept = fitted._record.link, *(np.atleast_1d(part) for part in fitted._decision)
    coef = np.atleast_2d(coef)
    models = len(coef)
    line = {"c": np.array([intercept, np.ones(models)]), "tensor": False}
    product = _product(np.array(coef.T))
    margins = make_pipeline(product, FunctionTransformer(polyval, kw_args=line))
    above = [_clip(link.turn, _LARGEST_LOG), FunctionTransformer(np.exp), FunctionTransformer(np.log1p)]
    below = [_clip(None, link.turn), _line(-link.turn, 1.0), FunctionTransformer(np.exp), _line(1.0, -link.bend),
             FunctionTransformer(np.log)]  # fmt: skip
    every = list(range(models))
    sides = [("up", above, []), ("down", above, [_line(0.0, -1.0)]), ("cut down", below, [_line(0.0, -1.0)]),
             ("cut up", below, [])]  # fmt: skip
    steps = [(name, make_pipeline(*sign, *copy.deepcopy(curve)), every) for name, curve, sign in sides]
    pairs = [[pair + models + k, pair + k] for pair in (0, 2 * models) for k in every]
    difference = make_pipeline(
        ColumnTransformer(steps),
        FunctionTransformer(np.take, kw_args={"indices": pairs, "axis": 1}),
        FunctionTransformer(np.diff, kw_args={"axis": 2}),
        FunctionTransformer(np.squeeze, kw_args={"axis": 2}),
    )
    terms = ColumnTransformer([("margins", FunctionTransformer(), every), ("slopes", difference, every)])
    margins.set_output(transform="default").fit(np.zeros((1, coef.shape[1])))
    terms.set_output(transform="default").fit(np.zeros((1, models)))
    return [("margins", margins), ("terms", terms)]


def _of_terms(fitted: Any) -> Any:
    """The last step behind `_terms`: log odds, whose coefficients are the shares of the link."""
    link, models = fitted._record.link, len(np.atleast_2d(fitted.coef_))
    coef = np.kron([1 - link.share, link.share, link.share], np.eye(models))
    if models > 1:
        return _one_vs_rest(fitted, coef, np.zeros(models))
    model = LogisticRegression(fit_intercept=False)
    for name, value in {"coef_": coef, "intercept_": np.zeros(1), "n_features_in_": 3}.items():
        setattr(model, name, value)
    model.classes_ = copy.deepcopy(fitted.classes_)
    return model


def _product(matrix: Any) -> Any:
    return FunctionTransformer(np.dot, kw_args={"b": matrix})


def _clip(lower: float | None, upper: float) -> Any:
    return FunctionTransformer(np.clip, kw_args={"a_min": lower, "a_max": upper})


def _line(constant: float, slope: float) -> Any:
    return FunctionTransformer(polyval, kw_args={"c": [constant, slope]})


def _filled(model: Any, fitted: Any, **state: Any) -> Any:
    """The model with copies of the released numbers, so that a change of one object does not change the other."""
    width = np.shape(fitted.coef_)[-1]
    for name, value in ({"n_features_in_": width, "classes_": getattr(fitted, "classes_", None)} | state).items():
        if value is not None and not (name == "n_features_in_" and isinstance(model, TransformedTargetRegressor)):
            setattr(model, name, copy.deepcopy(value))
    return model


def _one_vs_rest(fitted: Any, coef: Any, intercepts: Any) -> OneVsRestClassifier:
    """scikit-learn's own logistic regression of more than two classes is another model, with a softmax.

    The one-vs-rest model is fitted to one row of zeros a class, which sets all that is not a coefficient.
    """
    intercept = fitted._record.plan.problem.geometry.intercept > 0
    model = OneVsRestClassifier(LogisticRegression(fit_intercept=intercept))
    model.fit(np.zeros((len(fitted.classes_), coef.shape[1])), fitted.classes_)
    for one, row, constant in zip(model.estimators_, coef, intercepts, strict=True):
        one.coef_, one.intercept_ = row[np.newaxis].copy(), np.array([constant])
    model.classes_ = copy.deepcopy(fitted.classes_)
    return model
