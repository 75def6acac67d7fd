"""Made-up columns have the shares and the deviations that were assumed, and say so."""

import math

import numpy as np
import pandas as pd
import pytest

import dplr
from dplr.planner.population import MadeUp

NAMED = {
    "flag": (0, 1),
    "gain": (0, 1000),
    "size": {"lower": 0, "upper": 99, "transform": "log1p"},
    "work": {"levels": ["a", "b", "c"]},
    "sex": {"levels": ["f", "m"], "binary": True},
    "grade": {"levels": ["low", "middle", "high"], "ordinal": True},
    "band": {"lower": 0, "upper": 99, "bins": [18, 30]},
}
BOUNDS = dplr.Bounds(NAMED, target=(0, 10))


def population(bounds=BOUNDS, **assume):
    return MadeUp(bounds.columns, len(bounds.columns), 0, (0.0, 10.0), dplr.planner.Assumptions(**assume), bounds.names)


def drawn(**assume):
    (X, y), _ = population(**assume).table(0, 40_000, 10)
    return dict(zip(NAMED, X.T, strict=True)) | {"(target)": y}


def shares_of(codes):
    return np.bincount(codes.astype(int)) / len(codes)


def test_without_shares_levels_and_flags_get_rarer_in_their_order():
    X = drawn()
    np.testing.assert_allclose(shares_of(X["work"]), np.array([6, 3, 2]) / 11, atol=0.01)
    np.testing.assert_allclose(shares_of(X["flag"]), [2 / 3, 1 / 3], atol=0.01)
    np.testing.assert_allclose(shares_of(X["sex"]), [2 / 3, 1 / 3], atol=0.01)
    np.testing.assert_allclose(shares_of(X["grade"]), [1 / 3] * 3, atol=0.01)
    assert set(np.unique(X["flag"])) == {0, 1}


def test_declared_shares_are_those_of_the_rows():
    X = drawn(shares={"work": [0.6, 0.25, 0.15], "flag": 0.02, "sex": 0.1, "band": [0.1, 0.1, 0.8]})
    np.testing.assert_allclose(shares_of(X["work"]), [0.6, 0.25, 0.15], atol=0.01)
    assert X["flag"].mean() == pytest.approx(0.02, abs=0.004)
    assert X["sex"].mean() == pytest.approx(0.1, abs=0.01)
    assert (X["band"] >= 30).mean() == pytest.approx(0.8, abs=0.01)
    some = drawn(shares={"work": {"c": 0.01}})
    np.testing.assert_allclose(shares_of(some["work"]), [0.66, 0.33, 0.01], atol=0.01)


def test_a_spread_is_the_deviation_in_parts_of_the_range_on_the_scale_of_the_model():
    X = drawn(spread={"gain": 0.05, "size": (0.3, 0.1)}, target_spread=0.05)
    assert X["gain"].std() / 1000 == pytest.approx(0.05, rel=0.03)
    assert X["gain"].mean() / 1000 == pytest.approx(0.05, rel=0.1)  # near that of an exponential law
    scaled = np.log1p(X["size"]) / np.log(100)
    assert (scaled.mean(), scaled.std()) == (pytest.approx(0.3, abs=0.003), pytest.approx(0.1, abs=0.002))
    assert X["(target)"].std() / 10 == pytest.approx(0.05, rel=0.05)
    assert drawn()["(target)"].std() / 10 == pytest.approx(24**-0.5, rel=0.05)


@pytest.mark.parametrize("deviation", [0.01, 0.1, 0.25, 0.3, 0.45])
def test_a_deviation_alone_is_kept_up_to_that_of_two_ends(deviation):
    assert drawn(spread={"gain": deviation})["gain"].std() / 1000 == pytest.approx(deviation, rel=0.03)


def test_a_number_that_may_be_a_flag_is_a_number_where_it_has_a_spread():
    assert 0 < np.median(drawn(spread={"flag": (0.5, 0.1)})["flag"]) < 1


def test_every_column_still_adds_as_much_to_the_signal():
    """A rare flag has the deviation 1 in the score, as all columns have: the signal is what was assumed."""
    _, parts = population(shares={"flag": 0.01, "work": [0.98, 0.01, 0.01]}, spread={"gain": 0.03})._rows(
        np.random.default_rng(0), 200_000
    )
    np.testing.assert_allclose(parts.mean(axis=0), 0, atol=0.02)
    np.testing.assert_allclose(parts.std(axis=0), 1, atol=0.06)


def test_what_is_assumed_is_said_by_name():
    facts = population(shares={"work": [0.6, 0.25, 0.15]}, spread={"gain": 0.05}, target_spread=0.1).facts
    text = ". ".join(facts)
    assert "shares of 1: flag 0.333" in text
    assert "work 0.6, 0.25, 0.15; sex 0.667, 0.333" in text
    assert "gain has mean 0.0527 and deviation 0.05" in text
    assert "deviation of the target is 0.1 of its range" in text


@pytest.mark.parametrize(
    ("assume", "said"),
    [
        ({"shares": {"wrok": 0.1}}, "`shares` must name declared columns"),
        ({"spread": {"wrok": 0.1}}, "`spread` must name declared columns"),
        ({"shares": {"gain": 0.1}}, "must name flags"),
        ({"spread": {"work": 0.1}}, "`spread` must name numbers"),
        ({"shares": {"work": [0.6, 0.25]}}, "must be 3 shares of work that add up to 1"),
        ({"shares": {"work": [0.6, 0.25, 0.25]}}, "add up to 1"),
        ({"shares": {"work": 0.5}}, "must be 3 shares"),
        ({"shares": {"work": {"d": 0.5}}}, "must name levels of work"),
        ({"shares": {"work": {"a": 0.5, "b": 0.5}}}, "must leave something"),
        ({"shares": {"flag": 1.0}}, "above 0 and below 1 for flag"),
        ({"shares": {"flag": True}}, "above 0 and below 1 for flag"),
        ({"shares": {"flag": 0.1}, "spread": {"flag": 0.1}}, "must not name a column that `shares` names"),
        ({"spread": {"gain": 0.6}}, "No law within the bounds"),
        ({"spread": {"gain": (0.01, 0.2)}}, "No law within the bounds"),
        ({"spread": {"gain": (0.1, 0.2, 0.3)}}, "must be a deviation or a pair"),
        ({"spread": {"gain": math.nan}}, "must be a deviation or a pair"),
        ({"target_spread": 0.6}, "`target_spread` must be above 0 and at most 0.5"),
        ({"shares": {"flag": 0.1}, "sample": (1, 2)}, "`shares` must be None with a sample"),
    ],
)
def test_what_breaks_a_rule_is_refused_by_name(assume, said):
    with pytest.raises(ValueError, match=said):
        population(**assume)


def test_assumptions_of_another_type_and_without_bounds_are_refused():
    with pytest.raises(TypeError, match="`shares` must be a mapping"):
        dplr.planner.Assumptions(shares=[0.1])
    with pytest.raises(ValueError, match="are of declared columns"):
        dplr.plan_curve(n_rows=500, n_features=2, eps=[1.0], assume=dplr.planner.Assumptions(spread={"age": 0.1}))


def test_a_rare_level_and_a_narrow_number_have_wider_planned_intervals():
    bounds = dplr.Bounds({"gain": (0, 1000), "work": {"levels": ["a", "b", "c"]}}, target=(0, 10))

    def widths(**assume):
        curve = dplr.plan_curve(
            bounds=bounds, model="linear", mechanism="fm", eps=1.0, n_rows=20_000, intervals=True,
            assume=dplr.planner.Assumptions(tables=2, **assume),
        )  # fmt: skip
        return {coef.name: coef for coef in curve.points[0].intervals}

    usual, rare = widths(), widths(spread={"gain": 0.05}, shares={"work": [0.9, 0.08, 0.02]})
    assert rare["gain"].width > 3 * usual["gain"].width
    assert rare["work=c"].width > 2 * usual["work=c"].width


def test_levels_of_a_table_and_of_the_plan_are_the_same_columns():
    """Shares are those of the user's levels, not of sorted ones."""
    bounds = dplr.Bounds({"work": {"levels": ["z", "a"]}}, target=(0, 10))
    (X, _), _ = population(bounds, shares={"work": {"z": 0.9}}).table(0, 5000, 10)
    assert pd.Series(X[:, 0]).value_counts(normalize=True)[0] == pytest.approx(0.9, abs=0.02)
