"""What is printed first: the strongest lines, those of one column together, then what is silent, then the intercept."""

import math
import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import dplr

NUMBERS = [f"x{k}" for k in range(12)]
EFFECTS = dict.fromkeys(NUMBERS, 0.0) | {"x11": -2.0, "x5": 0.3}
BOUNDS = dict.fromkeys(NUMBERS, (0, 1)) | {"rare": (False, True), "work": {"levels": ["a", "b", "c"]}}


def fitted(target=(-4, 4), labels=None, **options):
    rng = np.random.default_rng(0)
    table = pd.DataFrame({name: rng.uniform(0, 1, 4000) for name in NUMBERS})
    table["rare"], table["work"] = rng.random(4000) < 0.002, rng.choice(["a", "b", "c"], 4000)
    y = sum(EFFECTS[name] * table[name] for name in NUMBERS) + (table.work == "c") + rng.normal(0, 0.3, 4000)
    y = y if labels is None else np.digitize(y, labels)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        bounds = dplr.Bounds(BOUNDS, target=target)
        return dplr.fit(table, y, bounds=bounds, delta=1e-6, rng=1, **{"eps": 8.0, **options})


@pytest.fixture(scope="module")
def table():
    return fitted(aim="coefficients", model="linear").summary()


def names(text):
    """First words of the lines of a printed table that are about a coefficient."""
    known = {*NUMBERS, "rare", "work=b", "work=c", "(intercept)"}
    return [line.split()[0] for line in text.splitlines() if line and line.split()[0] in known]


def test_a_printed_table_begins_with_its_strongest_lines(table):
    shown = names(str(table))
    assert shown[:4] == ["x11", "work=b", "work=c", "x5"]  # the levels of one column together, in their order
    strengths = {line.name: line.strength for line in table.lines}
    assert strengths["work=b"] < strengths["x5"] < strengths["work=c"]
    assert [strengths[name] for name in shown[3:]] == sorted((strengths[name] for name in shown[3:]), reverse=True)
    assert "(intercept)" not in shown
    assert "rare" not in shown
    assert table._repr_html_().index(">x11<") < table._repr_html_().index(">x0<")


def test_all_other_forms_keep_the_order_of_the_columns(table):
    order = [*NUMBERS, "rare", "work=b", "work=c", "(intercept)"]
    assert [line.name for line in table.lines] == order
    assert list(table.to_frame().index) == order
    assert names(table.to_text()) == order
    assert [line["name"] for line in table.to_dict()["lines"]] == order


def test_what_cannot_say_comes_last_and_then_the_intercept(table):
    lines = {line.name: line for line in table.lines}
    silent = replace(lines["x11"], low=-math.inf, high=math.inf)
    shown = silent, lines["work=b"], lines["work=c"], lines["x5"], lines["(intercept)"]
    few = replace(table, lines=shown, advice=(), alarms=())
    assert names(str(few)) == ["work=b", "work=c", "x5", "x11", "(intercept)"]


def test_where_few_lines_are_computed_they_are_the_strongest():
    est = fitted(aim="coefficients", model="linear")
    some = est._summary(most=4)
    assert [line.name for line in some.lines] == ["x5", "x11", "work=b", "work=c"]
    assert some.omitted == 12
    every = {line.name: (line.low, line.high, line.p_value) for line in est.summary().lines}
    assert all((line.low, line.high, line.p_value) == pytest.approx(every[line.name]) for line in some.lines)
    assert names(str(some)) == ["x11", "work=b", "work=c", "x5"]


def test_classes_stay_in_their_order():
    est = fitted((0, 1, 2), [-1.0, 0.0], mechanism="score", eps=20.0)
    labels = [line.label for line in est._summary(most=20).lines]
    assert labels == ["0"] * 16 + ["1"] * 4


def test_contrasts_stay_as_they_were_asked_for(table):
    est = fitted(aim="coefficients", model="linear")
    shown = est.contrast(["x0 - x1", "x11 - x5"])
    assert [line.name for line in shown.lines] == ["x0 - x1", "x11 - x5"]
    assert str(shown).index("x0 - x1") < str(shown).index("x11 - x5")
