"""What learned before a fit, inside its clients: the statement assumes, by name, that public rows taught it."""

import numpy as np
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import StackingRegressor, VotingRegressor
from sklearn.feature_selection import SelectFromModel
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, Normalizer, StandardScaler

import dplr

pytestmark = [pytest.mark.filterwarnings(f"ignore::{name}") for name in ("dplr.DataWarning", "dplr.PrivacyWarning")]

RNG = np.random.default_rng(0)
X = RNG.uniform(0.0, 0.5, (200, 2))
Y = X[:, 0]
CV = KFold(2, shuffle=True)
TWO = dplr.LinearRegression(eps=1.0, mechanism="fm")
TWO_FITTED = dplr.LinearRegression(eps=1.0, mechanism="fm").fit(X, Y)
SCALER, RIDGE = FrozenEstimator(StandardScaler().fit(X)), FrozenEstimator(Ridge().fit(X, Y))
PREFIT = SelectFromModel(Ridge().fit(X, Y), prefit=True, threshold=-np.inf)


def chosen():
    return GridSearchCV(TWO, {"l2": [0.1, 1.0]}, cv=CV).fit(X, Y)


CLIENTS = {
    "a step": (lambda: make_pipeline(SCALER, TWO), "StandardScaler"),
    "steps in a step": (lambda: make_pipeline(make_pipeline(FunctionTransformer(), SCALER), TWO), "StandardScaler"),
    "a step of several": (
        lambda: make_pipeline(FrozenEstimator(make_pipeline(Normalizer(), StandardScaler()).fit(X)), TWO),
        "StandardScaler",
    ),
    "columns": (lambda: make_pipeline(ColumnTransformer([("a", SCALER, [0, 1])]), TWO), "StandardScaler"),
    "a member of a stack": (lambda: StackingRegressor([("a", RIDGE), ("b", TWO)], TWO, cv=CV), "Ridge"),
    "a member of a vote": (lambda: VotingRegressor([("a", RIDGE), ("b", TWO)]), "Ridge"),
    "prefit": (lambda: make_pipeline(PREFIT, TWO), "Ridge"),
    "in a search": (lambda: GridSearchCV(make_pipeline(SCALER, TWO), {}, cv=CV), "StandardScaler"),
    "a search": (lambda: VotingRegressor([("a", FrozenEstimator(chosen())), ("b", TWO)]), "GridSearchCV"),
    "a model that a search chose": (
        lambda: VotingRegressor([("a", FrozenEstimator(chosen().best_estimator_)), ("b", TWO)]),
        "LinearRegression",
    ),
    "a model whose noise a seed gives": (
        lambda: StackingRegressor(
            [("a", FrozenEstimator(dplr.LinearRegression(eps=1.0, mechanism="fm", rng=1).fit(X, Y)))], TWO, cv=CV
        ),
        "LinearRegression",
    ),
    "a model without noise": (
        lambda: StackingRegressor(
            [("a", FrozenEstimator(dplr.LinearRegression(eps=np.inf).fit(X, Y)))], TWO, cv=CV
        ),
        "LinearRegression",
    ),
    "two": (lambda: StackingRegressor([("a", make_pipeline(SCALER, RIDGE))], TWO, cv=CV), "StandardScaler, Ridge"),
}  # fmt: skip
SILENT = {
    "a release": lambda: StackingRegressor([("a", FrozenEstimator(TWO_FITTED))], TWO, cv=CV),
    "what learns nothing": lambda: make_pipeline(FrozenEstimator(Normalizer().fit(X)), TWO),
    "private alone": lambda: StackingRegressor([("a", TWO), ("b", TWO)], TWO, cv=CV),
}  # fmt: skip


def assumed(statement):
    return [fact for fact in statement.assumptions if "FrozenEstimator" in fact]


@pytest.mark.parametrize("client", CLIENTS)
def test_a_statement_assumes_by_name_that_public_rows_taught_what_is_frozen(client, reserved):
    make, names = CLIENTS[client]
    made = make()
    reserved.clear()
    made.fit(X, Y)
    fact = f"what {names} learned before, in FrozenEstimator or by prefit, came from public rows alone"
    assert reserved
    assert [assumed(statement) for statement in reserved] == [[fact]] * len(reserved)


@pytest.mark.parametrize("client", SILENT)
def test_releases_and_steps_that_learn_nothing_need_no_such_assumption(client, reserved):
    SILENT[client]().fit(X, Y)
    assert [assumed(statement) for statement in reserved] == [[]] * len(reserved)


def test_folds_assume_it_too():
    found = []

    def score(pipeline, *_):
        found.extend(assumed(pipeline[-1].privacy_))
        return 0.0

    cross_val_score(make_pipeline(SCALER, TWO), X, Y, cv=CV, scoring=score)
    assert len(found) == 2


def test_a_choice_that_a_statement_does_not_cover_is_said_where_another_fit_starts_from_the_model():
    model = chosen().best_estimator_
    (fact,) = model.privacy_.uncovered
    (start,) = [
        fact for fact in TWO.set_params(public=model).fit(X, Y).privacy_.assumptions if "common records" in fact
    ]
    TWO.set_params(public=None)
    assert f"under {model.privacy_.guarantee} (not covered: {fact}); on common records both add up" in start
