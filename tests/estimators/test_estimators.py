"""scikit-learn estimators from the start."""

import math
import tracemalloc
import warnings

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import KFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

import dplr


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = rng.uniform(0, 10, (20_000, 3))
    z = X @ [0.6, -0.4, 0.1] - 1.5
    return X, (z + rng.logistic(size=len(X)) > 0).astype(int), z / 6


BOUNDS = dplr.Bounds([(0, 10)] * 3)


def test_logistic_regression_has_everything_a_classifier_has(data):
    X, y, _ = data
    est = dplr.LogisticRegression(eps=1.0, bounds=BOUNDS).fit(X, y)
    assert est.coef_.shape == (1, 3)
    assert est.intercept_.shape == (1,)
    assert est.score(X, y) > 0.75
    assert_allclose(est.predict_proba(X).sum(1), 1)
    assert_allclose(np.log(est.predict_proba(X)), est.predict_log_proba(X))
    assert_array_equal(est.predict(X), est.classes_[(est.decision_function(X) > 0).astype(int)])
    assert roc_auc_score(y, est.decision_function(X)) > 0.8


def test_linear_regression_has_everything_a_regressor_has(data):
    X, _, z = data
    est = dplr.LinearRegression(eps=5.0, bounds=dplr.Bounds([(0, 10)] * 3, target=(-1, 1))).fit(X, z)
    assert est.coef_.shape == (3,)
    assert est.score(X, z) > 0.9
    assert est.predict(X).shape == (len(X),)


def test_parameters_are_never_rewritten(data):
    X, y, _ = data
    est = dplr.LogisticRegression(eps=1.0, bounds=BOUNDS)
    before = est.get_params()
    est.fit(X, y)
    assert est.get_params() == before
    assert clone(est).set_params(eps=2.0).eps == 2.0


@pytest.mark.filterwarnings("ignore:a function of FunctionTransformer:dplr.PrivacyWarning")
def test_estimators_work_in_pipelines_and_cross_validation_with_fresh_noise(data):
    X, y, _ = data
    pipe = make_pipeline(FunctionTransformer(lambda X: X / 10), dplr.LogisticRegression(eps=1.0, classes=(0, 1)))
    with pytest.warns(UserWarning, match="outside the unit ball"):
        scores = cross_val_score(pipe, X, y, cv=KFold(3))
    assert len(set(scores)) > 1


def test_frames_with_mixed_columns_fit_and_predict(data):
    X, y, _ = data
    frame = pd.DataFrame({"a": X[:, 0].astype(int), "b": X[:, 1] > 5, "c": X[:, 2]})
    bounds = dplr.Bounds({"a": (0, 10), "b": (False, True), "c": (0, 10)})
    est = dplr.fit(frame, pd.Series(y), eps=1.0, bounds=bounds)
    assert list(est.feature_names_in_) == ["a", "b", "c"]
    assert est.predict(frame).shape == (len(X),)
    assert_array_equal(est.predict(frame[["b", "a", "c"]]), est.predict(frame))
    unnamed = dplr.fit(frame / 20, pd.Series(y), eps=1.0)
    with pytest.raises(ValueError, match="feature names should match"):
        unnamed.predict(frame[["b", "a", "c"]])


def test_scores_of_scikit_learn_do_not_depend_on_the_order_of_declared_labels(data):
    X, y, _ = data
    names = np.where(y, "a yes", "b no")
    found = [
        cross_val_score(
            dplr.LogisticRegression(eps=math.inf, bounds=BOUNDS, classes=classes), X, names, scoring=scoring, cv=3
        ).mean()
        for scoring in ("roc_auc", "neg_log_loss")
        for classes in (("a yes", "b no"), ("b no", "a yes"))
    ]
    assert found[0] == found[1] > 0.8
    assert found[2] == found[3] > -0.6


def test_whole_fit_needs_little_memory_beyond_the_data(data):
    X, y, _ = data
    X, y = np.tile(X, (10, 4)), np.tile(y, 10)
    bounds = dplr.Bounds([(0, 10)] * 12)
    dplr.fit(X, y, eps=1.0, bounds=bounds)
    tracemalloc.start()
    dplr.fit(X, y, eps=1.0, bounds=bounds)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak <= 3 * 8 * len(X)


def test_estimators_show_in_a_notebook_without_a_warning(data):
    X, y, _ = data
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        html = dplr.fit(X, y, eps=1.0, bounds=BOUNDS)._repr_html_()
    assert "LogisticRegression" in html


def test_noise_shrinks_as_eps_grows_and_vanishes_at_infinity(data):
    X, y, _ = data
    exact = dplr.fit(X, y, eps=math.inf, bounds=BOUNDS, l2=0.0, mechanism="fm")
    gaps = [
        np.mean(
            [
                np.linalg.norm(dplr.fit(X, y, eps=eps, bounds=BOUNDS, mechanism="fm").coef_ - exact.coef_)
                for _ in range(10)
            ]
        )
        for eps in (0.1, 1.0, 100.0, 1e6)
    ]
    assert gaps == sorted(gaps, reverse=True)
    assert gaps[-1] < 1e-4


def test_released_numbers_and_statement_are_on_the_estimator(data):
    X, y, _ = data
    est = dplr.fit(X, y, eps=1.0, bounds=BOUNDS, mechanism="fm")
    assert {name: values.shape for name, values in est.released_.items()} == {
        name: release.shape for name, release in est.privacy_.released.items()
    }
    assert est.released_["linear"].shape == (4,)
    assert est.released_["diagonal"].shape == (3,)
    assert est.released_["off_diagonal"].shape == (6,)
