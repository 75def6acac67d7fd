"""Tests of several coefficients of which noise drowns some: their law, and where they say nothing (lemma 9)."""

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats
from tests.helpers.made_readings import cell_variances, of_moments, symmetric_noise

from dplr.inference.intervals import (
    BOUNDED,
    NARROWLY,
    PARTLY,
    UNBOUNDED,
    _least,
    _p_values,
    _tested,
    _together,
    intervals,
    score_test,
)
from dplr.inference.score import lowest_of, statistic
from dplr.inference.search import Box, box_of

DEVIATION, ROWS, ERROR, IOTA = 9.0, 10_000, 0.05, 0.5
# Moments of four columns: two ample ones, one that noise drowns, and another such.
SIZES = np.array([900.0, 900.0, 4.0, 4.0])


def drawn(rng, coef, sizes=SIZES, deviation=DEVIATION):
    """The noisy equation of columns of these sums of squares, correlated a little, and of a constant."""
    matrix = np.diag(np.append(sizes, ROWS * IOTA**2))
    matrix[0, 1] = matrix[1, 0] = 0.3 * sizes[0]
    cells = cell_variances(len(coef), deviation)
    vector = matrix @ coef + math.sqrt(ERROR) * np.linalg.cholesky(matrix) @ rng.normal(size=len(coef))
    noisy = matrix + symmetric_noise(rng, cells, np.zeros(len(coef)))
    square = float(coef @ matrix @ coef) + ROWS * ERROR + deviation * rng.normal()
    vector = vector + deviation * rng.normal(size=len(coef))
    return of_moments(noisy, vector, square, ROWS, cells, np.zeros(len(coef)), deviation)


def results(tested, coef, count):
    """Tests of a true hypothesis, each of an equation with noise of its own."""
    rng, contrasts = np.random.default_rng(0), np.eye(5)[tested]
    return [score_test(drawn(rng, coef), contrasts, coef[tested]) for _ in range(count)]


COEF = np.array([0.4, 0.0, 0.0, 0.0, 0.2])
LARGE = np.array([0.4, 0.5, 2.5, -2.5, 0.2])


@pytest.mark.parametrize(
    ("tested", "coef"),
    [
        pytest.param([1, 2, 3], COEF, marks=pytest.mark.thorough),
        ([1, 2, 3], LARGE),  # the noise of a drowned column counts at its value
        pytest.param([1, 2], COEF, marks=pytest.mark.thorough),
        pytest.param([0, 1, 2], LARGE, marks=pytest.mark.thorough),  # beside a drowned one within its bound
    ],
)
def test_a_true_hypothesis_is_rejected_as_seldom_as_it_says(tested, coef):
    tests = results(tested, coef, 150)
    assert {test.verdict for test in tests} == {PARTLY}
    p_values = np.array([test.p_value for test in tests])
    assert np.mean(p_values <= 0.05) <= 0.05 + 2 * math.sqrt(0.05 * 0.95 / 150)
    if tested == [1, 2, 3]:  # all that is drowned is tested: the law is that of chi-square itself
        assert stats.kstest(p_values, "uniform").pvalue > 1e-3
    else:  # the drowned column takes a part of the statistic
        assert np.mean(p_values <= 0.5) >= 0.02


def test_all_coefficients_at_once_have_the_law_of_chi_square_whatever_is_drowned():
    """Part (a): nothing is left to search."""
    rng, box, none = np.random.default_rng(0), np.full(5, 10.0), np.zeros(5, bool)
    verdict, at = np.array([BOUNDED]), (np.eye(5)[None], LARGE[None])
    values = [_tested(drawn(rng, LARGE), *at, Box(box, box, none, none), verdict)[0][0] for _ in range(300)]
    assert stats.kstest(values, "chi2", (5,)).pvalue > 1e-3


def test_a_strong_coefficient_is_seen_beside_a_drowned_one():
    rng, contrasts = np.random.default_rng(1), np.eye(5)[[1, 2]]
    seen = 0
    for _ in range(50):
        given = drawn(rng, np.array([0.4, 0.6, 0.0, 0.0, 0.2]))
        assert intervals(given, contrasts).verdict[1] == UNBOUNDED
        assert math.isnan(score_test(given, contrasts[1:], np.zeros(1)).p_value)  # alone it says nothing
        seen += score_test(given, contrasts, np.zeros(2)).p_value < 0.01
    assert seen >= 48


def test_the_p_value_counts_a_degree_for_each_drowned_coefficient_that_is_not_tested():
    given = drawn(np.random.default_rng(2), COEF)
    bounds = box_of(given)
    np.testing.assert_array_equal(bounds.drowned, [False, False, True, True, False])
    for contrasts, degrees in (
        (np.eye(5)[[0, 1]], 4),
        (np.eye(5)[[1, 2]], 3),
        (np.eye(5)[[1, 2, 3]], 3),
        (np.array([[0, 1, 0, 0, 0], [0, 0, 1, -1, 0.0]]), 3),
        (1e6 * np.array([[0, 1, 0, 0, 0], [0, 1e-9, 1, -1, 0.0]]), 3),
    ):
        result = score_test(given, contrasts, np.zeros(len(contrasts)))
        assert result.dof == len(contrasts)
        assert result.p_value == pytest.approx(stats.chi2.sf(result.statistic, degrees))
    single = score_test(given, np.eye(5)[[1]], np.zeros(1))  # that of its interval
    assert single.p_value == pytest.approx(stats.chi2.sf(single.statistic, 1))


def test_p_values_of_far_statistics_are_tails_and_no_differences_from_one():
    values, dof = map(np.array, zip(*itertools.product((1e-9, 1.0, 40.0, 400.0, 1400.0), (1, 2, 5)), strict=True))
    normal = np.log(_p_values(values, dof, np.zeros(len(dof))))
    np.testing.assert_allclose(normal, stats.chi2.logsf(values, dof), rtol=1e-9, atol=1e-12)
    assert np.all(_p_values(values, dof, np.full(len(dof), 0.5)) >= stats.chi2.sf(values, dof) * (1 - 1e-9))


def test_no_search_from_elsewhere_ends_lower():
    """There may be a minimum on either side of each drowned coefficient, and a missed one makes a p-value too small."""
    rng, coef, contrasts = np.random.default_rng(3), np.array([0.4, 0.2, 0.0, 3.0, 0.2]), np.eye(5)[[0, 1]]
    for _ in range(15):
        given = drawn(rng, coef, sizes=np.array([900.0, 900.0, 4.0, 30.0]))
        bounds = box_of(given)
        box = bounds.of(np.any(contrasts, axis=0))
        (value,), _ = _least(given, bounds, box[None], contrasts[None], np.zeros((1, 2)))
        starts = rng.uniform(-1, 1, (40, 5)) * np.minimum(box, 4.5) * [0, 0, 1, 1, 1]
        points, success, values = lowest_of(given, box, starts, contrasts)
        np.testing.assert_allclose(values[success], statistic(given, points, box).value[success], rtol=1e-9)
        np.testing.assert_allclose(points @ contrasts.T, starts @ contrasts.T, atol=1e-12)
        assert value <= np.where(success, values, np.inf).min() * (1 + 1e-6)


def test_levels_are_compared_with_each_other_where_noise_drowns_the_reference():
    """Each line is silent, as the reference is drowned; their differences are known."""
    rng = np.random.default_rng(4)
    share = np.array([0.5, 0.499])  # levels b and c; the reference a has a thousandth of the rows
    matrix = np.zeros((3, 3))
    matrix[:2, :2], matrix[:2, 2], matrix[2, :2] = np.diag(share), share * IOTA, share * IOTA
    matrix[2, 2] = IOTA**2
    matrix *= ROWS
    cells = cell_variances(3, DEVIATION)
    for difference, rejected in ((0.0, False), (0.3, True)):
        coef = np.array([difference, 0.0, 0.0])
        root = math.sqrt(ERROR) * np.linalg.cholesky(matrix)
        vector = matrix @ coef + root @ rng.normal(size=3) + DEVIATION * rng.normal(size=3)
        square = float(coef @ matrix @ coef) + ROWS * ERROR
        noisy = matrix + symmetric_noise(rng, cells, np.zeros(3))
        given = of_moments(noisy, vector, square, ROWS, cells, np.zeros(3), DEVIATION)
        given = replace(given, sizes=np.array([1.0, 1.0, IOTA]))
        assert (intervals(given, np.eye(3)[:2]).verdict == UNBOUNDED).all()
        result = score_test(given, np.eye(3)[:2], np.zeros(2))
        assert result.verdict != UNBOUNDED
        assert (result.p_value < 1e-3) == rejected


def test_noise_may_have_let_a_test_through_only_where_no_coefficient_is_firmly_bounded():
    assert _together(np.array([BOUNDED, UNBOUNDED])) == _together(np.array([BOUNDED, NARROWLY])) == PARTLY
    assert _together(np.array([NARROWLY, UNBOUNDED])) == NARROWLY
    assert _together(np.array([UNBOUNDED, UNBOUNDED])) == UNBOUNDED
    assert _together(np.array([BOUNDED, BOUNDED])) == BOUNDED
