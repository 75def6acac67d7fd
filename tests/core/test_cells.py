"""The kernel that counts rows in cells gives the numbers of its twin, of every float."""

import math

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import example, given, settings
from numpy.testing import assert_array_equal

from dplr._core import FRACTION_BITS, POWERS, count_cells
from dplr.quantiles.grid import LAST, cell_of, start_of
from reference import cell_counts

EDGES = [
    0.0, -0.0, 2.0**-30, math.nextafter(2.0**-30, 0), 5e-324, -5e-324, 2.0**50, math.nextafter(2.0**50, 0), 1e308,
    math.inf, -math.inf, math.nan, 1.0, math.nextafter(1.0, 0), 1 + 2.0**-10, math.nextafter(1 + 2.0**-10, 0), -1.0,
]  # fmt: skip


def counted(values, shares=None):
    counts = np.zeros(2 * LAST + 1, np.int64)
    count_cells(np.array(values, float), shares, counts)
    return counts


@given(st.lists(st.floats(), max_size=30), st.booleans())
@example(EDGES, False)
@example(EDGES, True)
@settings(max_examples=60, deadline=None)
def test_counts_are_those_of_the_twin(values, weighted):
    shares = np.arange(len(values), dtype=np.int64) * 2**20 if weighted else None
    assert_array_equal(counted(values, shares), cell_counts(values, shares))


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_the_cell_of_a_number_is_that_in_which_the_kernel_counts_it(value):
    assert counted([value])[LAST + cell_of(value)] == 1


def test_a_cell_begins_where_the_numbers_before_it_end():
    for cell in [1, 2, 1024, 1025, 30 * 1024 + 1, LAST - 1, LAST]:
        start = start_of(cell)
        assert (cell_of(start), cell_of(math.nextafter(start, 0))) == (cell, cell - 1)
        assert cell_of(-start) == -cell


def test_each_value_counts_as_many_units_as_it_should():
    counts = np.zeros(2 * LAST + 1, np.int64)
    count_cells(np.array([1.0, 1.0, -2.0]), None, counts, 2**30)
    assert_array_equal(counts, cell_counts([1.0, 1.0, -2.0]) * 2**30)


def test_numbers_are_added_to_what_is_there_and_a_nan_adds_nothing():
    counts = np.full(2 * LAST + 1, 3, np.int64)
    count_cells(np.array([np.nan]), None, counts)
    assert (counts == 3).all()


def test_the_grid_is_the_one_of_the_proof():
    assert (FRACTION_BITS, POWERS, LAST) == (10, (-30, 50), 80 * 1024)


@pytest.mark.parametrize(("cells", "shares"), [(2 * LAST, None), (2 * LAST + 1, np.zeros(2, np.int64))])
def test_other_shapes_are_refused(cells, shares):
    with pytest.raises(ValueError, match="a number for each cell"):
        count_cells(np.zeros(3), shares, np.zeros(cells, np.int64))
