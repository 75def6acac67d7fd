"""The expected width of confidence intervals, before a row is read."""

import math
from dataclasses import replace

import numpy as np
import pytest

import dplr
from dplr.fitting.facts import public_facts
from dplr.planner.laws import laws_of
from dplr.planner.merging import merging
from dplr.planner.widths import measure_of, silence_of

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
    with pytest.raises(ValueError, match="`n_rows` is required"):
        dplr.plan_intervals(**FACTS, eps=1.0, neighbouring="add_remove")
    with pytest.raises(TypeError, match="`curve`"):
        dplr.plan_intervals(**FACTS, eps=1.0, n_rows=1000, curve=True)


def test_lists_make_a_table_of_the_same_widths():
    table = dplr.plan_intervals(**FACTS, eps=[2.0, 1.0], n_rows=[20_000, 40_000], assume=ASSUME)
    assert [(each.n_rows, each.eps) for each in table.settings] == [
        (20_000, 1.0), (20_000, 2.0), (40_000, 1.0), (40_000, 2.0),
    ]  # fmt: skip
    assert (
        table.settings[0].coefficients
        == dplr.plan_intervals(**FACTS, eps=1.0, n_rows=20_000, assume=ASSUME).coefficients
    )
    frame = table.to_frame()
    assert frame.shape == (16, 7)
    assert list(frame.columns) == list(table.records()[0])
    assert "40,000 rows, eps 2" in str(table)


def test_the_smallest_eps_for_a_width_meets_it_and_little_less_does_not():
    goal = {"age": 0.12}
    least = dplr.plan_intervals(**FACTS, n_rows=20_000, target_width=goal, assume=ASSUME)
    assert (least.quantity, least.widths.eps) == ("eps", least.value)
    assert least.value / 1.06 < least.missed < least.value
    assert widths(n_rows=20_000, eps=least.value)["age"].width <= 0.12
    assert widths(n_rows=20_000, eps=least.missed)["age"].width > 0.12


@pytest.mark.thorough
def test_the_fewest_rows_for_a_width_meet_it_and_little_less_does_not():
    fewest = dplr.plan_intervals(**FACTS, eps=1.0, target_width={"age": 0.12}, assume=ASSUME)
    assert fewest.quantity == "n_rows"
    assert widths(n_rows=int(fewest.value), eps=1.0)["age"].width <= 0.12
    assert widths(n_rows=int(fewest.missed), eps=1.0)["age"].width > 0.12
    assert "Smallest number of rows" in str(fewest)
    easy = dplr.plan_intervals(**FACTS, n_rows=20_000, target_width={"age": 1e6}, assume=ASSUME)
    assert easy.missed < easy.value < 1


def test_coefficients_that_will_be_unsaid_are_named():
    bounds = dplr.Bounds({"work": {"levels": ["a", "b", "rare"], "reference": "a"}}, target=(0.0, 100.0))
    assume = dplr.Assumptions(tables=2, shares={"work": {"rare": 0.001}})
    plan = dplr.plan_intervals(
        bounds=bounds, model="linear", mechanism="fm", n_rows=20_000, eps=1.0, delta=1e-6, assume=assume
    )
    assert plan.silent == ("work=rare",)
    assert "Cannot say in 100% of fits: work=rare. Merge rare levels, leave columns out" in str(plan)
    assert "Cannot say in" not in str(dplr.plan_intervals(**FACTS, n_rows=20_000, eps=1.0, assume=ASSUME))


@pytest.mark.parametrize(
    ("options", "error", "said"),
    [
        ({"eps": 1.0}, ValueError, "`n_rows` is required without target_width"),
        ({"n_rows": 900}, ValueError, "`eps` is required without target_width"),
        ({"eps": [], "n_rows": 900}, ValueError, "`eps` must hold at least one value"),
        ({"eps": [1.0] * 20 + [2.0], "n_rows": list(range(1, 99))}, ValueError, "at most 100 settings"),
        ({"eps": 1.0, "n_rows": 900, "target_width": {"age": 1}}, ValueError, "or eps must be given with a target"),
        ({"n_rows": 900, "target_width": 3.0}, TypeError, "`target_width` must be a mapping"),
        ({"n_rows": 900, "target_width": {"agee": 1}}, ValueError, "must name coefficients"),
        ({"n_rows": 900, "target_width": {"age": 0}}, ValueError, "must be positive"),
        ({"n_rows": 900, "target_width": {"age": 1e-4}}, ValueError, r"reached with an eps of up to 10; .*age .*rows"),
        ({"eps": 0.01, "target_width": {"age": 1e-4}}, ValueError, r"reached with up to .*Assumptions\(rows="),
        ({"n_rows": 900, "target_width": {"age": 1}, "curves": "auto"}, ValueError, "give a number of knots"),
        ({"eps": 1.0, "delta": 0.02, "target_width": {"age": 0.5}}, ValueError, "`delta` must be below 1/n"),
    ],
)
def test_what_breaks_a_rule_is_refused_by_name(options, error, said):
    with pytest.raises(error, match=said):
        dplr.plan_intervals(**FACTS, assume=dplr.Assumptions(tables=2, rows=3000), **options)


RACES = ["w", "b", "x", "y", "z"]
RARE = {"race": [0.8, 0.188, 0.004, 0.004, 0.004]}
MERGED = {"other": ["x", "y", "z"]}


def of_races(shares=None, eps=1.0, **declared):
    bounds = dplr.Bounds({"age": (18, 99), "race": {"levels": RACES, **declared}}, target=(0.0, 100.0))
    assume = dplr.Assumptions(tables=2, shares=shares)
    return dplr.plan_intervals(**{**FACTS, "bounds": bounds, "assume": assume}, n_rows=20_000, eps=eps, delta=1e-6)


def test_a_plan_says_what_merging_silent_levels_buys_and_so_it_is_with_them_merged():
    plan = of_races(RARE, 0.5)
    assert plan.silent == ("race=x", "race=y", "race=z")
    (merged,) = plan.merged
    assert merged.name == "race=x or y or z"
    assert math.isfinite(merged.width)
    assert f"Merged into one level, race=x or y or z: {merged.width:.3g}, " in str(plan)
    by_value = {"race": dict(zip(RACES, RARE["race"], strict=True))}
    coarser = of_races(by_value, 0.5, merge=MERGED)
    assert coarser.merged == coarser.silent == ()
    (other,) = [each for each in coarser.coefficients if each.name == "race=other"]
    assert (other.width, other.plain) == (merged.width, merged.plain)
    assert of_races(None, 0.5, missing="z").merged == ()  # nobody declared a share


def test_silent_levels_are_merged_with_the_values_of_groups_and_what_is_missing():
    race = {"levels": RACES, "merge": {"yz": ["y", "z"]}, "missing": "z"}
    facts = public_facts(bounds=dplr.Bounds({"race": race}, target=(0.0, 1.0)), model="linear")
    assume = dplr.Assumptions(shares={"race": [0.8, 0.192, 0.005, 0.003]})
    silent = ("race=x", "race=yz")
    merged, assumed, names = merging(facts, assume, laws_of(facts.bounds.columns, ["race"], assume), silent)
    expected = {"levels": RACES, "merge": {"x or yz": ["x", "y", "z"]}, "missing": "x or yz"}
    assert merged.bounds == dplr.Bounds({"race": expected}, target=(0.0, 1.0))
    assert names == ["race=x or yz"]
    assert assumed.shares["race"] == pytest.approx({"w": 0.8, "b": 0.192, "x or yz": 0.008})
    assert merging(facts, assume, (), ("race=yz",)) is None
    assert merging(facts, dplr.Assumptions(), (), silent) is None


def test_a_least_share_is_that_of_every_level_but_the_first_and_merged_levels_have_its_multiple():
    assert any("race 0.984, 0.004, 0.004, 0.004, 0.004" in fact for fact in of_races(least_share=0.004).assumptions)
    plan = of_races(least_share=0.004, merge=MERGED)
    assert any("race 0.984, 0.004, 0.012" in fact for fact in plan.assumptions)
    named = of_races(RARE, least_share=0.004)  # what is assumed of a column goes first
    assert any("race 0.8, 0.188, 0.004, 0.004, 0.004" in fact for fact in named.assumptions)


def test_a_table_that_will_say_nothing_says_so():
    silent = of_races(eps=0.01)
    assert silent.all_silent
    *slopes, intercept = silent.coefficients
    assert replace(silent, coefficients=(*slopes, replace(intercept, unsaid=0.0))).all_silent
    assert not of_races(RARE, 0.5).all_silent


def test_silence_is_that_of_the_widths_and_there_is_none_without_intervals():
    bounds = dplr.Bounds({"age": (18, 99), "race": {"levels": RACES, "least_share": 0.004}}, target=(0.0, 100.0))
    facts = public_facts(bounds=bounds, model="linear", mechanism="fm")
    assume = dplr.Assumptions(tables=3)
    found = silence_of(facts, 0.5, 20_000, assume)
    assert found.fits == 3
    assert found.silent == measure_of(facts, 0.5, 20_000, assume).at(0.5, 20_000).silent != ()
    assert silence_of(public_facts(bounds=bounds, model="linear", mechanism="objective"), 0.5, 20_000, assume) is None
    assert silence_of(facts, math.inf, 20_000, assume) is None
