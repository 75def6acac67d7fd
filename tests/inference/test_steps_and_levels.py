"""What the search for ends computes once and shares: steps by sides of the box, covariances, levels of narrow lines."""

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy import linalg, stats
from tests.helpers.made_readings import cell_variances, of_moments, reading, rows, target

from dplr.inference import score
from dplr.inference.intervals import BOUNDED, NARROWLY, UNBOUNDED, intervals, score_test
from dplr.inference.noise import covariance
from dplr.inference.score import _STEEP, Model, _Held, _solve, _within, kurtosis, variances
from dplr.inference.search import SURE, Search, box_of, two_sided

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

    def move_of(model, places):
        assert places[0] == 0
        visits.append(model.slope[0, 0])
        return np.where(np.abs(model.slope) >= 1, -3.0 * np.sign(model.slope), 0.25), model.slope.copy()

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
def test_variances_are_those_of_the_covariance(laplace):
    rng = np.random.default_rng(1)
    V = rows(rng, 500, 2, 2)
    given = reading(rng, V, target(rng, V, np.full(5, 0.2)), 8.0, [2, 3], laplace)
    assert given.tied.any()
    x, phi = rng.normal(size=(2, 6, 5))
    noise = covariance(given.cells, given.tied, phi)
    total, private = variances(given, x, phi)
    expected = np.einsum("mi,mij,mj->m", x, noise + given.vector_noise, x)
    np.testing.assert_allclose(private, expected, rtol=1e-12)
    np.testing.assert_allclose(total, expected + np.einsum("mi,ij,mj->m", x, given.sampling, x), rtol=1e-12)
    assert np.all(kurtosis(given, x, phi) > 0) == laplace


def test_contrasts_that_are_held_stay_and_the_step_is_that_of_the_other_directions():
    rng = np.random.default_rng(2)
    fixed, root = rng.normal(size=(4, 2, 5)), rng.normal(size=(4, 5, 5))
    fixed[0], curvature = np.eye(5)[[3, 1]], root @ root.swapaxes(1, 2)
    slope = rng.normal(size=(4, 5))
    moves = _Held.of(fixed).move(Model(np.ones(4), slope, curvature, curvature, slope))
    for move, held, matrix, right in zip(moves, fixed, curvature, slope, strict=True):
        free = linalg.null_space(held)
        np.testing.assert_allclose(move, free @ np.linalg.solve(free.T @ matrix @ free, free.T @ right), rtol=1e-8)
    np.testing.assert_array_equal(moves[0, [1, 3]], 0.0)


def test_each_search_of_a_batch_is_that_of_one_alone():
    """Points that are there, or go in a circle of sides, do not change what the others do."""
    given = of_strengths([1.0, 8.0, 3.9, 9.0, 4.7])
    box = box_of(given)
    search = Search.of(given, np.eye(5), box)
    for z in (SURE, two_sided(0.05) + SURE):
        together = search.bounded(np.arange(5), z)
        assert 0 < together.sum() < 5
        assert [bool(search.bounded(np.array([k]), z)[0]) for k in range(5)] == together.tolist()
        points, success = search.ends(np.arange(5), z)
        inside = ~np.any((points != 0) & (np.abs(points) > search.box) & (np.eye(5) != 0), axis=(0, 2))
        np.testing.assert_array_equal(together, success & inside)


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
    table = intervals(given, np.eye(5), bounds=math.inf)
    assert table.verdict.tolist() == [UNBOUNDED, BOUNDED, NARROWLY, BOUNDED, NARROWLY]
    np.testing.assert_array_equal(np.isnan(table.bounded_to), [True, True, False, True, False])
    for k in (2, 4):
        (alone,) = intervals(given, np.eye(5)[[k]], bounds=math.inf).bounded_to
        assert table.bounded_to[k] == pytest.approx(alone, rel=1e-9)
    quantiles = stats.norm.isf((1 - table.bounded_to[[2, 4]]) / 2)
    assert quantiles == pytest.approx([3.9, 4.7], abs=0.15)


@pytest.mark.parametrize("level", [0.5, 0.8, 0.9, 0.95])
def test_a_narrow_line_is_bounded_to_its_own_level_at_least(level):
    z = two_sided(1 - level)
    table = intervals(of_strengths([max(z, SURE) + 0.3, z + SURE - 0.3]), np.eye(2), level, bounds=math.inf)
    assert set(table.verdict) == {NARROWLY}
    assert np.all(table.bounded_to >= max(level, 0.999))


def test_a_test_has_the_verdict_of_the_interval_of_95_percent():
    for strength in (1.0, 3.5, 5.0, 5.1, 5.4, 5.7):
        given = of_strengths([9.0, strength])
        usual = intervals(given, np.eye(2)).verdict
        assert score_test(given, np.eye(2)[1:], [0.0]).verdict == usual[1]


def test_a_line_that_is_not_reported_has_no_level(monkeypatch):
    given, ends = of_strengths([3.9, 4.3]), Search.ends

    def without_an_end(self, which, z, widening=0.0, known=True):
        points, success = ends(self, which, z, widening, known)
        return points, success & ((widening == 0) | (which == 1))

    monkeypatch.setattr(Search, "ends", without_an_end)
    table = intervals(given, np.eye(2), bounds=math.inf)
    assert table.verdict.tolist() == [UNBOUNDED, NARROWLY]
    assert np.isnan(table.bounded_to).tolist() == [True, False]
