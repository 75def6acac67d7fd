"""Intervals by inversion of the score: against an optimiser, against least squares, and laws that hold exactly."""

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest
from scipy import optimize, stats
from tests.helpers.made_readings import cell_variances, of_moments, reading, rows, symmetric_noise, target

from dplr.inference.intervals import (
    BARELY,
    BOUNDED,
    DECLARED,
    NARROWLY,
    UNBOUNDED,
    _widening,
    consistent,
    intervals,
    score_test,
)
from dplr.inference.noise import covariance, fourth, weights
from dplr.inference.reading import EFFECT_BOUNDS, Reading
from dplr.inference.score import correlation, ends, lowest, outside, quantile, statistic
from dplr.inference.search import SURE, VISIBLE, Search, box_of, start_of
from dplr.privacy.estimand import Estimand

Z = stats.norm.ppf(0.975)


def made(seed, n=3000, d=3, hot=0, deviation=8.0, laplace=False):
    rng = np.random.default_rng(seed)
    V = rows(rng, n, d, hot)
    coef = rng.normal(size=V.shape[1]) * 0.3
    return reading(rng, V, target(rng, V, coef), deviation, range(d, d + hot), laplace)


def farthest(given, contrast, sign, start, box):
    """What SLSQP finds from three starts, in coordinates in which the set is about a ball."""
    curvature = statistic(given, start[None], box).curvature[0]
    shape = np.linalg.cholesky(np.linalg.inv(curvature))
    goal = shape.T @ contrast
    goal /= np.linalg.norm(goal)

    def room(u):
        return Z**2 - statistic(given, (start + shape @ u)[None], box).value[0]

    def slope(u):
        return 2 * shape.T @ statistic(given, (start + shape @ u)[None], box).slope[0]

    found = []
    for u in (2 * sign * goal, *np.random.default_rng(0).normal(size=(2, len(goal)))):
        constraint = {"type": "ineq", "fun": room, "jac": slope}
        done = optimize.minimize(
            lambda u: -sign * goal @ u, u, jac=lambda u: -sign * goal, method="SLSQP", constraints=[constraint],
            options={"maxiter": 500, "ftol": 1e-10},
        )  # fmt: skip
        if done.success and room(done.x) > -1e-4:
            found.append(sign * contrast @ (start + shape @ done.x))
    return sign * max(found)


@pytest.mark.parametrize("seed", [0, 1, *(pytest.param(seed, marks=pytest.mark.thorough) for seed in range(2, 6))])
@pytest.mark.parametrize("hot", [0, 3])
def test_ends_are_where_a_general_optimiser_finds_them(seed, hot):
    given = made(seed, hot=hot, n=4000)
    q = len(given.vector)
    rng = np.random.default_rng(seed)
    contrasts = np.vstack([np.eye(q)[:2], np.eye(q)[-2:], rng.normal(size=(2, q))])
    signs = np.repeat([-1.0, 1.0], len(contrasts))
    wide = box_of(given).main
    solution = np.abs(np.linalg.solve(given.matrix, given.vector))
    for box in (wide, 1.02 * solution + 0.02):  # the second one cuts the set
        middle, _ = lowest(given, box, start_of(given, box))
        twice = np.vstack([contrasts, contrasts])
        points, found = ends(given, twice, signs, middle, box, Z)
        assert found.all()
        assert np.any(outside(given, points, box)) == (box is not wide)
        ours = np.sum(points * twice, axis=1)
        theirs = [farthest(given, c, s, middle, box) for c, s in zip(twice, signs, strict=True)]
        half = np.abs(ours - twice @ middle)
        assert np.max(np.abs(ours - theirs) / half) < 1e-3


@pytest.mark.parametrize("hot", [0, 3])
def test_the_slope_is_that_of_the_statistic(hot):
    given, step = made(1, hot=hot), 1e-5
    q = len(given.vector)
    for point in np.random.default_rng(2).normal(size=(5, q)):
        nearby = np.concatenate([point + step * np.eye(q), point - step * np.eye(q)])
        value = statistic(given, nearby, np.full(q, 0.4)).value
        slope = -2 * statistic(given, point[None], np.full(q, 0.4)).slope[0]
        np.testing.assert_allclose((value[:q] - value[q:]) / (2 * step), slope, rtol=1e-6, atol=1e-6)


def test_covariance_and_fourth_cumulant_are_those_of_noise_written_cell_by_cell():
    given = made(3, hot=2, laplace=True)
    q = len(given.vector)
    phi, x = np.random.default_rng(4).normal(size=(2, q))
    total, tails, noise = np.zeros((q, q)), 3 * np.sum((8.0**2 * x**2) ** 2), weights(given.tied, x, phi)
    for j in range(q):
        for k in range(j, q):
            cell = np.zeros((q, q))
            cell[j, k] = cell[k, j] = 1.0
            if k == q - 1 and given.tied[j]:
                cell[j, j] = given.tied[j]
            moved = cell @ phi
            total += given.cells[j, k] * np.outer(moved, moved)
            tails += 3 * (given.cells[j, k] * (x @ moved) ** 2) ** 2
            if given.cells[j, k]:
                assert noise[j, k] == pytest.approx(x @ moved)
    np.testing.assert_allclose(covariance(given.cells, given.tied, phi), total, rtol=1e-12)
    assert fourth(given.cells, given.tied, given.vector_noise, x, phi) == pytest.approx(tails)


def least_squares(V, y, contrasts, level=0.95):
    """Textbook intervals with the variance of the residuals over n."""
    coef = np.linalg.lstsq(V, y, rcond=None)[0]
    variance = np.mean((y - V @ coef) ** 2) * np.linalg.inv(V.T @ V)
    half = stats.norm.ppf((1 + level) / 2) * np.sqrt(np.einsum("mi,ij,mj->m", contrasts, variance, contrasts))
    return contrasts @ coef, half


@pytest.mark.parametrize("constant", [True, False])
@pytest.mark.parametrize("d", [1, 4])
def test_without_noise_intervals_are_those_of_least_squares(constant, d):
    rng = np.random.default_rng(5)
    V = rows(rng, 500, d)
    y = target(rng, V, rng.normal(size=d + 1) * 0.3)
    V = V if constant else V[:, :-1]
    given = reading(rng, V, y, 0.0)
    contrasts = np.vstack([np.eye(V.shape[1]), rng.normal(size=(2, V.shape[1]))])
    for level in (0.8, 0.95, 0.99):
        found = intervals(given, contrasts, level)
        middle, half = least_squares(V, y, contrasts, level)
        np.testing.assert_allclose(found.low, middle - half, atol=2e-4 * half.min())
        np.testing.assert_allclose(found.high, middle + half, atol=2e-4 * half.min())
        np.testing.assert_allclose(found.estimate, middle, atol=1e-9)
        np.testing.assert_allclose(found.std_error, half / stats.norm.ppf((1 + level) / 2), rtol=2e-4)
        assert not np.any(found.noise_share)
        assert found.weakest == math.inf


def test_collinear_columns_without_noise_are_not_told_apart():
    rng = np.random.default_rng(6)
    V = rows(rng, 500, 3)
    V[:, 1] = V[:, 0]
    found = intervals(reading(rng, V, target(rng, V, np.full(4, 0.2)), 0.0), np.array([[1.0, -1, 0, 0], [1, 1, 0, 0]]))
    assert list(found.verdict) == [UNBOUNDED, BOUNDED]


def test_a_higher_level_gives_a_wider_interval():
    given = made(7)
    found = [intervals(given, np.eye(4), level) for level in (0.5, 0.8, 0.9, 0.95, 0.99, 0.999)]
    assert np.all(np.diff([one.high for one in found], axis=0) > 0)
    assert np.all(np.diff([one.low for one in found], axis=0) < 0)


def test_joint_intervals_are_those_of_the_level_of_bonferroni():
    given = made(8)
    together, each = intervals(given, np.eye(4), 0.9, joint=True), intervals(given, np.eye(4), 1 - 0.1 / 4)
    np.testing.assert_allclose(together.low, each.low)
    np.testing.assert_allclose(together.high, each.high)


def permuted(given, order):
    square = np.ix_(order, order)
    return replace(
        given, matrix=given.matrix[square], vector=given.vector[order], cells=given.cells[square],
        tied=given.tied[order], vector_noise=given.vector_noise[square], sampling=given.sampling[square],
    )  # fmt: skip


@pytest.mark.parametrize("laplace", [False, True])
def test_the_order_of_the_coordinates_does_not_matter(laplace):
    given = made(9, laplace=laplace)
    order = np.array([2, 0, 1, 3])
    one, other = intervals(given, np.eye(4)), intervals(permuted(given, order), np.eye(4))
    half = (one.high - one.low).min()
    np.testing.assert_allclose(other.low, one.low[order], atol=1e-3 * half)
    np.testing.assert_allclose(other.high, one.high[order], atol=1e-3 * half)


def test_units_do_not_matter_where_the_released_numbers_bound_the_coefficients():
    given, scale = made(10), np.array([0.5, 1.0, 3.0, 1.0])
    both = np.outer(scale, scale)
    scaled = replace(
        given, matrix=given.matrix * both, vector=given.vector * scale, cells=given.cells * both**2,
        vector_noise=given.vector_noise * both, sampling=given.sampling * both,
    )  # fmt: skip
    one, other = intervals(given, np.eye(4)), intervals(scaled, np.diag(scale))
    half = (one.high - one.low).min()
    np.testing.assert_allclose(other.low, one.low, atol=1e-3 * half)
    np.testing.assert_allclose(other.high, one.high, atol=1e-3 * half)


def test_a_score_at_a_point_gives_the_same_intervals_as_the_moments_without_noise():
    given = made(11, deviation=0.0)
    at = np.array([0.2, -0.1, 0.3, 0.1])
    moved = replace(given, center=at, vector=given.vector - given.matrix @ at)
    one, other = intervals(given, np.eye(4)), intervals(moved, np.eye(4))
    half = (one.high - one.low).min()
    np.testing.assert_allclose(other.low, one.low, atol=1e-3 * half)
    np.testing.assert_allclose(other.estimate, one.estimate, atol=1e-9)


def test_a_factor_multiplies_everything_and_a_negative_one_swaps_the_ends():
    given = made(12)
    one, other = intervals(given, np.eye(4)), intervals(replace(given, factor=-2.0), np.eye(4))
    np.testing.assert_allclose(other.low, -2 * one.high)
    np.testing.assert_allclose(other.estimate, -2 * one.estimate)
    np.testing.assert_allclose(other.std_error, 2 * one.std_error)


def hardly_identified(seed, smallest):
    """A matrix whose smallest eigenvalue is as large as its noise, and coefficients elsewhere."""
    rng, cells = np.random.default_rng(seed), cell_variances(4, 9.0)
    turn = np.linalg.qr(rng.normal(size=(3, 3)))[0]
    matrix = np.zeros((4, 4))
    matrix[:3, :3] = turn @ np.diag([smallest, 30.0, 120.0]) @ turn.T * 9.0
    matrix[3, 3] = 2500.0
    coef = np.append(0.3 * turn[:, 1], 0.2)
    noisy = matrix + symmetric_noise(rng, cells, np.zeros(4))
    root = np.sqrt(0.05) * np.linalg.cholesky(matrix)
    vector = matrix @ coef + root @ rng.normal(size=4) + 9.0 * rng.normal(size=4)
    return of_moments(noisy, vector, coef @ matrix @ coef + 500.0, 10_000, cells, np.zeros(4), 9.0)


@pytest.mark.parametrize(("seed", "smallest"), [(0, 1.0), (49, 1.0), (13, 2.0), (24, 2.0)])
def test_an_end_behind_which_the_set_goes_on_is_not_taken_for_one(seed, smallest):
    given, which = hardly_identified(seed, smallest), np.array([3])
    search = Search.of(given, np.eye(4), box_of(given))
    box = search.box[3]
    near, reached = ends(given, np.eye(4)[[3, 3]], np.array([-1.0, 1.0]), search.middle, box, Z)
    points, success = search.ends(which, Z)
    assert reached.all()
    assert success.all()
    assert points[0, 0, 3] <= near[0, 3] + 1e-9
    assert points[1, 0, 3] >= near[1, 3] - 1e-9
    assert np.all(statistic(given, points[:, 0], box).value <= Z**2 + 1e-3)
    theirs = [farthest(given, np.eye(4)[3], sign, search.middle, box) for sign in (-1, 1)]
    assert np.all((points[:, 0, 3] - theirs) * [-1, 1] > -1e-3 * np.ptp(theirs))


def with_a_rare_flag(seed, coef=1.0, rows=20.0):
    """An equation of two strong columns, a flag that is 1 in few rows, and a constant."""
    rng, cells = np.random.default_rng(seed), cell_variances(4, 9.0)
    matrix = np.diag([900.0, 900.0, rows * 0.25, 10_000 * 0.25])
    matrix[2, 3] = matrix[3, 2] = rows * 0.25
    truth = np.array([0.4, -0.3, coef, 0.1])
    noisy = matrix + symmetric_noise(rng, cells, np.zeros(4))
    root = np.sqrt(0.05) * np.linalg.cholesky(matrix)
    vector = matrix @ truth + root @ rng.normal(size=4) + 9.0 * rng.normal(size=4)
    square = float(truth @ matrix @ truth) + 500.0
    return replace(
        of_moments(noisy, vector, square, 10_000, cells, np.zeros(4), 9.0), sizes=np.full(4, 0.5)
    ), truth  # fmt: skip


def test_a_column_that_is_drowned_silences_itself_at_most():
    hits, verdicts = [], set()
    for seed in range(40):
        given, truth = with_a_rare_flag(seed, coef=4.0 * (-1) ** seed)  # at its bound
        found = intervals(given, np.eye(4))
        assert found.verdict[2] not in (BOUNDED, NARROWLY)
        assert set(found.verdict[:2]) <= {BOUNDED, DECLARED}
        verdicts |= set(found.verdict[:2])
        hits.append((found.low <= truth) & (truth <= found.high))
    assert np.mean(hits, axis=0).min() >= 0.93
    assert verdicts == {BOUNDED, DECLARED}


def test_a_column_and_its_complement_leave_the_other_lines():
    for seed in range(10):
        rng = np.random.default_rng(seed)
        V = rows(rng, 20_000, 3)
        V[:, 2] = 0.3 - V[:, 1]  # the constant is a half: what is told apart is their difference
        given = reading(rng, V, target(rng, V, np.full(4, 0.2)), 8.0)
        found = intervals(given, np.eye(4))
        assert found.verdict[0] in (BOUNDED, DECLARED)
        assert not set(found.verdict[1:3]) & {BOUNDED, NARROWLY}
        assert np.all((found.low <= 0.2) & (found.high >= 0.2))


def test_the_larger_the_bound_of_the_drowned_the_wider_are_the_others():
    given, _ = with_a_rare_flag(0)
    widths = [np.ptp([found.low, found.high], axis=0)[:2] for found in (intervals(given, np.eye(4), 0.95, False, bound)
              for bound in (0.5, 2.0, 8.0))]  # fmt: skip
    assert np.all(np.diff(widths, axis=0) > 0)


def test_intervals_are_nested_in_the_level_also_beside_a_drowned_column():
    levels = (0.5, 0.7, 0.9, 0.94, 0.95, 0.99, 0.999)
    for seed in range(6):
        given, _ = with_a_rare_flag(seed)
        found = [intervals(given, np.eye(4), level) for level in levels]
        for narrower, wider in itertools.pairwise(found):
            both = wider.verdict != UNBOUNDED
            assert np.all(narrower.verdict[both] != UNBOUNDED)
            assert np.all(wider.low[both] <= narrower.low[both])
            assert np.all(narrower.high[both] <= wider.high[both])


def test_a_coefficient_that_the_data_bound_does_not_depend_on_the_assumption():
    given = made(13)
    bounds = box_of(given)
    np.testing.assert_array_equal(bounds.nuisance, bounds.main)
    far = 2.4 * EFFECT_BOUNDS[Estimand.MEAN] / given.sizes  # beyond the bound of others
    moved = replace(given, vector=given.vector + given.matrix @ far)
    found, usual = intervals(moved, np.eye(4)), intervals(moved, np.eye(4), 0.95, False, 1e3)
    assert np.all(found.verdict == BOUNDED)
    np.testing.assert_allclose(found.low, usual.low, atol=1e-3)


def test_a_search_that_ends_too_early_is_seen_by_the_test(monkeypatch):
    given = made(7)
    found = intervals(given, np.eye(4))
    short = replace(found, low=found.low / 2 + found.high / 2 - 1e-9, estimate=found.high)
    tested, p_values = consistent(given, np.eye(4), found.low * 0.75 + found.high * 0.25, short)
    assert np.all(tested.verdict == UNBOUNDED)
    assert np.all(np.isnan(p_values))


def test_a_matrix_of_noise_alone_says_nothing():
    for seed in range(8):
        found = intervals(made(seed, n=100, d=4, deviation=100.0), np.eye(5), bounds=math.inf)
        assert np.all(found.verdict == UNBOUNDED)
        assert np.all(np.isinf(found.low))
        assert np.all(np.isinf(found.high))
        assert np.all(np.isinf(found.std_error))
        assert np.all(np.isnan(found.estimate))


@pytest.mark.parametrize("broken", [np.nan, np.inf, 1e200])
def test_numbers_that_cannot_be_computed_with_say_nothing(broken):
    given = made(14)
    matrix = given.matrix.copy()
    matrix[0, 1] = matrix[1, 0] = broken
    found = intervals(replace(given, matrix=matrix), np.eye(4))
    assert np.all(found.verdict == UNBOUNDED)


@pytest.mark.filterwarnings("error")
def test_whatever_is_released_ends_are_two_finite_numbers_or_none():
    rng = np.random.default_rng(17)
    for _ in range(60):
        q = int(rng.integers(1, 6))
        matrix = rng.normal(size=(q, q)) * 10.0 ** rng.choice([0, 3, -3, 150, 300])
        cells, tied = rng.random((q, q)) * rng.choice([0.0, 1.0, 1e4, 1e200]), np.zeros(q)
        if q > 1 and rng.random() < 0.3:
            tied[0], cells[0, 0] = 1.0, 0.0
        if rng.random() < 0.2:
            matrix[:, 0] = matrix[0] = 0.0
        given = Reading(
            matrix=matrix + matrix.T, vector=rng.normal(size=q) * rng.choice([1.0, 1e5, 1e200]), cells=cells + cells.T,
            tied=tied, vector_noise=np.eye(q) * rng.choice([0.0, 1.0]), sampling=np.eye(q) * rng.choice([0.0, 1.0]),
            laplace=bool(rng.random() < 0.5), center=np.zeros(q), sizes=np.ones(q), estimand=Estimand.MEAN,
        )  # fmt: skip
        found = intervals(given, np.eye(q), bounds=rng.choice([None, 10.0]))
        bounded = found.verdict != UNBOUNDED
        assert np.all(found.low[bounded] < found.high[bounded])
        assert np.all(np.isfinite(found.low) == bounded)
        assert np.all(np.isfinite(found.high) == bounded)
        tested = score_test(given, np.eye(q)[:1], [0.0])
        assert (tested.verdict == UNBOUNDED) == math.isnan(tested.p_value)


def test_the_quantile_of_one_laplace_number_is_not_exceeded_and_that_of_none_is_normal():
    assert quantile(Z, np.zeros(1)) == Z
    laplace = stats.laplace.ppf(0.975, scale=2**-0.5)
    assert Z < quantile(Z, np.array([1.0])) < quantile(Z, np.array([3.0])) <= laplace * (1 + 1e-12)
    far = stats.norm.ppf(1 - 1e-6)
    assert quantile(far, np.array([3.0])) <= stats.laplace.ppf(1 - 1e-6, scale=2**-0.5) * (1 + 1e-12)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("laplace", [False, True])
def test_the_p_value_at_an_end_is_what_the_level_leaves(seed, laplace):
    given, level = made(20 + seed, laplace=laplace), 0.99
    found = intervals(given, np.eye(4), level)
    for j in range(4):
        for end in (found.low[j], found.high[j]):
            tested = score_test(given, np.eye(4)[[j]], [end])
            assert tested.p_value == pytest.approx(1 - level, rel=5e-3)
            assert tested.dof == 1


def test_laplace_noise_makes_p_values_larger_as_it_makes_intervals_wider():
    rng = np.random.default_rng(18)
    V = rows(rng, 2000, 1)[:, :1]
    given = reading(rng, V, target(rng, V, np.array([0.3])), 20.0, laplace=True)
    found, normal = (intervals(one, np.eye(1), 0.99) for one in (given, replace(given, laplace=False)))
    assert found.high[0] - found.low[0] > 1.05 * (normal.high[0] - normal.low[0])
    tested = score_test(given, np.eye(1), found.high)
    assert tested.p_value == pytest.approx(0.01, rel=5e-3)
    assert score_test(replace(given, laplace=False), np.eye(1), found.high).p_value < 0.008


def test_a_test_of_all_coefficients_without_noise_is_walds():
    rng = np.random.default_rng(15)
    V = rows(rng, 500, 3)
    y = target(rng, V, np.full(4, 0.1))
    given = reading(rng, V, y, 0.0)
    coef = np.linalg.lstsq(V, y, rcond=None)[0]
    inverse = np.mean((y - V @ coef) ** 2) * np.linalg.inv(V.T @ V)
    for contrasts in (np.eye(4), np.eye(4)[:2], rng.normal(size=(3, 4))):
        away = contrasts @ coef
        wald = away @ np.linalg.solve(contrasts @ inverse @ contrasts.T, away)
        found = score_test(given, contrasts, np.zeros(len(contrasts)))
        assert found.statistic == pytest.approx(wald, rel=1e-5)
        assert found.p_value == pytest.approx(stats.chi2.sf(wald, len(contrasts)), rel=1e-4)


def test_there_is_no_p_value_where_an_interval_is_unbounded():
    tested = score_test(made(0, n=100, d=4, deviation=100.0), np.eye(5)[:2], [0.0, 0.0])
    assert tested.verdict == UNBOUNDED
    assert math.isnan(tested.p_value)
    assert math.isnan(tested.statistic)


def test_input_that_makes_no_sense_is_refused():
    given = made(16)
    with pytest.raises(ValueError, match="`contrasts` must have shape"):
        intervals(given, np.eye(3))
    with pytest.raises(ValueError, match="no row may be zero"):
        intervals(given, np.zeros((1, 4)))
    with pytest.raises(ValueError, match="`level` must be"):
        intervals(given, np.eye(4), 95.0)
    with pytest.raises(ValueError, match="`effect_bound` must be"):
        intervals(given, np.eye(4), bounds=0.0)
    with pytest.raises(ValueError, match="independent"):
        score_test(given, np.ones((2, 4)), [0.0, 0.0])
    with pytest.raises(ValueError, match="`values` must be 1"):
        score_test(given, np.ones((1, 4)), [0.0, 1.0])


def one_coefficient(matrix, vector=0.5):
    """An equation of one coefficient whose matrix has noise of deviation 1."""
    one = np.ones((1, 1))
    return Reading(
        matrix=matrix * one, vector=vector * np.ones(1), cells=one, tied=np.zeros(1), vector_noise=0.01 * one,
        sampling=0.01 * one, laplace=False, center=np.zeros(1), sizes=np.ones(1), estimand=Estimand.MEAN, n_rows=1000.0,
    )  # fmt: skip


def test_an_interval_is_reported_where_that_of_a_far_higher_level_is_bounded_too():
    contrast = np.eye(1)

    def found(matrix, level=0.95):
        return intervals(one_coefficient(matrix), contrast, level, bounds=math.inf)

    assert found(2.5).verdict[0] == UNBOUNDED  # 2.5 deviations are noise once in eighty
    assert found(3.1).verdict[0] == UNBOUNDED
    assert found(4.0).verdict[0] == NARROWLY
    assert found(5.5).verdict[0] == BOUNDED
    assert found(5.5, 0.99).verdict[0] == NARROWLY  # as 2.58 + 3.29 is more
    assert found(6.5, 0.99).verdict[0] == BOUNDED
    assert math.isnan(score_test(one_coefficient(2.5), contrast, np.zeros(1), math.inf).p_value)
    usual, surer = found(5.5), found(5.5, 0.999)
    assert usual.high[0] - usual.low[0] < surer.high[0] - surer.low[0]  # the ends are those of the level asked for


@pytest.mark.parametrize(("sampling", "least", "most"), [(1e-9, 0.999, 1.0), (0.005, 0.6, 0.9), (0.1, 0.1, 0.4)])
def test_an_interval_that_is_barely_bounded_is_wider_by_the_noise_on_the_matrix(sampling, least, most):
    contrast, one = np.eye(1), np.ones((1, 1))
    barely = replace(one_coefficient(4.5, 1.0), vector_noise=0 * one, sampling=sampling * one)
    found = intervals(barely, contrast, bounds=math.inf)
    assert found.verdict[0] == NARROWLY
    assert math.isnan(found.std_error[0])  # it grows faster than the quantile
    assert found.bounded_to[0] == pytest.approx(1 - 2 * stats.norm.sf(4.5 - 1 / 8), rel=1e-5)
    share = float(correlation(barely, one, found.low[:, None])[0])
    assert least <= share <= most
    firm, _ = Search.of(barely, contrast, box_of(barely, math.inf)).ends(np.zeros(1, int), Z + (SURE - Z) * share)
    assert found.low[0] == pytest.approx(firm.min(), rel=1e-3)
    # P-values and intervals agree: what an end excludes has a p-value of 5 %.
    at_the_end = score_test(barely, contrast, found.low, math.inf)
    assert at_the_end.p_value == pytest.approx(0.05, rel=1e-2)
    assert at_the_end.verdict == NARROWLY


def test_reported_intervals_hold_the_truth_also_where_few_are_reported():
    """Lemma 8 with all of the error in the noise on the matrix."""
    noise = np.linspace(-6, 6, 121)
    chances = np.exp(-(noise**2) / 2) / np.exp(-(noise**2) / 2).sum()
    strengths = np.arange(1.2, 8.1, 0.2)
    matrices = np.unique(np.round(strengths[:, None] + noise, 9))
    tables = {}
    for matrix in matrices[matrices > SURE]:
        one = np.ones((1, 1))
        exact = Reading(
            matrix=matrix * one, vector=np.ones(1), cells=one, tied=np.zeros(1), vector_noise=1e-6 * one,
            sampling=1e-6 * one, laplace=False, center=np.zeros(1), sizes=np.ones(1),
            estimand=Estimand.MEAN, n_rows=1000.0,
        )  # fmt: skip
        found = intervals(exact, np.eye(1), bounds=math.inf)
        tables[matrix] = found.low[0], found.high[0], found.verdict[0] != UNBOUNDED
    for strength in strengths:
        reported = held = 0.0
        for chance, matrix in zip(chances, np.round(strength + noise, 9), strict=True):
            low, high, bounded = tables.get(matrix, (0.0, 0.0, False))
            reported += chance * bounded
            held += chance * (bounded and low <= 1 / strength <= high)  # the truth of this vector
        assert reported < 0.02 or held / reported >= 0.94, strength


@pytest.mark.parametrize(("alpha", "most"), [(0.05, 0.059), (0.01, 0.015), (0.001, 0.002)])
@pytest.mark.parametrize("rho", [0.0, 0.2, 0.4, 0.5, 0.6, 0.7, 0.8, 1.0])
def test_few_reported_intervals_miss_whatever_part_the_noise_on_the_matrix_has(rho, alpha, most):
    """Lemma 8, by integration over that noise."""
    noise = np.linspace(-8, 8, 8001)
    chances = stats.norm.pdf(noise) * (noise[1] - noise[0])
    rest = math.sqrt(max(1 - rho**2, 1e-12))
    worst, unwidened = 0.0, 0.0
    for strength in np.arange(0.5, 9.0, 0.05):
        released = np.abs(strength + noise)
        reported = chances * (released > SURE)
        if reported.sum() < 0.02:
            continue
        usual = stats.norm.isf(alpha / 2)
        firm = released > usual + SURE
        for widening in (0.0, rho * _widening(alpha)):
            z = np.where(firm, usual, usual + widening)
            missed = stats.norm.sf((z - rho * noise) / rest) + stats.norm.cdf((-z - rho * noise) / rest)
            share = (reported * missed).sum() / reported.sum()
            if widening:
                worst = max(worst, share)
            else:
                unwidened = max(unwidened, share)
    assert worst <= most
    assert alpha < 0.05 or unwidened >= {0.5: 0.19, 0.6: 0.25, 0.7: 0.33, 0.8: 0.45, 1.0: 0.99}.get(rho, 0.049)


def test_within_a_bound_of_its_effect_a_coefficient_is_told_from_one_deviation_on():
    contrast, width = np.eye(1), EFFECT_BOUNDS[Estimand.MEAN]
    for matrix, without, within in (
        (0.8, UNBOUNDED, UNBOUNDED),
        (2.0, UNBOUNDED, BARELY),
        (3.2, UNBOUNDED, DECLARED),
        (4.0, NARROWLY, DECLARED),  # firm beyond the quantile and one deviation
        (5.5, BOUNDED, BOUNDED),
    ):
        given = one_coefficient(matrix)
        assert intervals(given, contrast, bounds=math.inf).verdict[0] == without
        found = intervals(given, contrast)
        assert found.verdict[0] == within
        if within != UNBOUNDED:
            assert -width <= found.low[0] < found.high[0] <= width
            capped = found.high[0] == width
            assert math.isnan(found.std_error[0]) == (within == BARELY or capped)
            assert math.isnan(found.bounded_to[0])


def test_a_contrast_with_a_coefficient_without_a_bound_is_asked_as_ever():
    """Nothing ends it: whether it has ends would be a choice by noise."""
    given, _ = with_a_rare_flag(2, rows=80.0)
    contrasts = np.eye(4)[[2, 2]] + np.eye(4)[[3, 0]]
    bounds = (2.0, 2.0, 2.0, math.inf)
    assert intervals(given, contrasts, bounds=bounds).verdict.tolist() == [UNBOUNDED, DECLARED]
    assert intervals(given, contrasts).verdict.tolist() == [DECLARED, DECLARED]


def test_within_its_bound_an_interval_and_its_p_value_agree():
    """The far end is at the bound, and the near one where the p-value is that of the level, with room or without."""
    seen = set()
    for matrix, vector in ((2.8, 4.0), (3.6, 4.5), (2.0, 3.5)):
        given, contrast = one_coefficient(matrix, vector), np.eye(1)
        found = intervals(given, contrast)
        seen.add(found.verdict[0])
        assert found.high[0] == 2.0
        assert 0 < found.low[0] < 2
        assert score_test(given, contrast, found.low).p_value == pytest.approx(0.05, rel=1e-2)
        tested, p_values = consistent(given, contrast, np.zeros(1), found)
        assert tested.verdict[0] == found.verdict[0]
        assert p_values[0] < 0.05
    assert seen == {BARELY, DECLARED}


def test_within_a_bound_lines_hold_the_truth_however_few_are_reported():
    """The worst case of lemma 11: all of the error is noise on the matrix, and each strength down to that of no row."""
    noise = np.linspace(-4, 4, 21)
    chances = np.exp(-(noise**2) / 2) / np.exp(-(noise**2) / 2).sum()
    strengths = np.array([0.8, 1.6, 3.2])  # the effect is 1 / strength
    tables = {}
    for matrix in np.unique(np.round(strengths[:, None] + noise, 9)):
        one = np.ones((1, 1))
        found = intervals(
            replace(one_coefficient(matrix, 1.0), vector_noise=1e-6 * one, sampling=1e-6 * one), np.eye(1)
        )
        tables[matrix] = found.low[0], found.high[0], found.verdict[0] != UNBOUNDED
    for strength in strengths:
        lows, highs, told = np.array([tables[matrix] for matrix in np.round(strength + noise, 9)]).T
        held = (lows <= 1 / strength) & (1 / strength <= highs)
        assert chances @ told >= stats.norm.sf(VISIBLE - strength)
        assert (chances * held) @ told / (chances @ told) >= 0.94, strength


@pytest.mark.parametrize(("alpha", "most"), [(0.05, 0.051), (0.01, 0.0102), (0.001, 0.00102)])
@pytest.mark.parametrize("rho", [0.0, 0.2, 0.5, 0.7, 1.0])
def test_within_a_bound_few_lines_miss_at_any_strength(rho, alpha, most):
    """Lemma 11, by integration over the noise on the matrix."""
    noise = np.linspace(-8, 8, 4001)
    chances = stats.norm.pdf(noise) * (noise[1] - noise[0])
    rest, usual = math.sqrt(max(1 - rho**2, 1e-12)), stats.norm.isf(alpha / 2)
    for strength in np.arange(0.0, 9.0, 0.1):
        reported = chances * (np.abs(strength + noise) > VISIBLE)
        z = np.where(np.abs(strength + noise) > usual + VISIBLE, usual, usual + rho * _widening(alpha))
        missed = stats.norm.sf((z - rho * noise) / rest) + stats.norm.cdf((-z - rho * noise) / rest)
        assert reported @ missed / reported.sum() <= most, strength


def test_noise_that_makes_a_direction_look_strong_is_hardly_ever_reported():
    matrices = 1.0 + np.random.default_rng(0).normal(size=400)  # one deviation: 17 % look like two and more
    verdicts = [intervals(one_coefficient(each), np.eye(1), bounds=math.inf).verdict[0] for each in matrices]
    assert np.mean(np.array(verdicts) != UNBOUNDED) <= 0.02
    assert np.mean(matrices > Z) >= 0.12
