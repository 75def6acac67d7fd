"""Sums of squared residuals times rows: exact integers, whatever the order of the rows."""

import numpy as np
import pytest

from dplr.bounds.scaling import ball_prep, box_prep
from dplr.rows import ArrayRows
from dplr.rows.exact import on_coef_grid
from dplr.rows.scores_at import meat_moments

UNITS = 2**20
POINT = on_coef_grid(np.array([0.5, -0.2, 0.1, 1.2]))


def made(n=3000, seed=0):
    rng = np.random.default_rng(seed)
    return rng.uniform(-1, 1, (n, 3)), rng.uniform(-1, 1, n)


def exact(prep, X, y, point):
    """The same in Python integers: rows, residuals and entries truncated one by one."""
    c = int(prep.geometry.half_width * UNITS)
    rows = np.column_stack([np.rint(np.clip(X * c, -c, c)), np.full(len(X), UNITS // 2)]).astype(int)
    targets = np.rint(y * UNITS)
    residuals = rows @ point - targets  # exact: multiples of 2^-20
    sizes = np.minimum(np.trunc(np.abs(residuals) / 2), UNITS // 2).astype(int)  # in units of 2^-19
    multipliers = sizes << 11
    entries = np.sign(rows) * ((np.abs(rows) * multipliers[:, None]) >> 30)
    return np.triu(entries.T @ entries)


def sums(rows, query):
    return rows.total(query, POINT).integers(-40)[:4, :4]


def test_sums_are_those_of_exact_integers():
    X, y = made()
    prep = box_prep([(-1.0, 1.0)] * 3, True, None, (-1.0, 1.0))
    query = meat_moments(3, True, prep.geometry.row_norm)
    assert np.array_equal(np.triu(sums(ArrayRows(X, y, prep), query)), exact(prep, X, y, POINT))


def test_residuals_beyond_1_count_as_1():
    X, y = made(500)
    prep = box_prep([(-1.0, 1.0)] * 3, True, None, (-1.0, 1.0))
    query = meat_moments(3, True, prep.geometry.row_norm)
    far = on_coef_grid(np.array([0.0, 0.0, 0.0, 40.0]))
    assert np.array_equal(
        np.triu(ArrayRows(X, y, prep).total(query, far).integers(-40)[:4, :4]), exact(prep, X, y, far)
    )
    rows = np.column_stack([X * prep.geometry.half_width, np.full(len(X), 0.5)])
    found = ArrayRows(X, y, prep).total(query, far).integers(-40)[:4, :4] * 2.0**-40
    assert np.triu(found) == pytest.approx(np.triu(rows.T @ rows), abs=1e-2)


@pytest.mark.parametrize("bounded", [True, False])
def test_sums_do_not_depend_on_the_order_of_rows_blocks_or_threads(bounded):
    X, y = made(10_000)
    prep = box_prep([(-1.0, 1.0)] * 3, True, None, (-1.0, 1.0)) if bounded else ball_prep(3, True, None)
    query = meat_moments(3, True, prep.geometry.row_norm)
    usual = sums(ArrayRows(X, y, prep), query)
    order = np.random.default_rng(1).permutation(len(X))
    assert np.array_equal(sums(ArrayRows(X[order], y[order], prep), query), usual)
    assert np.array_equal(sums(ArrayRows(X, y, prep, block_rows=777, threads=2), query), usual)
    assert np.array_equal(sums(ArrayRows(np.asfortranarray(X), y, prep), query), usual)


def test_a_row_never_adds_more_than_its_own_square():
    X, y = made(2000)
    prep = box_prep([(-1.0, 1.0)] * 3, True, None, (-1.0, 1.0))
    query = meat_moments(3, True, prep.geometry.row_norm)
    for k in range(0, 2000, 40):
        found = sums(ArrayRows(X[k : k + 1], y[k : k + 1], prep), query) * 2.0**-40
        assert np.trace(found) <= prep.geometry.row_norm**2


@pytest.mark.parametrize("dtype", [float, np.int64])
def test_labels_count_as_minus_one_and_one_and_their_residuals_up_to_two(dtype):
    X, _ = made(2000)
    labels = (np.random.default_rng(1).random(2000) < 0.3).astype(dtype)
    prep = box_prep([(-1.0, 1.0)] * 3, True, (0.0, 1.0))
    query = meat_moments(3, True, prep.geometry.row_norm, 2)
    found = 4 * ArrayRows(X, labels, prep).total(query, POINT).integers(-40)[:4, :4] * 2.0**-40
    rows = np.column_stack([X * prep.geometry.half_width, np.full(len(X), 0.5)])
    residuals = np.clip(rows @ POINT - (2.0 * labels - 1), -2, 2)
    expected = (rows * (residuals**2)[:, None]).T @ rows
    assert np.triu(found) == pytest.approx(np.triu(expected), abs=1e-4 * len(X))
