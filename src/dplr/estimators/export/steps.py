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
from dplr.bounds.columns import TRANSFORMS, Level, Levels
from dplr.estimators._transformers import UnitBall
from dplr.estimators.export.parts import KINDS, Part, Times, parts_of

# Models of scikit-learn, by the names that ours give theirs.
_MODELS: dict[str, Any] = {model.__name__: model for model in (LinearRegression, LogisticRegression, LinearSVC)}
_LEAST = -np.finfo(np.float64).max
_LARGEST_LOG = 700.0  # its exponential is a float64


def pipeline_of(fitted: Any) -> Any:
    """A scikit-learn pipeline that predicts as the model does: the work of `PrivateLinearModel.to_sklearn`."""
    layout, names = fitted._record.prep.layout, getattr(fitted, "feature_names_in_", None)
    if layout is None:
        first: Any = UnitBall()
        rows = [np.zeros(2)] * fitted.n_features_in_
    else:
        first = _columns(parts_of(fitted._record.prep), layout.features if layout.named else None)
        rows = [_fitting_rows(column) for column in layout.columns]
    first.set_output(transform="default")  # whatever is set globally: steps hand on arrays that no frame can hold
    first.fit(np.column_stack(rows) if names is None else _frame(dict(zip(names, rows, strict=True))))
    if not fitted._record.link.share:
        return Pipeline([("columns", first), ("model", _model(fitted))])
    return Pipeline([("columns", first), *_terms(fitted), ("model", _of_terms(fitted))])


def _columns(parts: Sequence[Part | Times], names: Sequence[str] | None) -> ColumnTransformer:
    """Each part by itself, and neighbouring numbers that are only clipped all at once."""
    steps: list[tuple[str, Any, Any]] = []
    for plain, group in groupby(parts, _is_plain):
        members: list[Any] = list(group)
        for together in [members] if plain else [[part] for part in members]:
            places = [place for part in together for place in _places(part)]
            inputs = places if names is None else [names[place] for place in places]
            step = _clipped(together) if plain else _STEPS[together[0].kind](together[0])
            steps.append((f"step{len(steps)}", step, inputs))
    return ColumnTransformer(steps, sparse_threshold=0, verbose_feature_names_out=False)


def _places(part: Part | Times) -> list[int]:
    """The declared columns that a part is made of, each once."""
    pieces = [piece for factor in part.factors for piece in factor] if isinstance(part, Times) else [part]
    return list(dict.fromkeys(piece.place for piece in pieces))


def _is_plain(part: Part | Times) -> bool:
    """Whether it is a number that is only clipped, and has no policy for missing values."""
    return isinstance(part, Part) and part.kind == "number" and part.column.transform == "clip" and part.refused


def _applied(function: Any, **options: Any) -> Any:
    return FunctionTransformer(function, kw_args=options or None)


def _named(function: Any, **options: Any) -> Any:
    return FunctionTransformer(function, kw_args=options or None, feature_names_out="one-to-one")


def _filled(filler: Any, **options: Any) -> Any:
    return SimpleImputer(strategy="constant", fill_value=filler, **options)


def _encoded(levels: Sequence[Any]) -> Any:
    """One column for each category; a value that is no category, such as the reference, is zero in all of them."""
    return OneHotEncoder(categories=[levels], handle_unknown="ignore", sparse_output=False)


def _clipped(parts: Sequence[Part]) -> Any:
    """Numbers in their ranges: NaN and infinity are refused."""
    lower, upper = np.array([part.ends for part in parts]).T
    clip = _named(np.clip, a_min=lower, a_max=upper)
    return clip.set_params(validate=True)


def _number(part: Part) -> Any:
    filled = [] if part.filler is None else [_as_numbers(), _filled(part.filler)]
    return make_pipeline(*filled, _clipped([part]), *_transformed(part), *_less(part.middle))


def _transformed(part: Part) -> list[Any]:
    """The function of NumPy behind the clip."""
    transform = part.column.transform
    return [] if transform == "clip" else [_named(TRANSFORMS[transform].of_many)]


def _shares(part: Part) -> Any:
    """Splines of degree 1 between the knots, which refuse missing values: one that has no share is a further knot.

    That knot is as far behind the last one as the one before it: no number that was clipped comes near it. Its share,
    the last one, is left out.
    """
    ends, places = part.column.knot_values, part.column.places
    steps = [_as_numbers(), *([] if part.filler is None else [_filled(part.filler)])]
    steps += [_clip(ends[0], ends[-1]), *_transformed(part)]
    marked = not part.refused and part.filler is None
    if marked:
        places = (*places, 2 * places[-1] - places[-2])
        steps.append(_filled(places[-1]))
    knots = np.array(places)[:, np.newaxis]
    return make_pipeline(*steps, SplineTransformer(degree=1, knots=knots, include_bias=not marked))


def _levels(part: Part) -> Any:
    levels, order = _sorted(tuple(part.kept))
    declared = [] if order is None else [_applied(np.take, indices=np.argsort(order), axis=1)]
    merged = [] if part.width == len(levels) else [_product(np.eye(part.width)[list(part.kept.values())])]
    return make_pipeline(*_level_filled(part), _encoded(levels), *declared, *merged)


def _bins(part: Part) -> Any:
    """Codes from 1 for the bins. A missing value without a filler becomes minus infinity, with the code 0."""
    filler = -np.inf if part.filler is None else part.filler
    steps = [_refused()] if part.refused else [_as_numbers(), _filled(filler)]
    codes = _applied(np.digitize, bins=np.array([_LEAST, *part.column.edges]))
    return make_pipeline(*steps, codes, _encoded([place + 1 for place in part.kept]))


def _position(part: Part) -> Any:
    """A code that is NaN for what is not a level, which then counts as half way."""
    column = part.column
    levels, order = _sorted(column.values)
    encode = OrdinalEncoder(categories=[levels], handle_unknown="use_encoded_value", unknown_value=np.nan)
    steps, positions = [*_level_filled(part), encode], np.array(column.positions, np.float64)
    if order is not None or positions[-1] + 1 < len(levels):  # the codes are places in the sorted values
        steps.append(
            _applied(np.interp, xp=np.arange(len(levels)), fp=positions if order is None else positions[order])
        )
    return make_pipeline(*steps, _filled((len(column.levels) - 1) / 2), *_less(part.middle))


def _mark(part: Part) -> Any:
    if not (isinstance(part.column, Levels) and part.column.text):
        return make_pipeline(_as_numbers(), MissingIndicator(features="all"))
    gone = _no_level(part.column.values)
    return make_pipeline(*_text_filled(gone), _encoded([gone]))


def _times(part: Times) -> Any:
    """The columns of both factors side by side, of which pairs are taken (rows, pairs, 2), and multiplied."""
    places, (first, second) = _places(part), part.widths
    every = [piece for factor in part.factors for piece in factor]
    steps = [(f"step{k}", _STEPS[piece.kind](piece), [places.index(piece.place)]) for k, piece in enumerate(every)]
    pairs = [[outer, first + inner] for outer in range(first) for inner in range(second)]
    return make_pipeline(
        ColumnTransformer(steps, sparse_threshold=0),
        _applied(np.take, indices=pairs, axis=1),
        _applied(np.prod, axis=2),
        *([] if part.ends is None else [_clip(*part.ends)]),
    )


_STEPS: dict[str, Callable[[Any], Any]] = dict(
    zip(KINDS, (_number, _shares, _levels, _bins, _position, _mark, _times), strict=True)
)


def _product(matrix: Any) -> Any:
    return _applied(np.dot, b=matrix)


def _clip(lower: float | None, upper: float) -> Any:
    return _applied(np.clip, a_min=lower, a_max=upper)


def _line(constant: float, slope: float) -> Any:
    """A polynomial: the one of NumPy's functions that subtracts a keyword."""
    return _applied(polyval, c=[constant, slope])


def _less(middle: float) -> list[Any]:
    return [_line(-middle, 1.0)] if middle else []


def _as_numbers() -> Any:
    """Any column of numbers as float64, NaN where one is missing; infinity is refused."""
    return _named(check_array, dtype=np.float64, ensure_all_finite="allow-nan")


def _refused(kind: Any = np.float64) -> Any:
    """Any column, in which a missing value is refused."""
    return _applied(check_array, dtype=kind)


def _level_filled(part: Part) -> list[Any]:
    """Steps after which a missing value is the level that it counts as, or no level, or was refused."""
    if part.column.text:
        filler = _no_level(part.column.values) if part.filler is None else part.filler  # which may be ""
        return _text_refused() if part.refused else _text_filled(filler)
    if part.refused:
        return [_refused()]
    return [_as_numbers(), *([] if part.filler is None else [_filled(float(part.filler))])]


def _text_filled(filler: Any) -> list[Any]:
    """Steps that fill missing text: scikit-learn needs one for NaN and one for None."""
    return [_applied(np.asarray, dtype=object), *(_filled(filler, missing_values=gap) for gap in (np.nan, None))]


def _text_refused() -> list[Any]:
    """None becomes NaN, which is refused."""
    nothing = _filled(np.nan, missing_values=None, keep_empty_features=True)
    return [_applied(np.asarray, dtype=object), nothing, _refused(object)]


def _no_level(levels: Sequence[Level]) -> str:
    """A text that is not a level, made of private characters of Unicode, so that no data should contain it."""
    text = "\ue000missing\ue000"
    while text in levels:
        text += "\ue000"
    return text


def _sorted(levels: Sequence[Level]) -> tuple[list[Any], Any]:
    """Levels as scikit-learn takes them, numbers sorted, and their order; None where it is the declared one."""
    if isinstance(levels[0], str):
        return list(levels), None
    values = np.array(levels, np.float64)
    order = np.argsort(values, kind="stable")
    return values[order].tolist(), None if (np.diff(order) == 1).all() else order


def _fitting_rows(column: Any) -> Any:
    """A declared value twice, which sets the types of the steps: numbers, or text. Splines need two rows."""
    if isinstance(column, Levels):
        return np.array([column.values[0]] * 2, object if column.text else np.float64)
    return np.array([column.lower] * 2)


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
    coef, intercept = fitted._decision
    if fitted._plain == LogisticRegression.__name__ and np.size(intercept) > 1:
        return _one_vs_rest(fitted, coef, intercept)
    with_intercept = fitted._record.plan.problem.geometry.intercept > 0
    model = _set(_MODELS[fitted._plain](fit_intercept=with_intercept), fitted, coef, intercept)
    target = fitted._record.prep.target
    if target is None:
        return model
    clip = _inverse(np.clip, a_min=target[0], a_max=target[1])
    if fitted._record.prep.link == "log":
        # Rates are clipped before exp could overflow.
        clip = make_pipeline(clip, _inverse(np.exp), _inverse(np.clip, a_min=None, a_max=math.log(target[1])))
    clipped = TransformedTargetRegressor(model, transformer=clip, check_inverse=False)
    clipped.fit(np.zeros((2, len(coef))), np.zeros(2))
    clipped.regressor_ = copy.deepcopy(model)
    clipped.coef_, clipped.intercept_ = copy.deepcopy((coef, intercept))
    return clipped


def _inverse(function: Any, **options: Any) -> Any:
    return FunctionTransformer(inverse_func=function, inv_kw_args=options or None, check_inverse=False)


def _set(model: Any, fitted: Any, coef: Any, intercept: Any) -> Any:
    """The model with copies of the released numbers, so that a change of one object does not change the other."""
    model.coef_, model.intercept_, model.n_features_in_ = *copy.deepcopy((coef, intercept)), np.shape(coef)[-1]
    if hasattr(fitted, "classes_"):
        model.classes_ = copy.deepcopy(fitted.classes_)
    return model


def _terms(fitted: Any) -> list[tuple[str, Any]]:
    """From encoded rows to margins, and to the terms of `Link.log_odds`: three for each model, 0 where the margin is.

    The margins themselves, then differences of each of two functions at the margins and at their negatives.
    """
    link, coef, intercept = fitted._record.link, *(np.atleast_1d(part) for part in fitted._decision)
    coef = np.atleast_2d(coef)
    models = len(coef)
    margins = make_pipeline(
        _product(np.array(coef.T)), _applied(polyval, c=np.array([intercept, np.ones(models)]), tensor=False)
    )
    above = [_clip(link.turn, _LARGEST_LOG), _applied(np.exp), _applied(np.log1p)]
    below = [_clip(None, link.turn), _line(-link.turn, 1.0), _applied(np.exp), _line(1.0, -link.bend), _applied(np.log)]
    every, minus = list(range(models)), [_line(0.0, -1.0)]
    sides = [("up", above, []), ("down", above, minus), ("cut down", below, minus), ("cut up", below, [])]
    steps = [(name, make_pipeline(*copy.deepcopy([*sign, *curve])), every) for name, curve, sign in sides]
    pairs = [[pair + models + k, pair + k] for pair in (0, 2 * models) for k in every]
    difference = make_pipeline(
        ColumnTransformer(steps),
        _applied(np.take, indices=pairs, axis=1),
        _applied(np.diff, axis=2),
        _applied(np.squeeze, axis=2),
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
    return _set(LogisticRegression(fit_intercept=False), fitted, coef, np.zeros(1))


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
