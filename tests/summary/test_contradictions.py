"""No line of a table contradicts itself: a p-value and an interval say the same of zero, or nothing."""

import warnings

import numpy as np
import pytest

import dplr
from dplr.inference.intervals import UNBOUNDED, contradictory
from dplr.summary.columns import user_units
from dplr.summary.subject import Equation, Subject, all_ends, joint_test, summarise

# Of a column, its products with all levels of a block, and the block, one too many: a direction that is noise alone.
COLUMNS = ("age", "loan=yes", "age*loan=no", "age*loan=yes", "(intercept)")


def with_a_null_direction(loans, seed):
    frame, target = loans
    declared = {"age": (18, 90), "loan": {"levels": ["no", "yes"]}}
    bounds = dplr.Bounds(declared, products=[("age", "loan")], target=(0, 40))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", dplr.PrivacyWarning)
        est = dplr.fit(
            frame,
            target,
            eps=50.0,
            model="linear",
            mechanism=dplr.FunctionalMechanism(ranges="off"),
            bounds=bounds,
            rng=seed,
        )
    record = est._record
    (reading,) = record.mechanism.readings(record.plan, record.parts, [])
    keep = [[*est.coef_names_, "(intercept)"].index(name) for name in COLUMNS]
    units, added = user_units(record.prep, reading)
    equation = Equation(
        "", reading.subset(np.array(keep)), units[np.ix_(keep, keep)], added[keep], np.zeros(len(COLUMNS) - 1)
    )
    return Subject([equation], COLUMNS, {}, "", {}, (), [""] * len(COLUMNS))


def outside(lines):
    return np.array([not line.low <= 0 <= line.high for line in lines], bool)


def test_beside_a_direction_of_noise_alone_no_line_contradicts_itself(loans):
    silent = set()
    for seed in range(40):
        subject = with_a_null_direction(loans, seed)
        (equation,) = subject.equations
        lines = summarise(subject, 0.95, False, None).lines
        shown = [line for line in lines if line.verdict != UNBOUNDED]
        p_values = np.array([line.p_value for line in shown])
        assert np.all(p_values[outside(shown)] <= 1.5 * 0.05)
        assert np.all(p_values[~outside(shown)] >= 0.05 / 1.5)
        (ends,) = all_ends(subject, 0.95, False, None)
        for k, line in enumerate(lines):
            if line.verdict == UNBOUNDED:
                assert np.isnan([line.estimate, line.std_error, line.p_value]).all()
                assert np.isinf(ends[k]).all()
                assert joint_test(equation, [k], np.zeros(1), None).verdict == UNBOUNDED
                silent.add(line.name)
    assert {"age", "age*loan=no", "age*loan=yes"} <= silent  # the direction is of these three
    assert "loan=yes" not in silent


def test_a_p_value_and_an_interval_may_differ_by_half_of_the_level_and_no_more():
    p_values = np.array([0.01, 0.07, 0.08, np.nan])
    np.testing.assert_array_equal(contradictory(np.ones(4, bool), p_values, 0.05), [False, False, True, True])
    np.testing.assert_array_equal(contradictory(np.zeros(4, bool), p_values, 0.05), [True, False, False, True])
    assert contradictory(np.ones(1, bool), np.array([0.02]), 0.01).all()  # of intervals of 99 %, or joint ones of five


@pytest.mark.parametrize("level", [0.8, 0.95, 0.999])
@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_ordinary_tables_lose_nothing(loans, level, delta):
    frame, target = loans
    bounds = dplr.Bounds({"age": (18, 90), "loan": {"levels": ["no", "yes"]}}, target=(0, 40))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", dplr.PrivacyWarning)
        for seed in range(5):
            est = dplr.LinearRegression(eps=2.0, delta=delta, bounds=bounds, mechanism="fm", rng=seed)
            lines = est.fit(frame, target - 12 * (seed % 2)).summary(level=level, joint=seed > 2).lines
            assert all(line.verdict != UNBOUNDED for line in lines)
