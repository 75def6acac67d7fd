"""The expected width of confidence intervals, before a row is read."""

import math

import numpy as np
import pytest

import dplr

BOUNDS = dplr.Bounds({"age": (18, 99), "work": {"levels": ["a", "b", "c"]}}, target=(0.0, 100.0))
FACTS = {"bounds": BOUNDS, "model": "linear", "mechanism": "fm"}
ASSUME = dplr.Assumptions(tables=2, fits=2)


def widths(**facts):
    found = dplr.plan_intervals(**{**FACTS, "assume": ASSUME, **facts})
    return {each.name: each for each in found.coefficients}


def test_the_expected_width_is_that_of_fits_of_such_rows():
    rng = np.random.default_rng(0)
    n = 20_000
    import pandas as pd

    table = pd.DataFrame({"age": rng.triangular(18, 58.5, 99, n), "work": rng.choice(["a", "b", "c"], n)})
    y = 50 + 0.2 * (table.age - 58.5) + rng.normal(0, 13, n)
    est = dplr.fit(table, y, eps=1.0, delta=1e-6, model="linear", mechanism="fm", bounds=BOUNDS)
    low, high = est.conf_int()["age"]
    expected = widths(n_rows=n, eps=1.0, delta=1e-6)["age"]
    # The planner guesses the spread of the errors.
    assert expected.width == pytest.approx(high - low, rel=0.35)


def test_widths_fall_with_rows_and_with_eps_and_never_below_those_without_privacy():
    few, many, loose = (
        widths(n_rows=n, eps=eps, delta=1e-6) for n, eps in [(20_000, 1.0), (100_000, 1.0), (20_000, 10.0)]
    )
    for name in few:
        assert few[name].width > many[name].width > many[name].plain
        assert few[name].width > loose[name].width >= 0.99 * loose[name].plain
    assert list(few) == ["age", "work=b", "work=c", "(intercept)"]


def test_where_noise_drowns_the_rows_the_planner_says_so():
    found = dplr.plan_intervals(**FACTS, n_rows=200, eps=0.1, assume=ASSUME)
    assert all(math.isinf(each.width) and each.unsaid == 1 for each in found.coefficients)
    assert "cannot say" in str(found)


def test_a_mechanism_without_intervals_and_a_missing_number_of_rows_are_refused():
    with pytest.raises(ValueError, match="what confidence intervals need; got 'objective'"):
        dplr.plan_intervals(**{**FACTS, "mechanism": "objective"}, n_rows=1000, eps=1.0)
    with pytest.raises(TypeError, match="'n_rows'"):
        dplr.plan_intervals(**FACTS, eps=1.0, neighbouring="add_remove")
    with pytest.raises(TypeError, match="`curve`"):
        dplr.plan_intervals(**FACTS, eps=1.0, n_rows=1000, curve=True)
