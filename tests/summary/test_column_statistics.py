"""Marginal effects, standardised coefficients and variance inflation: those of least squares and logistic regression
without noise, held as often as they say with it, or not said."""

import math
import warnings
from dataclasses import replace

import numpy as np
import pytest
from scipy import special

import dplr
from dplr.inference.determination import Squares, deviation_ratio, inflation
from dplr.inference.reading import Reading
from dplr.inference.slope import average_effects, mean_slope
from dplr.privacy.estimand import Estimand
from paid_people import BOUNDS, TARGET, people

NAMES = ["age", "work=private", "work=self", "hours"]
ROBUST = dplr.FunctionalMechanism(intervals="robust")


def fitted(y=None, eps=math.inf, n=4000, mechanism="fm", bounds=BOUNDS, weight_max=None, **options):
    table, pay = people(n)
    y = pay if y is None else y(pay)
    target = {"d": TARGET, "b": (False, True)}.get(np.asarray(y).dtype.kind[0].replace("f", "d"), [0, 1, 2])
    delta = 0.0 if math.isinf(eps) else options.pop("delta", 1e-6)
    model = "linear" if target == TARGET else "logistic"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        declared = dplr.Bounds(bounds, target=target, weight_max=weight_max)
        return dplr.fit(table, y, eps=eps, delta=delta, model=model, mechanism=mechanism, bounds=declared, **options)


def rich(pay):
    return pay + np.random.default_rng(5).logistic(0, 20, len(pay)) > 130


def design(n=4000):
    table, pay = people(n)
    columns = [table.age, table.work == "private", table.work == "self", table.hours, np.ones(n)]
    return np.column_stack(columns).astype(float), pay.to_numpy()


def logit(X, y):
    """Coefficients of maximum likelihood, and the probabilities."""
    coef = np.zeros(X.shape[1])
    for _ in range(30):
        p = special.expit(X @ coef)
        coef += np.linalg.solve((X * (p * (1 - p))[:, None]).T @ X, X.T @ (y - p))
    return coef, special.expit(X @ coef)


def values(found):
    return [line.estimate for line in found.lines]


def ends(found):
    return [(line.low, line.high) for line in found.lines]


def test_without_noise_marginal_effects_are_those_of_logistic_regression():
    X, pay = design()
    coef, p = logit(X, rich(pay))
    found = fitted(rich, mechanism="score").marginal_effects()
    assert [line.name for line in found.lines] == NAMES
    assert [line.reference for line in found.lines] == ["", "gov", "gov", ""]
    assert values(found) == pytest.approx(coef[:-1] * np.mean(p * (1 - p)), rel=5e-3, abs=1e-4)
    assert all(low < line.estimate < high for line, (low, high) in zip(found.lines, ends(found), strict=True))


@pytest.mark.oracle
def test_statsmodels_has_the_same_marginal_effects_and_intervals_that_are_not_wider(oracle):
    sm = oracle("statsmodels.api")
    X, pay = design()
    effects = sm.Logit(rich(pay).astype(float), X).fit(disp=0).get_margeff()
    found = fitted(rich, mechanism="score").marginal_effects()
    assert values(found) == pytest.approx(effects.margeff, rel=5e-3, abs=1e-4)
    for (low, high), (lower, upper) in zip(ends(found), effects.conf_int(), strict=True):
        assert (upper - lower) <= 1.01 * (high - low)


@pytest.mark.parametrize("options", [{}, {"y": rich, "mechanism": ROBUST}], ids=["mean", "probability"])
def test_coefficients_of_a_linear_model_are_its_marginal_effects(options):
    est = fitted(eps=2.0, **options)
    lines = {line.name: line for line in est.summary(level=0.9).lines}
    found = est.marginal_effects(level=0.9)
    assert [(line.estimate, line.low, line.high) for line in found.lines] == [
        (lines[name].estimate, lines[name].low, lines[name].high) for name in NAMES
    ]


def products(est):
    """Products of the intervals of the coefficients and of the mean slope."""
    (equation,) = est._subject(None).equations
    _, least, most = mean_slope(equation.reading, 0.95, equation.bounds(None))
    lines = {line.name: line for line in est.summary().lines}
    corners = [[end * slope for end in (lines[n].low, lines[n].high) for slope in (least, most)] for n in NAMES]
    return [(min(each), max(each)) for each in corners]


def test_effects_count_the_covariance_of_the_release_and_are_shorter_than_products():
    est = fitted(rich, 3.0, mechanism="score")
    (equation,) = est._subject(None).equations
    _, least, most = mean_slope(equation.reading, 0.95)
    lines = {line.name: line for line in est.summary().lines}
    for name, (low, high), product in zip(NAMES, ends(est.marginal_effects()), products(est), strict=True):
        assert high - low < product[1] - product[0]
        assert high - low > 0.9 * least * (lines[name].high - lines[name].low) * min(1.0, least / most + 0.1)


def test_beside_a_flag_that_noise_drowns_effects_are_products():
    table, pay = people(4000)
    rare = table.assign(rare=np.arange(4000) < 4)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        bounds = dplr.Bounds(BOUNDS | {"rare": (0, 1)}, target=(False, True))
        est = dplr.fit(rare, rich(pay), eps=3.0, delta=1e-6, mechanism="score", bounds=bounds, rng=1)
    found = est.marginal_effects()
    assert ends(found)[:4] == [pytest.approx(each) for each in products(est)]


def test_without_noise_effects_are_less_than_half_as_wide_again_as_those_of_the_delta_method():
    """The score and Hessian at the maximum: the rest is what the gradient of the mean slope may be."""
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.uniform(-1, 1, (40_000, 2)), np.ones(40_000)])
    for start in (0.0, -3.0):
        point = np.array([1.5, -1.0, start])
        reading = reading_at(X, point, sampling=1.0)
        p = special.expit(X @ point)
        h, inverse = p * (1 - p), np.linalg.inv(reading.matrix)
        gradient = np.mean((h * (1 - 2 * p))[:, None] * X, axis=0)
        jacobian = h.mean() * np.eye(3)[:2] + np.outer(point[:2], gradient)
        deviations = np.sqrt(np.diag(jacobian @ inverse @ jacobian.T) + point[:2] ** 2 * np.var(h) / len(X))
        found = average_effects(reading, np.eye(3)[:2], 0.95)
        assert found[:, 0] == pytest.approx(h.mean() * point[:2])
        ratio = (found[:, 2] - found[:, 1]) / (2 * 1.959964 * deviations)
        assert np.all((ratio > 1) & (ratio < 1.5)), ratio
        _, low, high = mean_slope(reading, 0.95)
        halves = 1.959964 * np.sqrt(np.diag(inverse))[:2]
        old = (np.abs(point[:2]) + halves) * high - (np.abs(point[:2]) - halves) * low
        assert np.all(found[:, 2] - found[:, 1] < 0.85 * old)


@pytest.mark.parametrize("way", [[0.3, -0.2, 0.2], [-0.4, 0.1, -0.2], [0.0, 0.0, 0.5], [0.5, 0.5, 0.0]])
def test_effects_count_the_known_way_to_the_coefficients(way):
    X, point = rows(100_000), np.array([1.0, 0.5, -1.5])
    goal = point + way
    p = special.expit(X @ goal)
    found = average_effects(reading_at(X, point, target=goal, sampling=0.01), np.eye(3)[:2], 0.95)
    moved = np.linalg.solve(reading_at(X, point).matrix, reading_at(X, point, target=goal).vector) - way
    truth, remainder = goal[:2] * np.mean(p * (1 - p)), np.abs(moved[:2])  # the expansion of the score, elsewhere
    assert np.all((found[:, 1] <= truth + remainder) & (truth - remainder <= found[:, 2]))


def test_where_the_release_has_no_such_numbers_the_obstacle_says_so():
    cases = {
        "without an intercept": fitted(rich, 3.0, mechanism="score", fit_intercept=False).marginal_effects(),
        "the number of rows": fitted(rich, 3.0, mechanism="score", neighbouring="add_remove").marginal_effects(),
        "the variances of columns": fitted(rich, 3.0, mechanism="score").standardised_coefficients(),
        "the variances": fitted(rich, 3.0, mechanism="score").variance_inflation(),
        "rows count differently": fitted(
            mechanism=ROBUST, eps=2.0, sample_weight=np.full(4000, 0.5), weight_max=1.0
        ).variance_inflation(),
    }
    for words, found in cases.items():
        assert words in found.obstacle
        assert f"Cannot say: {found.obstacle}" in " ".join(str(found).split())
        assert np.isnan(values(found)).all()
        assert len(found.lines) >= 4
    with pytest.raises(ValueError, match="must release what confidence intervals need"):
        fitted(rich, 3.0, mechanism="output").marginal_effects()
    with pytest.raises(ValueError, match="level"):
        fitted().variance_inflation(level=0.1)


def test_columns_in_a_ball_have_no_bounds_of_their_own():
    X, y = np.random.default_rng(0).normal(0, 0.2, (3000, 2)), np.random.default_rng(1).uniform(-1, 1, 3000)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        est = dplr.LinearRegression(eps=math.inf, mechanism="fm").fit(X, y)
    assert "no bounds of their own" in est.standardised_coefficients().obstacle
    assert "no bounds of their own" in est.variance_inflation().obstacle


@pytest.mark.parametrize("make", ["fm", "moments"])
def test_without_noise_they_are_those_of_least_squares(make):
    X, y = design()
    coef, *_ = np.linalg.lstsq(X, y, rcond=None)
    if make == "fm":
        model = fitted()
    else:
        table, pay = people(4000)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            bounds = dplr.Bounds({**BOUNDS, "pay": TARGET})
            model = dplr.release_moments(table.assign(pay=pay), bounds=bounds, eps=math.inf).regress("pay")
    standards, factors = model.standardised_coefficients(), model.variance_inflation()
    assert values(standards) == pytest.approx(coef[:4] * X[:, :4].std(axis=0) / y.std(), rel=1e-3)
    inverse = np.diag(np.linalg.inv(np.corrcoef(X[:, :4], rowvar=False)))
    assert values(factors) == pytest.approx(inverse, rel=2e-3)
    assert all(1 <= line.low <= line.estimate <= line.high for line in factors.lines)
    frame = standards.to_frame()
    assert list(frame.index) == NAMES
    assert list(frame) == ["label", "estimate", "low", "high", "reference"]


def test_one_column_alone_is_not_inflated_and_fewer_columns_are_less():
    squares = Squares(np.diag([5.0, 9.0]), np.ones((2, 2)), np.zeros(2), 9.0, True, False)
    assert inflation(squares, np.ones(2), 0.95, 0) == (1.0, 1.0, 1.0)
    collinear = np.array([[10.0, 9.0, 0.0], [9.0, 10.0, 0.0], [0.0, 0.0, 1e4]])
    squares, sizes = Squares(collinear * 1e3, np.zeros((3, 3)), np.zeros(3), 1e4, True, False), np.full(3, 2.0)
    value, low, high = inflation(squares, sizes, 0.95, 0)
    assert value == pytest.approx(1 / (1 - 0.81), rel=1e-3)
    assert math.log(high / low) / 2 > 1.96 * 2 * 0.9 / math.sqrt(1e4)  # of normal columns: 2 R/sqrt(n)
    _, lower, higher = inflation(replace(squares, cells=np.full((3, 3), 1e2)), sizes, 0.95, 0)
    assert 1 < lower < low < value < high < higher


def test_the_ratio_of_deviations_counts_noise_and_what_bounded_columns_may_scatter():
    n, p = 10_000, 0.05
    matrix = n * np.array([[0.25, 0.0, 0.0], [0.0, p, p], [0.0, p, 1.0]])
    squares = Squares(matrix, np.zeros((3, 3)), np.zeros(3), float(n), True, False)
    ratio, low, high = deviation_ratio(squares, 1.0, 1, 0.95)
    assert ratio == pytest.approx(math.sqrt(p * (1 - p) / 0.25))
    flags = np.random.default_rng(0).binomial(n, p, 20_000) / n
    scatter = np.std(np.log(flags * (1 - flags)) / 2)
    assert math.log(high / low) / 2 > 1.96 * scatter
    assert math.log(high / low) / 2 < 3 * 1.96 * scatter
    noisy = replace(squares, cells=np.full((3, 3), 100.0))
    _, lower, higher = deviation_ratio(noisy, 1.0, 1, 0.95)
    assert lower < low < high < higher
    assert math.isnan(deviation_ratio(replace(squares, cells=np.full((3, 3), 1e6)), 1.0, 1, 0.95)[0])
    of_target = replace(squares, cells=np.diag([1e4, 0.0, 0.0]))
    assert deviation_ratio(of_target, 1.0, 1, 0.95)[1] < low
    _, lower, _ = deviation_ratio(replace(noisy, laplace=True), 1.0, 1, 0.999)
    assert lower < deviation_ratio(noisy, 1.0, 1, 0.999)[1]


def reading_at(X, point, noise=0.0, vector_noise=0.0, sampling=0.0, target=None, **facts):
    """The score and Hessian of rows (the constant last) at a point, of labels or of the coefficients `target`."""
    p = special.expit(X @ point)
    hessian = (X * (p * (1 - p))[:, None]).T @ X
    goal = point if target is None else target
    q = len(point)
    return Reading(
        matrix=hessian, vector=X.T @ (special.expit(X @ goal) - p), cells=np.full((q, q), noise**2),
        tied=np.zeros(q), vector_noise=vector_noise**2 * np.eye(q), sampling=sampling * hessian, laplace=False,
        center=point, sizes=np.ones(q), estimand=Estimand.LOG_ODDS, n_rows=float(len(X)), **facts,
    )  # fmt: skip


def rows(n=20_000):
    return np.column_stack([np.random.default_rng(0).uniform(-1, 1, (n, 2)), np.ones(n)])


def angle(value):
    return math.asin(2 * math.sqrt(value))


def test_the_mean_slope_counts_the_rows_and_the_error_of_the_coefficients():
    X, point = rows(), np.array([1.0, 0.5, -1.5])
    value, low, high = mean_slope(reading_at(X, point, sampling=1.0), 0.95)
    p = special.expit(X @ point)
    assert value == pytest.approx(np.mean(p * (1 - p)))
    assert angle(high) - angle(low) == pytest.approx(2 * 1.95996 * math.sqrt(1.25 / len(X)), rel=1e-4)
    wider = [
        reading_at(X, point, sampling=1.0, noise=30.0),
        reading_at(X, point, sampling=1.0, vector_noise=30.0),
        reading_at(X, point, sampling=1.0, target=point + 0.05),
    ]
    for reading in wider:
        _, lower, higher = mean_slope(reading, 0.95)
        assert lower < low < high < higher
    laplace = replace(wider[0], laplace=True)
    assert mean_slope(laplace, 0.99)[1] < mean_slope(wider[0], 0.99)[1]


def test_effects_count_what_the_release_does_not_tell_of_the_mean_slope():
    """Margins on two far places, of which the Hessian tells the mean and the variance alone."""
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.uniform(-1, 1, 100_000), rng.random(100_000) < 0.03, np.ones(100_000)])
    for way in (0.3, -0.3):
        goal = np.array([0.5, 5.0 + way, -4.0])
        p = special.expit(X @ goal)
        reading = reading_at(X, np.array([0.5, 5.0, -4.0]), target=goal, sampling=1e-6)
        found, truth = average_effects(reading, np.eye(3)[:2], 0.95), goal[:2] * np.mean(p * (1 - p))
        assert np.all((found[:, 1] <= truth) & (truth <= found[:, 2]))


@pytest.mark.parametrize("way", [[0.3, -0.2, 0.2], [-0.4, 0.1, -0.2], [0.0, 0.0, 0.5], [0.5, 0.5, 0.0]])
def test_the_known_way_to_the_coefficients_is_counted(way):
    X, point = rows(100_000), np.array([1.0, 0.5, -1.5])
    goal = point + way
    value, low, high = mean_slope(reading_at(X, point, target=goal), 0.5)
    p = special.expit(X @ goal)
    assert low <= np.mean(p * (1 - p)) <= high
    assert high - low < 0.75 * value


def test_a_column_that_noise_drowns_moves_the_mean_slope_up_to_its_bound():
    X = np.column_stack([rows(), np.zeros(20_000)])[:, [3, 0, 1, 2]]
    point = np.array([0.0, 1.0, 0.5, -1.5])
    reading = reading_at(X, point, sampling=1.0, noise=3.0)
    value, low, high = mean_slope(reading, 0.95)
    alone = mean_slope(reading_at(X[:, 1:], point[1:], sampling=1.0, noise=3.0), 0.95)
    moved = angle(high) - angle(low) - angle(alone[2]) + angle(alone[1])
    most = math.sqrt(36 * 1.95996 * 3 / len(X))  # a way of 6, of length 6^2 times the largest cell that noise hides
    assert value == pytest.approx(alone[0])
    assert 0.9 * 2 * most < moved + 2e-3
    assert moved < 2.2 * most


def test_what_noise_drowns_cannot_say():
    X, point = rows(), np.array([1.0, 0.5, -1.5])
    for reading in (
        reading_at(X, point, noise=1e4),
        replace(reading_at(X, point), n_rows=None),
        replace(reading_at(X, point), matrix=np.full((3, 3), np.nan)),
    ):
        assert np.isnan(mean_slope(reading, 0.95)).all()
    est = fitted(eps=0.02, n=300, rng=1)
    for found in (est.marginal_effects(), est.standardised_coefficients(), est.variance_inflation()):
        assert np.isnan(values(found)).all()
        assert str(found).count("cannot say") == 4


def test_classes_have_marginal_effects_each_against_all_others():
    found = fitted(lambda pay: np.digitize(pay, [80, 120]), 8.0, 20_000, "score", rng=1).marginal_effects()
    assert [line.label for line in found.lines] == [label for label in "012" for _ in NAMES]
    assert "Each class against all others." in str(found)
    by_class = np.reshape(values(found), (3, 4))
    assert by_class.sum(axis=0)[[0, 3]] == pytest.approx([0, 0], abs=0.006)  # probabilities add up to 1


def test_the_line_and_knots_of_a_curve_have_no_marginal_effect():
    est = fitted(eps=3.0, n=20_000, bounds=BOUNDS | {"age": {"lower": 18, "upper": 80, "knots": [40, 60]}})
    table = est.summary()
    assert table.parts
    names = {line.name for line in table.lines} - {"(intercept)", *table.parts}
    assert names == {line.name for line in est.marginal_effects().lines}
    assert {"work=self", "hours"} <= names


@pytest.mark.thorough
def test_intervals_hold_as_often_as_they_say():
    slopes, held = np.array([2.0, -1.0, 1.0, 0.6]), {"effect": [], "standard": [], "inflation": []}

    def drawn(n, rng):
        X = np.column_stack([rng.uniform(0, 1, (n, 3)), rng.random(n) < 0.1])
        X[:, 1] = 0.7 * X[:, 0] + 0.3 * X[:, 1]
        return X, X @ slopes - 2.0

    X, mean = drawn(10**6, np.random.default_rng(1))
    p = special.expit(mean)
    truth = {
        "effect": slopes * np.mean(p * (1 - p)),
        "standard": slopes * X.std(axis=0) / math.sqrt(np.var(mean) + 0.25),
        "inflation": np.diag(np.linalg.inv(np.corrcoef(X, rowvar=False))),
    }
    for seed in range(120):
        rng = np.random.default_rng(100 + seed)
        X, mean = drawn(20_000, rng)
        options = {"eps": 2.0, "delta": 1e-6, "rng": seed}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            odds = dplr.fit(
                X, rng.random(len(X)) < special.expit(mean), mechanism="score",
                bounds=dplr.Bounds([(0, 1)] * 4, target=(False, True)), **options,
            )  # fmt: skip
            line = dplr.fit(
                X, mean + rng.normal(0, 0.5, len(X)), model="linear", mechanism="fm",
                bounds=dplr.Bounds([(0, 1)] * 4, target=(-6, 5)), **options,
            )  # fmt: skip
        found = odds.marginal_effects(), line.standardised_coefficients(), line.variance_inflation()
        for name, each in zip(held, found, strict=True):
            low, high = np.array(ends(each)).T
            held[name].append(((low <= truth[name]) & (truth[name] <= high))[np.isfinite(low)])
    for name, flags in held.items():
        assert np.concatenate(flags).size > 300, name
        assert np.concatenate(flags).mean() > 0.92, name
