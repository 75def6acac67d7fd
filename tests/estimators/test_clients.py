"""What scikit-learn users do with an estimator, and what privacy makes of it."""

import math
import os
import pickle
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
import sklearn
from joblib import Parallel, delayed
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.ensemble import BaggingRegressor, VotingRegressor
from sklearn.exceptions import NotFittedError, UnsetMetadataPassedError
from sklearn.inspection import permutation_importance
from sklearn.model_selection import GridSearchCV, KFold, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

import dplr

BOUNDS = dplr.Bounds({"age": (0, 10), "hours": (0, 10)})
FITTED_BY = {
    "fm": dplr.LogisticRegression(eps=1.0, bounds=BOUNDS),
    "objective": dplr.HuberSVC(eps=1.0, bounds=BOUNDS),
    "output": dplr.LogisticRegression(eps=1.0, mechanism="output", bounds=BOUNDS),
    "ngd": dplr.LogisticRegression(eps=1.0, delta=1e-6, mechanism="ngd", bounds=BOUNDS),
}


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"age": rng.uniform(0, 10, 3000), "hours": rng.uniform(0, 10, 3000)})
    return X, (X["age"] > X["hours"]).astype(int)


@pytest.fixture
def fits(monkeypatch):
    """Every reservation of this process, in order."""
    from dplr.ledger.budget import NullLedger

    made = []
    monkeypatch.setattr(NullLedger, "reserve", lambda self, *statements: made.extend(statements) or Outcome())
    return made


class Outcome:
    def commit(self, outbox=None):
        """Nothing to do."""

    draw = refund = commit


def released(est):
    """Everything that noise went into, as one vector."""
    return np.concatenate([np.ravel(est.coef_), np.ravel(est.intercept_)])


def noise_of_a_fold(est, X, y):
    """The same data in every process: only the noise can differ."""
    return released(clone(est).fit(X, y))


@pytest.mark.parametrize("mechanism", FITTED_BY)
def test_cross_validation_fits_anew_in_each_fold(frame, mechanism, fits):
    found = cross_validate(FITTED_BY[mechanism], *frame, cv=KFold(5), return_estimator=True)
    assert found["test_score"].min() > 0.7
    assert [statement.eps for statement in fits] == [1.0] * 5
    assert len({tuple(released(est)) for est in found["estimator"]}) == 5


def test_search_spends_eps_in_every_fit(frame, fits):
    search = GridSearchCV(FITTED_BY["fm"], {"eps": [0.5, 1.0], "fit_intercept": [True, False]}, cv=KFold(3))
    with pytest.warns(dplr.PrivacyWarning, match="^GridSearchCV chose parameters by scores on the private rows"):
        search.fit(*frame)
    assert len(fits) == 4 * 3 + 1
    assert math.fsum(statement.eps for statement in fits) == 0.75 * 12 + search.best_params_["eps"]
    assert search.best_estimator_.privacy_.eps == search.best_params_["eps"]


@pytest.mark.filterwarnings("ignore:a function of FunctionTransformer:dplr.PrivacyWarning")
def test_public_transforms_stand_before_the_model_in_a_pipeline(frame):
    X, y = frame
    scale = FunctionTransformer(lambda X: X / 10, feature_names_out="one-to-one")
    pipe = make_pipeline(scale, dplr.LogisticRegression(eps=1.0, bounds=dplr.Bounds({"age": (0, 1), "hours": (0, 1)})))
    pipe.set_output(transform="pandas").fit(X, y)
    assert pipe.score(X, y) > 0.8
    assert list(pipe[-1].feature_names_in_) == ["age", "hours"]
    with sklearn.config_context(transform_output="pandas"):
        assert clone(pipe).fit(X, y).score(X, y) > 0.8


def test_votes_and_bags_of_regressions_and_importances_work(frame, fits):
    X, labels = frame
    y = X["age"] - X["hours"]
    inside = dplr.LinearRegression(eps=1.0, bounds=dplr.Bounds([(0, 10)] * 2, target=(-10, 10)))
    voting = VotingRegressor([("a", inside), ("b", inside)]).fit(X.to_numpy(), y)
    assert voting.score(X.to_numpy(), y) > 0.7
    assert len(fits) == 2
    bag = BaggingRegressor(inside, 3, bootstrap=False, max_samples=0.5)
    assert bag.fit(X.to_numpy(), y).score(X.to_numpy(), y) > 0.7
    assert len(fits) == 5
    found = permutation_importance(clone(FITTED_BY["fm"]).fit(X, labels), X, labels, n_repeats=2)
    assert (found.importances_mean > 0).all()


@pytest.mark.parametrize("mechanism", FITTED_BY)
def test_workers_draw_independent_noise(frame, mechanism):
    drawn = Parallel(n_jobs=2)(delayed(noise_of_a_fold)(FITTED_BY[mechanism], *frame) for _ in range(6))
    together = np.array(drawn)
    for column in together.T:
        assert len(set(column)) == 6


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_child_never_repeats_the_noise_of_its_parent():
    code = """
import os, numpy as np, dplr
X = np.random.default_rng(0).uniform(-0.5, 0.5, (500, 2)); y = X[:, 0] > 0
fit = lambda: [dplr.fit(X, y, eps=1.0, mechanism=m, delta=d).coef_.tobytes().hex()
               for m, d in (("fm", 0), ("objective", 0), ("ngd", 1e-6))]
fit()
for child in range(2):
    if os.fork() == 0:
        print(*fit(), sep="\\n", flush=True)
        os._exit(0)
    os.wait()
print(*fit(), sep="\\n")
"""
    lines = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert len(lines) == len(set(lines)) == 9


@pytest.mark.parametrize("mechanism", FITTED_BY)
def test_a_fitted_estimator_survives_pickling_with_its_statement(frame, mechanism):
    X, y = frame
    est = clone(FITTED_BY[mechanism]).fit(X, y)
    restored = pickle.loads(pickle.dumps(est))
    assert_array_equal(restored.predict(X), est.predict(X))
    assert restored.privacy_ == est.privacy_
    assert_array_equal(released(restored), released(est))


def test_parameters_can_be_read_set_and_cloned(frame):
    est = dplr.HuberSVC(eps=1.0, bounds=BOUNDS, width=0.3)
    assert clone(est.fit(*frame)).get_params() == est.get_params()
    assert est.set_params(width=0.7, eps=2.0).get_params()["width"] == 0.7
    assert not hasattr(clone(est), "coef_")
    with pytest.raises(ValueError, match="Invalid parameter 'epsilon'"):
        est.set_params(epsilon=1.0)


def test_weights_without_a_cap_are_refused_however_they_come(frame, entropy):
    X, y = frame
    weights = np.ones(len(y))
    with pytest.raises(ValueError, match="`weight_max` is required with sample_weight"):
        clone(FITTED_BY["fm"]).fit(X, y, sample_weight=weights)
    pipe = make_pipeline(FunctionTransformer(), FITTED_BY["fm"])
    with pytest.raises(ValueError, match="`weight_max` is required with sample_weight"):
        pipe.fit(X, y, logisticregression__sample_weight=weights)
    with sklearn.config_context(enable_metadata_routing=True):
        with pytest.raises(UnsetMetadataPassedError, match="sample_weight"):
            pipe.fit(X, y, sample_weight=weights)
        asking = make_pipeline(FunctionTransformer(), clone(FITTED_BY["fm"]).set_fit_request(sample_weight=True))
        with pytest.raises(ValueError, match="`weight_max` is required with sample_weight"):
            asking.fit(X, y, sample_weight=weights)
    assert entropy.bytes == 0


HOSTILE = '<script>alert("1")</script>'


def test_notebooks_show_the_diagram_and_the_statement_escaped(frame):
    X, y = frame
    hostile = X.rename(columns={"age": HOSTILE})
    bounds = dplr.Bounds({HOSTILE: (0, 10), "hours": (0, 10)}, target=(HOSTILE, "no"))
    est = dplr.LogisticRegression(eps=0.8, bounds=bounds, mechanism="fm")
    before = est._repr_html_()
    assert "Not fitted. Each call of fit would spend eps = 0.8" in before
    for html in (
        before,
        est.fit(hostile, np.where(y, HOSTILE, "no"))._repr_html_(),
        est._repr_mimebundle_()["text/html"],
    ):
        assert "sk-estimator" in html
        assert "its scores are not private" in html
        assert HOSTILE not in html
    assert "pure eps-differential privacy, eps = 0.8" in html
    assert "&lt;script&gt;alert(&quot;1&quot;)&lt;/script&gt; in [0, 10]" in html  # the column
    assert "the labels [&#x27;&lt;script&gt;" in html


def test_notebook_of_an_estimator_without_bounds_says_what_it_needs():
    assert "it needs public bounds of the columns" in dplr.HuberSVC()._repr_html_()


@pytest.mark.parametrize(
    ("model", "classes"),
    [("linear", None), ("logistic", None), ("svm", None), ("logistic", (0, 1, 2)), ("svm", (0, 1, 2))],
)
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_plain_model_predicts_the_same_and_holds_nothing_of_ours(frame, model, classes, fit_intercept):
    X, y = frame
    y = y if classes is None else np.digitize(X["age"], [3, 6])
    mechanism = "objective" if model == "svm" else "fm"
    options = {"classes": classes, "fit_intercept": fit_intercept, "mechanism": mechanism}
    target = (-1, 1) if model == "linear" else None
    bounds = dplr.Bounds(BOUNDS.to_dict()["features"], target=target)
    est = dplr.fit(X, y, eps=1.0, model=model, bounds=bounds, **options)
    plain = est.to_sklearn()
    assert "dplr" not in str(pickle.dumps(plain))
    assert list(plain.feature_names_in_) == ["age", "hours"]
    for method in ("predict", "decision_function", "predict_proba", "predict_log_proba"):
        if hasattr(plain, method):
            assert_allclose(getattr(plain, method)(X), getattr(est, method)(X), rtol=1e-9)
    if not (classes and model == "logistic"):
        last = plain[-1]
        assert_array_equal(last.coef_, est.coef_)
        assert_array_equal(last.intercept_, est.intercept_)
        last.coef_[:] = 0
        assert est.coef_.any()
    assert_array_equal(plain.predict(X[["hours", "age"]].assign(more=1)), plain.predict(X))
    with pytest.raises(ValueError, match="columns are missing"):
        plain.predict(X[["age"]])


def test_plain_model_needs_a_fit():
    with pytest.raises(NotFittedError):
        dplr.LinearRegression().to_sklearn()
