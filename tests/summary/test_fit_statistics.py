"""Statistics below a table: those of least squares without noise, held as often as they say with it, or not said."""

import json
import math
import warnings

import numpy as np
import pandas as pd
import pytest

import dplr
from dplr.inference.determination import Squares, explained, residual_deviation
from dplr.summary.statistics import ADJUSTED, ALL_SLOPES, DEVIATION, R_SQUARED, FitStatistic
from paid_people import BOUNDS, TARGET, people


def fitted(eps=math.inf, n=4000, **options):
    table, pay = people(n)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", dplr.PrivacyWarning)
        bounds = dplr.Bounds(BOUNDS, target=TARGET)
        return dplr.fit(table, pay, eps=eps, model="linear", mechanism="fm", bounds=bounds, **options)


def design(n=4000, intercept=True):
    table, pay = people(n)
    columns = [table.age, table.work == "private", table.work == "self", table.hours]
    return np.column_stack([*columns, *([np.ones(n)] if intercept else [])]).astype(float), pay.to_numpy()


def by_name(table):
    return {statistic.name: statistic for statistic in table.fit_statistics}


@pytest.mark.parametrize("make", ["fm", "moments"])
def test_without_noise_they_are_those_of_least_squares(make):
    X, y = design()
    n, q = X.shape
    residuals = y - X @ np.linalg.lstsq(X, y, rcond=None)[0]
    share = 1 - residuals @ residuals / np.sum((y - y.mean()) ** 2)
    if make == "fm":
        found = by_name(fitted().summary())
    else:
        table, pay = people(n)
        bounds = dplr.Bounds({**BOUNDS, "pay": TARGET})
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", dplr.PrivacyWarning)
            released = dplr.release_moments(table.assign(pay=pay), bounds=bounds, eps=math.inf)
        found = by_name(released.regress("pay").summary())
    assert found[R_SQUARED].estimate == pytest.approx(share, rel=1e-4)
    assert found[ADJUSTED].estimate == pytest.approx(1 - (1 - share) * (n - 1) / (n - q), rel=1e-4)
    assert found[DEVIATION].estimate == pytest.approx(math.sqrt(residuals @ residuals / (n - q)), rel=1e-4)
    unit = (TARGET[1] - TARGET[0]) / 2  # the target lies in [-1, 1]: no residual is larger than 1 + |prediction|
    length, deviation = 1 + math.sqrt(np.mean(((y - residuals - sum(TARGET) / 2) / unit) ** 2)), residuals.std() / unit
    half = (found[DEVIATION].high ** 2 - found[DEVIATION].low ** 2) / 2 / unit**2
    assert half == pytest.approx(1.96 * math.sqrt((length**2 - deviation**2) * deviation**2 / n), rel=0.02)
    half = (found[ADJUSTED].high - found[ADJUSTED].low) / 2
    assert 1 < half / (1.96 * 2 * math.sqrt(share / n) * (1 - share)) < length / deviation  # 1: of normal rows


TAILS = {
    "normal": lambda rng, n: rng.normal(0, 1, n),
    "t with 3 degrees": lambda rng, n: rng.standard_t(3, n),
    "lognormal": lambda rng, n: rng.lognormal(0, 1, n) - math.exp(0.5),
    "rare and large": lambda rng, n: np.where(rng.random(n) < 0.005, 10, 0.7) * rng.normal(0, 1, n),
}


def squares_of(X, y, robust):
    """Moments without noise of a target in [-1, 1], of columns, and of the constant."""
    rows = np.column_stack([y, X, np.ones(len(y))])
    coef = np.linalg.lstsq(rows[:, 1:], y, rcond=None)[0]
    residuals = y - rows[:, 1:] @ coef
    scores, q = rows[:, 1:] * residuals[:, None], rows.shape[1]
    meat = scores.T @ scores if robust else None
    given = rows.T @ rows, np.zeros((q, q)), np.zeros(q), float(len(y)), True, False
    return Squares(*given, sizes=np.ones(q), robust=robust, meat=meat), residuals


@pytest.mark.parametrize("tails", TAILS)
@pytest.mark.parametrize("robust", [False, True])
def test_intervals_hold_for_residuals_with_heavy_tails(tails, robust):
    def drawn(rng, n):
        X = np.column_stack([rng.uniform(-1, 1, n), rng.random(n) < 0.3])
        spread = 1 + 0.8 * X[:, 0] if robust else 1.0
        return X, np.clip(0.25 * X[:, 0] + 0.1 * X[:, 1] + 0.07 * spread * TAILS[tails](rng, n), -1, 1)

    X, y = drawn(np.random.default_rng(0), 400_000)
    _, residuals = squares_of(X, y, robust)
    truth, held = (1 - residuals.var() / y.var(), residuals.std()), []
    for seed in range(200):
        squares, _ = squares_of(*drawn(np.random.default_rng(100 + seed), 1500), robust)
        found = explained(squares, 0.95), residual_deviation(squares, 0.95)
        held.append([low <= value <= high for value, (_, low, high) in zip(truth, found, strict=True)])
    assert np.mean(held, axis=0).min() >= 0.93


@pytest.mark.parametrize("seed", range(20))
def test_no_law_of_rows_within_the_bounds_scatters_more_than_is_counted(seed):
    """Of rows on few points, by what each row moves the residual variance and the logarithm of 1 - R^2."""
    rng, n = np.random.default_rng(seed), 3000
    points, shares = rng.uniform(-1, 1, (6, 2)) * rng.choice([0.05, 0.4, 1.0], (6, 1)), rng.dirichlet(np.full(6, 0.3))
    X, errors = points[rng.choice(6, n, p=shares)], TAILS[sorted(TAILS)[seed % 4]](rng, n) * rng.choice([0.02, 0.3])
    y = np.clip(X @ rng.uniform(-0.4, 0.4, 2) + errors * rng.choice([1.0, 0.0], n, p=[0.9, 0.1]), -1, 1)
    squares, residuals = squares_of(X + rng.normal(0, 0.01, (n, 2)), y, True)
    z, about, variance = 1.959964, y - y.mean(), residuals.var()
    _, low, high = residual_deviation(squares, 0.95)
    assert (high**2 - low**2) / 2 >= 0.99 * z * np.std(residuals**2) / math.sqrt(n)
    moved = residuals**2 / y.var() - variance / y.var() ** 2 * about**2
    _, low, high = explained(squares, 0.95)
    if low > 0 and high < 1:
        assert (high - low) / 2 >= 0.99 * z * np.std(moved) / math.sqrt(n)


def test_without_a_constant_the_share_is_about_zero():
    rng = np.random.default_rng(0)
    X = rng.uniform(0, 1, (3000, 2))
    y = X @ [1.0, 2.0] + rng.normal(0, 0.3, 3000)
    residuals = y - X @ np.linalg.lstsq(X, y, rcond=None)[0]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", dplr.PrivacyWarning)
        bounds = dplr.Bounds([(0, 1), (0, 1)], target=(-4, 4))
        model = dplr.LinearRegression(eps=math.inf, mechanism="fm", bounds=bounds, fit_intercept=False).fit(X, y)
    found = by_name(model.summary())
    share = found[f"{R_SQUARED} (uncentered)"]
    assert share.estimate == pytest.approx(1 - residuals @ residuals / (y @ y), rel=1e-4)


@pytest.mark.oracle
def test_statsmodels_says_the_same_without_noise(oracle):
    sm = oracle("statsmodels.api")
    X, y = design()
    other = sm.OLS(y, X).fit()
    est = fitted()
    table = est.summary()
    found = by_name(table)
    assert found[R_SQUARED].estimate == pytest.approx(other.rsquared, rel=1e-4)
    assert found[ADJUSTED].estimate == pytest.approx(other.rsquared_adj, rel=1e-4)
    assert found[DEVIATION].estimate == pytest.approx(math.sqrt(other.mse_resid), rel=1e-4)
    combined = other.t_test("x3 - x2 = 28")
    (line,) = est.contrast("work=self - work=private = 28").lines
    assert line.estimate == pytest.approx(float(combined.effect[0]), rel=1e-3)
    assert line.std_error == pytest.approx(float(combined.sd[0, 0]), rel=1e-2)
    assert line.p_value == pytest.approx(float(combined.pvalue), abs=0.01)
    wald = other.wald_test("x2 = 0, x3 = 0", use_f=False, scalar=True)
    assert {test.name: test.statistic for test in table.tests}["work"] == pytest.approx(float(wald.statistic), rel=0.01)


def test_tests_below_a_table_are_those_of_wald_test():
    est = fitted(eps=1.0)
    tests = {test.name: test for test in est.summary().tests}
    assert tests.keys() == {ALL_SLOPES, "work"}
    for name, columns in ((ALL_SLOPES, ["age", "work", "hours"]), ("work", "work")):
        counterpart = est.wald_test(columns)
        assert tests[name].statistic == pytest.approx(counterpart.statistic)
        assert (tests[name].dof, tests[name].verdict) == (counterpart.dof, counterpart.verdict)
    assert est.summary(["hours"]).tests == ()


DESIGNS = {"normal noise, correlated": (9000, 1.0, 1e-6), "Laplace noise, flags": (8000, 4.0, 0.0)}


def rows_of(name, n, seed):
    rng = np.random.default_rng(seed)
    if name.startswith("normal"):
        X = rng.uniform(0, 1, (n, 4))
        X[:, 1] = 0.6 * X[:, 0] + 0.4 * X[:, 1]
        return X, X @ [1.0, 2.0, -1.0, 0.0], rng.normal(0, 0.6, n), 0.6
    X = np.column_stack([rng.random(n) < 0.1, rng.random(n) < 0.5, rng.beta(2, 5, n), rng.uniform(0, 1, n) ** 2])
    return X, X @ [1.0, 0.3, 1.0, 0.0], 0.5 * rng.uniform(-1, 1, n) * math.sqrt(3), 0.5


@pytest.mark.thorough
@pytest.mark.parametrize("name", DESIGNS)
def test_intervals_hold_as_often_as_they_say(name):
    n, eps, delta = DESIGNS[name]
    _, mean, _, deviation = rows_of(name, 10**6, 1)
    share = np.var(mean) / (np.var(mean) + deviation**2)
    held, naive = [], []
    for seed in range(200):
        X, mean, residuals, _ = rows_of(name, n, 100 + seed)
        bounds = dplr.Bounds([(0, 1)] * 4, target=(-3, 5))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            est = dplr.fit(
                X, mean + residuals, model="linear", mechanism="fm", eps=eps, delta=delta, bounds=bounds, rng=seed
            )
        found = by_name(est.summary())
        for statistic, truth in ((found[ADJUSTED], share), (found[DEVIATION], deviation)):
            if not math.isnan(statistic.estimate):
                held.append(statistic.low <= truth <= statistic.high)
                half = 1.96 * 2 * math.sqrt(share / n) * (1 - share)
                naive.append(abs(found[ADJUSTED].estimate - share) <= half)
    assert len(held) > 300
    assert 0.92 <= np.mean(held) <= 0.99
    assert np.mean(naive) < 0.8  # without the noise they would not


def moments(n=50.0, noise=0.0, square=20.0):
    """Moments of a target and a column of ones and minus ones, that explains half of it, and the constant."""
    matrix = np.array([[square, 10.0, 0.0], [10.0, n, 0.0], [0.0, 0.0, n]]) * 1.0
    return Squares(matrix, np.full((3, 3), noise), np.zeros(3), n, True, False)


def test_where_noise_is_as_large_as_the_moments_nothing_is_said():
    for squares in (moments(noise=100.0), moments(square=-1.0), moments(square=1.0)):
        assert math.isnan(residual_deviation(squares, 0.95)[0])
        assert math.isnan(explained(squares, 0.95)[0]) or squares.matrix[0, 0] == 1.0
    assert explained(moments(), 0.95)[0] == pytest.approx(1 - (1 - 0.1) * 49 / 48)
    assert str(FitStatistic(R_SQUARED, math.nan, math.nan, math.nan)) == "R-squared cannot say"
    drowned = fitted(eps=0.002, n=300)
    assert all(math.isnan(statistic.estimate) for statistic in drowned.summary().fit_statistics)
    assert "R-squared cannot say" in drowned.summary().to_text()
    assert "Noise drowns age, work=private, work=self, hours: R-squared" in " ".join(
        drowned.summary().to_text().split()
    )


@pytest.mark.parametrize("form", ["to_text", "to_html", "to_latex"])
def test_every_form_has_them_below_the_table(form):
    text = " ".join(getattr(fitted(eps=2.0).summary(), form)().split())
    for words in (
        "R-squared 0.",
        "residual std. deviation",
        "All slopes are 0: chi-square",
        "All coefficients of work",
    ):
        assert words in text


def test_plain_values_have_them_and_none_where_nothing_can_be_said():
    found = json.loads(fitted(eps=0.02, n=300).summary().to_json())
    assert [each["estimate"] for each in found["fit_statistics"]] == [None] * 3
    assert {each["name"] for each in json.loads(fitted().summary().to_json())["tests"]} == {ALL_SLOPES, "work"}


def test_the_short_form_has_one_line_more():
    table = fitted(eps=2.0).summary()
    shown = str(table).splitlines()
    assert sum("R-squared" in line for line in shown) == 1
    assert len(shown) <= 15


def test_labels_and_weighted_rows_have_no_residual_deviation():
    table, pay = people(4000)
    bounds = dplr.Bounds(BOUNDS, target=(False, True))
    labels = dplr.fit(
        table, pay > 100, mechanism=dplr.FunctionalMechanism(intervals="robust"), eps=2.0, delta=1e-6, bounds=bounds
    )
    assert labels.summary().fit_statistics == ()
    weighted = dplr.fit(
        table, pay, model="linear", mechanism=dplr.FunctionalMechanism(intervals="robust"), eps=2.0, delta=1e-6,
        bounds=dplr.Bounds(BOUNDS, target=TARGET, weight_max=1), sample_weight=pd.Series(np.full(4000, 0.5)),
    )  # fmt: skip
    assert weighted.summary().fit_statistics == ()
    table = weighted.summary()
    assert "n" not in table.facts
    assert all(f" sum of weights {table.facts['sum of weights']}" in shown for shown in (str(table), table.to_text()))
