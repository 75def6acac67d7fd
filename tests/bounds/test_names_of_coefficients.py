"""Every coefficient has a name of its own: tests, contrasts, refits and exports find it by its name."""

import re

import numpy as np
import pandas as pd
import pytest

import dplr

LEVELS = {"levels": ["F", "M", "D"]}
# What is declared of the column "a" -> names that a coefficient or a reference of it has.
MADE = {
    "log": ({"lower": 1, "upper": 5, "transform": "log"}, ["log(a)"]),
    "log1p": ({"lower": 0, "upper": 5, "transform": "log1p"}, ["log1p(a)"]),
    "sqrt": ({"lower": 0, "upper": 5, "transform": "sqrt"}, ["sqrt(a)"]),
    "mark": ({"lower": 0, "upper": 5, "missing": "indicator"}, ["a is missing"]),
    "bins": ({"lower": 0, "upper": 99, "bins": [18]}, ["a in [0, 18)", "a in [18, 99]"]),
    "bins with a reference": ({"lower": 0, "upper": 99, "bins": [18], "reference": 3}, ["a in [0, 18)"]),
    "knots": ({"lower": 0, "upper": 99, "knots": 3}, ["a (line)", "a at 0", "a at 49.5", "a at 99"]),
    "levels": (LEVELS, ["a=F", "a=M", "a=D"]),
    "numbers as levels": ({"levels": [1, 2]}, ["a=1", "a=2"]),
    "a reference": (LEVELS | {"reference": "F"}, ["a=F", "a=M"]),
    "levels with a mark": (LEVELS | {"missing": "indicator"}, ["a is missing"]),
    "merged": (LEVELS | {"merge": {"other": ["M", "D"]}}, ["a=F", "a=other"]),
    "binary": ({"levels": ["F", "M"], "binary": True}, ["a=F", "a=M"]),
}
CASES = [pytest.param(column, name, id=f"{kind}, {name}") for kind, (column, names) in MADE.items() for name in names]
RULE = "`bounds` must give every coefficient a name of its own; got "


@pytest.mark.parametrize(("column", "name"), CASES)
def test_a_column_named_as_a_coefficient_of_another_is_refused(column, name):
    for bounds in ({"a": column, name: (0, 1)}, {name: (0, 1), "a": column}):
        with pytest.raises(ValueError, match=re.escape(f"{RULE}{name!r}. It is of ")) as refused:
            dplr.Bounds(bounds)
        assert "'a'" in str(refused.value)
    assert dplr.Bounds({"a": column, f"{name}.": (0, 1)}).coef_names


def test_a_column_that_has_no_coefficient_of_its_own_name_keeps_that_name():
    """A test of the column would be one of the other's coefficient."""
    log = {"lower": 1, "upper": 5, "transform": "log"}
    for bounds in ({"a": log, "log(a)": log}, {"log(a)": log, "a": log}):
        with pytest.raises(ValueError, match=r"got 'log\(a\)'"):
            dplr.Bounds(bounds)


@pytest.mark.parametrize(
    ("name", "products"),
    [("a*b=F", [("a", "b")]), ("a^2", [("a", "a")]), ("a * b", [("a", "b")]), ("(intercept)", ())],
)
def test_no_column_is_named_as_a_product_or_the_intercept(name, products):
    with pytest.raises(ValueError, match="must give every coefficient a name of its own"):
        dplr.Bounds({"a": (0, 1), "b": LEVELS, name: (0, 1)}, products=products)


def test_two_products_have_two_names():
    levels = {"p": {"levels": ["x", "x*q=y"]}, "q": {"levels": ["y", "z"]}}
    with pytest.raises(ValueError, match=r"'p=x\*q=y'. It is of 'p' and of the product p \* q"):
        dplr.Bounds(levels, products=[("p", "q")])
    columns = {"p": (0, 1), "q": (0, 1), "r": (0, 1), "p*q": (0, 1), "q*r": (0, 1)}
    with pytest.raises(ValueError, match=r"of the product p \* q\*r and of the product p\*q \* r"):
        dplr.Bounds(columns, products=[("p", "q*r"), ("p*q", "r")])


def test_names_of_a_table_are_checked_where_bounds_have_positions(tmp_path):
    table = pd.DataFrame({"a": [1.0, 2.0], "log(a)": [0.0, 1.0]})
    bounds = dplr.Bounds([{"lower": 1, "upper": 5, "transform": "log"}, (0, 1)], target=(0, 1))
    ledger = dplr.Ledger(tmp_path / "ledger.json", eps=1.0)
    with pytest.raises(ValueError, match=r"got 'log\(a\)'. It is of 'a' and of 'log\(a\)'"):
        dplr.LinearRegression(eps=1.0, bounds=bounds, ledger=ledger).fit(table, np.array([0.0, 1.0]))
    with pytest.raises(ValueError, match="`X` must name no column as the intercept; got"):
        dplr.LinearRegression(eps=1.0, ledger=ledger).fit(table.rename(columns={"a": "(intercept)"}), table["log(a)"])
    assert ledger.spent() == (0.0, 0.0)
