"""Steps before a model that learn from the private rows: told to the user, and in the statement."""

import math
import warnings

import numpy as np
import pytest
from sklearn.compose import ColumnTransformer, TransformedTargetRegressor
from sklearn.frozen import FrozenEstimator
from sklearn.kernel_approximation import RBFSampler
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.pipeline import FeatureUnion, make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    MinMaxScaler,
    Normalizer,
    OneHotEncoder,
    OrdinalEncoder,
    PolynomialFeatures,
    StandardScaler,
)

import dplr

RNG = np.random.default_rng(0)
X = RNG.uniform(-0.5, 0.5, (200, 2))
Y = X[:, 0] > 0
DENSE = {"handle_unknown": "ignore", "sparse_output": False}
INSIDE = dplr.LogisticRegression(eps=1.0, mechanism="fm")

LEARN = {
    "StandardScaler": StandardScaler(),
    "MinMaxScaler": make_pipeline(FunctionTransformer(), MinMaxScaler()),
    "StandardScaler, MinMaxScaler": ColumnTransformer([("a", StandardScaler(), [0]), ("b", MinMaxScaler(), [1])]),
    "OneHotEncoder": FeatureUnion([("a", FunctionTransformer()), ("b", OneHotEncoder(**DENSE))]),
}


class Plain:
    """A transformer that knows nothing of scikit-learn."""

    def fit(self, X, y=None):
        return self

    def transform(self, X):
        return X


class Named(MinMaxScaler):
    """A transformer of one's own with the name of one that learns nothing."""


Named.__name__ = "PolynomialFeatures"

LEARN |= {
    "PolynomialFeatures": Named(),
    "RBFSampler": RBFSampler(gamma="scale", n_components=2),
    "StandardScaler ": ColumnTransformer([("a", "passthrough", [0])], remainder=StandardScaler()),
    "OneHotEncoder ": OneHotEncoder(categories=[[0.0, 1.0]] * 2, max_categories=1, **DENSE),
    "OrdinalEncoder": OrdinalEncoder(
        categories=[[0.0, 1.0]] * 2, min_frequency=30, handle_unknown="use_encoded_value", unknown_value=-1
    ),
    "Plain": Plain(),
}
LEARN_NOTHING = [
    FunctionTransformer(np.tanh),
    Normalizer(),
    RBFSampler(n_components=2),
    PolynomialFeatures(2),
    FrozenEstimator(StandardScaler().fit(X)),
    ColumnTransformer([("a", "passthrough", [0]), ("b", "drop", [1])]),
    ColumnTransformer([("a", OneHotEncoder(categories=[[0.0, 1.0]], **DENSE), [0])]),
    "passthrough",
]


@pytest.mark.parametrize("names", LEARN)
def test_a_step_that_learned_from_private_rows_is_told_and_stands_in_the_statement(names):
    step, names = LEARN[names], names.strip()
    with pytest.warns(dplr.PrivacyWarning, match=f"^{names} learned from the private rows") as told:
        est = make_pipeline(step, INSIDE).fit(X, Y)[-1]
    assert est.privacy_.uncovered == (f"{names} learned from the private rows before this fit, without noise",)
    assert [each.filename for each in told if "learned" in str(each.message)] == [__file__]


@pytest.mark.parametrize("step", LEARN_NOTHING, ids=str)
def test_a_step_that_learns_nothing_is_not_told_of(step):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", dplr.DataWarning)
        est = make_pipeline(step, INSIDE).fit(X, Y)[-1]
    assert est.privacy_.uncovered == ()


def test_a_scaled_target_is_told_of():
    inside = dplr.LinearRegression(eps=1.0, mechanism="fm")
    with pytest.warns(dplr.PrivacyWarning, match="^StandardScaler learned"):
        est = TransformedTargetRegressor(inside, transformer=StandardScaler()).fit(X, X[:, 0]).regressor_
    assert "NOT COVERED   StandardScaler" in str(est.privacy_)
    functions = TransformedTargetRegressor(inside, func=np.tanh, inverse_func=np.arctanh).fit(X, X[:, 0]).regressor_
    assert functions.privacy_.uncovered == ()


def test_steps_of_a_pipeline_inside_a_search_are_seen_too():
    search = GridSearchCV(make_pipeline(StandardScaler(), INSIDE), {"logisticregression__eps": [1.0]}, cv=KFold(2))
    with pytest.warns(dplr.PrivacyWarning) as told:
        est = search.fit(X, Y).best_estimator_[-1]
    scaled, chosen = est.privacy_.uncovered
    assert scaled == "StandardScaler learned from the private rows before this fit, without noise"
    assert chosen == "GridSearchCV chose parameters by scores on the private rows, without noise"
    assert {str(each.message).partition(":")[0] for each in told if each.category is dplr.PrivacyWarning} == {
        scaled,
        chosen,
    }


def test_without_a_promise_nothing_is_said():
    est = make_pipeline(StandardScaler(), dplr.LogisticRegression(eps=math.inf, mechanism="fm"))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", dplr.DataWarning)
        assert est.fit(X, Y)[-1].privacy_.uncovered == ()
