"""Predictions add up to the targets, or the table says by how much they may not."""

import math
import re
from dataclasses import replace

import numpy as np
import pytest

import dplr
from dplr.mechanisms.perturbation.ridge import gauge_ridges, without_pull
from dplr.problem.outlook import GradientNoise, Total, middle_rate

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
    bounds = dplr.Bounds([(0, 1)] * 3, target=(0, most))
    facts = {"eps": eps, "delta": delta, "mechanism": mechanism, "bounds": bounds, **options}
    est = dplr.PoissonRegressor(**facts).fit(X, y)
    return float(est.predict(X).sum() / np.minimum(y, most).sum()), est


def said_of(est):
    """The largest part by which the table says that the sum may be off; 0.05 where it says nothing."""
    found = re.search(SAID, " ".join(est.summary().advice))
    if found is None:
        return 0.05
    return math.inf if found[2] is None else float(found[2]) / 100


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("mechanism", "delta"), MECHANISMS)
@pytest.mark.parametrize(("rate", "most"), [(1.0, 10), (0.1, 4), (0.1, 20)])
def test_fitted_counts_add_up_or_the_table_says_how_far_they_may_be_off(rate, most, mechanism, delta):
    for seed in range(1 if mechanism == "score" else 2):  # whose tables take longer
        ratio, est = ratio_and_table(rate, most, 10_000, 1.0, seed, mechanism, delta)
        assert abs(ratio - 1) <= said_of(est)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("rate", "most", "n", "eps"), [(0.1, 4, 50_000, 1.0), (0.1, 20, 5_000, 10.0), (1.0, 10, 2_000, 1.0)]
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
    bounds = dplr.Bounds([(0, 1)] * 2, target=(0, 10), weight_max=2)
    est = dplr.PoissonRegressor(eps=5.0, bounds=bounds).fit(X, counts / exposure, sample_weight=exposure)
    assert abs((exposure * est.predict(X)).sum() / counts.sum() - 1) < 0.05
    assert est.coef_ == pytest.approx([1.0, -0.5], abs=0.2)


def plan_of(**options):
    bounds = dplr.Bounds([(0, 1)] * 3, target=(0, 20))
    return dplr.plan(n_rows=10_000, n_features=3, **{"eps": 1.0, "model": "poisson", "bounds": bounds, **options})


def test_the_intercept_moves_by_what_the_ridge_adds():
    """With no slopes every rate is the same, and the equation along the constant tells the sum of the counts."""
    problem, ridge, n = plan_of().problem, 5.0, 10_000
    iota, half = problem.geometry.intercept, 10.0
    for log_rate in (-2.0, -0.5, 0.5, 0.9):  # beside an offset of log(20 / 8)
        coef = np.array([0.0, 0.0, 0.0, log_rate / iota])
        fitted = n * 2.5 * math.exp(log_rate) / half
        counts = fitted + ridge * coef[-1] / iota
        moved = without_pull(coef, problem, ridge)
        assert moved[:-1].tolist() == [0.0] * 3
        assert n * 2.5 * math.exp(moved[-1] * iota) / half == pytest.approx(counts, rel=1e-3)
    started = replace(problem, w0=(0.0, 0.0, 0.0, 3.0))
    assert without_pull(np.array([0.0, 0.0, 0.0, 3.0]), started, ridge)[-1] == 3.0


def test_what_was_asked_for_stays():
    coef = np.array([0.0, 0.0, 0.0, -3.0])
    for plan in (plan_of(l2=0.01), plan_of(fit_intercept=False), plan_of(model="linear")):
        assert without_pull(coef, plan.problem, 5.0) is coef
        assert "the intercept is moved" not in str(plan.statement)
    assert "the intercept is moved" in str(plan_of().statement)
    assert "the intercept is moved" in str(plan_of(mechanism="output").statement)


@pytest.mark.parametrize("relation", ["replace_one", "add_remove"])
@pytest.mark.parametrize("eps", [0.1, 1.0, 10.0])
def test_the_ridge_of_counts_costs_at_most_a_third_of_eps(eps, relation):
    problem = plan_of(neighbouring=relation).problem
    geometry, records = problem.geometry, problem.neighbouring.records_changed
    ridges = gauge_ridges(problem.loss, 10_000, geometry, eps, records, None)
    kappa = float((np.square(geometry.half_widths) / ridges).sum())
    assert math.log1p(problem.loss.smoothness * kappa) <= eps / 3
    assert ridges[-1] <= ridges[0]


def words_of(problem, noise, coef):
    return Total.behind(problem, noise, coef, middle_rate(problem, coef)).words(problem)


def test_a_table_speaks_of_sums_only_where_noise_may_move_them():
    problem, coef = plan_of().problem, np.zeros(4)
    assert words_of(problem, GradientNoise(1.0), coef) == ()
    (words,) = words_of(problem, GradientNoise(20.0), coef)
    assert re.search(SAID, words)[2] == "11"
    (words,) = words_of(problem, GradientNoise(1.0), coef - [0, 0, 0, 20.0])
    assert "several times" in words
    (words,) = words_of(problem, GradientNoise(1.0, ridge=50.0), coef)  # behind the ridge it moves every rate
    assert float(re.search(SAID, words)[2]) == pytest.approx(14, rel=0.5)


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
        est = model(eps=1.0, delta=delta, mechanism=mechanism, bounds=dplr.Bounds([(0, 1)] * 3, target=target))
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
