"""Predictions add up to the targets, or the table says by how much they may not."""

import math
import re
from dataclasses import replace

import numpy as np
import pytest

import dplr
from dplr.auditor.neighbours import Pair, Record
from dplr.auditor.trial import Duel, Trial
from dplr.estimators._subject import drowned
from dplr.estimators._totals import Total
from dplr.mechanisms.perturbation.ridge import gauge_ridges, without_pull
from dplr.plots._effects import read_effects
from dplr.plots._view import read_model
from dplr.privacy.statement import MOVED

MECHANISMS = [("auto", 0.0), ("objective", 1e-6), ("output", 0.0), ("output", 1e-6), ("auto", 1e-6), ("score", 1e-6)]
SAID = (
    r"Predicted (counts|values|probabilities) may add up to (?:([0-9.e+]+) % more|several times, or a small part of,)"
)


def made(rate, n, seed):
    rng = np.random.default_rng(seed)
    X = rng.random((n, 3))
    return X, rng.poisson(rate * np.exp(X @ [0.5, -0.5, 1.0] - 0.5))


def ratio_and_table(rate, most, n, eps, seed, mechanism="auto", delta=0.0, **options):
    X, y = made(rate, n, seed)
    bounds = dplr.Bounds([(0.0, 1.0)] * 3, target=(0, most))  # numbers: (0, 1) are flags
    facts = {"eps": eps, "delta": delta, "mechanism": mechanism, "bounds": bounds, **options}
    est = dplr.PoissonRegressor(**facts).fit(X, y)
    return float(est.predict(X).sum() / np.minimum(y, most).sum()), est


def said_of(est):
    """The largest part by which the table says that the sum may be off; 0.05 where it says nothing."""
    found = re.search(SAID, " ".join(drowned(est)))  # advice of every table, whose intervals take longer
    if found is None:
        return 0.05
    return math.inf if found[2] is None else float(found[2]) / 100


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("mechanism", "delta"), MECHANISMS)
@pytest.mark.parametrize(("rate", "most"), [(1.0, 10), (0.1, 4), (0.1, 20)])
def test_fitted_counts_add_up_or_the_table_says_how_far_they_may_be_off(rate, most, mechanism, delta):
    for seed in range(2):
        ratio, est = ratio_and_table(rate, most, 10_000, 1.0, seed, mechanism, delta)
        assert abs(ratio - 1) <= said_of(est)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("rate", "most", "n", "eps"), [(0.1, 4, 50_000, 1.0), (0.1, 20, 5_000, 10.0), (1.0, 10, 10_000, 1.0)]
)
def test_sums_of_default_fits_lie_on_both_sides_of_the_counts(rate, most, n, eps):
    """The ridge pulls the intercept towards larger rates in every fit, and noise does not."""
    ratios = [ratio_and_table(rate, most, n, eps, seed)[0] for seed in range(5)]
    assert 0.95 < np.median(ratios) < 1.05


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("seed", range(3))
def test_counts_with_exposure_are_rates_with_weights(seed):
    rng = np.random.default_rng(seed)
    X, exposure = rng.random((20_000, 2)), rng.uniform(0.2, 2, 20_000)
    counts = rng.poisson(exposure * np.exp(X @ [1.0, -0.5] - 1))
    bounds = dplr.Bounds([(0.0, 1.0)] * 2, target=(0, 10), weight_max=2)
    est = dplr.PoissonRegressor(eps=5.0, bounds=bounds).fit(X, counts / exposure, sample_weight=exposure)
    assert abs((exposure * est.predict(X)).sum() / counts.sum() - 1) < 0.05
    assert est.coef_ == pytest.approx([1.0, -0.5], abs=0.2)


def plan_of(ridge=None, **options):
    bounds = dplr.Bounds([(0, 1)] * 3, target=(0, 20))
    given = {"n_rows": 10_000, "n_features": 3, "eps": 1.0, "model": "poisson", "bounds": bounds, **options}
    plan = dplr.plan(**given)
    return plan if ridge is None else replace(plan, settings=replace(plan.settings, ridge=ridge))


def test_the_intercept_moves_by_what_the_ridge_adds():
    """With no slopes every rate is the same, and the equation along the constant tells the sum of the counts."""
    plan, n = plan_of(ridge=5.0), 10_000
    iota, half = plan.problem.geometry.intercept, 10.0
    for log_rate in (-2.0, -0.5, 0.5, 0.9):  # beside an offset of log(20 / 8)
        coef = np.array([0.0, 0.0, 0.0, log_rate / iota])
        fitted = n * 2.5 * math.exp(log_rate) / half
        counts = fitted + 5.0 * coef[-1] / iota
        moved = without_pull(coef, plan, ())
        assert moved[:-1].tolist() == [0.0] * 3
        assert n * 2.5 * math.exp(moved[-1] * iota) / half == pytest.approx(counts, rel=1e-3)
    started = replace(plan, problem=replace(plan.problem, w0=(0.0, 0.0, 0.0, 3.0)))
    assert without_pull(np.array([0.0, 0.0, 0.0, 3.0]), started, ())[-1] == 3.0


def test_the_intercept_moves_less_where_flags_may_be_rare_and_never_by_more_than_half():
    plan, coef = plan_of(ridge=5.0), np.array([-1.0, 0.0, 0.0, -4.0])
    iota = plan.problem.geometry.intercept
    alone, flagged = (
        math.exp((without_pull(coef, plan, flags)[-1] - coef[-1]) * iota) for flags in ((), (True, False, False))
    )
    assert 1 - flagged == pytest.approx((1 - alone) * math.exp(-plan.problem.geometry.sizes[0]), rel=0.01)
    for far in (-100.0, 100.0):
        coef[-1] = far
        assert abs(without_pull(coef, plan_of(ridge=1e4), ())[-1] - far) * iota <= math.log(2) + 1e-12


@pytest.mark.parametrize("options", [
    {"l2": 0.01}, {"fit_intercept": False}, {"model": "linear"}, {"neighbouring": "add_remove"},
    {"n_rows": 999}, {"eps": 0.09}, {"eps": math.inf},
    {"mechanism": dplr.ObjectivePerturbation(calibration="cms11")},
    {"mechanism": dplr.OutputPerturbation(projection=2.0)},
])  # fmt: skip
def test_a_pull_stays_that_was_asked_for_or_is_not_known_well(options):
    assert MOVED not in plan_of(**options).statement.solution


@pytest.mark.parametrize("mechanism", ["objective", "output"])
def test_the_release_stays_as_it_was_and_the_model_is_made_of_it(mechanism):
    """Ridge, noise and the released numbers are not touched: a release of the same noise has the same coefficients."""
    plan = plan_of(mechanism=mechanism)
    assert MOVED in plan.statement.solution
    duel = duel_of(mechanism)
    run = duel.run(0, 1)
    (released,), (model,) = run.done.coefs, run.done.models
    grid = duel.statement.released["coef"].grid
    assert (released / grid == np.round(released / grid)).all()
    assert released[:-1].tolist() == model[:-1].tolist()
    assert released[-1] != model[-1]


def duel_of(mechanism, n=1_000, eps=3.0):
    """Fits of rows in the middle without a count, and of one at a corner with the largest count, or with none."""
    bounds = dplr.Bounds([(0, 1)], target=(0, 8))
    estimator = dplr.PoissonRegressor(eps=eps, mechanism=mechanism)
    others = (Record(np.array([0.5]), 0.0),) * (n - 1)
    pair = Pair(Record(np.array([1.0]), 8.0), Record(np.array([1.0]), 0.0), others)
    return Duel(Trial(estimator, bounds, eps, False, False), pair)


def test_below_a_thousand_rows_times_eps_counts_have_the_ridge_of_numbers():
    """The smaller one lets noise in that is as large as the rates."""
    problem = plan_of(n_rows=300).problem
    geometry, records = problem.geometry, problem.neighbouring.records_changed
    few, many = (gauge_ridges(problem.loss, total, geometry, 1.0, records, None) for total in (999, 1_000))
    assert few.min() > many.max()


def test_a_table_speaks_of_sums_only_where_they_may_be_off():
    problem = plan_of().problem
    assert Total(0.1, 0.1, 0.0006).words(problem) == ()
    (words,) = Total(0.1, 0.1, 0.003).words(problem)
    assert "27 % more or less than those observed, as clipped: noise" in words
    assert "several times" in Total(0.1, 0.1, 0.0137).words(problem)[0]
    (words,) = Total(0.1, 0.05, 0.0).words(problem)
    assert "several times" in words
    assert "coefficients are shrunk" in words
    assert "several times" in Total(0.1, -0.1, 0.0).words(problem)[0]


MODELS = {
    "labels": (dplr.LogisticRegression, (0, 1), lambda rng, m: rng.random(len(m)) < 1 / (1 + np.exp(1 - m))),
    "rare labels": (dplr.LogisticRegression, (0, 1), lambda rng, m: rng.random(len(m)) < 1 / (1 + np.exp(3.5 - m))),
    "numbers": (dplr.LinearRegression, (0, 100), lambda rng, m: 30 + 10 * m + rng.normal(0, 5, len(m))),
    "low numbers": (dplr.LinearRegression, (0, 100), lambda rng, m: 4 + m + rng.gamma(1, 3, len(m))),
    "robust": (dplr.HuberRegressor, (0, 100), lambda rng, m: 20 + m + rng.gamma(1, 3, len(m))),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("spread", [0.06, 0.3])
@pytest.mark.parametrize(
    ("kind", "mechanism", "delta"),
    [(kind, "fm", 0.0) for kind in MODELS if kind != "robust"]
    + [(kind, "objective", 0.0) for kind in MODELS]
    + [(kind, "output", 0.0) for kind in MODELS]
    + [(kind, "ngd", 1e-6) for kind in MODELS]
    + [(kind, "score", 1e-6) for kind in ("labels", "rare labels", "robust")],
)
def test_predictions_of_every_model_add_up_or_the_table_says_how_far_they_may_be_off(kind, mechanism, delta, spread):
    model, target, draw = MODELS[kind]
    for seed in range(2):
        rng = np.random.default_rng(seed)
        X = np.clip(rng.normal(0.5, spread, (10_000, 3)), 0, 1)
        y = np.clip(draw(rng, X @ [1.0, -1.0, 2.0] - 1) * 1.0, *target)
        est = model(eps=1.0, delta=delta, mechanism=mechanism, bounds=dplr.Bounds([(0.0, 1.0)] * 3, target=target))
        est.fit(X, y)
        predicted = est.predict_proba(X)[:, 1] if "labels" in kind else est.predict(X)
        assert abs(float(predicted.sum() / y.sum()) - 1) <= said_of(est)


def test_nothing_is_said_of_sums_without_a_meaning():
    """A target on both sides of 0, labels without probabilities, and three labels."""
    rng = np.random.default_rng(0)
    X = rng.random((300, 2))
    y = X[:, 0] - 0.5
    bounds = dplr.Bounds([(0, 1)] * 2, target=(-1, 1))
    assert said_of(dplr.LinearRegression(eps=0.5, mechanism="fm", bounds=bounds).fit(X, y)) == 0.05
    labels = dplr.Bounds([(0, 1)] * 2)
    assert said_of(dplr.HuberSVC(eps=0.5, bounds=labels).fit(X, y > 0)) == 0.05
    three = dplr.LogisticRegression(eps=0.5, classes=[0, 1, 2], bounds=labels)
    assert said_of(three.fit(X, rng.integers(0, 3, 300))) == 0.05


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("mechanism", [
    "objective", "output", dplr.ObjectivePerturbation(calibration="cms11"), dplr.OutputPerturbation(projection=20.0),
])  # fmt: skip
def test_a_ridge_that_stays_is_told(mechanism):
    options = {} if hasattr(mechanism, "about") else {"l2": 0.01}
    ratio, est = ratio_and_table(0.1, 20, 10_000, 2.0, 0, mechanism, **options)
    assert ratio > 1.5
    assert said_of(est) >= ratio - 1


@pytest.mark.filterwarnings("ignore")
def test_a_ridge_on_labels_is_told():
    rng = np.random.default_rng(0)
    X, y = rng.random((10_000, 2)), rng.random(10_000) < 0.05
    est = dplr.LogisticRegression(eps=2.0, l2=0.05, bounds=dplr.Bounds([(0, 1)] * 2)).fit(X, y)
    assert est.predict_proba(X)[:, 1].mean() > 2 * y.mean()
    assert "several times, or a small part of, the labels observed: coefficients are shrunk" in est.summary().advice[0]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("share", "slope"), [(0.05, 1.0), (0.05, -2.0), (0.97, 1.0)])
def test_counts_of_rare_flags_add_up_or_the_table_says_so(share, slope):
    """Rows lie at one end of every flag, and their rate is far from that of the middle."""
    rng = np.random.default_rng(7)
    X = (rng.random((20_000, 6)) < share) * 1.0
    y = rng.poisson(0.3 * np.exp(slope * (X.sum(axis=1) - 6 * share)))
    est = dplr.PoissonRegressor(eps=2.0, bounds=dplr.Bounds([(0, 1)] * 6, target=(0, 10))).fit(X, y)
    assert abs(est.predict(X).sum() / np.minimum(y, 10).sum() - 1) <= min(said_of(est), 0.1)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("limits", "said"), [
    ({"weight_max": 20}, "weights of half the largest on average"),
    ({"rows_per_person": 20}, "20 rows a person"),
    ({"neighbouring": "add_remove", "n_rows": 3_000}, "about 3,000 records"),
])  # fmt: skip
def test_a_table_says_what_it_takes_for_the_sum_of_weights(limits, said):
    rng = np.random.default_rng(0)
    X, y = rng.random((3_000, 2)), rng.poisson(0.1, 3_000)
    declared = {name: value for name, value in limits.items() if name in ("weight_max", "rows_per_person")}
    bounds = dplr.Bounds([(0, 1)] * 2, target=(0, 20), **declared)
    options = {name: value for name, value in limits.items() if name not in declared}
    rows = {"weight_max": {"sample_weight": np.full(3_000, 10.0)}, "rows_per_person": {"person": np.arange(3_000)}}
    est = dplr.PoissonRegressor(eps=0.5, mechanism="objective", bounds=bounds, **options)
    (words, *_) = est.fit(X, y, **rows.get(next(iter(limits)), {})).summary().advice
    assert words.endswith(f"This is for {said}.")
    assert (", as clipped and weighted:" in words) is bool(declared)


FM = {
    "persons": ({}, {"rows_per_person": 2}, {"person": np.arange(2_000)}),
    "weights": ({}, {"weight_max": 2}, {"sample_weight": np.ones(2_000)}),
    "added": ({"neighbouring": "add_remove"}, {}, {}),
    "off": ({"mechanism": dplr.FunctionalMechanism(intervals="off")}, {}, {}),
    "robust": ({"mechanism": dplr.FunctionalMechanism(intervals="robust")}, {}, {}),
    "paper": ({"mechanism": dplr.FunctionalMechanism(calibration="paper")}, {}, {}),
    "gaussian": ({"mechanism": dplr.FunctionalMechanism(noise="gaussian"), "delta": 1e-6}, {}, {}),
    "rerun": ({"mechanism": dplr.FunctionalMechanism(unbounded="rerun")}, {}, {}),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", FM)
@pytest.mark.parametrize("numbers", [True, False])
def test_every_release_of_moments_tells_its_sums(name, numbers):
    options, declared, rows = FM[name]
    rng = np.random.default_rng(0)
    X = rng.random((2_000, 2))
    y = np.clip(rng.normal(4 + 3 * X[:, 0], 2), 0, 100)
    model, target = (dplr.LinearRegression, {"target": (0, 100)}) if numbers else (dplr.LogisticRegression, {})
    bounds = dplr.Bounds([(0, 1)] * 2, **target, **declared)
    est = model(**{"eps": 3.0, "mechanism": "fm", "bounds": bounds, **options}).fit(X, y if numbers else y > 7, **rows)
    predicted, observed = (est.predict(X), y) if numbers else (est.predict_proba(X)[:, 1], y > 7)
    assert abs(predicted.sum() / observed.sum() - 1) <= said_of(est)


def test_a_moved_intercept_has_no_noise_in_its_table_or_picture():
    """It is made of the released one, and of the noise in a pull: the deviation of what was added is too small."""
    est = ratio_and_table(0.1, 4, 2_000, 1.0, 0, "output")[1]
    *columns, intercept = est.summary().lines
    assert all(line.noise > 0 for line in columns)
    assert math.isnan(intercept.noise)
    effects = read_effects(est, read_model(est))
    assert effects.reach is not None
    assert effects.intercept_reach is None


def test_a_file_of_counts_predicts_the_same(tmp_path):
    X, _ = made(0.1, 2_000, 0)
    est = ratio_and_table(0.1, 4, 2_000, 1.0, 0)[1]
    dplr.save_model(est, tmp_path / "model")
    read = dplr.load_model(tmp_path / "model")
    assert read.predict(X).tolist() == est.predict(X).tolist()
    assert read.summary().to_text() == est.summary().to_text()


def test_an_audit_of_counts_has_the_likelihood_ratio_of_the_release():
    """The mean of P' / P over P is 1 where both are densities: red where they are taken at another point."""
    duel = duel_of("objective", n=400)
    ratios = [duel.loss(0, duel.run(0, seed)) for seed in range(200)]
    assert np.mean(np.exp(-np.array(ratios))) == pytest.approx(1, abs=0.25)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("seed", range(6))
def test_sums_of_rare_labels_are_off_by_no_more_than_is_said_of_those_observed(seed):
    rng = np.random.default_rng(seed)
    X = np.column_stack([rng.random(3000), rng.random(3000) < 0.02])
    y = rng.random(3000) < 1 / (1 + np.exp(4.4 - X[:, 0]))
    bounds = dplr.Bounds([(0.0, 1.0), (0, 1)])
    est = dplr.LogisticRegression(eps=1.0, delta=1e-6, mechanism="score", bounds=bounds).fit(X, y)
    assert abs(est.predict_proba(X)[:, 1].sum() / y.sum() - 1) <= said_of(est)
