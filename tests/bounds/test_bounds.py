"""Bounds map columns into the cube, and coefficients back."""

import math

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import dplr
from dplr.bounds.scaling import box_prep
from dplr.problem.geometry import GRID

PAIRS = [(18, 99), (-5, 5), (0, 1)]


def data(n=4000):
    rng = np.random.default_rng(0)
    low, high = np.array(PAIRS, float).T
    X = rng.uniform(low, high, (n, 3))
    return X, X @ [0.05, -0.6, 2.0] - 3.0


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_linear_coefficients_come_back_in_the_users_units(fit_intercept):
    X, y = data()
    y = y if fit_intercept else y + 3.0
    est = dplr.fit(
        X,
        y,
        model="linear",
        eps=math.inf,
        bounds=dplr.Bounds(PAIRS, target=(-10, 10)),
        fit_intercept=fit_intercept,
        mechanism="fm",
    )
    assert_allclose(est.coef_, [0.05, -0.6, 2.0], rtol=1e-4)
    assert_allclose(est.intercept_, -3.0 if fit_intercept else 0.0, atol=1e-3)
    assert_allclose(est.predict(X[:5]), y[:5], atol=1e-3)


def test_without_intercept_the_model_goes_through_the_users_zero():
    X, y = data()
    est = dplr.fit(X, y > 0, eps=1.0, bounds=dplr.Bounds(PAIRS), fit_intercept=False)
    assert est.intercept_ == 0.0
    assert_allclose(est.decision_function(X[:5]), X[:5] @ est.coef_[0], rtol=1e-12)


def test_names_are_matched_to_the_columns_of_a_frame_in_any_order():
    X, y = data()
    names = ["age", "score", "member"]
    bounds = dplr.Bounds(dict(zip(names, PAIRS, strict=True)), target=(-10, 10))
    frame = pd.DataFrame(X, columns=names)
    straight = dplr.fit(frame, y, model="linear", eps=math.inf, bounds=bounds)
    turned = dplr.fit(frame[names[::-1]], y, model="linear", eps=math.inf, bounds=bounds)
    assert_array_equal(turned.coef_, straight.coef_)
    assert list(turned.feature_names_in_) == names == list(turned.coef_names_)
    assert_array_equal(turned.predict(frame), straight.predict(frame[names[::-1]]))
    by_position = dplr.fit(X, y, model="linear", eps=math.inf, bounds=dplr.Bounds(PAIRS, target=(-10, 10)))
    assert_allclose(by_position.coef_, straight.coef_)


def test_names_are_never_matched_by_position():
    X, y = data(50)
    named = dplr.Bounds({0: (0, 1), 1: (0, 1), 2: (0, 1)})
    with pytest.raises(ValueError, match=r"`bounds` names columns .* and X has no column names\. Pass a data frame"):
        dplr.fit(X, y > 0, eps=1.0, bounds=named)
    frame = pd.DataFrame(X, columns=[2, 1, 0])
    by_number = dplr.Bounds({0: PAIRS[2], 1: PAIRS[1], 2: PAIRS[0]})
    straight, turned = (
        dplr.fit(table, y > 0, eps=math.inf, bounds=bounds)
        for table, bounds in [(X, dplr.Bounds(PAIRS)), (frame, by_number)]
    )
    assert_allclose(turned.coef_[0, ::-1], straight.coef_[0])  # in the order of the bounds: 0, 1, 2


@pytest.mark.parametrize("d", [1, 2, 3, 7, 13, 105, 4096])
def test_clamped_rows_lie_in_the_unit_ball_in_integers(d):
    prep = box_prep([(-3.0, 10.0)] * d, True, None)
    assert d * prep.high[0] ** 2 <= 2**40
    assert prep.geometry.half_width * GRID == prep.high[0] == -prep.low[0]
    assert prep.high[0] + 1 > GRID / math.sqrt(d) - 1


def test_columns_are_centred_with_an_intercept_and_only_scaled_without():
    centred, scaled = (box_prep([(2.0, 4.0), (-2.0, 8.0)], intercept, None) for intercept in (True, False))
    assert centred.shift[:2].tolist() == [3.0, 3.0]
    assert scaled.shift.tolist() == [0.0, 0.0, 0.0]
    units = scaled.high[0]
    assert scaled.low[:2].tolist() == [units / 2, -units / 4]


def test_bounds_compare_and_show_as_values():
    assert dplr.Bounds([(0, 1)]) == dplr.Bounds(np.array([[0, 1]]))
    assert hash(dplr.Bounds([(0, 2)])) == hash(dplr.Bounds([(0.0, 2.0)]))
    assert dplr.Bounds([(0, 1)]) != dplr.Bounds([(0, 1)], target=(0, 1))
    assert repr(dplr.Bounds([(False, True), (0.0, 1.0)])) == "Bounds(((0, 1), (0.0, 1.0)))"


@pytest.mark.parametrize(
    ("features", "target", "message"),
    [
        ([(5, 1)], None, r"`bounds` must have lower < upper for column 0; got \(5\.0, 1\.0\)"),
        ({1: (0, 1), "1": (0, 1)}, None, "must name every column once"),
        ((0, 10), None, r"must be a pair \(lower, upper\) for column 0; got 0"),
        ({"a": 3}, None, r"must be a pair \(lower, upper\) for column 'a'; got 3"),
        ([(0, 1)], 5, "must have a pair as target, or more labels; got 5"),
        ({"age": (5, 5)}, None, r"lower < upper for column 'age'.*A constant column carries no information: drop it"),
        ([(0, math.inf)], None, "must be finite for column 0"),
        ([(math.nan, 1)], None, "must be finite for column 0"),
        ([(-1.7e308, 1.7e308)], None, "must be finite for column 0"),
        ([(1, 2, 3)], None, r"must be a pair \(lower, upper\) for column 0"),
        ([], None, "must have at least one column"),
        ([(0, 1)], (1,), "must have a pair as target, or more labels"),
    ],
)
def test_bad_bounds_are_refused_with_the_column(features, target, message):
    with pytest.raises(ValueError, match=message):
        dplr.Bounds(features, target=target)


def test_bounds_of_other_types_are_refused():
    with pytest.raises(TypeError, match="`bounds of column 0` must be a real number; got 'low'"):
        dplr.Bounds([("low", "high")])
    with pytest.raises(TypeError, match="must be a mapping of names to pairs, or a list of pairs; got 3"):
        dplr.Bounds(3)


def test_bounds_too_close_to_scale_are_refused():
    for high in (1e-310, 5e-324):
        with pytest.raises(ValueError, match="must be further apart"):
            dplr.plan(n_rows=5, bounds=dplr.Bounds([(0, high)]), eps=1.0)


def test_reversed_or_missing_target_bounds_of_a_linear_model_are_refused():
    with pytest.raises(ValueError, match="lower < upper for the target"):
        dplr.plan(n_rows=5, bounds=dplr.Bounds([(0, 1)], target=(3, 1)), eps=1.0, model="linear")
    with pytest.raises(TypeError, match="`bounds of the target` must be a real number; got 'no'"):
        dplr.plan(n_rows=5, bounds=dplr.Bounds([(0, 1)], target=("no", "yes")), eps=1.0, model="linear")
