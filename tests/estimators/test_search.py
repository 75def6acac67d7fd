"""A private search: one cost for all of it, refusals before anything is spent, and what it releases."""

import math
import pickle
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
from dplr.estimators import _search
from dplr.noise import Source
from dplr.privacy.guarantees import Approx, Pure

RIDGES = {"l2": [0.01, 1.0], "fit_intercept": [True, False]}


def rows(n=600):
    X = np.random.default_rng(0).uniform(-0.5, 0.5, (n, 2))
    return X, X[:, 0] > 0


def logistic(**facts):
    return dplr.LogisticRegression(**{"eps": 1.0, "mechanism": "fm"} | facts)


@pytest.fixture
def ledger(tmp_path):
    return dplr.Ledger(tmp_path / "budget", eps=1.0)


@pytest.mark.parametrize("options", [{}, {"method": "public", "public": rows(500)}])
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


def test_objective_perturbation_states_the_delta_of_its_parts():
    X, y = rows()
    search = dplr.PrivateSearch(logistic(mechanism="objective"), RIDGES).fit(X, y)
    assert search.privacy_.guarantee == Approx(1.0, 2.0**-64)


def test_what_a_search_holds_says_nothing_of_its_parts():
    X, y = rows()
    search = dplr.PrivateSearch(logistic(), RIDGES).fit(X, y)
    held = {name for name in vars(search) if name.endswith("_")}
    assert held == {"best_estimator_", "best_index_", "best_params_", "naive_cost_", "privacy_"}
    sizes = {np.size(value) for value in vars(search.best_estimator_).values() if isinstance(value, np.ndarray | tuple)}
    assert max(sizes) < 100
    sizes = [len(pickle.dumps(dplr.PrivateSearch(logistic(), RIDGES).fit(*rows(n)))) for n in (600, 6000)]
    assert abs(sizes[1] - sizes[0]) < 200  # parts of 5,400 rows more have 1,500 bytes
    with pytest.raises(AttributeError, match="a private search has no `cv_results_`"):
        _ = search.cv_results_


def test_every_row_has_one_part_and_every_candidate_another_one(monkeypatch):
    used = []
    take = type(_search.Trial.of(logistic(), *rows(50), 1.0).ready).take
    monkeypatch.setattr(
        "dplr.fitting.run.FitInput.take", lambda self, part, n: used.append(part) or take(self, part, n)
    )
    X, y = rows(103)
    dplr.PrivateSearch(logistic(), RIDGES).fit(X, y)
    parts = {tuple(part) for part in used}
    assert len(parts) == 5
    assert sorted(place for part in parts for place in part) == list(range(103))
    assert max(map(len, parts)) - min(map(len, parts)) <= 1


def parts_of(monkeypatch, **facts):
    """The parts of two searches of the same rows."""
    seen, parted = [], _search.secret_parts
    monkeypatch.setattr(_search, "secret_parts", lambda *asked: seen.append(parted(*asked)) or seen[-1])
    for _ in range(2):
        dplr.PrivateSearch(logistic(**facts), {"fit_intercept": [True, False]}).fit(*rows(300))
    return [[part.tolist() for part in parts] for parts in seen]


@pytest.mark.parametrize("relation", ["replace_one", "add_remove"])
@pytest.mark.filterwarnings("ignore:rng is set")
def test_parts_are_drawn_anew_by_each_search_and_a_seed_repeats_them(relation, monkeypatch):
    one, other = parts_of(monkeypatch, neighbouring=relation)
    assert one != other
    one, other = parts_of(monkeypatch, neighbouring=relation, rng=1)
    assert one == other


def test_the_parts_of_a_search_are_announced_as_noise(monkeypatch, ledger):
    """Whoever stops a search after its split was drawn has spent: a choice among splits is none."""
    monkeypatch.setattr(_search.Trial, "fit", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        dplr.PrivateSearch(logistic(ledger=ledger), RIDGES).fit(*rows())
    assert ledger.spent() == (1.0, 0.0)


@pytest.mark.parametrize("empty", [0, 2])
def test_under_add_remove_a_part_may_have_no_row(empty, monkeypatch):
    parts = [np.arange(0) if part == empty else np.arange(300) for part in range(3)]
    monkeypatch.setattr(_search, "secret_parts", lambda *_: parts)
    search = dplr.PrivateSearch(logistic(neighbouring="add_remove"), {"fit_intercept": [True, False]})
    assert search.fit(*rows(300)).best_index_ in (0, 1)


@pytest.mark.parametrize("n", range(1, 8))
def test_under_add_remove_the_number_of_rows_refuses_no_search(n):
    """It is private: a refusal of five rows would tell them from six."""
    est = logistic(neighbouring="add_remove", classes=[False, True])
    search = dplr.PrivateSearch(est, {"fit_intercept": [True, False]})
    assert search.fit(np.zeros((n, 1)), np.ones(n, bool)).best_index_ in (0, 1)


def test_what_is_wrong_with_any_row_is_said_before_noise_is_drawn_and_nothing_is_spent(ledger):
    X, y = rows()
    for place in (0, 299, 599):
        bad = X.copy()
        bad[place, 1] = np.nan
        with pytest.raises(ValueError, match="must be finite"):
            dplr.PrivateSearch(logistic(ledger=ledger), RIDGES).fit(bad, y)
    labels = y.astype(int)
    labels[7] = 5
    with pytest.raises(ValueError, match="must hold only its labels"):
        dplr.PrivateSearch(logistic(ledger=ledger), RIDGES).fit(X, labels)
    assert ledger.spent() == (0.0, 0.0)


def test_a_ledger_without_room_refuses_before_a_row_is_read(ledger, monkeypatch):
    X, y = rows()
    monkeypatch.setattr(_search, "check_values", lambda *_: pytest.fail("a row was read"))
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
        (dplr.PrivateSearch(logistic(neighbouring="both"), RIDGES), "`neighbouring` must be one of"),
        (dplr.PrivateSearch(logistic(neighbouring="add_remove"), RIDGES), "`l2` needs a public number of rows"),
        (dplr.PrivateSearch(logistic(mechanism="objective"), {"l2": [1e-9, 1]}), "candidate 0 has no plan"),
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


@pytest.mark.parametrize("n_rows", [None, 600])
def test_under_add_remove_the_number_of_rows_is_not_told(n_rows):
    X, y = rows(603)
    model = logistic(neighbouring="add_remove", n_rows=n_rows)
    search = dplr.PrivateSearch(model, {"fit_intercept": [True, False]}).fit(X, y)
    assert search.privacy_.neighbouring == "add_remove"
    said = str(search.privacy_)
    assert "603" not in said
    assert ("n_rows = 200" in said) == (n_rows is not None)
    assert search.best_estimator_._record.plan.problem.n_rows == (None if n_rows is None else 200)
    assert "drawn for each record by itself, by a secret split" in " ".join(said.split())


def test_the_model_of_a_search_cannot_be_written_as_that_of_one_fit(tmp_path):
    X, y = rows()
    public = dplr.PrivateSearch(logistic(), RIDGES, method="public", public=rows(400)).fit(X, y)
    dplr.save_model(public.best_estimator_, tmp_path / "model.json")
    assert dplr.load_model(tmp_path / "model.json").privacy_ == public.privacy_
    search = dplr.PrivateSearch(logistic(), RIDGES).fit(X, y)
    with pytest.raises(dplr.model_file.ModelFileError, match="must not come from a private search"):
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
    assert "by a split from a seed, which is not secret" in str(first.privacy_.assumptions)
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


def test_tables_several_classes_and_numbers_can_be_searched():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.uniform(0, 9, 900), "b": rng.choice(["x", "y"], 900)})
    forms = [dplr.Bounds({"a": each, "b": {"levels": ["x", "y"]}}, target=["l", "m", "n"])
             for each in ((0, 9), {"lower": 0, "upper": 9, "bins": [3, 6]})]  # fmt: skip
    y = np.array(["l", "m", "n"])[(frame["a"] // 3).astype(int).clip(0, 2)]
    search = dplr.PrivateSearch(logistic(eps=8.0), {"bounds": forms}).fit(frame, y)
    assert search.classes_.tolist() == ["l", "m", "n"]
    assert search.predict(frame).shape == (900,)
    bounds = dplr.Bounds({"a": (0, 9)}, target=(0, 9))
    numbers = dplr.PrivateSearch(dplr.LinearRegression(bounds=bounds, mechanism="fm"), {"l2": [0.0, 0.1]})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", dplr.DataWarning)
        assert numbers.fit(frame, frame["a"]).predict(frame).shape == (900,)


def test_a_better_candidate_is_found():
    """The other one calls every row False, and errs in three tenths of them."""
    X, _ = rows(6_000)
    search = dplr.PrivateSearch(logistic(eps=4.0), {"l2": [0.001, 1e6]})
    found = [search.fit(X, X[:, 0] > 0.2).best_params_["l2"] for _ in range(100)]
    assert found.count(0.001) >= 99


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


def counts(n=6000):
    rng = np.random.default_rng(3)
    X = rng.uniform(-1, 1, (n, 2))
    return X, np.minimum(rng.poisson(np.exp(1 + 1.5 * X[:, 0])), 20), dplr.Bounds([(-1, 1)] * 2, target=(0, 20))


def test_a_model_of_counts_is_scored_by_its_counts():
    X, y, bounds = counts()
    trial = _search.Trial.of(
        dplr.PoissonRegressor(eps=40.0, bounds=bounds, mechanism=dplr.ObjectivePerturbation(ranges="off")),
        X,
        y,
        40.0,
    )
    model = trial.fit(trial.ready, trial.ready.facts.planned(40.0), Source())
    truth = np.mean(((model.predict(X) - y) / 20) ** 2)
    assert _search.cost(model, trial.ready) / 2**20 / len(y) == pytest.approx(truth, rel=1e-3)


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
    features = dplr.preprocessing.RandomFourierFeatures(20)
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
