"""Multiplied rows and the score's sums against exact Python integers, and the laws of both."""

import functools
import itertools
import math

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import reference
from dplr._core import add_moments, cpu_paths, moments_work_size
from dplr.problem.losses import LOGISTIC
from dplr.rows import ArrayRows
from dplr.rows.exact import on_coef_grid, row_map
from dplr.rows.scores_at import ScoreMoments, multipliers_of
from loops import loop
from made_rows import make_data, make_prep

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")

KINDS = ["ball", "cube", "corner"]
ONE = 2**30
# floor(sqrt(2^60 // m)), the shares of a record whose m rows count as one.
SHARES = {1: 1073741824, 2: 759250124, 3: 619925131, 5: 480191941}


@pytest.fixture(params=cpu_paths())
def path(request, monkeypatch):
    monkeypatch.setenv("DPLR_ISA", request.param)
    return request.param


def multiplied(X, y, prep, multipliers, block_rows=None):
    """The sums in units of 2^-40, upper triangle."""
    d, q = prep.geometry.d, prep.geometry.d + (prep.geometry.intercept > 0) + 1
    hi, lo = np.zeros((q, q), np.int64), np.zeros((q, q), np.int64)
    scratch = np.full(moments_work_size(d), np.nan)  # contents on entry do not matter
    faults, outside = np.zeros(2, np.int64), np.zeros(d + 1, np.int64)
    for start in range(0, len(y), block_rows or len(y)):
        part = slice(start, start + (block_rows or len(y)))
        chosen = None if multipliers is None else np.asarray(multipliers, np.int64)[part]
        add_moments(X[part], y[part], row_map(prep), scratch, hi, lo, faults, outside, chosen)
    return np.triu(hi.astype(object) * 2**32 + lo)


def made(kind, n, d, labels=True, fit_intercept=True):
    X, y = make_data(kind, n, d, labels=labels)
    drawn = np.random.default_rng(n + d).integers(0, ONE + 1, n)
    drawn[: min(n, 4)] = [0, 1, ONE, ONE - 1][: min(n, 4)]
    return X, y, make_prep(kind, d, fit_intercept=fit_intercept, labels=labels), drawn


@pytest.mark.parametrize("m", SHARES)
def test_the_vectors_of_shares_are_whole_roots(m):
    assert math.isqrt(2**60 // m) == SHARES[m]


@loop(("kind", "labels"), list(itertools.product(KINDS, [True, False])))
@loop("fit_intercept", [True, False])
@loop("d", [1, 2, 3, 4, 5, 13, 35])
def test_multiplied_rows_equal_exact_integers_on_every_path(path, kind, d, fit_intercept, labels):
    sample = made(kind, 131, d, labels, fit_intercept)
    assert_array_equal(multiplied(*sample), moments_of_the_twin(kind, d, labels, fit_intercept))


@functools.cache  # the twin is slow, and has no path
def moments_of_the_twin(kind, d, labels, fit_intercept):
    return reference.moments(*made(kind, 131, d, labels, fit_intercept))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_rows_of_the_largest_multiplier_are_those_without_one(path, kind, fit_intercept):
    X, y, prep, _ = made(kind, 300, 6, fit_intercept=fit_intercept)
    assert_array_equal(multiplied(X, y, prep, np.full(300, ONE)), multiplied(X, y, prep, None))
    assert not multiplied(X, y, prep, np.zeros(300)).any()


def test_sums_are_exact_beyond_a_flush_and_whatever_the_blocks_and_the_order_are(path):
    X, y, prep, multipliers = made("cube", 16_500, 3, labels=False)
    expected = multiplied(X, y, prep, multipliers)
    for size in (1, 100, 8192):
        assert_array_equal(multiplied(X[:500], y[:500], prep, multipliers[:500], size),
                           multiplied(X[:500], y[:500], prep, multipliers[:500]))  # fmt: skip
    order = np.random.default_rng(1).permutation(len(y))
    for other in (np.asfortranarray(X[order]), X[order]):
        assert_array_equal(multiplied(other, y[order], prep, multipliers[order], 9000), expected)
    assert_array_equal(expected, reference.moments(X, y, prep, multipliers))


def test_shares_of_one_record_never_add_up_to_more_than_it(path):
    """m rows with the multiplier of m: their squared norms together are at most the largest one, in integers."""
    for m, share in SHARES.items():
        X, y, prep, _ = made("ball", 60, 4)
        X /= np.linalg.norm(X, axis=1, keepdims=True)
        for row, label in zip(X, y, strict=True):
            total = multiplied(np.tile(row, (m, 1)), np.full(m, label), prep, np.full(m, share))
            assert np.trace(total[:4, :4]) <= 2**40
            assert total[5, 5] <= 2**40
            assert 2**38 * (1 - m * 2.0**-18) <= total[4, 4] <= 2**38


def test_rows_that_are_not_finite_count_with_their_constant_alone(path):
    X, y, prep, multipliers = made("ball", 40, 3)
    X[7, 1], X[9, 0], y[11] = np.nan, np.inf, np.nan
    sound = ~np.isin(np.arange(40), [7, 9, 11])
    value = multiplied(X, y, prep, multipliers)
    alone = multiplied(X[sound], y[sound], prep, multipliers[sound])
    constants = sum(int(2**19 * int(a) >> 30) ** 2 for a in multipliers[~sound])
    assert value[3, 3] - alone[3, 3] == constants
    value[3, 3] = alone[3, 3]
    assert_array_equal(value, alone)


@pytest.mark.parametrize("wrong", [[-1, 0], [0, ONE + 1], [0], [0, 0, 0]])
def test_multipliers_out_of_range_or_of_another_number_are_refused(wrong):
    X, y, prep, _ = made("cube", 2, 2)
    limbs = np.zeros((4, 4), np.int64), np.zeros((4, 4), np.int64)
    counts, scratch = (np.zeros(2, np.int64), np.zeros(3, np.int64)), np.empty(moments_work_size(2))
    with pytest.raises(ValueError, match=r"one integer from 0 to 2\^30 for each row"):
        add_moments(X, y, row_map(prep), scratch, *limbs, *counts, np.array(wrong, np.int64))


def test_roots_of_curvatures_are_whole_parts():
    for bits in (15, 19, 20):
        one = 2**bits
        sizes = np.unique(
            np.r_[0, 1, 2, 3, one // 2, one - 2, one - 1, one, np.random.default_rng(0).integers(0, one, 500)]
        )
        expected = [math.isqrt(int(p) * (one - int(p)) * 2**60 // one**2) for p in sizes]
        assert_array_equal(multipliers_of(sizes, one), expected)
    assert multipliers_of(np.array([2**18]), 2**19)[0] == 2**29  # p = 1/2: the root of 1/4


def score(X, y, prep, coef, **options):
    rows = ArrayRows(X, y, prep, **options)
    query = ScoreMoments(LOGISTIC, prep.geometry.d, prep.geometry.intercept > 0, prep.geometry.row_norm)
    return np.triu(rows.total(query, coef).integers(-40))


def point(prep, length=3.0):
    return on_coef_grid(np.random.default_rng(2).normal(size=prep.geometry.n_coefs) * length)


@pytest.mark.parametrize("kind", KINDS)
@loop("fit_intercept", [True, False])
@loop("d", [1, 2, 7, 40])
def test_the_score_and_its_hessian_equal_exact_integers_on_every_path(path, kind, d, fit_intercept):
    X, y, prep, coefs, scores = with_scores_of_the_twin(kind, d, fit_intercept)
    for coef, expected in zip(coefs, scores, strict=True):
        assert_array_equal(score(X, y, prep, coef), expected)


@functools.cache  # the twin is slow, and has no path
def with_scores_of_the_twin(kind, d, fit_intercept):
    X, y, prep, _ = made(kind, 131, d, fit_intercept=fit_intercept)
    coefs = point(prep), point(prep, 100.0), np.zeros(prep.geometry.n_coefs)
    return X, y, prep, coefs, [reference.score_moments(X, y, prep, coef, prep.geometry.row_norm) for coef in coefs]


def test_the_score_is_the_same_for_every_order_block_and_number_of_threads(path):
    X, y, prep, _ = made("cube", 20_000, 5)
    coef, order = point(prep), np.random.default_rng(1).permutation(20_000)
    expected = score(X, y, prep, coef, threads=1)
    for other_X, other_y, options in [
        (X, y, {"threads": 2, "block_rows": 4096}), (X, y, {"block_rows": 999}), (X[order], y[order], {}),
        (np.asfortranarray(X), y, {}), (X.astype(object), y, {}),
    ]:  # fmt: skip
        assert_array_equal(score(other_X, other_y, prep, coef, **options), expected)


def test_the_score_is_that_of_textbooks():
    X, y, prep, _ = made("cube", 4000, 3)
    rows = reference.gridded_rows(X, prep)[0] / 2**20
    coef, signs = point(prep), np.where(y == prep.labels[1], 1.0, -1.0)
    p = 1 / (1 + np.exp(signs * (rows @ coef)))
    value = score(X, y, prep, coef).astype(float) * 2.0**-40
    np.testing.assert_allclose(value[:-1, -1], (p * signs) @ rows, atol=4000 * 2.0**-18)
    np.testing.assert_allclose(value[:-1, :-1], np.triu((rows.T * (p * (1 - p))) @ rows), atol=4000 * 2.0**-18)


def test_one_row_never_moves_the_sums_beyond_lemma_s(path):
    """p ||v|| for the score and p (1 - p) ||v||^2 for the Hessian, with one p, in integers."""
    prep = make_prep("ball", 3)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 3))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    for x in X:
        coef = on_coef_grid(rng.normal(size=4) * 4)
        value = score(x[None], np.array([prep.labels[1]]), prep, coef)
        u, h = value[:4, -1], value[:4, :4]
        v = np.array([*reference.snapped_row(x, prep), 2**19], dtype=object)
        squared = int(v @ v)
        p = max(abs(u)) / max(abs(v))  # in units of 2^-20
        assert int(u @ u) <= int(p) ** 2 * squared
        frobenius = sum((1 if i == j else 2) * int(h[i, j]) ** 2 for i in range(4) for j in range(i, 4))
        share = int(p) * (2**20 - int(p))  # p (1 - p) in units of 2^-40
        assert frobenius * 2**80 <= (share * squared) ** 2


def test_rows_rounded_to_the_nearest_would_exceed_their_share():
    """So truncation is what the bound rests on: halves of odd entries, rounded to even, are sometimes longer."""
    rng, longer = np.random.default_rng(0), 0
    for entries in rng.integers(-(2**19), 2**19, (100, 3)):
        exact = sum(int(k) ** 2 for k in entries)
        longer += 4 * sum(round(int(k) / 2) ** 2 for k in entries) > exact
        assert 4 * sum((abs(int(k)) * 2**29 >> 30) ** 2 for k in entries) <= exact
    assert longer > 10
