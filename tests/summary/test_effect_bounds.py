"""What a table takes of the effects of columns that noise drowns: of indicators by default, of numbers where stated."""

import math
import warnings

import numpy as np
import pandas as pd
import pytest

import dplr
from dplr.inference.intervals import BOUNDED, UNBOUNDED, intervals, score_test
from dplr.report import report_html
from made_readings import reading, rows, target

STATED = 30.0  # half of 2,100 years times 0.025, and a little more
WIDE = {"year": (0, 2100), "z": (0.0, 1.0)}


def beside_a_wide_number(seed, n=5000):
    """A year of which rows fill a fiftieth of its bounds, and a number that goes with it and has no effect."""
    rng = np.random.default_rng(seed)
    year = rng.integers(1985, 2026, n).astype(float)
    z = np.clip((year - 2005) / 40 + rng.normal(0, 0.25, n) + 0.5, 0, 1)
    effect = np.clip(0.025 * (year - 2005) + rng.normal(0, 0.5, n), -3, 3)
    return pd.DataFrame({"year": year, "z": z}), effect


def fitted(seed, eps=1.0, n=5000, bounds=WIDE, extra=None):
    frame, effect = beside_a_wide_number(seed, n)
    if extra is not None:
        frame = frame.assign(**extra(n))
    options = {"model": "linear", "mechanism": "fm", "eps": eps, "delta": 1e-6, "rng": seed}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return dplr.fit(frame, effect, bounds=dplr.Bounds(bounds, target=(-3, 3)), **options)


def line_of(table, name):
    (line,) = (line for line in table.lines if line.name == name)
    return line


def in_one_line(text):
    return " ".join(text.split())


def test_beside_a_number_that_noise_drowns_lines_are_silent_or_right():
    est = fitted(0)
    low, high = est.conf_int()["z"]
    assert low <= 0 <= high
    assert not est.wald_test("z").p_value <= 0.05
    assert not est.wald_test(["year", "z"], [0.025, 0.0]).p_value <= 0.05
    low, high = est.conf_int(effect_bound=STATED)["z"]
    assert -10 < low <= 0 <= high < 10  # stated, and true
    assert line_of(est.summary(effect_bound=STATED), "z").verdict != UNBOUNDED


def test_a_curve_beside_a_number_that_noise_drowns_is_silent():
    """Its own interval was narrow, and without 0, of a column without an effect."""
    curved = {"year": (0, 2100), "z": {"lower": 0.0, "upper": 1.0, "knots": [0.5]}}
    for curve in fitted(0, eps=5.0, n=30_000, bounds=curved).effects():
        assert np.isinf([*curve.low, *curve.high]).all()


def test_statistics_of_the_model_count_any_effect_of_a_number_that_noise_drowns():
    est = fitted(0, eps=5.0, n=30_000)
    share, _, deviation = est.summary().fit_statistics
    assert share.high == 1  # that of all columns is .24, without the year .14
    assert share.low <= 0.23
    assert math.isnan(deviation.estimate)
    text = in_one_line(est.summary().to_text())
    assert "without year, which noise drowns: their intervals count any effect of it. They" in text
    stated = est.summary(effect_bound=STATED)
    assert "count any effect of it up to effect_bound=" in in_one_line(stated.to_text())
    (z,) = (line for line in est.standardised_coefficients().lines if line.name == "z")
    assert math.isnan(z.estimate)


def test_a_table_that_is_silent_says_that_nothing_is_taken_of_a_number():
    words = "Nothing is assumed of the effect of a number that noise drowns"
    est = fitted(0)
    assert words in in_one_line(est.summary().to_text())
    assert words in in_one_line(est.contrast("year - z").to_text())
    assert words not in in_one_line(est.summary(effect_bound=STATED).to_text())
    known = fitted(0, eps=math.inf)
    assert words not in in_one_line(known.summary().to_text())


def beside_a_rare_flag():
    return fitted(0, 4.0, 20_000, {"z": (0.0, 1.0), "rare": (0, 1)}, lambda n: {"rare": np.arange(n) < 3})


STAR = "*: columns that noise drowns (rare) count as flags, levels or bins, with any effect up to 6 on the mean"


def test_a_report_and_a_stated_bound_have_the_star_in_numbers():
    est = beside_a_rare_flag()
    assert STAR in in_one_line(report_html(est))
    stated = in_one_line(str(est.summary(effect_bound=2)))
    assert "*: columns that noise drowns (rare) count with any effect up to 2 on the mean" in stated


def test_a_star_says_what_was_taken_in_numbers_in_every_form():
    est = beside_a_rare_flag()
    table = est.summary()
    assert line_of(table, "z").verdict == "bounded by effect_bound"
    for shown in (str(table), table.to_text(), table.to_latex(), table.to_html(), table._repr_html_()):
        assert STAR in in_one_line(shown)
    assert any(note.startswith(STAR) for note in table.to_frame().attrs["notes"])


def beside_flags(seed, count, eps=4.0):
    return fitted(seed, eps, 20_000, {"z": (0.0, 1.0), "rare": (0, 1)}, lambda n: {"rare": np.arange(n) < count})


def test_a_flag_that_is_hardly_told_from_noise_ends_at_the_largest_effect():
    table = beside_flags(0, 10).summary()
    line = line_of(table, "rare")
    assert line.verdict == "bounded narrowly by effect_bound"
    assert (line.low, line.high) == pytest.approx((-6, 6))  # the width of the target, for one against zero
    for shown in (str(table), table.to_text(), table.to_latex(), table.to_html()):
        words = in_one_line(shown)
        assert "]*+" in words
        assert "*+: hardly told from noise" in words
        assert STAR in words
        assert "barely bounded, up to the level" not in words


def test_a_flag_of_a_twelve_thousandth_beside_numbers_is_told_and_right():
    """Of 24 rows of 20,000: before, such a line had an interval where its column is 3.3 deviations long or more."""
    told = [line_of(beside_flags(seed, 24, 2.0).summary(), "rare") for seed in range(4)]
    assert all(line.verdict != UNBOUNDED for line in told)
    assert sum(line.low <= 0 <= line.high for line in told) >= 3


COLUMNS = {
    "number": (0, 10),
    "rate": (0.0, 1.0),
    "flag": (0, 1),
    "truth": (False, True),
    "gap": {"lower": 0, "upper": 5, "missing": "indicator"},
    "age": {"lower": 0, "upper": 90, "bins": [30, 60]},
    "sex": {"levels": ["f", "m"], "binary": True},
    "school": {"levels": ["low", "middle", "high"], "ordinal": True},
    "work": {"levels": ["a", "b"]},
    "curve": {"lower": 0, "upper": 9, "knots": [3], "missing": "indicator"},
}
NUMBERS = ("number", "rate", "gap", "school", "number*work=a", "number*work=b")


def test_indicators_alone_have_a_bound_that_is_not_stated():
    layout = dplr.Bounds(COLUMNS, products=[("number", "work")], target=(0, 1)).layout
    found = {name for name, held in zip(layout.names, layout.indicators, strict=True) if not held}
    assert found == {*NUMBERS, "curve (line)", "curve at 0", "curve at 3", "curve at 9"}


def test_models_of_moments_take_the_same():
    frame, effect = beside_a_wide_number(1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        bounds = dplr.Bounds({**WIDE, "effect": (-3, 3)})
        released = dplr.release_moments(frame.assign(effect=effect), bounds=bounds, eps=1.0, delta=1e-6, rng=1)
    model = released.regress("effect")
    assert line_of(model.summary(), "z").verdict == UNBOUNDED
    assert line_of(model.summary(effect_bound=STATED), "z").verdict != UNBOUNDED


@pytest.mark.parametrize("bounds", [(math.inf,) * 4, (2.0, 2.0, math.inf, math.inf)])
def test_a_coefficient_without_a_bound_is_told_however_large_it_is(bounds):
    rng = np.random.default_rng(0)
    V = rows(rng, 20_000, 3)
    given = reading(rng, V, target(rng, V, np.full(4, 0.2)), 8.0)
    coef = np.array([0.2, 0.2, 60.0, 0.2])  # far beyond what a flag may have
    given.vector[:] += given.matrix @ (coef - 0.2)
    found = intervals(given, np.eye(4), bounds=bounds)
    assert set(found.verdict) == {BOUNDED}
    assert found.low[2] <= 60 <= found.high[2]
    assert score_test(given, np.eye(4)[[0, 2]], coef[[0, 2]], bounds).p_value > 1e-3
    assert intervals(given, np.eye(4)).verdict[2] == UNBOUNDED


def test_a_value_that_the_bound_excludes_has_no_p_value():
    """The released numbers have no part in it: one answer at the bound and beyond it."""
    est = beside_flags(0, 10)
    for value in (6, 7, 9):
        (line,) = est.contrast(f"rare = {value}").lines
        assert line.verdict == "unbounded"
        assert math.isnan(line.p_value)
    (line,) = est.contrast("rare = 5.9").lines
    assert line.p_value <= 1


def test_a_star_without_a_column_that_noise_drowns_has_no_empty_list():
    est = fitted(0, 4.0, 20_000, {"z": (0.0, 1.0), "rare": (0, 1)}, lambda n: {"rare": np.arange(n) < 60})
    for level in (0.95, 0.99, 0.999, 0.99999):
        assert "()" not in est.summary(level=level).to_text()
