"""Rows on the sphere and beyond end inside the unit ball exactly, and on one point of the grid on every CPU path."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

import reference
from dplr._core import cpu_paths
from dplr.problem.losses import LOGISTIC
from dplr.rows import ArrayRows
from dplr.rows.exact import ClippedGradient, Moments, on_coef_grid
from made_rows import make_prep

PATHS = cpu_paths()
UNITS = 2**20
ROWS = 131  # a block and a part of one
LAYOUTS = [np.ascontiguousarray, np.asfortranarray, lambda X: np.repeat(X, 2, axis=1)[:, ::2]]
SCALES = st.one_of(
    st.integers(-8, 8).map(lambda k: 1.0 + k * 2.0**-52),
    st.floats(1 - 1e-5, 1 + 1e-5),
    st.floats(0.5, 2.0),
    st.sampled_from([5e-324, 2.0**-1000, 1e-160, 0.999, 1e9, 1e150, 1e160, 1e300]),
)


def sums(X, prep, path):
    """Moments of rows with targets 0 and what was counted, on one CPU path."""
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("DPLR_ISA", path)
        return ArrayRows(X, np.zeros(len(X)), prep, threads=1).sum(Moments(X.shape[1], False))


def squared_norms(X, prep, path):
    """Exact squared norms of single rows, each summed among copies of itself: as part of a block."""
    for x in X:
        total = sums(np.tile(x, (ROWS, 1)), prep, path).integers(-40)
        yield Fraction(int(np.trace(total[: len(x), : len(x)])), 2**40 * ROWS)


def unit_rows(seed, n, d):
    """Rows that were divided by their norms."""
    X = np.random.default_rng(seed).normal(size=(n, d))
    return X / np.linalg.norm(X, axis=1, keepdims=True)


def near_ties(n, d, distance, seed=3):
    """Rows whose first entry, once it is projected, is that far from a tie of the grid, but for an ulp or two.

    The first third is so close to the sphere that no root is needed, the second is not, the last is far away.
    """
    rng = np.random.default_rng(seed)
    radius = (UNITS - math.sqrt(d) / 2) * (1 - 2.0**-40)
    first = (rng.integers(1, UNITS // 2, n) + 0.5 + distance) / radius
    rest = unit_rows(seed, n, d - 1) * np.sqrt(1 - first * first)[:, None]
    near, away = np.repeat([[4e-6, 7e-6], [1e-5, 5e-3], [0.1, 1.0]], n // 3, axis=0).T
    return np.column_stack([first, rest]) * (1 + rng.uniform(near, away))[:, None]


def same_bits(X, prep):
    """Sums and counts of every path and layout are those of the portable path, which are returned."""
    expected = sums(X, prep, "portable")
    for path in PATHS:
        for layout in LAYOUTS:
            total = sums(layout(X), prep, path)
            assert_array_equal(total.integers(-40), expected.integers(-40), err_msg=path)
            assert total.faults == expected.faults, path
    return expected


def same_bits_as_the_twin(X, prep):
    expected = reference.moments(X, np.zeros(len(X)), prep)
    assert_array_equal(np.triu(same_bits(X, prep).integers(-40)), expected)


@settings(deadline=None, max_examples=60)
@given(
    seed=st.integers(0, 2**32 - 1), d=st.integers(1, 40), scale=SCALES, kept=st.sampled_from([np.float64, np.float32])
)
def test_rows_of_any_length_lie_in_the_ball_exactly_and_alike_on_every_path(seed, d, scale, kept):
    X = np.clip(unit_rows(seed, 3, d) * scale, np.finfo(kept).min, np.finfo(kept).max).astype(kept)
    prep = make_prep("ball", d, fit_intercept=False, labels=False)
    for path in PATHS:
        for norm, x in zip(squared_norms(X, prep, path), X, strict=True):
            true = sum(Fraction(float(v)) ** 2 for v in x)
            assert norm <= 1
            assert norm >= min(true, 1) - Fraction(2 * d + 2, UNITS)  # rounding and shrinking: sqrt(d)/2 units each
    same_bits(np.tile(X, (ROWS // 3 + 1, 1))[:ROWS], prep)


@pytest.mark.parametrize("distance", [0.0, 2.0**-20, -(2.0**-20)])
@pytest.mark.parametrize("d", [2, 3, 13, 50])
def test_entries_at_ties_and_beside_them_round_alike_on_every_path(d, distance):
    """At ties quick projection must give way: every other sequence of operations rounds some of them otherwise."""
    X = near_ties(6 * ROWS, d, distance)
    same_bits_as_the_twin(X, make_prep("ball", d, fit_intercept=False, labels=False))


@pytest.mark.parametrize("kept", [np.float64, np.float32])
@pytest.mark.parametrize("d", [1, 2, 5, 8, 13, 105])
def test_blocks_with_rows_on_both_sides_of_the_sphere_and_odd_ones_have_the_same_bits(kept, d):
    """Rows inside, then a block that is mixed, then rows inside: the way of reading changes in between."""
    X = unit_rows(1, 1000, d).astype(kept)
    X[:200] *= kept(0.5)
    X[300:310] *= kept(3.0)
    X[400], X[401] = 0.0, np.finfo(kept).max
    X[600:] *= kept(0.9)
    same_bits_as_the_twin(X, make_prep("ball", d, fit_intercept=False, labels=False))
    X[402, -1], X[403, 0] = np.nan, -np.inf
    assert same_bits(X, make_prep("ball", d, fit_intercept=False, labels=False)).faults.non_finite_rows == 2


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("d", [3, 50])
def test_counts_name_rows_outside_by_more_than_half_a_grid_unit_per_entry(path, d):
    """A user who divided by the norm, even in single precision, is not told of rows outside."""
    prep = make_prep("ball", d, fit_intercept=False, labels=False)
    reach = 1 + math.sqrt(d) / 2 / UNITS
    X = unit_rows(2, 640, d)
    for rows, outside in [
        (X, 0), (X * (1 + 2.0**-50), 0), (X.astype(np.float32), 0), (X * (1 + 2.0**-40), 0),
        (X * (reach + math.sqrt(d) / UNITS), 640), (X * np.where(np.arange(640) % 4, 1.0, 1.01)[:, None], 160),
    ]:  # fmt: skip
        assert sums(rows, prep, path).faults.outside[0] == outside


@pytest.mark.parametrize("kept", [np.float64, np.float32])
@pytest.mark.parametrize("d", [1, 3, 8, 13, 33])
@pytest.mark.filterwarnings("ignore:overflow:RuntimeWarning")  # in the twin
def test_clipped_gradients_over_rows_around_the_sphere_equal_the_numpy_twin(kept, d, monkeypatch):
    """Rows on both sides of the sphere, huge and odd ones, within one block of the survey and across blocks."""
    X = unit_rows(5, 150, d).astype(kept)
    X[10:20] *= kept(0.5)
    X[30:40] *= kept(2.5)
    X[50], X[51, -1], X[52, 0] = np.finfo(kept).max, np.nan, -np.inf
    prep, y = make_prep("ball", d), (np.arange(150) % 3 == 0).astype(float)
    coef = on_coef_grid(np.random.default_rng(0).normal(size=d + 1))
    query = ClippedGradient(LOGISTIC, d, True, 0.3)
    expected = reference.clipped_gradient(X, y, prep, LOGISTIC, coef, 0.3).tolist()
    for path in PATHS:
        monkeypatch.setenv("DPLR_ISA", path)
        for layout in LAYOUTS:
            total = ArrayRows(layout(X), y, prep, threads=1).sum(query, coef)
            assert [int(k) for k in total.integers(total.exponent)] == expected, path
            assert total.faults.non_finite_rows == 2
