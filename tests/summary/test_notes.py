"""The words around a table: notes advise what the release can do, and say a thing once."""

import csv
import io
import math
import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import dplr
from dplr.inference.intervals import NARROWLY
from dplr.summary.statistics import TermTest
from dplr.summary.subject import summarise
from paid_people import BOUNDS, TARGET, people

RARE = BOUNDS | {"work": {"levels": ["gov", "private", "self", "odd"]}}


def fitted(eps=1.0, n=20_000, bounds=RARE, labels=None, target=TARGET, mechanism="fm", **options):
    table, pay = people(n)
    delta = 0.0 if math.isinf(eps) else 1e-6
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return dplr.fit(
            table, pay if labels is None else labels(pay), eps=eps, delta=delta, mechanism=mechanism,
            model="linear" if labels is None else "logistic", bounds=dplr.Bounds(bounds, target=target), **options,
        )  # fmt: skip


def in_one_line(text):
    return " ".join(text.split())


def test_each_mark_is_explained_once_in_every_form_of_the_table_and_of_contrasts():
    est = fitted(rng=1)
    for table in (est.summary(), est.contrast("age - hours")):
        assert "]*" in table.to_text()
        for shown in (str(table), table.to_text(), table.to_latex(), table.to_html()):
            assert in_one_line(shown).count("*:") == 1


@pytest.mark.parametrize("mechanism", ["score", "output"])
def test_the_headings_of_several_classes_say_against_all_others(mechanism):
    est = fitted(8.0, 4000, BOUNDS, lambda pay: np.digitize(pay, [80, 120]), [0, 1, 2], mechanism)
    table = est.summary()
    words = "each class against all others"
    assert words in in_one_line(str(table))
    assert words in table.to_text().splitlines()[0]
    assert words in table.to_html().split("</caption>")[0]
    assert table.to_latex().split(r"\midrule")[0].count("against all others") == 1
    alone = fitted(8.0, 4000, BOUNDS, lambda pay: pay > 100, (False, True), mechanism).summary()
    assert not any("against all" in form for form in (str(alone), alone.to_text(), alone.to_html(), alone.to_latex()))


def test_a_score_is_not_told_to_leave_columns_out():
    linear = fitted(rng=1).summary()
    odds = fitted(0.5, labels=lambda pay: pay > 100, target=(False, True), mechanism="score", rng=1).summary()
    assert "columns=" in in_one_line(linear.to_text())
    assert "The weakest direction" in odds.to_text()
    assert "columns=" not in odds.to_text()
    assert "fit a model without such columns" in in_one_line(odds.to_text())


def test_rows_that_count_differently_and_persons_are_asked_for_in_their_own_units():
    subject = fitted(rng=1)._subject(None)
    reading = replace(subject.equations[0].reading, cells=subject.equations[0].reading.cells / 30)
    equations = [replace(subject.equations[0], reading=reading)]
    words = {"rows": "more rows: some ", "persons": "more persons: some ", "": "where this one"}
    for counted, expected in words.items():
        text = in_one_line(
            summarise(replace(subject, equations=equations, counted=counted), 0.95, False, None).to_text()
        )
        assert (expected in text) == bool(counted)
        assert ("as the sum of their weights" in text) == (not counted)
    assert subject.counted == "rows"


def test_intervals_for_unequal_variances_keep_that_beside_levels_and_are_those_of_the_sandwich():
    table, _ = people(20_000)
    rng = np.random.default_rng(3)
    pay = 2 * table.age + 30 * (table.work == "self") + rng.normal(0, 1, 20_000) * np.where(table.work == "self", 40, 5)
    X = np.column_stack([table.age, table.work == "private", table.work == "self", table.hours, np.ones(20_000)])
    X = X.astype(float)
    bread = np.linalg.inv(X.T @ X)
    rest = pay.to_numpy() - X @ (bread @ (X.T @ pay.to_numpy()))
    errors = np.sqrt(np.diag(bread @ ((X * (rest**2)[:, None]).T @ X) @ bread))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        bounds = dplr.Bounds(BOUNDS, target=TARGET)
        robust = dplr.FunctionalMechanism(intervals="robust")
        est = dplr.fit(table, pay, model="linear", mechanism=robust, eps=math.inf, bounds=bounds)
    found = est.summary()
    assert found.condition == ""
    assert [line.std_error for line in found.lines] == pytest.approx(errors, rel=0.02)
    fewer = est.summary(["age", "work"])
    assert "a fit of these columns alone does not need it" in in_one_line(fewer.to_text())
    assert "aim=" not in fewer.to_text()
    assert "aim='coefficients' does not need it" in in_one_line(fitted(bounds=BOUNDS).summary().to_text())


def test_models_of_moments_are_told_of_their_own_option():
    table, pay = people(4000)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        bounds = dplr.Bounds({**BOUNDS, "pay": TARGET})
        released = dplr.release_moments(table.assign(pay=pay), bounds=bounds, eps=math.inf)
    text = in_one_line(released.probability("work", level="self", variances="equal").summary().to_text())
    assert "variances='largest' does not need it" in text
    mean = in_one_line(released.regress("pay").summary().to_text())
    assert not any(word in text + mean for word in ("mechanism=", "aim=", "intervals='robust'"))


def test_the_advice_on_several_models_is_a_level_that_counts_them():
    note = fitted().summary().notes[-1]
    assert "a level that counts them all" in note
    assert "joint" not in note


def test_a_statistic_stands_beside_its_own_p_value_alone():
    own, wider = TermTest("work", "", 5.991, 2, 0.05, "bounded"), TermTest("work", "", 5.991, 2, 0.2, NARROWLY)
    assert "chi-square 5.991" in str(own)
    assert "chi-square" not in str(wider)
    assert own.record["statistic"] == 5.991
    assert math.isnan(wider.record["statistic"])


def test_the_csv_has_coefficients_statistics_and_tests_in_one_rectangle():
    table = fitted(bounds=BOUNDS).summary()
    frame = pd.read_csv(io.StringIO(table.to_csv()))
    parts = {name: part.set_index("name") for name, part in frame.groupby("part")}
    assert parts.keys() == {"coefficient", "fit statistic", "test"}
    assert parts["coefficient"].low.tolist() == pytest.approx([line.low for line in table.lines])
    for statistic in table.fit_statistics:
        row = parts["fit statistic"].loc[statistic.name]
        assert (row.estimate, row.low, row.high) == pytest.approx((statistic.estimate, statistic.low, statistic.high))
    for test in table.tests:
        row = parts["test"].loc[test.name]
        assert (row.statistic, row.dof, row.p_value) == pytest.approx((test.statistic, test.dof, test.p_value))
    silent = list(csv.DictReader(io.StringIO(fitted(0.02, 300, BOUNDS).summary().to_csv())))
    unsaid = [row for row in silent if not row["verdict"].endswith("effect_bound")]  # flags are within their bound
    assert len(unsaid) >= 2
    assert {row["estimate"] + row["p_value"] for row in unsaid} == {""}
    plain = list(csv.DictReader(io.StringIO(fitted(3.0, bounds=BOUNDS, mechanism="output").summary().to_csv())))
    assert {row["part"] for row in plain} == {"coefficient"}


def test_a_direction_of_noise_alone_has_no_length():
    """Its length in deviations would be below 0 as often as above."""
    rng = np.random.default_rng(0)
    X, y = rng.uniform(-1, 1, (60, 4)), rng.normal(0, 0.2, 60)
    bounds = dplr.Bounds([(-1, 1)] * 4, target=(-1, 1))
    for _ in range(3):
        text = dplr.fit(X, y, model="linear", bounds=bounds, mechanism="fm", eps=0.1).summary().to_text()
        assert "is lost in the noise. To learn more, " in in_one_line(text)
        assert "deviations of the noise long" not in text
