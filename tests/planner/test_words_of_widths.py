"""The words and the refusals of expected widths, which need no simulation or a small one."""

import math

import pytest

import dplr
from dplr.planner import Width, Widths, WidthTable

BOUNDS = dplr.Bounds({"age": (18, 99)}, target=(0.0, 100.0))
FACTS = {"bounds": BOUNDS, "model": "linear", "mechanism": "fm"}


def setting(eps, **unsaid):
    """Widths of coefficients of which so many fits say nothing."""
    coefs = tuple(Width(name, math.inf if share > 0.5 else 3.0, 1.5, share) for name, share in unsaid.items())
    return Widths(eps, 2000, coefs, 4, ("columns are independent",))


def test_shares_of_fits_that_cannot_say_are_one_or_a_range():
    assert setting(1.0, age=0.0, rare=0.49).warning == ()
    (one,) = setting(1.0, age=0.0, rare=0.75).warning
    assert one.startswith("Cannot say in 75% of fits: rare. ")
    (same,) = setting(1.0, age=0.75, rare=0.75).warning
    assert same.startswith("Cannot say in 75% of fits: age, rare. ")
    (several,) = setting(1.0, age=1.0, rare=0.5, sex=0.2).warning
    assert several.startswith("Cannot say in 50% to 100% of fits: age, rare. ")


def test_a_line_has_the_width_its_ratio_and_the_share_that_cannot_say():
    lines = str(setting(1.0, age=0.0, rare=0.25, gone=1.0)).splitlines()
    assert lines[1:4] == [
        "  age   3, 2 times that without privacy",
        "  rare  3, 2 times that without privacy; 25% of fits cannot say",
        "  gone  cannot say",
    ]
    assert lines[-1] == "Assumed: columns are independent."


def test_a_table_names_the_setting_that_cannot_say_and_every_assumption_once():
    table = WidthTable((setting(0.5, age=1.0), setting(2.0, age=0.0)))
    heads, line, *below = str(table).splitlines()[1:]
    assert heads.strip() == "2,000 rows, eps 0.5  2,000 rows, eps 2"
    assert line.split() == ["age", "cannot", "say", "3"]
    assert below[0].startswith("2,000 rows, eps 0.5: Cannot say in 100% of fits: age. ")
    assert below[1:] == ["Assumed: columns are independent."]


def test_the_widths_of_small_tables_say_that_they_stand_for_larger_ones():
    small = dplr.Assumptions(tables=2, fits=2, rows=1000)
    said = "tables of 1,000 rows stand for 5,000, so the intervals will be narrower"
    for n_rows, there in ((5000, True), (1000, False)):
        widths = dplr.plan_intervals(**FACTS, n_rows=n_rows, eps=2.0, assume=small)
        assert (said in widths.assumptions) is there


def test_a_delta_that_is_too_large_for_one_of_several_numbers_of_rows_is_refused():
    small = dplr.Assumptions(tables=2, fits=2, rows=100)
    with pytest.raises(ValueError, match="`delta` must be below 1/n"):
        dplr.plan_intervals(**FACTS, n_rows=[50, 5000], eps=2.0, delta=0.01, assume=small)
