"""Linear combinations of coefficients: as text, as least squares has them, and as intervals and tests agree."""

import math
import warnings

import numpy as np
import pytest

import dplr
from dplr.summary.linear import combinations
from dplr.summary.statistics import TermTest
from paid_people import BOUNDS, TARGET, people

NAMES = ["age", "age*hours", "hours", "work=a b", "work=a-b", "x1", "x", "(intercept)"]


def weights(text):
    (found,) = combinations([text], NAMES, ["work=none"], {"work": NAMES[3:5]})
    return {name: value for name, value in zip(NAMES, found.weights.tolist(), strict=True) if value}, found.value


@pytest.mark.parametrize(
    ("text", "expected", "value"),
    [
        ("age - hours", {"age": 1, "hours": -1}, 0),
        ("2*hours - age = 100", {"hours": 2, "age": -1}, 100),
        ("hours*2/4 + -x", {"hours": 0.5, "x": -1}, 0),
        ("-(age + hours)/2 = 1e1 - x", {"age": -0.5, "hours": -0.5, "x": 1}, 10),
        ("work=a b - work=a-b", {"work=a b": 1, "work=a-b": -1}, 0),
        ("work=a b - work=none", {"work=a b": 1}, 0),
        ("work=a-b=3", {"work=a-b": 1}, 3),
        ("age*hours", {"age*hours": 1}, 0),
        ("`age`*2", {"age": 2}, 0),
        ("'work=a-b' - \"x1\"", {"work=a-b": 1, "x1": -1}, 0),
        ("x1 - x", {"x1": 1, "x": -1}, 0),
        ("(intercept) + 50*age", {"(intercept)": 1, "age": 50}, 0),
        ("age + 3 = 5", {"age": 1}, 2),
        ("2 = x", {"x": -1}, -2),
    ],
)
def test_a_text_is_the_combination_that_it_writes(text, expected, value):
    found, goal = weights(text)
    assert found == pytest.approx(expected)
    assert goal == pytest.approx(value)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("hours*age", "multiplies two coefficients"),
        ("age/hours", "divides by something else"),
        ("age/0", "divides by something else"),
        ("agee - hours", "names agee"),
        ("work - age", "several coefficients.*work=a b"),
        ("work=c - age", "names work=c"),
        ("`nobody`", "names nobody"),
        ("age hours", "where it should end"),
        ("age = hours = 3", "where it should end"),
        ("(age", "parenthesis"),
        ("age -", "its end where a name"),
        ("age - age", "no coefficient"),
        ("3", "no coefficient"),
        ("work=none", "no coefficient"),
        ("1e999*age", "not finite"),
        ("", "its end"),
    ],
)
def test_what_is_no_combination_is_refused_and_why(text, words):
    with pytest.raises(ValueError, match=words):
        weights(text)


def fitted(eps=math.inf, n=20_000, **options):
    table, pay = people(n)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", dplr.PrivacyWarning)
        return dplr.fit(
            table, pay, eps=eps, model="linear", mechanism="fm", bounds=dplr.Bounds(BOUNDS, target=TARGET), **options
        )


def ols(n=20_000):
    """Least squares of the table without noise: coefficients by name, and their covariance."""
    table, pay = people(n)
    columns = {
        "age": table.age, "work=private": table.work == "private", "work=self": table.work == "self",
        "hours": table.hours, "(intercept)": np.ones(n),
    }  # fmt: skip
    X = np.column_stack(list(columns.values())).astype(float)
    coef, *_ = np.linalg.lstsq(X, pay, rcond=None)
    return list(columns), coef, np.linalg.inv(X.T @ X) * np.mean((pay - X @ coef) ** 2)


TEXTS = {
    "work=self - work=private": ({"work=self": 1, "work=private": -1}, 0),
    "work=self - work=gov": ({"work=self": 1}, 0),
    "10*age + hours = 15": ({"age": 10, "hours": 1}, 15),
    "(intercept) + 40*age": ({"(intercept)": 1, "age": 40}, 0),
}


def row(names, parts):
    return np.array([parts.get(name, 0.0) for name in names])


@pytest.mark.parametrize("text", TEXTS)
def test_without_noise_a_contrast_is_that_of_least_squares(text):
    names, coef, covariance = ols()
    parts, value = TEXTS[text]
    c = row(names, parts)
    error = math.sqrt(c @ covariance @ c)
    est = fitted()
    (line,) = est.contrast(text).lines
    assert line.name == text
    assert line.estimate == pytest.approx(c @ coef, rel=1e-3, abs=0.02 * error)
    assert line.std_error == pytest.approx(error, rel=1e-2)
    test = est.wald_test(text)
    assert test.statistic == pytest.approx(((c @ coef - value) / error) ** 2, rel=0.05, abs=0.05)
    assert line.p_value == pytest.approx(test.p_value, rel=1e-6, abs=1e-12)


def test_several_combinations_with_values_are_one_wald_test():
    names, coef, covariance = ols()
    rows = np.array([row(names, {"work=self": 1, "work=private": -1}), row(names, {"age": 1, "hours": 1})])
    values = np.array([20.0, 1.4])
    gap = rows @ coef - values
    wald = gap @ np.linalg.solve(rows @ covariance @ rows.T, gap)
    est = fitted()
    found = est.wald_test(["work=self - work=private", "age + hours"], values)
    assert found.dof == 2
    assert found.statistic == pytest.approx(wald, rel=0.02)
    assert est.wald_test(["work=self - work=private = 20", "age + hours = 1.4"]) == found
    assert est.wald_test(["work", "age"], [0, 1]).dof == 3


def test_a_difference_of_levels_is_that_to_another_reference():
    """Contrasts do not depend on which level the table compares with."""
    est = fitted(eps=2.0)
    (one,), (other,) = est.contrast("work=self - work=private").lines, est.contrast("work=private - work=self").lines
    assert (one.low, one.high) == pytest.approx((-other.high, -other.low), rel=1e-3)
    assert one.p_value == pytest.approx(other.p_value, rel=1e-6)


def test_a_number_in_a_combination_moves_the_value_that_it_is_tested_for():
    est = fitted()
    moved, plain = est.wald_test("age + hours + 3", 5.0), est.wald_test("age + hours", 2.0)
    assert moved.statistic == pytest.approx(plain.statistic, rel=1e-9)
    assert moved.statistic != pytest.approx(est.wald_test("age + hours", 5.0).statistic, rel=0.1)


def test_joint_contrasts_are_wider_and_their_p_values_larger():
    est = fitted(eps=1.0)
    texts = ["work=self - work=private = 29.9", "10*age + hours = 19"]
    plain, joint = est.contrast(texts), est.contrast(texts, joint=True)
    for one, other in zip(plain.lines, joint.lines, strict=True):
        assert other.p_value == pytest.approx(min(1.0, 2 * one.p_value))
        assert other.high - other.low > one.high - one.low
    assert "p-values are times the number of lines" in joint.to_text()
    assert "Contrasts of linear regression" in str(joint)


def test_joint_p_values_of_a_table_reject_where_its_intervals_exclude_zero():
    joint = fitted(eps=0.5, n=3000).summary(joint=True)
    assert all((line.p_value < 0.05) == (not line.low <= 0 <= line.high) for line in joint.lines if line.bounded)
    assert any(line.bounded for line in joint.lines)


@pytest.mark.parametrize(
    ("columns", "value", "words"),
    [
        (["age", "2*age"], 0.0, "follow from each other"),
        ("age = 3", 1.0, "must be 0"),
        (["age", "hours"], [1.0], "one for each of the 2"),
        ("agee", 0.0, "agee"),
        ([], 0.0, "names among"),
    ],
)
def test_hypotheses_that_make_no_sense_are_refused(columns, value, words):
    with pytest.raises(ValueError, match=words):
        fitted().wald_test(columns, value)
    with pytest.raises(ValueError, match="one or more linear combinations"):
        fitted().contrast([])


def test_models_of_moments_have_contrasts_too():
    table, pay = people(20_000)
    bounds = dplr.Bounds({**BOUNDS, "pay": TARGET})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", dplr.PrivacyWarning)
        released = dplr.release_moments(table.assign(pay=pay), bounds=bounds, eps=math.inf)
    names, coef, _ = ols()
    (line,) = released.regress("pay").contrast("work=self - work=private").lines
    assert line.estimate == pytest.approx(row(names, TEXTS["work=self - work=private"][0]) @ coef, rel=1e-3)


def test_a_statistic_is_printed_where_its_tail_is_the_p_value():
    for p_value, shown in ((0.0455, True), (0.09, False)):
        text = str(TermTest("age", "", 4.0, 1, p_value, "bounded narrowly"))
        assert ("chi-square" in text) == shown
        assert f"p = {p_value:.3g}" in text


def test_a_constant_of_a_combination_without_an_equals_sign_is_a_part_of_its_value():
    est = fitted()
    stated, moved = est.wald_test("age", 3.0), est.wald_test("age - 3")
    assert moved.statistic == pytest.approx(stated.statistic)
    assert est.wald_test("age - 1", 2.0).statistic == pytest.approx(stated.statistic)
    assert est.wald_test("age").statistic != pytest.approx(stated.statistic)
