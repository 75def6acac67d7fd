"""Tables of every mechanism: what is printed first, the digits of released numbers, and why there are no intervals."""

import dataclasses
import json
import math
import warnings

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

import dplr
from dplr.inference.intervals import BOUNDED, NARROWLY
from dplr.privacy.estimand import Estimand
from dplr.summary.contrasts import contrasts, deviations
from dplr.summary.render import FIRST, cells, decimals, rounded
from made_models import HOSTILE

COLUMNS = {"age": (18, 80), "hours": (0, 60), "work": {"levels": ["gov", "private", "self"]}, "id": (0, 1)}
N = 1200


def rows(many=0):
    rng = np.random.default_rng(3)
    X = pd.DataFrame(
        {
            "age": rng.uniform(18, 80, N),
            "hours": rng.uniform(0, 60, N),
            "work": rng.choice(COLUMNS["work"]["levels"], N),
            "id": np.arange(N) % 400,
        }
    )
    return X.assign(**{f"x{j}": rng.uniform(0, 1, N) for j in range(many)})


def fitted(mechanism, model="logistic", classes=2, many=0, **options):
    """A model of made-up rows."""
    X = rows(many)
    y = X["age"] + X["hours"] + np.random.default_rng(4).normal(0, 9, N)
    target = (0, 150)
    if model in ("logistic", "svm"):
        target = ["high", "low", "middle"][:classes]
        y = np.array(target)[np.digitize(y, [75, 95][: classes - 1])]
    elif model == "poisson":
        y, target = (y / 20).round().clip(0, 9), (0, 9)
    columns = {name: COLUMNS[name] for name in ("age", "hours", "work")} | {f"x{j}": (0, 1) for j in range(many)}
    bounds = dplr.Bounds(columns, target=target)
    if "person" not in options:
        X = X.drop(columns="id")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return dplr.fit(X, y, mechanism=mechanism, model=model, bounds=bounds, **{"eps": 1.0, **options})


MODELS = {
    "objective": {"mechanism": "objective"},
    "objective of a number": {"mechanism": "objective", "model": "linear"},
    "output": {"mechanism": "output"},
    "output of a number": {"mechanism": "output", "model": "linear"},
    "descent": {"mechanism": "ngd", "delta": 1e-6},
    "fm": {"mechanism": "fm"},
    "fm, robust": {"mechanism": dplr.FunctionalMechanism(intervals="robust")},
    "three classes, score": {"mechanism": "score", "delta": 1e-6, "classes": 3},
    "fm of a number": {"mechanism": "fm", "model": "linear"},
    "score": {"mechanism": "score", "delta": 1e-6},
    "without noise": {"mechanism": "none", "eps": math.inf},
    "fm, no noise": {"mechanism": "fm", "eps": math.inf},
    "svm": {"mechanism": "objective", "model": "svm"},
    "huber": {"mechanism": "objective", "model": "huber"},
    "poisson": {"mechanism": "objective", "model": "poisson"},
    "three classes": {"mechanism": "objective", "classes": 3},
    "three classes, output": {"mechanism": "output", "classes": 3},
    "three classes, fm": {"mechanism": "fm", "classes": 3},
    "persons": {"mechanism": "fm", "model": "linear", "person": "id"},
    "persons, objective": {"mechanism": "objective", "person": "id"},
    "unknown number": {"mechanism": "objective", "neighbouring": "add_remove", "n_rows": N},
    "no constant": {"mechanism": "output", "fit_intercept": False},
    "many columns": {"mechanism": "output", "many": 60},
    "a seed": {"mechanism": "output", "rng": 1},
}


@pytest.fixture(scope="module")
def models():
    return {name: fitted(**options) for name, options in MODELS.items()}


@pytest.mark.parametrize("name", MODELS)
def test_every_model_has_a_table_that_is_printed_in_fifteen_lines(models, name, tmp_path):
    est = models[name]
    table = est.summary()
    shown = str(table).splitlines()
    assert len(shown) <= 15
    assert max(map(len, shown)) <= 100
    assert table.estimand.words in " ".join(str(table).split())
    whole = table.to_text()
    assert all(line.name in whole for line in table.lines)
    assert json.loads(table.to_json())["obstacle"] == table.obstacle
    assert (
        len(table.to_frame())
        == len(table.lines)
        == len(table.to_csv().splitlines()) - 1 - len(table.fit_statistics) - len(table.tests)
    )
    assert table.to_html().count("<tr>") == len(table.lines) + 1
    assert table.to_latex().count(r" \\") == len(table.lines) + 1
    dplr.save_model(est, tmp_path / "model.json")
    assert str(dplr.load_model(tmp_path / "model.json").summary()) == str(table)
    assert "(" in repr(est)
    assert "coefficient" not in repr(est)  # scikit-learn's


@pytest.mark.parametrize("name", MODELS)
def test_a_table_without_intervals_says_why_and_has_contrasts_of_the_released_coefficients(models, name):
    est = models[name]
    table, reason = est.summary(), est._record.mechanism.lacks_intervals(est._record.plan)
    assert table.obstacle == reason
    if not reason:
        assert est.conf_int().keys() >= {line.name for line in table.lines} or MODELS[name].get("classes") == 3
        return
    assert f"No intervals: {reason}" in " ".join(str(table).split())
    with pytest.raises(ValueError, match="confidence intervals"):
        est.conf_int()
    found = contrasts(est.coef_names_, np.atleast_2d(est.coef_), np.ravel(est.intercept_), est._record.prep)
    kept = est.fit_intercept
    values = np.column_stack([found.coef, found.intercept]) if kept else found.coef
    assert_allclose([line.estimate for line in table.lines], values.ravel())
    assert all(math.isnan(line.low) and not line.bounded and line.verdict == "no interval" for line in table.lines)
    assert "cannot say" not in str(table)
    assert table.odds_ratios() == ()
    levels = {line.name: line.reference for line in table.lines}
    assert levels.get("work=self") == ("gov" if kept else "")
    assert ("work=self vs gov" in str(table)) is (kept and name != "many columns") or len(table.lines) > FIRST


@pytest.mark.parametrize("name", ["output", "output of a number", "three classes, output", "many columns"])
def test_noise_whose_law_is_known_stands_beside_each_number_and_takes_its_digits(models, name):
    est = models[name]
    table = est.summary()
    deviation = est._record.mechanism.coef_noise(est._record.plan.statement)
    each, last = deviations(est.coef_names_, deviation, est._record.prep)
    assert_allclose([line.noise for line in table.lines], [*each, last] * len(np.atleast_2d(est.coef_)))
    for line, cell in zip(table.lines, cells(table), strict=True):
        places = 1 - math.floor(math.log10(line.noise))
        assert cell[-2:] == [rounded(line.estimate, places), rounded(line.noise, places)]
    assert "sampling error comes on top" in " ".join(str(table).split())


@pytest.mark.parametrize("name", ["objective", "descent", "huber", "three classes", "persons"])
def test_numbers_whose_noise_is_not_known_have_two_digits_and_say_so(models, name):
    table = models[name].summary()
    assert all(math.isnan(line.noise) for line in table.lines)
    assert "How much noise is in each number is not known" in " ".join(str(table).split())
    for line in table.lines:
        text = rounded(line.estimate, decimals(abs(line.estimate)))
        assert len(text.replace(",", "").replace(".", "").strip("-0")) <= 2
        assert f"  {text}\n" in table.to_text()


def test_log_odds_without_intervals_have_no_odds_ratios(models):
    table = models["without noise"].summary()
    assert table.estimand is Estimand.LOG_ODDS
    assert table.odds_ratios() == ()


@pytest.mark.parametrize("name", ["fm, robust", "three classes, score", "fm of a number"])
def test_the_first_lines_of_a_table_are_those_of_the_whole_table(models, name):
    est = models[name]
    for joint in (False, True):
        whole = est.summary(joint=joint)
        for most in (1, 4):
            first = est._summary(joint=joint, most=most)
            assert cells(first) == cells(whole)[:most]
            assert len(first.lines) + first.omitted == len(whole.lines)
            assert first.advice == whole.advice
    assert str(est._summary(most=FIRST)) == str(est.summary())


@pytest.mark.parametrize("form", ["to_text", "to_html", "to_latex", "__str__"])
def test_a_mark_is_explained_where_a_line_has_it(models, form):
    """The explanation belongs to the lines of a table: the first lines alone may have no mark."""
    table = models["fm of a number"].summary()
    numbers = {"std_error": 1.0, "low": 0.0, "high": 1.0, "p_value": 0.5}
    plain = [dataclasses.replace(line, verdict=BOUNDED, **numbers) for line in table.lines]
    marked = [*plain[:-1], dataclasses.replace(plain[-1], verdict=NARROWLY)]
    for lines, expected in ((marked, True), (marked[:-1], False)):
        text = getattr(dataclasses.replace(table, lines=tuple(lines)), form)()
        assert ("barely bounded" in text) == ("]+" in text) == expected
        assert ("largest effect of a drowned column" in " ".join(text.split())) == expected


def test_what_voids_the_promise_is_printed_first_of_all_remarks(models):
    table = models["a seed"].summary()
    assert "Not private: the noise came from a seed" in str(table)
    assert table.alarms == models["a seed"].privacy_.brief[:1]
    assert models["output"].summary().alarms == ()


def test_persons_are_counted_as_persons_and_a_private_number_is_not_told(models):
    assert models["persons"].summary().facts["n"] == "400 persons"
    assert models["objective"].summary().facts["n"] == "1,200"
    assert models["unknown number"].summary().facts["n"] == "unknown"


def test_hostile_names_stay_on_their_line():
    rng = np.random.default_rng(0)
    names = [f"{name}{j}" for j, name in enumerate(HOSTILE) if "\ud800" not in name]
    X = pd.DataFrame(rng.uniform(0, 1, (300, len(names))), columns=names)
    y = pd.Series(np.where(X.iloc[:, 0] > 0.5, "a\x1b[2J", "b\n"), name="\x1b]0;title")
    bounds = dplr.Bounds(dict.fromkeys(names, (0, 1)), target=("a\x1b[2J", "b\n"))
    table = dplr.fit(X, y, bounds=bounds, mechanism="output", eps=1.0).summary()
    assert len(str(table).splitlines()) <= 15
    assert len(table.to_text().splitlines()) >= len(names)
    assert "\x1b" not in str(table) + table.to_text()


def test_a_number_of_records_that_is_private_is_only_about_what_was_counted():
    X = np.random.default_rng(0).uniform(0, 1, (20_000, 1))
    facts = {"bounds": dplr.Bounds([(0, 1)], target=(0, 1)), "model": "linear", "eps": 2.0, "mechanism": "fm"}
    noisy, exact = (
        dplr.fit(X, X[:, 0], neighbouring=each, aim="coefficients", **facts).summary().facts["n"]
        for each in ("add_remove", "replace_one")
    )
    assert exact == "20,000"
    assert noisy.startswith("about 20,0") or noisy.startswith("about 19,9")


@pytest.mark.filterwarnings("ignore::dplr.UtilityWarning")
@pytest.mark.parametrize("aim", ["prediction", "coefficients"])
def test_a_table_with_products_says_from_where_their_numbers_count(aim):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"age": rng.uniform(18, 90, 900), "loan": rng.choice(["no", "yes"], 900)})
    levels = {"levels": ["no", "yes"]} | ({"reference": "no"} if aim == "coefficients" else {})
    columns = {"age": (18, 90), "loan": levels}
    y = frame["age"] > 50
    tables = [
        dplr.fit(frame, y, eps=2.0, bounds=dplr.Bounds(columns, products=products), aim=aim).summary().to_text()
        for products in ([("age", "loan")], [])
    ]
    said = [" ".join(table.split()) for table in tables]
    words = "In products age counts from 54: the middle of its bounds. The coefficient of a column that is multiplied"
    assert words in said[0]
    assert "In products" not in said[1]


def test_a_table_of_released_moments_says_it_too():
    frame = pd.DataFrame({name: np.random.default_rng(0).uniform(18, 90, 5_000) for name in ("age", "wage")})
    bounds = dplr.Bounds({"age": (18, 90), "wage": (0, 100)}, products=[("age", "age")])
    table = dplr.release_moments(frame, eps=5.0, bounds=bounds).regress("wage").summary()
    assert "In products age counts from 54" in " ".join(table.notes)


def test_two_levels_that_are_short_alike_are_shown_in_full():
    levels = ["Married-AF-spouse", "Married-civ-spouse", "Never-married"]
    column = {"levels": levels, "reference": "Never-married"}
    X = pd.DataFrame({"marital_status": np.array(levels)[np.arange(N) % 3], "x" * 60: np.linspace(0, 1, N)})
    bounds = dplr.Bounds({"marital_status": column, "x" * 60: (0, 1)}, target=("no", "yes"))
    est = dplr.fit(X, np.array(["no", "yes"])[np.arange(N) % 2], mechanism="output", eps=1.0, bounds=bounds)
    shown = str(est.summary())
    for level in levels[:2]:
        assert f"marital_status={level} vs Never-married" in shown
    assert "x" * 60 not in shown
    assert "\N{HORIZONTAL ELLIPSIS}" in shown
