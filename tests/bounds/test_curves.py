"""Curves: shares of knots, how they are declared, and what of them is refused."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import dplr
from dplr.bounds.columns import Curve, labels_of, read_column, write_column

AGE = {"lower": 18, "upper": 99, "knots": 4}


def encoded(bounds, **columns):
    return np.asarray(dplr.preprocessing.BoundsEncoder(bounds).transform(pd.DataFrame(columns)))


@pytest.mark.parametrize("knots", [3, 8, [30], [20, 20.5, 98]])
@pytest.mark.parametrize("transform", ["clip", "log1p", "sqrt", "log"])
def test_shares_are_a_partition_of_one_between_two_neighbours(knots, transform):
    column = read_column("x", {"lower": 18, "upper": 99, "knots": knots, "transform": transform})
    rng = np.random.default_rng(0)
    near = np.array(column.places)
    values = np.concatenate([rng.uniform(near[0] - 1, near[-1] + 1, 500), near, np.nextafter(near, 1e9)])
    shares = column.shares(values)
    assert shares.min() >= 0
    assert_allclose(shares.sum(axis=1), 1, rtol=0, atol=2**-52)
    places = [np.flatnonzero(row) for row in shares]
    assert all(len(place) <= 2 and place[-1] - place[0] <= 1 for place in places)
    assert_allclose(shares @ near, np.clip(values, near[0], near[-1]), rtol=1e-12)  # a line is a sum of the shares


def test_a_share_of_a_knot_is_one_at_the_knot_and_the_ends_are_knots():
    column = read_column("x", AGE)
    assert column.places == (18.0, 45.0, 72.0, 99.0)
    assert_array_equal(column.shares(np.array([18.0, 45.0, 99.0, 0.0, 200.0])), np.eye(4)[[0, 1, 3, 0, 3]])
    assert_array_equal(column.shares(np.array([np.nan, np.inf, -np.inf])), np.zeros((3, 4)))


def test_knots_are_even_on_the_scale_of_the_transform():
    column = read_column("x", {"lower": 0, "upper": 9999, "transform": "log1p", "knots": 5})
    assert_allclose(column.knot_values, [0, 9, 99, 999, 9999], rtol=1e-12)
    assert_allclose(np.diff(column.places), np.log(10), rtol=1e-12)


@pytest.mark.parametrize("native", [True, False])
def test_a_line_its_knots_and_a_mark_are_columns(native):
    bounds = dplr.Bounds({"a": {**AGE, "missing": "indicator"}, "b": {**AGE, "knots": [20], "line": False}})
    names = ("a (line)", "a at 18", "a at 45", "a at 72", "a at 99", "a is missing", "b at 18", "b at 20", "b at 99")
    assert bounds.coef_names == names
    kind = float if native else object
    rows = encoded(bounds, a=pd.Series([31.5, None, 200], dtype=kind), b=pd.Series([19, 99, 18], dtype=kind))
    assert_array_equal(
        rows,
        [
            [31.5, 0.5, 0.5, 0, 0, 0, 0.5, 0.5, 0],
            [58.5, 0, 0, 0, 0, 1, 0, 0, 1],
            [99, 0, 0, 0, 1, 0, 1, 0, 0],
        ],
    )


def test_a_missing_value_counts_as_a_constant_or_is_refused():
    constant = dplr.Bounds({"a": {**AGE, "missing": 45}})
    assert_array_equal(encoded(constant, a=[np.nan])[0], [45, 0, 1, 0, 0])
    for line in (True, False):
        bounds = dplr.Bounds({"a": {**AGE, "line": line}, "b": (0, 1)})
        for bad in (np.nan, np.inf, -np.inf):
            rows = pd.DataFrame({"a": [bad, *[30.0] * 19], "b": [0, 1] * 10})
            with pytest.raises(ValueError, match=r"infinit|missing|NaN"):
                dplr.fit(rows, np.arange(20) > 9, bounds=bounds, eps=1.0)


def test_a_product_with_levels_has_a_curve_for_each_and_one_with_a_number_has_the_line():
    work = {"levels": ["p", "q"]}
    bounds = dplr.Bounds({"a": AGE, "w": work, "h": (0, 10)}, products=[("a", "w"), ("a", "h")])
    rows = encoded(bounds, a=[31.5, 99], w=["q", "p"], h=[7, 5])
    assert bounds.coef_names[8:] == (
        *(f"w={level}*a at {knot}" for level in "pq" for knot in (18, 45, 72, 99)), "a (line)*h",
    )  # fmt: skip
    assert_array_equal(rows[:, 8:], [[0, 0, 0, 0, 0.5, 0.5, 0, 0, -54], [0, 0, 0, 1, 0, 0, 0, 0, 0]])
    assert bounds.layout.hats == ((1, 4, 4), (8, 8, 4))
    assert bounds == dplr.Bounds({"a": AGE, "w": work, "h": (0, 10)}, products=[("w", "a"), ("a", "h")])


def test_all_products_leave_out_what_would_repeat_a_curve():
    bounds = dplr.Bounds({"a": AGE, "b": {**AGE, "line": False}, "h": (0, 10)}, products="all")
    assert [product.places for product in bounds.products] == [(0, 2), (2, 2)]


@pytest.mark.parametrize("column", [AGE, {**AGE, "knots": [30, 45.5], "line": False, "missing": "indicator"}])
def test_a_declaration_is_written_and_read_back(column, tmp_path):
    bounds = dplr.Bounds({"a": column})
    assert dplr.Bounds.from_dict(bounds.to_dict()) == bounds
    path = tmp_path / "bounds.toml"
    bounds.to_toml(path)
    assert dplr.Bounds.from_toml(path) == bounds
    assert eval(repr(bounds), {"Bounds": dplr.Bounds}) == bounds
    assert read_column("x", write_column(bounds.columns[0])) == bounds.columns[0]


@pytest.mark.parametrize(
    ("changed", "error", "words"),
    [
        ({"knots": 2}, ValueError, "from 3 to 256"),
        ({"knots": 257}, ValueError, "from 3 to 256"),
        ({"knots": 8.0}, TypeError, "whole number"),
        ({"knots": True}, TypeError, "whole number"),
        ({"knots": "8"}, TypeError, "whole number"),
        ({"knots": []}, ValueError, "1 to 254 knots"),
        ({"knots": [18]}, ValueError, "increase, inside lower = 18"),
        ({"knots": [50, 40]}, ValueError, "50 is followed by 40"),
        ({"knots": [np.nan]}, ValueError, "finite"),
        ({"line": 1}, TypeError, "true or false"),
        ({"bins": [30]}, ValueError, "knots"),
        ({"lower": 1.0, "upper": 1.0 + 2**-51}, ValueError, "apart"),
    ],
)
def test_what_is_no_curve_is_refused(changed, error, words):
    with pytest.raises(error, match=words):
        dplr.Bounds({"a": {**AGE, **changed}})


@pytest.mark.parametrize(
    ("pair", "words"),
    [(("a", "a"), "square a curve"), (("b", "h"), "without a line"), (("a", "b"), "without a line")],
)
def test_products_that_a_curve_does_not_have_are_refused(pair, words):
    with pytest.raises(ValueError, match=words):
        dplr.Bounds({"a": AGE, "b": {**AGE, "line": False}, "h": (0, 10)}, products=[pair])


def test_names_of_knots_differ_however_close_the_bounds_are():
    column = Curve(1e6, 1e6 + 1e-3, knots=8)
    assert len(set(column.names("x"))) == 9
    assert labels_of((0.0, 1 / 3, 1.0)) == ["0", "0.3333", "1"]


def test_bounds_with_curves_change_numbers_that_measure_something_alone():
    known = {"age": (18, 99), "flag": (0, 1), "grade": (1, 5), "rate": (0.0, 1.0), "w": {"levels": ["p", "q"]}, "cut": {
        "lower": 0, "upper": 9.5, "bins": [3]}, "h": {"lower": 0, "upper": 99, "transform": "log1p", "missing": 3},
        "sq": (0, 40)}  # fmt: skip
    bounds = dplr.Bounds(known, target=("no", "yes"), products=[("sq", "sq"), ("age", "w")], person="id")
    curved = bounds.with_curves(5)
    kinds = [type(column).__name__ for column in curved.columns]
    assert kinds == ["Curve", "Numeric", "Curve", "Curve", "Levels", "Bins", "Curve", "Numeric"]
    assert curved.columns[6] == Curve(0.0, 99.0, "log1p", 3.0, 5)
    assert (curved.target, curved.person, len(curved.products)) == (("no", "yes"), "id", 2)
    assert curved.with_curves(8) == curved
    flags = dplr.Bounds({"flag": (0, 1)})
    assert flags.with_curves() is flags
    with pytest.raises(ValueError, match="from 3 to 256"):
        bounds.with_curves(2)


@pytest.mark.parametrize("unit", [1.0, 6.0, 6.01, 9.0, 100.0])
def test_units_do_not_say_what_bends(unit):
    """With bounds of one digit it was a code: R2 .620 in place of .685."""
    rates = dplr.Bounds({"rate": (0.0, unit), "age": (18, 99)}, target=(0, 1))
    plans = [
        dplr.plan(bounds=rates, n_rows=10**5, eps=1.0, model="linear", curves=curves, mechanism="objective")
        for curves in (8, "auto")
    ]
    for plan, knots in zip(plans, (8, 12), strict=True):
        assert plan.statement.released["range_sums"].shape == (2,)
        assert plan.statement.released["coef"].shape == (2 * (1 + knots) + 1,)


FLAGGED = {"age": (18, 99), "smoker": (0, 1), "sick": (False, True), "h": (0, 40), "w": {"levels": ["p", "q"]}}
STRAIGHT = "smoker (a flag), sick (a flag), h (squared)"


@pytest.mark.parametrize("how", ["curves", "auto", "with_curves", "knots"])
def test_statement_and_summary_name_every_number_that_stays_straight(how):
    knots = {"age": {"lower": 18, "upper": 99, "knots": 8}} if how == "knots" else {}
    bounds = dplr.Bounds(FLAGGED | knots, target=(0, 100), products=[("h", "h")])
    bounds = bounds.with_curves(8) if how == "with_curves" else bounds
    curves = {"curves": 8, "auto": "auto"}.get(how)
    rng, n = np.random.default_rng(0), 2_000
    X = pd.DataFrame({"age": rng.uniform(18, 99, n), "smoker": rng.integers(0, 2, n), "sick": rng.random(n) < 0.1,
                      "h": rng.uniform(0, 40, n), "w": rng.choice(["p", "q"], n)})  # fmt: skip
    est = dplr.fit(X, X["age"], bounds=bounds, eps=500.0, model="linear", mechanism="fm", curves=curves)
    assert f"numbers that stay straight, without a curve: {STRAIGHT}" in est.privacy_.assumptions
    notes = est.summary().notes
    rates = "A flag has the whole numbers 0 and 1 as bounds, a rate 0.0 and 1.0."
    assert f"Straight, without a curve: {STRAIGHT}. {rates}" in notes
    assert not dplr.Bounds(FLAGGED).layout.straight


def test_a_number_that_was_declared_without_knots_is_named_as_such():
    bounds = dplr.Bounds({"age": (18, 99), "h": {"lower": 0, "upper": 40, "knots": 3}})
    assert bounds.layout.straight == ("age (without knots)",)
    assert dplr.Bounds({"age": (18, 99)}).layout.straight == ()


def test_curves_where_nothing_bends_are_refused_before_anything_is_spent():
    for bounds in (dplr.Bounds({"flag": (0, 1)}), dplr.Bounds({"h": (0, 40)}, products=[("h", "h")])):
        with pytest.raises(
            ValueError, match="`curves` must be None where no declared number measures something; got 8"
        ):
            dplr.plan(bounds=bounds, n_rows=1000, eps=1.0, curves=8)


def test_a_statement_tells_knots_apart_that_a_name_does_not():
    """Or two models of different knots would have one statement, and one plan in a ledger."""
    first, second = (dplr.Bounds({"a": {"lower": 18, "upper": 99, "knots": [knot]}}) for knot in (30.0001, 30.0002))
    assert first.coef_names == second.coef_names
    plans = [dplr.plan(bounds=bounds, n_rows=1000, eps=1.0) for bounds in (first, second)]
    assert plans[0].statement.assumptions != plans[1].statement.assumptions
    assert any("knots: 18, 30.0001, 99" in fact for fact in plans[0].statement.assumptions)


def test_a_knot_and_a_column_have_names_of_their_own():
    """Or the band of the one would be that of the other."""
    flag = {"age at 18": (0, 1), "age": (18, 99)}
    with pytest.raises(ValueError, match="must give every coefficient a name of its own"):
        dplr.Bounds(flag).with_curves(3)
    plan = dplr.plan(bounds=flag, n_rows=10**6, eps=1.0, curves="auto")
    assert any("none, as the declared columns cannot have" in fact for fact in plan.statement.assumptions)
