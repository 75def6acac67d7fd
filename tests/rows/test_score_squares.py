"""Squares of the score along directions: exact integers, of which no row adds more than 1."""

import numpy as np
import pandas as pd
import pytest

import reference
from dplr._core import cpu_paths
from dplr.bounds.scaling import ball_prep, box_prep
from dplr.privacy.unit import Unit
from dplr.problem.losses import LOGISTIC
from dplr.rows import ArrayRows, row_weights
from dplr.rows.exact import clipped_rows, on_coef_grid
from dplr.rows.scores_at import LONGEST, ScoreSquares, directions

POINT = on_coef_grid(np.array([0.5, -2.0, 1.0, 0.3]))
ONE = 2**40
PREPS = {"box": box_prep([(-1.0, 1.0)] * 3, True, (0.0, 1.0)), "ball": ball_prep(3, True, (0.0, 1.0))}

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")


@pytest.fixture(params=cpu_paths())
def path(request, monkeypatch):
    monkeypatch.setenv("DPLR_ISA", request.param)
    return request.param


def made(n=3000, seed=0):
    rng = np.random.default_rng(seed)
    return rng.uniform(-1.1, 1.1, (n, 3)), (rng.random(n) < 0.3).astype(float)


def query_of(prep, length=1.0):
    vectors = np.random.default_rng(1).normal(size=(5, 4))
    vectors *= length / np.linalg.norm(vectors, axis=1, keepdims=True)
    return ScoreSquares(LOGISTIC, 3, True, prep.geometry.row_norm, directions(vectors))


def exact(prep, X, y, query, weights=1.0):
    """The sum in Python integers, row by row."""
    one = 2**19  # residual units in 1, for rows of norm between 1 and 2
    rows, counts = reference.gridded_rows(X, prep)
    signs = np.where(y == 1, 1, -1)
    margins = (rows @ (POINT * 2**20)) / 2.0**40 * signs
    norms = np.sqrt((rows * rows).sum(axis=1))
    cap = query.clip * one * (2**20 * (1 - 2.0**-50)) / norms
    sizes = np.floor(np.minimum(reference.sigmoid_of_minus(margins) * one, cap)) * counts
    sizes = np.floor(sizes * weights)
    sums = [0] * len(query.directions)
    for row, size in zip(rows, sizes, strict=True):
        parts = [abs(sum(int(v) * int(u) for v, u in zip(row, along, strict=True))) for along in query.directions]
        squares = [min((part >> 20) * int(size) // one, 2**25) ** 2 for part in parts]
        total = sum(squares)
        if total > ONE:
            squares = [square // ((total >> 20) + 1) << 20 for square in squares]
        assert sum(squares) <= ONE
        sums = [a + b for a, b in zip(sums, squares, strict=True)]
    return sums


def sums(rows, query):
    return rows.total(query, POINT).integers(-40).tolist()


@pytest.mark.parametrize("length", [0.01, 1.0, 3.0, 4000.0])
@pytest.mark.parametrize("kind", PREPS)
def test_sums_are_those_of_exact_integers(path, kind, length):
    (X, y), prep = made(), PREPS[kind]
    query = query_of(prep, length)
    assert sums(ArrayRows(X, y, prep), query) == exact(prep, X, y, query)


def test_slopes_are_multiplied_by_the_weights_of_rows(path):
    (X, y), prep = made(), PREPS["box"]
    weights = row_weights(len(y), Unit(weight_max=1.0), None, np.random.default_rng(2).uniform(0, 1, len(y)))
    query = query_of(prep, 3.0)
    found = sums(ArrayRows(X, y, prep, weights=weights), query)
    assert found == exact(prep, X, y, query, weights.of_rows)
    assert found != exact(prep, X, y, query)


@pytest.mark.parametrize("kind", PREPS)
def test_sums_do_not_depend_on_the_order_of_rows_blocks_threads_or_types(path, kind):
    (X, y), prep = made(40_000), PREPS[kind]
    X = X.astype(np.float32).astype(float)
    query, order = query_of(prep, 5.0), np.random.default_rng(1).permutation(len(X))
    usual = sums(ArrayRows(X, y, prep), query)
    others = [(X[order], y[order]), (np.asfortranarray(X), y), (X.astype(np.float32), y), (X[::-1], y[::-1])]
    for other, target in [*others, (pd.DataFrame(X), y)]:
        assert sums(ArrayRows(other, target, prep), query) == usual
    assert sums(ArrayRows(X, y, prep, block_rows=777, threads=2), query) == usual


def test_directions_are_no_longer_than_they_may_be():
    vectors = directions(np.array([[1e9, 0.0], [1e-3, 2.0], [0.0, 0.0]])) / 2.0**20
    assert np.linalg.norm(vectors, axis=1) == pytest.approx([LONGEST, np.hypot(1e-3, 2), 0], rel=1e-5)
    assert np.linalg.norm(vectors, axis=1).max() <= LONGEST


@pytest.mark.parametrize("length", [1.0, 300.0, 4096.0])
def test_no_row_adds_more_than_1_and_the_longest_ones_nearly_that(length):
    prep = PREPS["box"]
    query = query_of(prep, length)
    corners = np.array([[a, b, c] for a in (-1, 1) for b in (-1, 1) for c in (-1, 1)], float)
    against = (corners * prep.geometry.half_width @ POINT[:3] + 0.5 * POINT[3] < 0).astype(float)
    added = [
        sum(sums(ArrayRows(corner[None], label[None], prep), query))
        for corner, label in zip(corners, against, strict=True)
    ]
    assert max(added) <= ONE
    if length > 1:
        assert min(added) >= 0.99 * ONE


def test_squares_are_those_of_the_score_where_rows_are_short():
    (X, y), prep = made(5000), PREPS["box"]
    X = np.clip(X, -1, 1)
    query = query_of(prep, 0.5)
    rows = np.column_stack([X * prep.geometry.half_width, np.full(len(X), 0.5)])
    residuals = y - 1 / (1 + np.exp(-rows @ POINT))
    wanted = ((residuals[:, None] * (rows @ (query.directions.T / 2.0**20))) ** 2).sum(axis=0)
    assert np.array(sums(ArrayRows(X, y, prep), query)) / ONE == pytest.approx(wanted, rel=1e-4)


def test_a_row_that_counts_as_zero_adds_nothing():
    query = query_of(PREPS["box"], 5.0)
    total = ArrayRows(np.full((3, 3), np.nan), np.ones(3), PREPS["box"]).sum(query, POINT)
    assert total.integers(-40).tolist() == [0] * 5
    assert total.faults.non_finite_rows == 3


@pytest.mark.parametrize(
    ("shape", "bits", "entry", "rule"),
    [
        ((5, 3), 19, 1, "q columns"), ((5, 4), 21, 1, "up to 20 bits"), ((4097, 4), 19, 1, "up to 4096 directions"),
        ((5, 4), 19, 2**32 + 1, "of norm up to"), ((5, 4), 19, -(2**63), "of norm up to"),
    ],
)  # fmt: skip
def test_the_kernel_refuses_what_it_cannot_sum(shape, bits, entry, rule):
    X, y = made(10)
    limbs = np.zeros((2, shape[0]), np.int64)
    with pytest.raises(ValueError, match=rule):
        clipped_rows(X, y, PREPS["box"]).add_squares(np.zeros(10, np.int64), bits, np.full(shape, entry), 0, 10, *limbs)
