"""Stacks and votes: what a private model is fitted to, or averaged with, must be private too."""

import math

import numpy as np
import pytest
from sklearn.compose import TransformedTargetRegressor
from sklearn.dummy import DummyRegressor
from sklearn.ensemble import BaggingRegressor, StackingRegressor, VotingRegressor
from sklearn.feature_selection import SelectFromModel
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, PolynomialFeatures, StandardScaler

import dplr
from dplr.baselines import DPME

pytestmark = pytest.mark.filterwarnings("ignore::dplr.DataWarning")

EPS = 0.1
RNG = np.random.default_rng(0)
X = RNG.uniform(-0.5, 0.5, (200, 2))
Y = X[:, 0]
BOUNDS = dplr.Bounds([(-1, 1)] * 2, target=(-1, 1))
PRIVATE = dplr.LinearRegression(eps=EPS, bounds=BOUNDS)
LAST = dplr.LinearRegression(eps=EPS, mechanism="fm", ranges="off")


def stack(*members, last=LAST, cv=None, **options):
    named = [(f"m{place}", member) for place, member in enumerate(members)]
    return StackingRegressor(named, final_estimator=last, cv=cv or KFold(2), **options)


def vote(*members):
    return VotingRegressor([(f"m{place}", member) for place, member in enumerate(members)])


@pytest.fixture
def unguarded(monkeypatch):
    """Nothing is refused: how the package was."""
    from dplr.estimators import _clients

    monkeypatch.setattr(_clients, "refuse", lambda *_: None)


def far_apart():
    """Two tables of 2,000 records that differ in one of them, whose target is far outside the declared range."""
    features = np.random.default_rng(1).uniform(-0.5, 0.5, (2000, 2))
    targets = np.full(2000, 0.5)
    other = targets.copy()
    other[0] = -1e7
    return features, targets, other


def test_a_plain_member_would_let_one_record_move_the_rows_of_all_others(unguarded):
    """Why it is refused: the final model promises 0.1, and every release tells which of two tables it came from."""
    features, targets, other = far_apart()

    def released(labels):
        return stack(DummyRegressor(), cv=KFold(5)).fit(features, labels).final_estimator_

    pairs = [(released(targets), released(other)) for _ in range(20)]
    print(pairs[0][0].privacy_, pairs[0][0].released_, pairs[0][1].released_)
    print(pairs[0][0].privacy_.released)
    assert 0


def test_x():
    features, targets, _ = far_apart()
    with pytest.raises(ValueError, match="a stack with a member that is not private"):
        stack(DummyRegressor(), cv=KFold(5)).fit(features, targets)
