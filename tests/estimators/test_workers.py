"""Workers do not see who called a client: a model knows what was seen in the parent, or its statement says so."""

import warnings

import numpy as np
import pytest
from joblib import parallel_config
from sklearn.compose import ColumnTransformer, TransformedTargetRegressor
from sklearn.ensemble import BaggingRegressor, StackingRegressor, VotingRegressor
from sklearn.feature_selection import RFECV, SelectFromModel
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import Ridge
from sklearn.model_selection import KFold, cross_validate
from sklearn.multioutput import MultiOutputRegressor
from sklearn.pipeline import FeatureUnion, make_pipeline
from sklearn.preprocessing import Normalizer, StandardScaler

import dplr

pytestmark = [pytest.mark.filterwarnings(f"ignore::dplr.{name}") for name in ("DataWarning", "UtilityWarning")]

RNG = np.random.default_rng(0)
X = RNG.uniform(-0.5, 0.5, (200, 3))
Y = X[:, 0]
TWO = X[:, :2]
FROZEN = FrozenEstimator(Ridge().fit(X, Y))
SCALED = "StandardScaler learned from the private rows before this fit, without noise"
UNSEEN = "what asked for this fit in another process or thread, and what it did with the private rows, is not known"


def model():
    """A new one each time: what a client saw before stays with a model."""
    return dplr.LinearRegression(eps=1.0, mechanism="fm")


def selected():
    return SelectFromModel(model(), threshold=-np.inf)


def members(*estimators):
    return [(f"m{place}", each) for place, each in enumerate(estimators)]


def negated():
    return TransformedTargetRegressor(model(), func=np.negative, inverse_func=np.negative)


def fit(client, targets, backend="threading"):
    with parallel_config(backend), warnings.catch_warnings():
        warnings.simplefilter("ignore", dplr.PrivacyWarning)
        return client.fit(X, targets)


def union(*steps):
    return FeatureUnion(members(*steps), n_jobs=2)


UNIONS = {
    "behind a scaler": lambda: make_pipeline(StandardScaler(), union(selected(), Normalizer())),
    "with a scaler": lambda: union(StandardScaler(), selected()),
    "behind a choice": lambda: make_pipeline(RFECV(Ridge()), union(selected())),
    "a scaler in columns": lambda: ColumnTransformer([("a", union(StandardScaler(), selected()), [0, 1])]),
}


@pytest.mark.parametrize("name", UNIONS)
def test_a_union_asks_its_models_nothing_so_nobody_knows_in_a_worker_who_asked(name, reserved):
    """A release behind a scaler at a stated eps of 0.1 told ten of ten tables apart."""
    fit(UNIONS[name](), Y)
    (statement,) = reserved
    assert UNSEEN in statement.uncovered


def test_a_worker_in_another_process_says_it_too():
    fitted = fit(make_pipeline(StandardScaler(), union(selected(), Normalizer())), Y, "loky")[-1]
    assert fitted.transformer_list[0][1].estimator_.privacy_.uncovered == (UNSEEN,)


def test_what_a_client_before_saw_does_not_count_for_a_union(reserved):
    selector = selected()
    with parallel_config("threading"):
        cross_validate(selector.estimator, X, Y, cv=KFold(2), n_jobs=2)
    fit(make_pipeline(StandardScaler(), union(selector)), Y)
    assert [each.uncovered for each in reserved] == [(), (), (UNSEEN,)]


COVERED = {
    "outputs": (lambda: MultiOutputRegressor(make_pipeline(selected(), model()), n_jobs=2), TWO),
    "a bag": (lambda: BaggingRegressor(make_pipeline(selected(), model()), 3, bootstrap=False, n_jobs=2), Y),
    "votes": (lambda: MultiOutputRegressor(VotingRegressor(members(model(), model())), n_jobs=2), TWO),
    "stacks": (lambda: MultiOutputRegressor(StackingRegressor(members(model(), model()), model()), n_jobs=2), TWO),
    "late in a vote": (lambda: VotingRegressor(members(model(), *(negated() for _ in range(12))), n_jobs=2), Y),
}


@pytest.mark.parametrize("name", COVERED)
def test_models_in_a_worker_know_what_one_of_them_was_told_in_the_parent(name, reserved):
    client, targets = COVERED[name]
    fit(client(), targets)
    assert {each.uncovered for each in reserved} == {()}
    reserved.clear()
    fit(make_pipeline(StandardScaler(), client()), targets)
    assert {each.uncovered for each in reserved} == {(SCALED,)}


SWALLOWED = {
    "a vote with a member that is not private (Ridge) fits a member to the rows": lambda *late: VotingRegressor(
        members(*[FROZEN] * 8, Ridge(), *late), n_jobs=2
    ),
    "a stack with a `final_estimator` that is not private (Ridge) fits the last model": lambda *late: StackingRegressor(
        members(*[FROZEN] * 8, *late), Ridge(), n_jobs=2
    ),
}


@pytest.mark.parametrize("client", SWALLOWED)
def test_a_refusal_that_scikit_learn_swallowed_stands_in_the_statement_of_a_fit_that_went_on(client, reserved):
    fit(SWALLOWED[client](make_pipeline(selected(), FROZEN)), Y)
    assert reserved
    for statement in reserved:
        assert [fact for fact in statement.uncovered if fact.startswith(client)]
