"""The expected width of confidence intervals, before a row is read."""

import math
from dataclasses import replace

import numpy as np
import pytest

import dplr
from dplr.fitting.facts import public_facts
from dplr.planner.laws import laws_of
from dplr.planner.merging import merging
from dplr.planner.points import all_silent

BOUNDS = dplr.Bounds({"age": (18, 99), "work": {"levels": ["a", "b", "c"]}}, target=(0.0, 100.0))
FACTS = {"bounds": BOUNDS, "model": "linear", "mechanism": "fm"}
ASSUME = dplr.planner.Assumptions(tables=2, fits=2)
FEW = replace(ASSUME, fits=1)


def planned(**facts):
    return dplr.plan_curve(intervals=True, **{**FACTS, "assume": ASSUME, **facts})


def widths(**facts):
    (point,) = planned(**facts).points
    return {each.name: each for each in point.intervals}


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
    assert expected.best == pytest.approx(high - low, rel=0.35)
    assert expected.width > 2 * expected.best  # of narrow columns, whose coefficients are known less


def test_the_width_of_narrow_columns_is_that_of_fits_of_narrow_columns():
    rng = np.random.default_rng(0)
    n = 100_000
    bounds = dplr.Bounds([(18, 99), (1900, 2100)], target=(0.0, 100.0))
    X = np.column_stack([rng.normal(58, 2.4, n), rng.normal(2000, 6, n)])
    y = 50 + 3.7 * (X[:, 0] - 58) + 1.5 * (X[:, 1] - 2000) + rng.normal(0, 15, n)
    facts = {"bounds": bounds, "model": "linear", "eps": 1.0, "delta": 1e-6, "aim": "coefficients"}
    est = dplr.fit(X, y, **facts)
    (point,) = planned(**facts, n_rows=n).points
    assert point.silent == ()
    for line, (low, high) in zip(point.intervals, est.conf_int().values(), strict=True):
        assert line.width == pytest.approx(high - low, rel=0.5)


def test_widths_fall_with_rows_and_with_eps_and_never_below_those_without_privacy():
    few, many, loose = (
        widths(n_rows=n, eps=eps, delta=1e-6, assume=FEW) for n, eps in [(20_000, 1.0), (100_000, 1.0), (20_000, 10.0)]
    )
    for name in few:
        assert few[name].width > many[name].width > many[name].plain
        assert few[name].width > loose[name].width >= 0.99 * loose[name].plain
    assert list(few) == ["age", "work=b", "work=c", "(intercept)"]


def test_where_noise_drowns_the_rows_the_planner_says_so():
    found = planned(n_rows=200, eps=0.1)
    assert all(math.isinf(each.width) and each.unsaid == 1 for each in found.points[0].intervals)
    assert "cannot say" in str(found)


def test_a_mechanism_without_intervals_is_refused():
    with pytest.raises(ValueError, match="what confidence intervals need; got 'objective'"):
        planned(mechanism="objective", n_rows=1000, eps=1.0)
    with pytest.raises(ValueError, match="what confidence intervals need; got 'objective'"):
        dplr.plan_target(**{**FACTS, "mechanism": "objective"}, n_rows=1000, interval={"age": 1.0})
    with pytest.raises(TypeError, match="`intervals` must be"):
        dplr.plan_curve(**FACTS, n_rows=1000, eps=1.0, intervals="yes")


def test_lists_make_a_table_of_the_same_widths():
    table = planned(eps=[2.0, 1.0], n_rows=[4_000, 8_000], assume=FEW)
    assert [(each.n_rows, each.eps) for each in table.points] == [
        (4_000, 1.0), (4_000, 2.0), (8_000, 1.0), (8_000, 2.0),
    ]  # fmt: skip
    again = widths(eps=1.0, n_rows=4_000, assume=FEW)
    assert table.points[0].intervals == tuple(again.values())
    frame = table.to_frame()
    assert len(frame) == 4
    assert list(frame.columns) == list(table.records()[0])
    assert frame["width: age"].tolist() == [each.intervals[0].width for each in table.points]
    assert {"width without privacy: work=b", "unsaid: (intercept)"} < {*frame.columns}
    assert "width: age" in table.csv_text()
    assert "8,000 rows, eps 2" in str(table)


def test_points_with_intervals_have_the_errors_of_a_curve_without_them():
    options = {"eps": [1.0], "n_rows": [20_000], "delta": [1e-6]}
    (point,) = planned(**options).points
    (bare,) = dplr.plan_curve(**FACTS, assume=ASSUME, **options).points
    assert bare == replace(point, intervals=(), merged=())
    assert not bare.all_silent


def test_several_deltas_are_named_and_auto_is_what_a_fit_takes():
    facts = {"bounds": BOUNDS, "model": "linear", "aim": "coefficients", "assume": FEW, "eps": 1.0, "n_rows": 20_000}
    curve = dplr.plan_curve(intervals=True, delta=[0.0, 1e-6], **facts)
    assert [(point.delta, point.auto) for point in curve.points] == [(0.0, True), (1e-6, True)]
    assert "20,000 rows, eps 1, delta 1e-06" in str(curve)


def test_the_smallest_eps_for_a_width_meets_it_and_little_less_does_not():
    goal = {"age": 0.12}
    least = dplr.plan_target(**FACTS, n_rows=20_000, interval=goal, assume=ASSUME)
    (point,) = least.curve.points
    assert (least.quantity, point.eps, point.n_rows) == ("eps", least.value, 20_000)
    assert least.value / 1.06 < least.low < least.value == least.high
    assert least.expected == point.intervals[0].width / 0.12
    assert widths(n_rows=20_000, eps=least.value)["age"].width <= 0.12
    assert widths(n_rows=20_000, eps=least.low)["age"].width > 0.12


@pytest.mark.thorough
def test_the_fewest_rows_for_a_width_meet_it_and_little_less_does_not():
    fewest = dplr.plan_target(**FACTS, eps=1.0, interval={"age": 0.12}, assume=ASSUME)
    assert fewest.quantity == "n_rows"
    assert widths(n_rows=int(fewest.value), eps=1.0)["age"].width <= 0.12
    assert widths(n_rows=int(fewest.low), eps=1.0)["age"].width > 0.12
    assert "Smallest number of rows" in str(fewest)
    easy = dplr.plan_target(**FACTS, n_rows=20_000, interval={"age": 1e6}, assume=ASSUME)
    assert easy.low < easy.value < 1


def test_coefficients_that_will_be_unsaid_are_named():
    bounds, assume = (
        dplr.Bounds({"age": (18, 99)}, target=(0.0, 100.0)),
        dplr.planner.Assumptions(tables=2, spread={"age": 0.001}),
    )
    plan = planned(bounds=bounds, n_rows=20_000, eps=1.0, delta=1e-6, assume=assume)
    assert plan.points[0].silent == ("age", "(intercept)")
    assert "nothing in any case: age and (intercept). Merge rare levels, leave columns out" in str(plan)
    assert "say nothing" not in str(planned(n_rows=200_000, eps=1.0))


@pytest.mark.parametrize(
    ("options", "error", "said"),
    [
        ({"n_rows": 900}, ValueError, "`eps` is required with intervals"),
        ({"eps": [], "n_rows": 900}, ValueError, "`eps` must hold at least one value"),
        ({"eps": [1.0] * 20 + [2.0], "n_rows": list(range(1, 999))}, ValueError, "at most 400 points"),
        ({"eps": 1.0, "n_rows": 900, "interval": {"age": 1}}, ValueError, "or eps must be given with a target"),
        ({"n_rows": 900, "interval": 3.0}, TypeError, "`interval` must be a mapping"),
        ({"n_rows": 900, "interval": {}}, ValueError, "`interval` must name coefficients"),
        ({"n_rows": 900, "interval": {"agee": 1}}, ValueError, "must name coefficients"),
        ({"n_rows": 900, "interval": {"age": 0}}, ValueError, "must be positive"),
        ({"n_rows": 900, "interval": {"age": 1e-4}}, ValueError, r"reached with an eps of up to 10; .*age .*rows"),
        ({"eps": 0.01, "interval": {"age": 1e-4}}, ValueError, r"reached with up to .*Assumptions\(rows="),
        ({"n_rows": 900, "interval": {"age": 1}, "curves": "auto"}, ValueError, "give a number of knots"),
        ({"eps": 1.0, "delta": 0.02, "interval": {"age": 0.5}}, ValueError, "`delta` must be below 1/n"),
    ],
)
def test_what_breaks_a_rule_is_refused_by_name(options, error, said):
    ask = dplr.plan_target if "interval" in options else planned
    with pytest.raises(error, match=said):
        ask(**FACTS | options, assume=dplr.planner.Assumptions(tables=2, rows=3000))


RACES = ["w", "b", "x", "y", "z"]
RARE = {"race": [0.8, 0.188, 0.004, 0.004, 0.004]}
MERGED = {"other": ["x", "y", "z"]}


def of_races(shares=None, eps=1.0, **declared):
    bounds = dplr.Bounds({"age": (18, 99), "race": {"levels": RACES, **declared}}, target=(0.0, 100.0))
    assume = dplr.planner.Assumptions(tables=2, fits=1, shares=shares)
    return planned(bounds=bounds, assume=assume, n_rows=20_000, eps=eps, delta=1e-6)


def test_a_plan_says_what_merging_silent_levels_buys_and_so_it_is_with_them_merged():
    plan = of_races(RARE, 0.5)
    (point,) = plan.points
    assert point.silent == ("race=x", "race=y", "race=z")
    (merged,) = point.merged
    assert merged.name == "race=x or y or z"
    assert math.isfinite(merged.width)
    assert f"Merged into one level, race=x or y or z: {merged.width:.3g}, " in str(plan)
    by_value = {"race": dict(zip(RACES, RARE["race"], strict=True))}
    (coarser,) = of_races(by_value, 0.5, merge=MERGED).points
    assert coarser.merged == coarser.silent == ()
    (other,) = [each for each in coarser.intervals if each.name == "race=other"]
    assert (other.width, other.plain) == (merged.width, merged.plain)
    assert of_races(None, 0.5, missing="z").points[0].merged == ()  # nobody declared a share


def test_silent_levels_are_merged_with_the_values_of_groups_and_what_is_missing():
    race = {"levels": RACES, "merge": {"yz": ["y", "z"]}, "missing": "z"}
    facts = public_facts(bounds=dplr.Bounds({"race": race}, target=(0.0, 1.0)), model="linear")
    assume = dplr.planner.Assumptions(shares={"race": [0.8, 0.192, 0.005, 0.003]})
    silent = ("race=x", "race=yz")
    merged, assumed, names = merging(facts, assume, laws_of(facts.bounds.columns, ["race"], assume), silent)
    expected = {"levels": RACES, "merge": {"x or yz": ["x", "y", "z"]}, "missing": "x or yz"}
    assert merged.bounds == dplr.Bounds({"race": expected}, target=(0.0, 1.0))
    assert names == ["race=x or yz"]
    assert assumed.shares["race"] == pytest.approx({"w": 0.8, "b": 0.192, "x or yz": 0.008})
    assert merging(facts, assume, (), ("race=yz",)) is None
    assert merging(facts, dplr.planner.Assumptions(), (), silent) is None


def test_a_least_share_is_that_of_every_level_but_the_first_and_merged_levels_have_its_multiple():
    assert any("race 0.984, 0.004, 0.004, 0.004, 0.004" in fact for fact in of_races(least_share=0.004).assumptions)
    plan = of_races(least_share=0.004, merge=MERGED)
    assert any("race 0.984, 0.004, 0.012" in fact for fact in plan.assumptions)
    named = of_races(RARE, least_share=0.004)  # what is assumed of a column goes first
    assert any("race 0.8, 0.188, 0.004, 0.004, 0.004" in fact for fact in named.assumptions)


def test_a_table_that_will_say_nothing_says_so():
    bounds = dplr.Bounds({"age": (18, 99), "hours": (0, 80)}, target=(0.0, 100.0))
    (silent,) = planned(bounds=bounds, n_rows=200, eps=0.1).points
    assert silent.all_silent
    *slopes, intercept = silent.intervals
    assert all_silent([*slopes, replace(intercept, best_unsaid=0.0)])
    assert not all_silent([replace(slope, best_unsaid=0.0) for slope in slopes])  # narrow columns are a guess
