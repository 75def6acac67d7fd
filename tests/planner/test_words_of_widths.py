"""The words and the refusals of expected widths, which need no simulation or a small one."""

import math

import pytest

import dplr
from dplr.planner import Curve, Point, Width
from dplr.planner.points import warning_of

BOUNDS = dplr.Bounds({"age": (18, 99)}, target=(0.0, 100.0))
FACTS = {"bounds": BOUNDS, "model": "linear", "mechanism": "fm"}


def widths_of(**unsaid):
    """Widths of coefficients of which so many fits say nothing."""
    return tuple(Width(name, math.inf if share > 0.5 else 3.0, 1.5, share) for name, share in unsaid.items())


def curve_of(*settings):
    """A curve with intervals: pairs of an eps and widths."""
    errors = dict.fromkeys(("error", "standard_error", "non_private", "baseline", "kept"), 0.0)
    options = {"mechanism": "fm", "delta": 0.0, "n_rows": 2000, "auto": False, "coef_noise": (), "coef_distance": (),
               "noise": {}, "excess_risk": None, "simulated_rows": 2000} | errors  # fmt: skip
    points = tuple(Point(eps=eps, intervals=widths, **options) for eps, widths in settings)
    return Curve(points=points, columns=(), reach=(), quantity="", model="linear", neighbouring="replace_one",
                 assumptions=("columns are independent",), declared=(), fits=4)  # fmt: skip


def lines_of(**unsaid):
    """Lines that so many fits of narrow columns, and of columns that fill their bounds, do not tell."""
    return tuple(Width(name, 3.0, 1.5, narrow, 1.0, filled) for name, (narrow, filled) in unsaid.items())


def test_a_line_is_promised_only_where_narrow_columns_tell_it_and_else_said_to_be_doubtful_or_silent():
    assert not warning_of(lines_of(age=(0.0, 0.0), rare=(0.1, 0.0)))
    doubtful = warning_of(lines_of(age=(0.0, 0.0), rare=(0.25, 0.0)))
    assert doubtful.startswith("May say nothing: rare. Such lines speak if columns fill their bounds, and not if these")
    both = warning_of(lines_of(age=(1.0, 1.0), rare=(1.0, 0.5), sex=(0.5, 0.2), size=(0.0, 0.0)))
    assert both.startswith("Expected to say nothing in any case: age and rare. May say")
    assert "nothing: sex. " in both
    assert both.endswith("larger eps or more rows. The release is paid for either way.")
    advised = warning_of(lines_of(rare=(1.0, 0.0)), "At eps = 2 it would.")
    assert advised.endswith("At eps = 2 it would. The release is paid for either way.")
    many = warning_of(lines_of(**{f"c{k}": (1.0, 0.0) for k in range(12)}))
    assert "c6, c7 and 4 more. " in many


def test_a_line_has_the_width_its_ratio_and_the_share_that_cannot_say():
    lines = str(curve_of((1.0, widths_of(age=0.0, rare=0.25, gone=1.0)))).splitlines()
    assert lines[1:4] == [
        "  age   3, 2 times that without privacy",
        "  rare  3, 2 times that without privacy; 25% of fits cannot say",
        "  gone  cannot say",
    ]
    known = Width("age", 3.0, math.inf, 0.0, 1.5, 0.0), Width("rare", math.inf, 1.5, 1.0, 2.0, 0.0)
    gone = Width("gone", math.inf, 1.5, 1.0, math.inf, 1.0)
    assert str(curve_of((1.0, (*known, gone)))).splitlines()[1:4] == [
        "  age   3; 1.5 where columns fill their bounds",  # without privacy it cannot say: nothing is "0 times" that
        "  rare  cannot say; 2 where columns fill their bounds",
        "  gone  cannot say",
    ]
    assert lines[-1] == "Assumed: columns are independent."


def test_a_table_names_the_setting_that_cannot_say_and_every_assumption_once():
    table = curve_of((0.5, widths_of(age=1.0)), (2.0, widths_of(age=0.0)))
    heads, line, *below = str(table).splitlines()[1:]
    assert heads.strip() == "2,000 rows, eps 0.5  2,000 rows, eps 2"
    assert line.split() == ["age", "cannot", "say", "3"]
    known = (Width("age", math.inf, 1.5, 1.0, 2.0, 0.0),)
    title, _, best, *_ = str(curve_of((0.5, known), (2.0, known))).splitlines()
    assert title.endswith("(in brackets: where columns fill their bounds)")
    assert best.split() == ["age", "cannot", "say", "(2)", "cannot", "say", "(2)"]
    assert below[0].startswith("2,000 rows, eps 0.5: May say nothing: age. ")
    assert below[1:] == ["Assumed: columns are independent."]


def test_the_widths_of_small_tables_say_that_they_stand_for_larger_ones():
    small = dplr.planner.Assumptions(tables=2, fits=2, rows=1000)
    said = "tables of 1,000 rows stand for 5,000, so the intervals will be narrower"
    for n_rows, there in ((5000, True), (1000, False)):
        curve = dplr.plan_curve(**FACTS, n_rows=n_rows, eps=2.0, assume=small, intervals=True)
        assert (said in curve.assumptions) is there


def test_a_delta_that_is_too_large_for_one_of_several_numbers_of_rows_is_refused():
    small = dplr.planner.Assumptions(tables=2, fits=2, rows=100)
    with pytest.raises(ValueError, match="`delta` must be below 1/n"):
        dplr.plan_curve(**FACTS, n_rows=[50, 5000], eps=2.0, delta=0.01, assume=small, intervals=True)
