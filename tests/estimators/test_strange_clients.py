"""Clients that nobody has judged: those of a later scikit-learn, of other packages, and of one's own."""

import inspect
import math
import textwrap
import warnings

import numpy as np
import pytest
from joblib import parallel_config
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone, is_classifier
from sklearn.ensemble import StackingRegressor, VotingRegressor
from sklearn.feature_selection import RFECV, SelectFromModel
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV, KFold, cross_validate
from sklearn.multioutput import MultiOutputClassifier, MultiOutputRegressor
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from sklearn.utils.parallel import Parallel, delayed

import dplr
from dplr.baselines import DPME

pytestmark = pytest.mark.filterwarnings("ignore::dplr.DataWarning")

RNG = np.random.default_rng(0)
X = RNG.uniform(-0.5, 0.5, (200, 2))
Y = (X[:, 0] > 0).astype(int)
TWO = np.column_stack([Y, 1 - Y])
MODEL = dplr.LogisticRegression(eps=1.0, mechanism="fm")
CV = KFold(2)

SOURCE = """
class Future(MetaEstimatorMixin, BaseEstimator):
    def __init__(self, estimator, n_jobs=None):
        self.estimator = estimator
        self.n_jobs = n_jobs

    def fit(self, X, y):
        self.mean_ = X.mean(axis=0)
        tasks = (delayed(_fit_one)(clone(self.estimator), X, y) for _ in range(9))
        self.estimators_ = Parallel(n_jobs=self.n_jobs)(tasks)
        return self

    def fit_by_helper(self, X, y):
        return _fit_one(clone(self.estimator), X, y)


class FutureCopies(Future):
    def fit(self, X, y):
        tasks = [delayed(_fit_anew)(self.estimator, X, y) for _ in range(2)]
        self.estimators_ = Parallel(n_jobs=self.n_jobs)(tasks)
        return self


class FuturePrefit(Future):
    def fit(self, X, y):
        self.classifies_ = is_classifier(self.estimator)
        self.mean_ = (self.estimator.predict(X) == y).mean()
        return self


def _fit_one(estimator, X, y):
    return estimator.fit(X, y)


def _fit_anew(estimator, X, y):
    return clone(estimator).fit(X, y)


def tuned(estimator, X, y):
    return _fit_one(estimator, X, y)
"""


def made_in(module):
    """The names of the source above, as a module of this name would have them."""
    names = {"__name__": module, "MetaEstimatorMixin": MetaEstimatorMixin, "BaseEstimator": BaseEstimator}
    names |= {"Parallel": Parallel, "delayed": delayed, "clone": clone, "is_classifier": is_classifier}
    exec(textwrap.dedent(SOURCE), names)
    return names


LATER, OTHERS = made_in("sklearn.ensemble._future"), made_in("mlxtend.future")


def said_of(run):
    """What a run gives, and the first words of what the user was told."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        done = run()
    return done, {str(each.message).partition(":")[0] for each in caught if each.category is dplr.PrivacyWarning}


def unknown(name):
    return f"{name} asked for this fit, and what else it does with the private rows is not known"


@pytest.mark.parametrize("names", [LATER, OTHERS], ids=["sklearn", "another package"])
def test_a_client_that_nobody_knows_is_told_of_and_stands_in_the_statement(names):
    client, told = said_of(lambda: names["Future"](MODEL).fit(X, Y))
    fact = unknown("Future, _fit_one" if names is LATER else "Future")
    assert told == {unknown("_fit_one, Future")} if names is LATER else told == {fact}
    for each in client.estimators_:
        assert set(each.privacy_.uncovered) == told
        assert "NOT COVERED" in str(each.privacy_)


def test_a_private_function_of_scikit_learn_that_nobody_knows_is_told_of():
    fitted, told = said_of(lambda: LATER["tuned"](clone(MODEL), X, Y))
    assert fitted.privacy_.uncovered == (unknown("_fit_one, tuned"),)
    assert told == {unknown("_fit_one, tuned")}


def test_functions_of_other_packages_are_not_seen_and_neither_is_a_client_that_copies_in_its_workers():
    """The attack model says so."""
    assert said_of(lambda: OTHERS["tuned"](clone(MODEL), X, Y))[1] == set()
    for names, seen in ((OTHERS, False), (LATER, True)):
        with parallel_config("threading"), warnings.catch_warnings():
            warnings.simplefilter("ignore", dplr.PrivacyWarning)
            for each in names["FutureCopies"](MODEL, n_jobs=2).fit(X, Y).estimators_:
                assert (each.privacy_.uncovered != ()) == seen


@pytest.mark.parametrize("backend", ["threading", "loky"])
@pytest.mark.parametrize("names", [LATER, OTHERS], ids=["sklearn", "another package"])
def test_a_worker_that_does_not_see_the_client_says_it_all_the_same(names, backend):
    with parallel_config(backend), warnings.catch_warnings():
        warnings.simplefilter("ignore", dplr.PrivacyWarning)
        client = names["Future"](MODEL, n_jobs=2).fit(X, Y)
    for each in client.estimators_:  # the last ones are copied by a thread that the client is not in
        assert any("Future" in fact for fact in each.privacy_.uncovered)


@pytest.mark.parametrize("backend", ["threading", "loky"])
def test_a_long_list_of_private_members_in_workers_is_covered(backend):
    members = [(f"m{place}", dplr.LinearRegression(eps=1.0)) for place in range(9)]
    with parallel_config(backend):
        vote = VotingRegressor(members, n_jobs=2).fit(X, X[:, 0])
        stack = StackingRegressor(members, dplr.LinearRegression(eps=1.0), cv=CV, n_jobs=2).fit(X, X[:, 0])
    for each in (*vote.estimators_, *stack.estimators_, stack.final_estimator_):
        assert each.privacy_.uncovered == ()


@pytest.mark.parametrize("backend", ["threading", "loky"])
def test_workers_inside_a_pipeline_say_what_was_learned_before(backend):
    pipe = make_pipeline(StandardScaler(), MultiOutputClassifier(MODEL, n_jobs=2))
    with parallel_config(backend), warnings.catch_warnings():
        warnings.simplefilter("ignore", dplr.PrivacyWarning)
        fitted = pipe.fit(X, TWO)[-1].estimators_
    for each in fitted:
        assert each.privacy_.uncovered == (
            "StandardScaler learned from the private rows before this fit, without noise",
        )


def test_workers_of_a_fit_that_was_chosen_say_so_and_those_of_folds_do_not():
    inside = MultiOutputClassifier(MODEL, n_jobs=2)
    with parallel_config("threading"), warnings.catch_warnings():
        warnings.simplefilter("ignore", dplr.PrivacyWarning)
        search = GridSearchCV(inside, {"estimator__l2": [0.1, 1.0]}, cv=CV).fit(X, TWO)
    chosen = "GridSearchCV chose parameters by scores on the private rows, without noise"
    assert [each.privacy_.uncovered for each in search.best_estimator_.estimators_] == [(chosen,)] * 2


def test_a_model_that_was_in_a_client_before_says_nothing_of_it_alone():
    model = clone(MODEL)
    said_of(lambda: LATER["tuned"](model, X, Y))
    said_of(lambda: make_pipeline(StandardScaler(), MultiOutputClassifier(model)).fit(X, TWO))
    fitted, told = said_of(lambda: model.fit(X, Y))
    assert fitted.privacy_.uncovered == ()
    assert "_caller_memory" not in vars(fitted)
    assert told == set()
    found = cross_validate(model, X, Y, cv=CV, return_estimator=True)
    assert [each.privacy_.uncovered for each in found["estimator"]] == [(), ()]


DOORS = {
    "fit": MODEL,
    "private search": dplr.PrivateSearch(MODEL, {"l2": [0.1, 1.0]}),
    "public search": dplr.PrivateSearch(MODEL, {"l2": [0.1, 1.0]}, method="public", public=(X[::2] / 2, Y[::2])),
    "baseline": DPME(eps=1.0, bounds=dplr.Bounds([(-1, 1)] * 2), classes=(0, 1)),
}


@pytest.mark.parametrize("door", DOORS)
def test_every_way_to_a_release_says_it_in_workers_too(door):
    for options in ({}, {"n_jobs": 2}):
        with parallel_config("threading"):
            client, told = said_of(lambda options=options: LATER["Future"](DOORS[door], **options).fit(X, Y))
        for each in client.estimators_:
            assert any("Future" in fact for fact in each.privacy_.uncovered)
            assert set(each.privacy_.uncovered) <= told


def test_the_ledger_keeps_it_of_fits_and_searches(tmp_path):
    ledger = dplr.Ledger(tmp_path / "budget", eps=10.0, delta=1e-6)
    model = clone(MODEL).set_params(ledger=ledger, classes=(0, 1))
    search = dplr.PrivateSearch(model, {"l2": [0.1, 1.0]})
    for each in (model, search):
        _, told = said_of(lambda each=each: LATER["tuned"](each, X, Y))
        assert told == {unknown("_fit_one, tuned")}
    for entry in ledger.entries():
        assert entry.statement["uncovered"] == [unknown("_fit_one, tuned")]


def test_a_client_that_learns_from_rows_of_a_fitted_model_is_warned_of():
    fitted = clone(MODEL).fit(X, Y)
    for names in (LATER, OTHERS):
        client = make_pipeline(FunctionTransformer(), names["FuturePrefit"](FrozenEstimator(fitted)))
        _, told = said_of(lambda client=client: client.fit(X, Y))
        assert told == {"What FuturePrefit learns from its rows is not known, and not covered"}


def test_subclasses_of_clients_that_others_wrote_are_unknown():
    class Mine(Pipeline):
        """It may do anything."""

    class Searching(GridSearchCV):
        """It may do anything."""

    for name in ("Mine", "Pipeline"):
        Mine.__name__ = name
        piped, told = said_of(lambda: Mine([("a", FunctionTransformer()), ("b", MODEL)]).fit(X, Y))
        assert told == set(piped[-1].privacy_.uncovered) == {unknown(name)}
    search, told = said_of(lambda: Searching(MODEL, {"l2": [0.1, 1.0]}, cv=CV).fit(X, Y))
    assert unknown("Searching") in search.best_estimator_.privacy_.uncovered


def test_a_model_made_of_ours_is_no_client():
    class Named(dplr.LogisticRegression):
        def fit(self, X, y):
            return super().fit(X, y)

    assert Named(eps=1.0, mechanism="fm").fit(X, Y).privacy_.uncovered == ()


def test_a_client_that_asks_a_step_for_tags_asks_no_further():
    """Tags of somebody's wrapper are those of the model inside: asked for by us, the model must not ask again."""

    class Wrapper(ClassifierMixin, BaseEstimator):
        def __init__(self, estimator):
            self.estimator = estimator

        def fit(self, X, y):
            self.inside_ = clone(self.estimator).fit(X, y)
            return self

        def transform(self, X):
            return X

        def __sklearn_tags__(self):
            return self.estimator.__sklearn_tags__()

    fitted, _ = said_of(lambda: make_pipeline(Wrapper(MODEL), MODEL).fit(X, Y))
    assert fitted[-1].privacy_.uncovered == ("Wrapper learned from the private rows before this fit, without noise",)
    assert fitted[0].inside_.privacy_.uncovered == (unknown("Wrapper"),)


def test_columns_that_scores_chose_stand_in_the_statement_of_the_last_fit_alone():
    selector, told = said_of(lambda: RFECV(MODEL, cv=CV).fit(X, Y))
    chosen = "RFECV chose columns by scores on the private rows, without noise"
    assert selector.estimator_.privacy_.uncovered == (chosen,)
    assert told == {chosen}
    search = GridSearchCV(make_pipeline(RFECV(MODEL, cv=CV), MODEL), {"logisticregression__l2": [0.1, 1.0]}, cv=CV)
    best, _ = said_of(lambda: search.fit(X, Y).best_estimator_)
    parameters = "GridSearchCV chose parameters by scores on the private rows, without noise"
    assert best[-1].privacy_.uncovered == (chosen, parameters)


def test_folds_of_a_search_say_nothing_of_the_choice(monkeypatch):
    from dplr.ledger.budget import NullLedger

    made = []
    real = NullLedger.reserve
    monkeypatch.setattr(NullLedger, "reserve", lambda self, *told: made.extend(told) or real(self, *told))
    said_of(lambda: GridSearchCV(MODEL, {"l2": [0.1, 1.0]}, cv=CV).fit(X, Y))
    assert [len(each.uncovered) for each in made] == [0] * 4 + [1]


def test_a_plain_model_after_a_selection_by_a_private_one_is_beside_it():
    pipe, told = said_of(lambda: make_pipeline(SelectFromModel(MODEL, threshold=-math.inf), Ridge()).fit(X, Y))
    assert told == {"Ridge learned from the private rows beside this fit, without noise"}
    assert set(pipe[0].estimator_.privacy_.uncovered) == told


def test_a_deep_nest_says_what_everyone_did():
    inner = make_pipeline(StandardScaler(), MultiOutputRegressor(dplr.LinearRegression(eps=1.0, mechanism="fm")))
    search = GridSearchCV(inner, {"multioutputregressor__estimator__l2": [0.1, 1.0]}, cv=CV)
    client, _ = said_of(lambda: OTHERS["Future"](make_pipeline(FunctionTransformer(), search)).fit(X, X))
    for each in client.estimators_[0][-1].best_estimator_[-1].estimators_:
        first, second, third = each.privacy_.uncovered
        assert first.startswith("StandardScaler learned")
        assert second.startswith("GridSearchCV chose")
        assert third == unknown("Future")


def test_without_noise_nothing_is_said():
    exact = dplr.LogisticRegression(eps=math.inf)
    client, told = said_of(lambda: LATER["Future"](exact).fit(X, Y))
    assert told == set()
    assert client.estimators_[0].privacy_.uncovered == ()


def test_a_fit_looks_at_its_callers_once(monkeypatch):
    from dplr.estimators import _base

    walks = []
    real = _base.call_stack
    monkeypatch.setattr(_base, "call_stack", lambda: walks.append(1) or real())
    clone(MODEL).fit(X, Y)
    assert len(walks) == 1 + 1  # the copy, and the fit
    assert "_getframe" not in inspect.getsource(_base)
