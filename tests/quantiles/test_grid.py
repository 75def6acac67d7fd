"""Candidates of bounds: public, round, outwards from a middle, with 0 among them; first and last days for dates."""

import datetime
import math

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings

from dplr.quantiles.grid import (
    EPOCH,
    LAST,
    STEPS,
    Kind,
    cell_of,
    lower_ends,
    middles,
    narrow,
    upper_ends,
)

NUMBERS = st.floats(-1e14, 1e14).filter(lambda x: x == 0 or abs(x) > 1e-9)
KINDS = [Kind.NUMBER, Kind.INTEGER, Kind.DURATION, Kind.DATE]


@given(NUMBERS, st.sampled_from(KINDS), st.sampled_from(sorted(STEPS)))
@settings(max_examples=200, deadline=None)
def test_ends_lie_outwards_from_the_middle_and_are_different(middle, kind, steps):
    lows, highs = lower_ends(middle, kind, steps), upper_ends(middle, kind, steps)
    assert (np.diff(lows) < 0).all()
    assert (np.diff(highs) > 0).all()
    assert lows[0] <= highs[0]
    if kind is not Kind.DATE:
        assert lows[0] <= middle <= highs[0]
        assert (0.0 in lows) or middle < 0
        assert (0.0 in highs) or middle > 0
        assert lows[-1] < -1e14
        assert highs[-1] > 1e14
    assert not any(math.copysign(1, end) < 0 for end in (*lows, *highs) if end == 0)


@given(NUMBERS, st.sampled_from(KINDS[:3]), st.sampled_from(sorted(STEPS)))
@settings(max_examples=200, deadline=None)
def test_lower_ends_mirror_upper_ones(middle, kind, steps):
    assert upper_ends(middle, kind, steps) == [0.0 - end for end in lower_ends(-middle, kind, steps)]


@pytest.mark.parametrize("middle", [42.3, 0.0, -7.77, 36_512.0, 0.0123])
@pytest.mark.parametrize("steps", sorted(STEPS))
def test_ends_have_few_digits(middle, steps):
    for end in (*lower_ends(middle, Kind.NUMBER, steps), *upper_ends(middle, Kind.NUMBER, steps)):
        assert float(f"{end:.7g}") == end
    for end in upper_ends(middle, Kind.INTEGER, steps):
        assert end == math.floor(end)


@given(st.integers(-700_000, 2_900_000), st.sampled_from(sorted(STEPS)))
@settings(max_examples=100, deadline=None)
def test_dates_are_first_and_last_days_of_months_or_years(day, steps):
    middle = float(day)
    for low in lower_ends(middle, Kind.DATE, steps):
        assert (EPOCH + datetime.timedelta(days=low)).day == 1
    for high in upper_ends(middle, Kind.DATE, steps):
        assert (EPOCH + datetime.timedelta(days=high + 1)).day == 1
    inside = -719_000 < day < 2_930_000
    assert not inside or lower_ends(middle, Kind.DATE, steps)[0] <= middle <= upper_ends(middle, Kind.DATE, steps)[0]


@pytest.mark.parametrize("middle", [-1e15, -719_163.0, -3e6, 2_932_896.0, 1e15])
def test_dates_beyond_the_calendar_have_ends_within_it(middle):
    lows, highs = lower_ends(middle, Kind.DATE, 12), upper_ends(middle, Kind.DATE, 12)
    for end in (*lows, *highs):
        assert 1 <= (EPOCH + datetime.timedelta(days=end)).year <= 9999
    assert max(lows) < min(highs)


def test_middles_are_blocks_of_all_cells_once_and_zero_by_itself():
    blocks = middles()
    cells = np.concatenate([np.arange(a, b + 1) for a, b in zip(blocks.first, blocks.last, strict=True)])
    assert cells.tolist() == list(range(-LAST, LAST + 1))
    values = [blocks.value(k) for k in range(len(blocks.first))]
    assert (np.diff(values) > 0).all()
    assert values[len(values) // 2] == 0
    for k in (0, 100, 2559, 2561, 5000):
        assert blocks.first[k] <= cell_of(values[k]) <= blocks.last[k]


@pytest.mark.parametrize(
    ("ends", "is_narrow"), [((5.0, 5.0), True), ((0.0, 0.0), True), ((0.0, 1e-9), False), ((99.0, 100.0), True),
    ((90.0, 100.0), False), ((-1.0, 1.0), False), ((6.0, 5.0), True)],
)  # fmt: skip
def test_ranges_of_a_few_cells_are_narrow(ends, is_narrow):
    assert narrow(*ends) is is_narrow
