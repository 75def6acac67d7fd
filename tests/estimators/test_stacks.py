"""Stacks and votes: what a private model is fitted to, or averaged with, must be private too."""

import math
import warnings

import numpy as np
import pytest
from sklearn.compose import TransformedTargetRegressor
from sklearn.dummy import DummyRegressor
from sklearn.ensemble import BaggingRegressor, StackingRegressor, VotingRegressor
from sklearn.feature_selection import SelectFromModel
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.multioutput import MultiOutputRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, PolynomialFeatures, StandardScaler

import dplr
from dplr.baselines import DPME

pytestmark = pytest.mark.filterwarnings("ignore::dplr.DataWarning")

EPS = 0.1
RNG = np.random.default_rng(0)
X = RNG.uniform(-0.5, 0.5, (200, 2))
Y = X[:, 0]
PRIVATE = dplr.LinearRegression(eps=EPS)
EXACT = dplr.LinearRegression(eps=math.inf)
LAST = dplr.LinearRegression(eps=EPS, mechanism=dplr.FunctionalMechanism(ranges="off"))
RIDGE = Ridge().fit(X, Y)


def stack(*members, last=LAST, cv=None, **options):
    named = [(f"m{place}", member) for place, member in enumerate(members)]
    return StackingRegressor(named, final_estimator=last, cv=cv or KFold(2), **options)


def vote(*members):
    return VotingRegressor([(f"m{place}", member) for place, member in enumerate(members)])


# Why


def releases_of(labels, features):
    """The sum of squared predictions of a plain member, as the final model releases it, with its noise."""
    last = stack(DummyRegressor(), cv=KFold(5)).fit(features, labels).final_estimator_
    block = last.privacy_.released["diagonal"]
    assert last.privacy_.eps == EPS
    return last.released_["diagonal"][0], block.scale


def test_one_record_moves_the_rows_of_all_others_where_a_member_is_plain(monkeypatch):
    """Why it is refused: a release at a stated eps of 0.1 had a loss above 40, and always told which table it is of."""
    from dplr.estimators import _callers

    monkeypatch.setattr(_callers, "refuse", lambda *_: None)
    features = np.random.default_rng(1).uniform(-0.5, 0.5, (2000, 2))
    targets = np.full(2000, 0.5)
    other = targets.copy()
    other[0] = -1e7  # one record of 2,000
    ours, theirs = (np.array([releases_of(each, features) for _ in range(20)]) for each in (targets, other))
    assert ours[:, 0].max() < 1200 < theirs[:, 0].min()
    loss = (theirs[:, 0].mean() - ours[:, 0].mean()) / ours[0, 1]  # of discrete Laplace noise, between the two sums
    assert loss > 300 * EPS


# What is refused

MEMBERS = {
    "plain": (Ridge(), "Ridge"),
    "without noise": (EXACT, "LinearRegression"),
    "in a pipeline": (make_pipeline(FunctionTransformer(), Ridge()), "Ridge"),
    "behind a scaler": (make_pipeline(StandardScaler(), PRIVATE), "StandardScaler"),
    "of a scaled target": (TransformedTargetRegressor(PRIVATE, transformer=StandardScaler()), "StandardScaler"),
    "of a transformed target": (TransformedTargetRegressor(Ridge(), func=np.tanh, inverse_func=np.arctanh), "Ridge"),
    "the default of a client": (TransformedTargetRegressor(), "TransformedTargetRegressor"),
    "in a vote": (vote(PRIVATE, Ridge()), "Ridge"),
    "in a stack": (stack(PRIVATE, last=Ridge()), "Ridge"),
    "in a stack of stacks": (stack(stack(Ridge())), "Ridge"),
    "selected by a plain model": (make_pipeline(SelectFromModel(Ridge()), PRIVATE), "Ridge"),
    "chosen": (GridSearchCV(PRIVATE, {"l2": [0.1, 1.0]}, cv=KFold(2)), "GridSearchCV"),
    "bagged": (BaggingRegressor(bootstrap=False), "BaggingRegressor"),
    "two of them": (make_pipeline(StandardScaler(), Ridge()), "StandardScaler, Ridge"),
}
CLIENTS = {
    "stack": (lambda member: stack(PRIVATE, member), "a stack with a member that is not private"),
    "stack that passes columns": (
        lambda member: stack(PRIVATE, member, passthrough=True),
        "a stack with a member that is not private",
    ),
    "stack in workers": (lambda member: stack(PRIVATE, member, n_jobs=2), "a stack with a member that is not private"),
    "vote": (lambda member: vote(PRIVATE, member), "a vote with a member that is not private"),
}


@pytest.mark.parametrize("client", CLIENTS)
@pytest.mark.parametrize("member", MEMBERS)
def test_a_member_that_is_not_private_is_refused_by_its_name(member, client, entropy, reserved):
    model, name = MEMBERS[member]
    made, words = CLIENTS[client]
    with pytest.raises(ValueError, match=rf"must not be fitted to private rows in {words} \({name}\): it"):
        made(model).fit(X, Y)
    assert entropy.bytes == 0
    assert reserved == []


@pytest.mark.parametrize("member", [RIDGE, dplr.LinearRegression(eps=math.inf).fit(X, Y)], ids=["plain", "no noise"])
def test_a_member_that_was_fitted_before_is_refused_unless_it_is_frozen(member, reserved):
    """Nobody knows to which rows; `FrozenEstimator` says to public ones, as in pipelines."""
    with pytest.raises(ValueError, match="a stack with a member that is not private"):
        stack(member, cv="prefit").fit(X, Y)
    assert reserved == []
    stack(FrozenEstimator(member), cv="prefit").fit(X, Y)
    assert [each.uncovered for each in reserved] == [()]


def test_the_reason_is_shown_where_scikit_learn_swallows_it(reserved):
    """A pipeline that is asked for its tags takes our error for one of its own."""
    with (
        pytest.warns(dplr.PrivacyWarning, match=r"in a vote with a member that is not private \(StandardScaler\)"),
        pytest.raises(ValueError, match="should be a regressor"),
    ):
        vote(make_pipeline(StandardScaler(), PRIVATE)).fit(X, Y)
    assert reserved == []


def test_the_remedy_for_a_plain_final_estimator_does_not_lead_to_plain_members():
    with pytest.raises(ValueError, match=r"not private \(the default\): .* and private members alone"):
        StackingRegressor([("a", PRIVATE)], cv=KFold(2)).fit(X, Y)
    with pytest.raises(ValueError, match=r"not private \(Ridge\): "):
        stack(PRIVATE, last=make_pipeline(FunctionTransformer(), Ridge())).fit(X, Y)


# What is not

TWO = dplr.LinearRegression(eps=EPS, mechanism="fm")
GOOD = {
    "private": PRIVATE,
    "frozen": FrozenEstimator(RIDGE),
    "in a pipeline": make_pipeline(FunctionTransformer(), FrozenEstimator(StandardScaler().fit(X)), PRIVATE),
    "with products": make_pipeline(PolynomialFeatures(1, include_bias=False), PRIVATE),
    "dropped": "drop",
    "a vote": vote(PRIVATE, PRIVATE),
    "a stack": stack(PRIVATE),
    "of a transformed target": TransformedTargetRegressor(PRIVATE, func=np.arcsinh, inverse_func=np.sinh),
    "a private search": dplr.PrivateSearch(TWO, {"l2": [0.1, 1.0]}),
    "a baseline": DPME(eps=EPS, model="linear", bounds=dplr.Bounds([(-1, 1)] * 2, target=(-1, 1))),
    "selected": make_pipeline(SelectFromModel(TWO, max_features=1, threshold=-math.inf), PRIVATE),
    "a bag": BaggingRegressor(PRIVATE, 2, bootstrap=False, max_samples=0.5),
}


@pytest.mark.parametrize("member", GOOD)
def test_private_members_are_taken_and_the_statement_covers_them(member, reserved):
    model = GOOD[member]
    if member not in ("private", "dropped"):
        vote(PRIVATE, model).fit(X, Y)
    fitted = stack(PRIVATE, model, passthrough=True).fit(X, Y)
    assert fitted.final_estimator_.privacy_.uncovered == ()
    assert {each.uncovered for each in reserved} == {()}


def test_without_noise_nothing_is_promised_and_nothing_refused():
    with warnings.catch_warnings():
        warnings.simplefilter("error", dplr.PrivacyWarning)
        fitted = stack(EXACT, Ridge(), last=dplr.LinearRegression(eps=math.inf)).fit(X, Y)
        vote(EXACT, Ridge()).fit(X, Y)
    assert fitted.final_estimator_.privacy_.uncovered == ()


def test_a_private_stack_in_a_search_in_a_pipeline_says_what_each_of_them_did(reserved):
    search = GridSearchCV(stack(PRIVATE), {"final_estimator__l2": [0.1, 1.0]}, cv=KFold(2))
    with pytest.warns(dplr.PrivacyWarning, match="does not cover it"):
        fitted = make_pipeline(StandardScaler(), search).fit(X, Y)
    scaled, chosen = fitted[-1].best_estimator_.final_estimator_.privacy_.uncovered
    assert scaled.startswith("StandardScaler learned")
    assert chosen.startswith("GridSearchCV chose parameters")
    with pytest.raises(ValueError, match=r"not private \(Ridge\)"):
        MultiOutputRegressor(make_pipeline(FunctionTransformer(), GridSearchCV(stack(Ridge()), {}))).fit(X, X)
