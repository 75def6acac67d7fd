"""Regression tables of fitted models: right without noise, honest with it, and the same from a file."""

import json
import math
import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import dplr
from dplr.privacy.estimand import Estimand
from dplr.summary.render import decimals, p_text, rounded
from dplr.summary.table import Line, Summary
from paid_people import BOUNDS, TARGET, N, people


def design(table, columns=("age", "work", "hours")):
    """Columns of the least squares that a table is about: the first level is the reference."""
    made = {
        "age": [table.age],
        "work": [table.work == "private", table.work == "self"],
        "hours": [table.hours],
    }
    return np.column_stack([*(each for name in columns for each in made[name]), np.ones(len(table))]).astype(float)


def least_squares(X, y):
    coef, *_ = np.linalg.lstsq(X, y, rcond=None)
    variance = np.mean((y - X @ coef) ** 2)
    return coef, np.sqrt(np.diag(np.linalg.inv(X.T @ X)) * variance)


def fitted(eps=math.inf, seed=None, n=N, target="pay", **options):
    table, pay = people(n)
    y = pay if target == "pay" else (pay > 100).rename("rich")
    bounds = dplr.Bounds(BOUNDS, target=TARGET if target == "pay" else (False, True))
    model = "linear" if target == "pay" else "logistic"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", dplr.PrivacyWarning)
        return dplr.fit(table, y, eps=eps, model=model, bounds=bounds, rng=seed, **({"mechanism": "fm"} | options))


@pytest.mark.parametrize("columns", [None, ["age", "work"], ["hours"]])
def test_without_noise_the_table_is_that_of_least_squares_with_the_first_level_as_reference(columns):
    table, pay = people()
    coef, errors = least_squares(design(table, columns or ("age", "work", "hours")), pay)
    lines = fitted().summary(columns).lines
    # The grid of the rows is 2^-20.
    assert [line.estimate for line in lines] == pytest.approx(coef, rel=1e-3, abs=1e-2)
    assert [line.std_error for line in lines] == pytest.approx(errors, rel=1e-2)
    assert [line.high - line.low for line in lines] == pytest.approx(2 * 1.959964 * errors, rel=1e-2)
    assert [line.noise_share for line in lines] == pytest.approx([0.0] * len(lines))


def test_without_noise_the_table_of_a_classifier_has_the_slopes_of_the_probability():
    table, pay = people()
    coef, _ = least_squares(design(table), (pay > 100).astype(float))
    est = fitted(target="rich", mechanism=dplr.FunctionalMechanism(intervals="robust"))
    assert [line.estimate for line in est.summary().lines] == pytest.approx(coef, rel=1e-3, abs=1e-4)
    assert "probability" in str(est.summary())
    assert "not log odds" in str(est.summary())


def test_a_model_of_fewer_columns_from_the_same_release_is_least_squares_of_these_columns():
    table, pay = people()
    coef, _ = least_squares(design(table, ["age", "hours"]), pay)
    est = fitted()
    small = est.refit(columns=["age", "hours"], l2=0.0)
    found = small.named_coef_
    assert [found["age"], found["hours"], small.intercept_] == pytest.approx(coef, rel=1e-3)
    assert {name: value for name, value in found.items() if name.startswith("work")} == {
        "work=gov": 0.0,
        "work=private": 0.0,
        "work=self": 0.0,
    }
    assert [line.name for line in small.summary().lines] == ["age", "hours", "(intercept)"]
    assert small.privacy_.eps == est.privacy_.eps
    for name, numbers in est.released_.items():
        np.testing.assert_array_equal(small.released_[name], numbers)
    again = small.refit(columns=["age"])
    assert [line.name for line in again.summary().lines] == ["age", "(intercept)"]


def test_the_test_of_a_column_is_that_of_least_squares():
    table, pay = people()
    X = design(table)
    coef, _ = least_squares(X, pay)
    covariance = np.linalg.inv(X.T @ X) * np.mean((pay - X @ coef) ** 2)
    dropped = [1, 2]
    wald = coef[dropped] @ np.linalg.solve(covariance[np.ix_(dropped, dropped)], coef[dropped])
    est = fitted()
    found = est.wald_test("work")
    assert found.dof == 2
    assert found.statistic == pytest.approx(wald, rel=1e-2)
    assert found == est.wald_test(["work=private", "work=self"])


@pytest.mark.thorough
@pytest.mark.parametrize("delta", [0.0, 1e-6])
@pytest.mark.parametrize("neighbouring", ["replace_one", "add_remove"])
def test_intervals_of_private_fits_hold_the_truth_as_often_as_they_say(delta, neighbouring):
    truth = [2.0, 0.0, 30.0, -0.5, 0.0]
    held = []
    for seed in range(40):
        found = np.array(list(fitted(2.0, seed, delta=delta, neighbouring=neighbouring).conf_int().values()))
        held.append((found[:, 0] <= truth) & (truth <= found[:, 1]))
        assert np.isfinite(found).all()
    # Rows are the same in every fit, so misses of the sampling error come together: they are few beside the noise.
    assert 0.85 <= np.mean(held) <= 1.0


def test_the_naive_interval_of_a_private_fit_would_not_hold_it():
    """The test above can fail: the same intervals without the variance of the noise."""
    truth, held = np.array([2.0, 0.0, 30.0, -0.5, 0.0]), []
    for seed in range(10):
        table = fitted(0.3, seed, delta=1e-6).summary()
        for line, value in zip(table.lines, truth, strict=True):
            half = (line.high - line.low) / 2 * math.sqrt(1 - line.noise_share)
            held.append(abs(line.estimate - value) <= half)
    assert np.mean(held) < 0.8


def uneven(n, seed):
    """Rows whose scatter differs between two groups."""
    rng = np.random.default_rng(seed)
    x, group = rng.uniform(-1, 1, n), rng.random(n) < 0.3
    y = 0.3 * x + 0.1 * group + rng.normal(0, 1, n) * np.where(group, 0.3, 0.05)
    return np.column_stack([x, group]), y


def robust_fit(X, y, eps, seed=None, intervals="robust", **options):
    spec = dplr.FunctionalMechanism(intervals=intervals)
    bounds = dplr.Bounds([(-1, 1), (0, 1)], target=(-2, 2))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", dplr.PrivacyWarning)
        return dplr.fit(X, y, model="linear", mechanism=spec, eps=eps, bounds=bounds, rng=seed, **options)


def test_without_noise_robust_intervals_are_those_of_the_sandwich():
    X, y = uneven(20_000, 0)
    full = np.column_stack([X, np.ones(len(X))])
    coef, _ = least_squares(full, y)
    bread = np.linalg.inv(full.T @ full)
    meat = (full * ((y - full @ coef) ** 2)[:, None]).T @ full
    errors = np.sqrt(np.diag(bread @ meat @ bread))
    assert [line.std_error for line in robust_fit(X, y, math.inf).summary().lines] == pytest.approx(errors, rel=1e-2)


@pytest.mark.thorough
def test_where_variances_differ_robust_intervals_hold_the_truth_and_classical_ones_do_not():
    held = {"on": [], "robust": []}
    for seed in range(60):
        X, y = uneven(20_000, seed)
        for intervals, found in held.items():
            low, high = robust_fit(X, y, 3.0, seed, intervals, delta=1e-6).conf_int()["column 1"]
            found.append(low <= 0.1 <= high)
    assert np.mean(held["on"]) < 0.9
    assert np.mean(held["robust"]) > 0.87


def test_robust_intervals_need_one_model():
    X, _ = uneven(500, 0)
    spec = dplr.FunctionalMechanism(intervals="robust")
    with pytest.raises(ValueError, match="`intervals` must be 'on' or 'off' with more than two classes"):
        dplr.fit(X, np.arange(500) % 3, classes=[0, 1, 2], mechanism=spec, eps=1.0, delta=1e-4)


def rare(n, seed):
    """Labels that are hardly ever set, but half of the time in one row of twenty."""
    rng = np.random.default_rng(seed)
    x = (rng.random(n) < 0.05).astype(float)
    return x[:, None], rng.random(n) < np.where(x > 0, 0.5, 0.01)


def test_robust_intervals_of_a_probability_hold_where_its_variance_differs_and_others_are_refused():
    held = []
    bounds = dplr.Bounds([(0, 1)], target=(False, True))
    for seed in range(50):
        X, y = rare(20_000, seed)
        spec = dplr.FunctionalMechanism(intervals="robust")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", dplr.PrivacyWarning)
            est = dplr.fit(X, y, mechanism=spec, eps=5.0, delta=1e-6, bounds=bounds, rng=seed)
        low, high = est.conf_int()["column 0"]
        held.append(low <= 0.49 <= high)
    assert np.mean(held) > 0.85
    for options in ({"mechanism": "fm", "delta": 1e-6}, {"neighbouring": "add_remove"}):
        est = dplr.fit(X, y, eps=5.0, bounds=bounds, **options)
        assert est.privacy_.mechanism == "fm"
        assert "unequal variances" in est.summary().obstacle
        assert "intervals='robust'" in est.summary().obstacle
        for ask in (est.conf_int, lambda est=est: est.wald_test("column 0"), lambda est=est: est.summary(joint=True)):
            with pytest.raises(ValueError, match="unequal variances"):
                ask()


def test_intervals_of_a_number_say_where_they_need_equal_variances():
    X, y = uneven(20_000, 0)
    for intervals, needed in (("on", True), ("robust", False)):
        table = robust_fit(X, y, 5.0, intervals=intervals).summary()
        assert table.condition == needed * "the target varies equally in all rows"
        assert ("hold if the target varies equally" in " ".join(str(table).split())) == needed
        assert len(str(table).splitlines()) <= 15


def test_joint_intervals_of_several_classes_hold_together():
    """Bonferroni counts the coefficients of all classes."""
    table, pay = people()
    y = np.select([pay < 50, pay < 120], ["low", "middle"], "high")
    bounds = dplr.Bounds(BOUNDS, target=["high", "low", "middle"])
    est = dplr.fit(table, y, eps=5.0, delta=1e-6, mechanism="score", bounds=bounds)
    joint, alone = est.conf_int(joint=True)["low"], est.conf_int(1 - 0.05 / 15)["low"]
    for name, ends in joint.items():
        assert ends == pytest.approx(alone[name], rel=1e-6)


def test_under_add_remove_a_model_without_an_intercept_has_no_intervals():
    """The declared number of rows is a reference, and nothing that was released tells the true one."""
    X, y = uneven(2000, 0)
    bounds = dplr.Bounds([(-1, 1), (0, 1)], target=(-2, 2))
    est = dplr.fit(
        X, y, model="linear", mechanism="fm", eps=5.0, bounds=bounds, neighbouring="add_remove", n_rows=8000,
        fit_intercept=False,
    )  # fmt: skip
    with pytest.raises(ValueError, match="number of rows"):
        est.conf_int()
    assert "number of rows" in est.summary().obstacle


@pytest.mark.parametrize("slope", [3.0, 12.0])
def test_a_score_that_is_far_from_the_coefficients_counts_the_curve_and_says_where(slope):
    rng = np.random.default_rng(0)
    X = rng.uniform(0, 1, (20_000, 2))
    y = rng.random(20_000) < 1 / (1 + np.exp(-slope * (X[:, 0] - X[:, 1])))
    bounds = dplr.Bounds([(0.0, 1.0)] * 2, target=(False, True))
    est = dplr.fit(X, y, mechanism="score", eps=5.0, delta=1e-6, bounds=bounds)
    table = est.summary()
    for line, truth in zip(table.lines, (slope, -slope, 0.0), strict=True):
        assert line.low - 0.5 * line.std_error < truth < line.high + 0.5 * line.std_error
    noted = "what is not known of the curve" in " ".join(table.to_text().split())
    assert noted is (slope > 10)
    assert est.marginal_effects().obstacle == ""


def test_a_score_compares_levels_with_the_first_one_where_none_is_declared():
    table, pay = people()
    est = dplr.fit(
        table, pay > 100, mechanism="score", eps=5.0, delta=1e-6, bounds=dplr.Bounds(BOUNDS, target=(False, True))
    )
    summary = est.summary()
    assert summary.references == {"work": "gov"}
    assert {line.name: line.reference for line in summary.lines}["work=self"] == "gov"
    assert "work=self vs gov" in str(summary)


def test_joint_intervals_are_wider_and_a_higher_level_too():
    est = fitted(5.0)
    usual, joint, higher = est.conf_int(), est.conf_int(joint=True), est.conf_int(0.99)
    for name, (low, high) in usual.items():
        assert joint[name][1] - joint[name][0] > 1.1 * (high - low)
        assert higher[name][1] - higher[name][0] > 1.1 * (high - low)


def test_where_noise_drowns_the_moments_the_table_says_that_it_cannot_say():
    table = fitted(0.05, 0, n=300).summary()
    assert all(not line.bounded and math.isnan(line.p_value) for line in table.lines)
    assert table.to_text().count("cannot say") > len(table.lines)
    assert "weakest direction" in str(table)
    values = json.loads(table.to_json())
    assert all(line["low"] is None and line["p_value"] is None for line in values["lines"])
    assert "nan" not in table.to_csv()
    assert math.isnan(fitted(0.05, 0, n=300).wald_test("age").p_value)


def with_a_rare_level(n=40_000, rare=5):
    rng = np.random.default_rng(0)
    work = rng.choice(["clerk", "smith"], n)
    work[:rare] = "queen"
    frame = pd.DataFrame({"age": rng.uniform(18, 80, n), "work": work})
    pay = 300 * frame["age"] + 4000 * (work == "smith") + rng.normal(0, 9000, n)
    levels = ["clerk", "smith", "queen"]
    bounds = dplr.Bounds({"age": (18, 80), "work": {"levels": levels}}, target=(0, 60_000))
    options = {"model": "linear", "mechanism": "fm", "eps": 1.0, "delta": 1e-6, "rng": 1}
    with pytest.warns(dplr.PrivacyWarning):
        return dplr.fit(frame, pay, bounds=bounds, **options)


def test_a_drowned_level_silences_itself_alone_and_the_table_says_what_it_counts():
    est = with_a_rare_level()
    table = est.summary()
    lines = {line.name: line for line in table.lines}
    assert [name for name, line in lines.items() if not line.bounded] == ["work=queen"]
    assert lines["age"].verdict == "bounded by effect_bound"
    assert "effect up to 60,000 on the mean" in " ".join(table.to_text().split())
    found = {statistic.name: statistic for statistic in table.fit_statistics}
    assert "are estimated without work=queen" in " ".join(table.to_text().split())
    without = {each.name: each for each in est.summary(["age", "work=smith"]).fit_statistics}
    assert found["R-squared"].low < without["R-squared"].estimate < without["R-squared"].high < found["R-squared"].high
    assert found["R-squared"].estimate == pytest.approx(without["R-squared"].estimate, abs=1e-3)
    smaller = est.summary(effect_bound=6000)
    assert smaller.fit_statistics[0].high < found["R-squared"].high - 0.01
    (age,) = (line for line in smaller.lines if line.name == "age")
    assert age.high - age.low < 0.9 * (lines["age"].high - lines["age"].low)
    assert "effect up to 6,000 on the mean" in " ".join(smaller.to_text().split())
    share, _, deviation = est.summary(effect_bound=6e6).fit_statistics
    assert share.high == 1
    assert math.isnan(deviation.estimate)
    joint = est.wald_test(["age", "work"])
    assert (joint.verdict, joint.dof) == ("bounded in part", 3)
    assert joint.p_value < 0.001
    assert est.wald_test(["age", "work=queen"], [lines["age"].estimate, 0]).p_value > 0.05
    assert "effect up to" not in fitted(3.0, 0).summary().to_text()  # where nothing depends on it
    with pytest.raises(ValueError, match="`effect_bound` must be positive"):
        est.summary(effect_bound=-1)


def test_more_than_two_classes_have_a_table_with_a_line_for_each_class():
    table, pay = people()
    y = np.select([pay < 50, pay < 120], ["low", "middle"], "high")
    bounds = dplr.Bounds(BOUNDS, target=["high", "low", "middle"])
    est = dplr.fit(table, y, eps=10.0, delta=1e-6, mechanism="score", bounds=bounds)
    assert {line.label for line in est.summary().lines} == {"high", "low", "middle"}
    assert list(est.conf_int()) == ["high", "low", "middle"]
    assert tuple(est.conf_int().to_frame().loc[("low", "age")]) == est.conf_int()["low"]["age"]
    assert est.wald_test("age")["high"].p_value < 1e-3
    assert sum(line.startswith("class ") for line in est.summary().to_text().splitlines()) == 1


def test_a_table_is_the_same_from_a_model_file(tmp_path):
    est = fitted(2.0).refit(columns=["age", "work"])
    dplr.save_model(est, tmp_path / "model.json")
    read = dplr.load_model(tmp_path / "model.json")
    assert repr(read.summary()) == repr(est.summary())  # a statistic that cannot be said is nan
    assert str(read.summary()) == str(est.summary())


@pytest.mark.parametrize(
    ("mechanism", "reason"), [("output", "ridge"), ("ngd", "clip"), ("objective", "uncertain"), ("none", "uncertain")]
)
def test_models_whose_release_allows_no_intervals_say_why(mechanism, reason):
    table, pay = people(500)
    bounds = dplr.Bounds(BOUNDS, target=(False, True))
    eps = math.inf if mechanism == "none" else 1.0
    delta = 1e-6 if mechanism == "ngd" else 0.0
    est = dplr.fit(table, pay > 100, eps=eps, delta=delta, mechanism=mechanism, bounds=bounds)
    refused = f"(?s)what confidence intervals need; got '{mechanism}'.*{reason}"
    for ask in (
        est.conf_int,
        lambda: est.wald_test("age"),
        lambda: est.summary(["age"]),
        lambda: est.summary(level=0.9),
    ):
        with pytest.raises(ValueError, match=refused):
            ask()
    assert reason in est.summary().obstacle


def test_a_release_without_sum_y_squared_says_so():
    table, pay = people(500)
    spec = dplr.FunctionalMechanism(intervals="off")
    est = dplr.fit(table, pay, eps=1.0, model="linear", mechanism=spec, bounds=dplr.Bounds(BOUNDS, target=TARGET))
    assert "target_square" not in est.released_
    with pytest.raises(ValueError, match=r"Sum y\^2 was not released"):
        est.conf_int()


def test_unknown_columns_and_levels_out_of_range_are_refused():
    est = fitted(1.0)
    with pytest.raises(ValueError, match=r"`columns` must be names among .*got \"\['wrong'\]\""):
        est.summary(["wrong"])
    with pytest.raises(ValueError, match="`level` must be"):
        est.summary(level=95)
    with pytest.raises(ValueError, match="columns of this model"):
        est.refit(columns=["age"]).summary(["hours"])
    with pytest.raises(ValueError, match=r"`columns` must be names"):
        est.refit(columns=[])


@pytest.mark.parametrize(
    ("value", "error", "text"),
    [
        (1234.567, 41.0, "1,235"),
        (1234.567, 410.0, "1,230"),
        (0.012345, 0.00031, "0.01235"),
        (-0.0001, 0.31, "0.00"),
        (12.0, 1.0, "12.0"),
        (123456.0, 4100.0, "123,500"),
    ],
)
def test_numbers_have_two_digits_of_their_standard_error(value, error, text):
    assert rounded(value, decimals(error)) == text


def test_p_values_have_three_decimals():
    assert [p_text(value) for value in (0.0, 0.0009, 0.0123, 0.5, 1.0, math.nan)] == [
        "<.001", "<.001", ".012", ".500", "1", ""
    ]  # fmt: skip


def test_names_are_escaped_in_html_and_latex():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"<b>&_%$": rng.uniform(-1, 1, 3000)})
    y = X["<b>&_%$"] + rng.normal(0, 0.1, 3000)
    est = dplr.fit(
        X, y, model="linear", mechanism="fm", eps=5.0, bounds=dplr.Bounds({"<b>&_%$": (-1, 1)}, target=(-2, 2))
    )
    table = est.summary()
    assert "<b>" not in table.to_html()
    assert "&lt;b&gt;&amp;_%$" in table.to_html()
    assert r"\textless{}b\textgreater{}\&\_\%\$" in table.to_latex()


def test_no_cell_is_a_formula_or_an_option():
    line = Line("=1+1", "", 1.0, 0.1, 0.8, 1.2, 0.5, 0.01, "bounded")
    facts = {"target": "y\x1b", "n": "1", "eps": "1", "delta": "0", "level": "95 %"}
    table = Summary((line, replace(line, name="[2pt]\x1b")), "T", facts, {}, ("a\x1bnote",), Estimand.MEAN)
    assert "'=1+1," in table.to_csv()
    assert r"{}[2pt]" in table.to_latex()
    assert "\x1b" not in str(table) + table.to_text() + table.to_html() + table.to_latex() + table.to_csv()


def test_intervals_make_a_data_frame_as_well():
    est = fitted(5.0)
    ends = est.conf_int()
    frame = ends.to_frame()
    assert dict(ends) == {name: (row.low, row.high) for name, row in frame.iterrows()}
    assert frame.index.name == "name"
    assert (frame["low"].to_numpy() == est.summary().to_frame()["low"].to_numpy()).all()


def test_a_data_frame_has_one_row_per_coefficient():
    frame = fitted(5.0).summary().to_frame()
    assert list(frame.index) == ["age", "work=private", "work=self", "hours", "(intercept)"]
    assert list(frame.columns[:4]) == ["estimate", "std_error", "low", "high"]
