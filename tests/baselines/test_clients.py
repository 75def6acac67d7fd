"""DPME and Filter-Priority under scikit-learn, in notebooks and in files."""

import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.calibration import CalibratedClassifierCV
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import KFold, cross_val_score
from tests.baselines.test_models import BOTH, LABELLED, data, made

import dplr
from dplr import baselines


@BOTH
def test_estimators_follow_the_conventions_of_scikit_learn(kind):
    X, y = data()
    est = made(kind, eps=2.0, bins=4)
    assert clone(est).get_params() == est.get_params()
    assert is_classifier(est)
    assert is_regressor(made(kind, "linear"))
    before = set(vars(est))
    assert before == set(est.get_params())
    est.fit(X, y > 0)
    assert est.predict(X).dtype == bool
    assert est.predict_proba(X).shape == (3000, 2)
    assert np.array_equal(est.decision_function(X) > 0, est.predict(X))
    assert est.score(X, y > 0) == (est.predict(X) == (y > 0)).mean()
    assert (est.n_features_in_, est.coef_.shape, est.classes_.tolist()) == (2, (1, 2), [False, True])
    assert np.array_equal(pickle.loads(pickle.dumps(est)).predict(X), est.predict(X))
    linear = made(kind, "linear", bins=4).fit(X, y)
    assert linear.coef_.shape == (2,)
    assert not hasattr(linear, "predict_proba")
    assert (np.abs(linear.predict(X * 100)) <= 20).all()
    assert not hasattr(linear.fit(X, y), "classes_")


def test_keywords_of_others_are_refused_with_ours():
    with pytest.raises(TypeError, match="Use `eps`"):
        baselines.DPME(epsilon=1.0)


def test_folds_are_fitted_and_calibration_is_refused():
    X, y = data()
    est = made(baselines.DPME, eps=5.0, bins=4)
    assert cross_val_score(est, X, (y > 0).astype(int), cv=KFold(3)).mean() > 0.8
    with pytest.raises(ValueError, match="CalibratedClassifierCV"):
        CalibratedClassifierCV(est, cv=KFold(3)).fit(X, (y > 0).astype(int))


@BOTH
def test_calibration_of_a_fitted_model_is_let_through_with_a_warning(kind):
    X, y = data()
    est = made(kind, eps=5.0, bins=4).fit(X, y > 0)
    with pytest.warns(dplr.PrivacyWarning, match="CalibratedClassifierCV .* give it public rows only"):
        calibrated = CalibratedClassifierCV(FrozenEstimator(est)).fit(X, y > 0)
    assert calibrated.predict_proba(X).shape == (3000, 2)


def test_a_refused_client_is_told_the_name_of_the_model_that_the_user_wrote():
    X, y = data()
    with pytest.raises(ValueError, match=r"CalibratedClassifierCV.*got 'DPME'"):
        CalibratedClassifierCV(made(baselines.DPME), cv=KFold(3)).fit(X, y > 0)


@BOTH
@pytest.mark.filterwarnings("error")
def test_a_notebook_shows_the_statement(kind):
    est = made(kind, eps=2.0, bins=4)
    assert "Each call of fit would spend eps = 2.0, delta = 0.0" in est._repr_html_()
    X, y = data()
    est.fit(X, y > 0)
    assert "L1 sensitivity 2" in est._repr_html_()


@BOTH
def test_a_baseline_is_not_written_to_a_file(kind, tmp_path):
    X, y = data()
    est = made(kind, bins=4).fit(X, y > 0)
    for each in (est, est._model):
        with pytest.raises(TypeError, match="`est` must be one of"):
            dplr.save_model(each, tmp_path / "model.json")


def test_a_fit_to_one_table_after_another_forgets_the_first():
    X, y = data()
    frame = pd.DataFrame(X, columns=["a", "b"])
    est = made(baselines.DPME, bounds=dplr.Bounds({"a": (0, 10), "b": (-1, 1)}), eps=3.0).fit(frame, y > 0)
    assert est.feature_names_in_.tolist() == ["a", "b"]
    est.bounds = LABELLED
    assert not hasattr(est.fit(X, y > 0), "feature_names_in_")
