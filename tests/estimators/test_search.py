"""A private search: one cost for all of it, refusals before anything is spent, and what it releases."""

import collections
import math
import re
import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.stats
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.model_selection import GridSearchCV, KFold, ParameterSampler
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import dplr
from dplr.estimators import _search, _trials
from dplr.fitting.search import cut
from dplr.noise import Source
from dplr.privacy.guarantees import Approx, Pure
from dplr.privacy.search.selection import SCORE_UNITS

RIDGES = {"l2": [0.01, 1.0], "fit_intercept": [True, False]}
STOPPING = {"method": "random_stopping", "runs": 3}


def rows(n=600):
    X = np.random.default_rng(0).uniform(-0.5, 0.5, (n, 2))
    return X, X[:, 0] > 0


def logistic(**facts):
    return dplr.LogisticRegression(**{"eps": 1.0, "mechanism": "fm"} | facts)


@pytest.fixture
def ledger(tmp_path):
    return dplr.Ledger(tmp_path / "budget", eps=1.0)


@pytest.mark.parametrize("options", [{}, STOPPING, STOPPING | {"shape": 1}, {"method": "public", "public": rows(500)}])
@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_a_search_is_one_entry_at_the_eps_and_delta_that_were_asked_for(options, delta, tmp_path):
    ledger = dplr.Ledger(tmp_path / "budget", eps=1.0, delta=1e-5)
    est = logistic(ledger=ledger, delta=delta, mechanism=dplr.FunctionalMechanism(noise="gaussian"))
    X, y = rows()
    search = dplr.PrivateSearch(est, RIDGES, **options).fit(X, y)
    (entry,) = ledger.entries()
    assert entry.state == "committed"
    assert (entry.eps, entry.delta) == (1.0, delta) == (search.privacy_.eps, search.privacy_.delta)
    assert entry.guarantee == search.privacy_.guarantee == search.best_estimator_.privacy_.guarantee
    if delta == 0:
        assert search.privacy_.guarantee == Pure(1.0)
    elif "public" not in options:
        assert search.privacy_.guarantee == Approx(1.0, delta)
    assert search.best_params_ in [{"l2": a, "fit_intercept": b} for a in (0.01, 1.0) for b in (True, False)]
    assert search.naive_cost_[0] > 1.0
    assert search.score(X, y) == pytest.approx(np.mean(search.predict(X) == y))


def test_objective_perturbation_states_the_delta_that_all_runs_lose():
    X, y = rows()
    partition = dplr.PrivateSearch(logistic(mechanism="objective"), RIDGES).fit(X, y).privacy_
    stopping = dplr.PrivateSearch(logistic(mechanism="objective"), RIDGES, **STOPPING).fit(X, y).privacy_
    assert partition.guarantee == Approx(1.0, 2.0**-64)
    assert stopping.delta == pytest.approx(3 * 2.0**-64, rel=1e-6)
    assert stopping.delta >= 3 * 2.0**-64 * (1 - 1e-7)


def test_what_a_search_holds_says_nothing_of_the_number_of_runs(monkeypatch):
    """Whatever the number is, a search has the same attributes, and none of them is the number."""
    X, y = rows()
    for runs in (1, 9, 23):
        monkeypatch.setattr("dplr.privacy.search.counts.NegativeBinomial.draw", lambda *_, runs=runs: runs)
        search = dplr.PrivateSearch(logistic(), RIDGES, **STOPPING).fit(X, y)
        held = {name for name in vars(search) if name.endswith("_")}
        assert held == {
            "best_estimator_", "best_index_", "best_loss_", "best_params_", "naive_cost_", "privacy_",
        }  # fmt: skip
        texts = " ".join([str(search.privacy_), repr(search.best_params_)])
        assert not re.search(r"(?<![\d.])23(?!\d)", texts)
    with pytest.raises(AttributeError, match="a private search has no `cv_results_`"):
        _ = search.cv_results_


def test_candidates_are_drawn_with_replacement(monkeypatch):
    """Of two runs among four candidates a quarter has the same one twice."""
    X, y = rows(50)
    est = logistic()
    drawn = []

    def fit(self, *_):
        drawn.append(self.params)
        return None

    monkeypatch.setattr("dplr.privacy.search.counts.NegativeBinomial.draw", lambda *_: 2)
    monkeypatch.setattr(_trials.Trial, "fit", fit)
    monkeypatch.setattr(_search, "cost", lambda *_: 0)
    trials = [_trials.Trial.of(est, {"place": place}, X, y, 1.0) for place in range(4)]
    plan = _search.plan_stopping([trial.ready.facts for trial in trials], 1.0, _search.law_of(3, 0))
    source = Source(seed=2)
    for _ in range(1_000):
        _search._random_stopping(trials, plan, source)
    same = sum(one == other for one, other in zip(drawn[::2], drawn[1::2], strict=True))
    assert 180 <= same <= 320
    assert min(collections.Counter(each["place"] for each in drawn).values()) >= 400


def test_the_first_of_the_best_noisy_scores_wins(monkeypatch):
    X, y = rows(50)
    noise, names = iter([5, 3, 3, 9]), iter("abcd")
    monkeypatch.setattr("dplr.privacy.search.counts.NegativeBinomial.draw", lambda *_: 4)
    monkeypatch.setattr(_trials.Trial, "fit", lambda *_: next(names))
    monkeypatch.setattr(_search, "cost", lambda *_: 100)
    monkeypatch.setattr(Source, "laplace", lambda *_: np.array([next(noise)]))
    trials = [_trials.Trial.of(logistic(), {}, X, y, 1.0)]
    plan = _search.plan_stopping([trials[0].ready.facts], 1.0, _search.law_of(3, 0))
    choice = _search._random_stopping(trials, plan, Source())
    assert (choice.model, choice.noisy) == ("b", 103)


def test_every_row_has_one_part_and_every_candidate_another_one(monkeypatch):
    used = []
    take = type(_trials.Trial.of(logistic(), {}, *rows(50), 1.0).ready).take
    monkeypatch.setattr(
        "dplr.fitting.release.FitInput.take", lambda self, part, n: used.append(part) or take(self, part, n)
    )
    X, y = rows(103)
    dplr.PrivateSearch(logistic(), RIDGES).fit(X, y)
    parts = {tuple(part) for part in used}
    assert len(parts) == 5
    assert sorted(place for part in parts for place in part) == list(range(103))
    assert max(map(len, parts)) - min(map(len, parts)) <= 1
    assert [part.tolist() for part in cut(103, 5, 0)] == [part.tolist() for part in cut(103, 5, 0)]


def test_parts_do_not_depend_on_the_rows(monkeypatch):
    seen = []
    monkeypatch.setattr(_search, "cut", lambda *facts: seen.append(facts) or cut(*facts))
    for seed in (0, 1):
        X = np.random.default_rng(seed).uniform(-0.5, 0.5, (200, 2))
        dplr.PrivateSearch(logistic(), RIDGES, seed=3).fit(X, X[:, 1] > 0)
    assert seen == [(200, 5, 3)] * 2


@pytest.mark.parametrize("options", [{}, STOPPING])
def test_what_is_wrong_with_any_row_is_said_before_noise_is_drawn_and_nothing_is_spent(options, ledger):
    X, y = rows()
    for place in (0, 299, 599):
        bad = X.copy()
        bad[place, 1] = np.nan
        with pytest.raises(ValueError, match="must be finite"):
            dplr.PrivateSearch(logistic(ledger=ledger), RIDGES, **options).fit(bad, y)
    labels = y.astype(int)
    labels[7] = 5
    with pytest.raises(ValueError, match="must hold only its labels"):
        dplr.PrivateSearch(logistic(ledger=ledger), RIDGES, **options).fit(X, labels)
    assert ledger.spent() == (0.0, 0.0)


def test_a_ledger_without_room_refuses_before_a_row_is_read(ledger, monkeypatch):
    X, y = rows()
    monkeypatch.setattr(_trials.Trial, "check_values", lambda *_: pytest.fail("a row was read"))
    with pytest.raises(dplr.BudgetExceeded):
        dplr.PrivateSearch(logistic(eps=2.0, ledger=ledger), RIDGES).fit(X, y)
    assert ledger.entries() == []


def test_a_fault_after_the_first_noise_leaves_the_budget_spent(ledger, monkeypatch):
    X, y = rows()
    monkeypatch.setattr(_search, "choose", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        dplr.PrivateSearch(logistic(ledger=ledger), RIDGES).fit(X, y)
    assert ledger.spent() == (1.0, 0.0)


@pytest.mark.parametrize("name", _search._FIXED)
def test_a_candidate_cannot_change_what_belongs_to_the_whole_search(name):
    with pytest.raises(ValueError, match=f"`candidates` must not change '{name}'"):
        dplr.PrivateSearch(logistic(), {name: [1, 2]}).fit(*rows())


@pytest.mark.parametrize(
    ("search", "said"),
    [
        (dplr.PrivateSearch(StandardScaler(), RIDGES), "`estimator` must be an estimator of dplr"),
        (dplr.PrivateSearch(make_pipeline(StandardScaler(), logistic()), RIDGES), "`estimator` must be"),
        (dplr.PrivateSearch(logistic(), RIDGES, scoring="roc_auc"), "`scoring` must be None or 'errors'"),
        (dplr.PrivateSearch(logistic(), RIDGES, scoring=lambda *_: 0), "`scoring` must be None or 'errors'"),
        (dplr.PrivateSearch(dplr.LinearRegression(), RIDGES, scoring="errors"), "None or 'squared_error'"),
        (dplr.PrivateSearch(logistic(), {"l2": [1.0]}), "at least two sets of parameters"),
        (dplr.PrivateSearch(logistic(), {"mechanism": ["fm", "none"]}), "`mechanism` must be private"),
        (dplr.PrivateSearch(logistic(eps=math.inf), RIDGES), "`eps` must be finite"),
        (dplr.PrivateSearch(logistic(), RIDGES, method="grid"), "`method` must be one of"),
        (dplr.PrivateSearch(logistic(), RIDGES, method="public"), "`public` must be public rows"),
        (dplr.PrivateSearch(logistic(), RIDGES, public=rows()), "`public` must be None"),
        (dplr.PrivateSearch(logistic(neighbouring="add_remove"), RIDGES), "`neighbouring` must be 'replace_one'"),
        (dplr.PrivateSearch(logistic(), RIDGES, **STOPPING | {"shape": math.inf}), "`shape` must be finite unless"),
        (dplr.PrivateSearch(logistic(), RIDGES, **STOPPING | {"runs": 1}), "`runs` must be above 1"),
        (dplr.PrivateSearch(logistic(mechanism="objective"), {"l2": [1e-9, 1]}), "candidate 0 has no plan"),
        (dplr.PrivateSearch(logistic(), RIDGES, seed=-1), "`seed` must be at least 0"),
    ],
)
def test_what_no_private_search_can_do_is_refused_and_nothing_is_spent(search, said, ledger):
    if "ledger" in search.estimator.get_params():
        search.estimator.set_params(ledger=ledger)
    with pytest.raises((ValueError, TypeError), match=said):
        search.fit(*rows())
    assert ledger.entries() == []


def test_candidates_with_another_target_are_refused():
    X, y = rows()
    bounds = [dplr.Bounds([(-1, 1)] * 2, target=labels) for labels in ([0, 1], [0, 2])]
    with pytest.raises(ValueError, match="`candidates` must not change the target"):
        dplr.PrivateSearch(logistic(), {"bounds": bounds}).fit(X, y.astype(int))


def test_the_private_rows_are_no_public_ones():
    X, y = rows()
    with pytest.raises(ValueError, match="`public` must not be the private rows"):
        dplr.PrivateSearch(logistic(), RIDGES, method="public", public=(X, y)).fit(X, y)


def test_a_public_choice_costs_one_fit_and_its_statement_says_so(ledger):
    X, y = rows()
    search = dplr.PrivateSearch(logistic(ledger=ledger), RIDGES, method="public", public=rows(400)).fit(X, y)
    assert "compared on 400 public rows" in search.privacy_.assumptions[0]
    assert search.privacy_.guarantee == Pure(1.0)
    assert "compared on 400 public rows" in str(ledger.entries()[0].statement)


def test_under_add_remove_random_stopping_needs_no_number_of_rows():
    X, y = rows()
    search = dplr.PrivateSearch(logistic(neighbouring="add_remove"), {"fit_intercept": [True, False]}, **STOPPING)
    search.fit(X, y)
    assert search.best_loss_ is None
    assert search.privacy_.neighbouring == "add_remove"


def test_the_model_of_a_search_cannot_be_written_as_that_of_one_fit(tmp_path):
    X, y = rows()
    public = dplr.PrivateSearch(logistic(), RIDGES, method="public", public=rows(400)).fit(X, y)
    dplr.save_model(public.best_estimator_, tmp_path / "model.json")
    assert dplr.load_model(tmp_path / "model.json").privacy_ == public.privacy_
    search = dplr.PrivateSearch(logistic(), RIDGES).fit(X, y)
    with pytest.raises(dplr.ModelFileError, match="must not come from a private search"):
        dplr.save_model(search.best_estimator_, tmp_path / "other.json")
    assert search.best_estimator_.refit(l2=0.5).privacy_.guarantee == search.privacy_.guarantee


def test_a_seed_is_told_and_repeats_the_search():
    X, y = rows()
    search = dplr.PrivateSearch(logistic(rng=3), RIDGES)
    with pytest.warns(dplr.PrivacyWarning, match="rng is set"):
        first = clone(search).fit(X, y)
    with pytest.warns(dplr.PrivacyWarning, match="rng is set"):
        second = clone(search).fit(X, y)
    assert first.privacy_.reproducible
    assert first.best_index_ == second.best_index_
    np.testing.assert_array_equal(first.best_estimator_.coef_, second.best_estimator_.coef_)


def test_scikit_learn_can_sample_candidates_clone_and_search_a_search(tmp_path):
    X, y = rows()
    sampler = ParameterSampler({"l2": [0.01, 0.1, 1.0]}, 3, random_state=0)
    search = dplr.PrivateSearch(logistic(), list(sampler))
    assert clone(search).get_params()["estimator__eps"] == 1.0
    ledger = dplr.Ledger(tmp_path / "budget", eps=10.0)
    outer = GridSearchCV(
        search.set_params(estimator__ledger=ledger), {"estimator__eps": [0.5, 1.0]}, cv=KFold(2), refit=False
    )
    outer.fit(X, y)
    assert ledger.spent()[0] == pytest.approx(3.0)


@pytest.mark.parametrize("options", [{}, STOPPING])
def test_tables_several_classes_and_numbers_can_be_searched(options):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.uniform(0, 9, 900), "b": rng.choice(["x", "y"], 900)})
    forms = [dplr.Bounds({"a": each, "b": {"levels": ["x", "y"]}}, target=["l", "m", "n"])
             for each in ((0, 9), {"lower": 0, "upper": 9, "bins": [3, 6]})]  # fmt: skip
    y = np.array(["l", "m", "n"])[(frame["a"] // 3).astype(int).clip(0, 2)]
    search = dplr.PrivateSearch(logistic(eps=8.0), {"bounds": forms}, **options).fit(frame, y)
    assert search.classes_.tolist() == ["l", "m", "n"]
    assert search.predict(frame).shape == (900,)
    bounds = dplr.Bounds({"a": (0, 9)}, target=(0, 9))
    numbers = dplr.PrivateSearch(dplr.LinearRegression(bounds=bounds, mechanism="fm"), {"l2": [0.0, 0.1]}, **options)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", dplr.DataWarning)
        assert numbers.fit(frame, frame["a"]).predict(frame).shape == (900,)


def test_a_better_candidate_is_found():
    """Of 12,457 searches 53 did not find it: scores are noisy. With random stopping 29 of 150 did not: one in ten never
    draws it. The limits leave one failure in 10,000 runs of this test."""
    X, y = rows(6_000)
    for options, searches, least in (({}, 100, 95), (STOPPING | {"runs": 8}, 100, 65)):
        search = dplr.PrivateSearch(logistic(eps=4.0), {"l2": [0.001, 1e6]}, **options)
        found = [search.fit(X, y).best_params_["l2"] for _ in range(searches)]
        assert found.count(0.001) >= least


def test_the_noisy_loss_is_near_that_of_the_model():
    X, y = rows(6_000)
    search = dplr.PrivateSearch(logistic(eps=4.0), RIDGES, **STOPPING).fit(X, y)
    noise = 1 / (0.1 * 2.0)
    assert abs(search.best_loss_ - np.mean(search.predict(X) != y)) <= 30 * noise / 6_000
    assert SCORE_UNITS == 2**20


def test_clients_that_void_a_promise_are_refused_around_a_search_too():
    X, y = rows()
    search = dplr.PrivateSearch(logistic(), RIDGES)
    with pytest.raises(ValueError, match="must not be fitted to private rows in CalibratedClassifierCV"):
        CalibratedClassifierCV(search, cv=KFold(2)).fit(X, y)
    with pytest.warns(dplr.PrivacyWarning, match="StandardScaler learned from the private rows"):
        fitted = make_pipeline(StandardScaler(), search).fit(X, y)
    assert fitted[-1].privacy_.uncovered == (
        "StandardScaler learned from the private rows before this fit, without noise",
    )


# What a hostile reader found


def test_add_remove_is_refused_before_rows_are_counted(tmp_path):
    X, y = rows(301)
    ledger = dplr.Ledger(tmp_path / "budget.db", eps=5.0)
    model = logistic(eps=1.0, neighbouring="add_remove", n_rows=1000, ledger=ledger)
    with pytest.raises(ValueError, match="`neighbouring` must be 'replace_one' with a partition") as refused:
        dplr.PrivateSearch(model, [{}] * 150).fit(X, y)
    assert "301" not in str(refused.value)


def counts(n=6000):
    rng = np.random.default_rng(3)
    X = rng.uniform(-1, 1, (n, 2))
    return X, np.minimum(rng.poisson(np.exp(1 + 1.5 * X[:, 0])), 20), dplr.Bounds([(-1, 1)] * 2, target=(0, 20))


def test_a_model_of_counts_is_scored_by_its_counts():
    X, y, bounds = counts()
    search = dplr.PrivateSearch(
        dplr.PoissonRegressor(eps=40.0, bounds=bounds, mechanism="objective", ranges="off"),
        {"l2": [0.001, 0.002]}, method="random_stopping", runs=2,
    ).fit(X, y)  # fmt: skip
    truth = np.mean(((search.predict(X) - y) / 20) ** 2)
    assert search.best_loss_ == pytest.approx(truth, rel=0.05)


def test_candidates_keep_the_threshold_of_the_target():
    X, y = rows()
    both = [dplr.Bounds([(-0.5, 0.5)] * 2, target={"threshold": limit}) for limit in (0.0, 1000.0)]
    with pytest.raises(ValueError, match="`candidates` must not change the target"):
        dplr.PrivateSearch(logistic(eps=5.0, bounds=both[0]), {"bounds": both}).fit(X, 1.0 * y)


def test_candidates_of_a_sampler_are_drawn_once():
    X, y = rows()
    sampler = ParameterSampler({"l2": scipy.stats.loguniform(0.01, 1)}, 3, random_state=np.random.RandomState(0))
    search = dplr.PrivateSearch(logistic(eps=5.0), sampler, method="public", public=rows(500)).fit(X, y)
    assert search.best_estimator_.l2 == search.best_params_["l2"]


def test_public_rows_look_like_the_private_ones():
    X, y = rows()
    features = dplr.RandomFourierFeatures(20)
    search = dplr.PrivateSearch(logistic(eps=5.0), {"l2": [0.1, 1.0]}, method="public", public=rows(500))
    with pytest.raises(ValueError, match="`public` must have the columns of the private rows, made by the same"):
        search.fit(features.fit_transform(X), y)
    with pytest.raises(ValueError, match="`public` must have the columns of the private rows"):
        search.fit(np.hstack([X, X]), y)


def test_the_statement_of_a_partition_has_the_number_of_all_records():
    search = dplr.PrivateSearch(logistic(eps=4.0), {"l2": [0.01, 0.1]}).fit(*rows(600))
    said = " ".join(search.privacy_.assumptions)
    assert "a part of its own of all 600 records (the number of records above is that of the part)" in said


def test_auto_takes_the_curves_of_the_rows_that_a_fit_has(monkeypatch):
    """Of the private rows, however few public ones compare the candidates; and of a part, where it has a part."""
    rng = np.random.default_rng(0)
    X = rng.uniform(0, 10, (20_000, 1))
    y = np.abs(X[:, 0] - 5)
    model = dplr.LinearRegression(eps=1.0, bounds=dplr.Bounds([(0, 10)], target=(0, 5)))
    candidates = [{"curves": None}, {"curves": "auto"}]
    public = X[:500], y[:500]
    compared = []
    first = lambda self, trials, *facts: compared.extend(trials) or 1  # noqa: E731
    monkeypatch.setattr(dplr.PrivateSearch, "_best_on_public", first)
    search = dplr.PrivateSearch(model, candidates, method="public", public=public).fit(X[500:], y[500:])
    widths = [trial.ready.facts.layout.width for trial in compared]
    assert widths == [1, len(search.best_estimator_.coef_names_)]
    assert widths[1] > 1
    parts = dplr.PrivateSearch(model, [{"curves": "auto"}, {"curves": "auto", "l2": 0.1}], method="partition").fit(X, y)
    facts = [fact for fact in parts.privacy_.assumptions if "curves" in fact]
    assert "n eps = 6,667 is at least 5,000" in facts[0]
