"""What the search for ends computes once and shares: steps by sides of the box, covariances, levels of narrow lines."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats
from tests.helpers.made_readings import cell_variances, of_moments, reading, rows, target

from dplr.inference import score
from dplr.inference.intervals import BOUNDED, NARROWLY, UNBOUNDED, intervals, score_test
from dplr.inference.noise import covariance
from dplr.inference.score import _STEEP, Model, _solve, _within, kurtosis, variances
from dplr.inference.search import SURE, Search, two_sided

WITHIN, ABOVE, BELOW = -1.0, _STEEP**2 - 1, -(_STEEP**2) - 1  # slopes with the bound of each side


@pytest.mark.parametrize(
    ("count", "far", "last"), [(1, -3.0, ABOVE), (2, 3.0, BELOW), (5, -3.0, ABOVE), (6, 3.0, BELOW)]
)
def test_steps_of_sides_that_go_in_a_circle_are_computed_once_and_are_those_of_their_sides(
    count, far, last, monkeypatch
):
    """Of two points one goes from either side of the box to the other, and one stays within."""
    monkeypatch.setattr(score, "_SIDES", count)
    slopes, box, visits = [[WITHIN], [0.5]], np.ones(1), []
    local = Model(np.ones(2), np.array(slopes), np.ones((2, 1, 1)), np.ones((2, 1, 1)), np.ones((2, 1)))

    def move_of(model):
        visits.append(model.slope[0, 0])
        return np.where(np.abs(model.slope) >= 1, -3.0 * np.sign(model.slope), 0.25), model.slope

    (move, slope), here = _within(local, np.zeros((2, 1)), box, move_of)
    assert visits == [WITHIN, ABOVE, BELOW][: count + 1]
    np.testing.assert_array_equal(move, [[far], [0.25]])
    np.testing.assert_array_equal(slope, [[last], [0.5]])
    np.testing.assert_array_equal(here.slope, slopes)


def test_systems_without_a_solution_are_nan_alone_and_matrices_stay_as_they_are():
    matrices = np.stack([np.eye(2), np.full((2, 2), np.nan), 4 * np.eye(2), np.diag([np.inf, 1.0]), np.zeros((2, 2))])
    before = matrices.copy()
    solutions = _solve(matrices, np.ones((5, 2, 1)))[..., 0]
    np.testing.assert_allclose(solutions, np.outer([1.0, np.nan, 0.25, np.nan, np.nan], np.ones(2)))
    np.testing.assert_array_equal(matrices, before)


@pytest.mark.parametrize("laplace", [False, True])
def test_variances_are_the_same_with_a_covariance_that_is_computed_already(laplace):
    rng = np.random.default_rng(1)
    V = rows(rng, 500, 2, 2)
    given = reading(rng, V, target(rng, V, np.full(5, 0.2)), 8.0, [2, 3], laplace)
    x, phi = rng.normal(size=(2, 6, 5))
    noise = covariance(given.cells, given.tied, phi)
    before = noise.copy()
    np.testing.assert_array_equal(variances(given, x, phi, noise), variances(given, x, phi))
    np.testing.assert_array_equal(kurtosis(given, x, phi, noise), kurtosis(given, x, phi))
    np.testing.assert_array_equal(noise, before)
    assert np.all(kurtosis(given, x, phi) > 0) == laplace


def of_strengths(strengths):
    """An equation of coefficients whose diagonal cells are so many deviations of their noise."""
    q = len(strengths)
    cells = np.diag(np.diag(cell_variances(q, 9.0, public=False)))
    return of_moments(9.0 * np.diag(strengths), np.full(q, 2.0), 500.0, 10_000, cells, np.zeros(q), 9.0)


def test_an_end_has_the_tails_of_the_noise_that_the_matrix_has_there():
    """At 99 % the quantile grows with the kurtosis, and a third of the variance is noise on the matrix."""
    given = of_strengths([30.0, 40.0])
    vector, noise = np.array([300.0, 200.0]), 100 * np.eye(2)
    given = replace(given, laplace=True, vector=vector, sampling=noise, vector_noise=noise)
    table = intervals(given, np.eye(2), 0.99)
    normal = intervals(replace(given, laplace=False), np.eye(2), 0.99)
    assert np.all(table.high - table.low > 1.05 * (normal.high - normal.low))
    for k in range(2):
        for end in (table.low[k], table.high[k]):
            assert score_test(given, np.eye(2)[[k]], [end]).p_value == pytest.approx(0.01, rel=5e-3)


def test_levels_of_narrow_lines_stand_at_these_lines():
    given = of_strengths([1.0, 8.0, 3.9, 9.0, 4.7])
    table = intervals(given, np.eye(5))
    assert table.verdict.tolist() == [UNBOUNDED, BOUNDED, NARROWLY, BOUNDED, NARROWLY]
    np.testing.assert_array_equal(np.isnan(table.bounded_to), [True, True, False, True, False])
    for k in (2, 4):
        assert table.bounded_to[k] == pytest.approx(intervals(given, np.eye(5)[[k]]).bounded_to[0], rel=1e-9)
    quantiles = stats.norm.isf((1 - table.bounded_to[[2, 4]]) / 2)
    assert quantiles == pytest.approx([3.9, 4.7], abs=0.15)


@pytest.mark.parametrize("level", [0.5, 0.95, 0.9999, 1 - 1e-6])
def test_a_narrow_line_is_bounded_to_its_own_level_at_least(level):
    z = two_sided(1 - level)
    table = intervals(of_strengths([max(z, SURE) + 0.3, z + SURE - 0.3]), np.eye(2), level)
    assert set(table.verdict) == {NARROWLY}
    assert np.all(table.bounded_to >= max(level, 0.999))


def test_a_test_has_the_verdict_of_the_interval_of_95_percent():
    for strength in (1.0, 3.5, 5.0, 5.1, 5.4, 5.7):
        given = of_strengths([9.0, strength])
        usual = intervals(given, np.eye(2)).verdict
        assert score_test(given, np.eye(2)[1:], [0.0]).verdict == usual[1]


def test_a_line_that_is_not_reported_has_no_level(monkeypatch):
    given, ends = of_strengths([3.9, 4.3]), Search.ends

    def without_an_end(self, which, z, widening=0.0):
        points, success = ends(self, which, z, widening)
        return points, success & ((widening == 0) | (which == 1))

    monkeypatch.setattr(Search, "ends", without_an_end)
    table = intervals(given, np.eye(2))
    assert table.verdict.tolist() == [UNBOUNDED, NARROWLY]
    assert np.isnan(table.bounded_to).tolist() == [True, False]
