"""Plain scikit-learn models with released coefficients."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from dplr._validation import sentence
from dplr.fitting.one_vs_rest import is_several


def plain_model(fitted: Any) -> Any:
    """See `PrivateLinearModel.to_sklearn`."""
    layout = fitted._record.prep.layout
    if layout is not None and not layout.plain:
        remedy = "A plain model takes numbers: encode the columns in a pipeline before the fit."
        raise ValueError(sentence("bounds", "must not encode columns", f"{fitted.n_features_in_} columns", remedy))
    if fitted._plain is LogisticRegression and is_several(fitted.classes_):
        model = _one_vs_rest(fitted)
    else:
        own = {"coef_": fitted.coef_, "intercept_": fitted.intercept_}
        model = _filled(fitted._plain(fit_intercept=fitted.fit_intercept), fitted, **own)
    if not fitted.ranges_:
        return model
    ends = dict(zip(("a_min", "a_max"), fitted._record.prep.limits, strict=True))
    clip = FunctionTransformer(np.clip, kw_args=ends, validate=True)
    for each in (model, *getattr(model, "estimators_", ())):
        each.__dict__.pop("feature_names_in_", None)  # the first step has them, and passes an array on
    return make_pipeline(_filled(clip, fitted), model)


def _filled(model: Any, fitted: Any, **own: Any) -> Any:
    """Copies, so that nothing of the one changes the other."""
    names = ("n_features_in_", "feature_names_in_", *(("classes_",) if hasattr(model, "predict") else ()))
    same = {name: getattr(fitted, name) for name in names if hasattr(fitted, name)}
    for name, value in (same | own).items():
        setattr(model, name, copy.deepcopy(value))
    return model


def _one_vs_rest(fitted: Any) -> OneVsRestClassifier:
    """scikit-learn's own logistic regression of more than two classes is another model, with a softmax.

    The one-vs-rest model is fitted to one row of zeros a class, which sets all that is not a coefficient.
    """
    model = OneVsRestClassifier(LogisticRegression(fit_intercept=fitted.fit_intercept))
    model.fit(np.zeros((len(fitted.classes_), fitted.n_features_in_)), fitted.classes_)
    for one, coef, intercept in zip(model.estimators_, fitted.coef_, fitted.intercept_, strict=True):
        _filled(one, fitted, coef_=coef[np.newaxis], intercept_=np.array([intercept]), classes_=one.classes_)
    return _filled(model, fitted)
