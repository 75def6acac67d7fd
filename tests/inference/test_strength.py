"""What is known of all contrasts without a search: lemmas 12 and 13 against points, sums of squares and searches."""

from dataclasses import replace

import numpy as np
import pytest
from tests.helpers.made_readings import cell_variances, reading, rows, target
from tests.inference.test_steps_and_levels import of_strengths

from dplr.inference import score, search
from dplr.inference.intervals import BOUNDED, UNBOUNDED, consistent, intervals
from dplr.inference.noise import covariance, second
from dplr.inference.score import Local, ends, kurtosis, lowest_of, normal, quantile
from dplr.inference.search import SURE, Search, box_of
from dplr.inference.strength import Strength, ray_of, strength_of

OPEN = (True,) * 5


def made(seed, deviation, laplace=False, hot=()):
    rng = np.random.default_rng(seed)
    V = rows(rng, 3000, 2, 2)
    V[:, 0] *= 0.4
    return reading(rng, V, target(rng, V, np.array([0.5, -0.2, 0.1, 0.3, 0.2])), deviation, hot, laplace)


def noisy(strengths):
    """As `of_strengths`, with noise on all cells: no line is free of that of another column."""
    return replace(of_strengths(strengths), cells=cell_variances(len(strengths), 9.0, public=False))


def value(given, phi):
    return Local.of(given, phi).value


@pytest.mark.parametrize("hot", [(), (2, 3)])
@pytest.mark.parametrize("deviation", [2.0, 8.0, 20.0])
def test_no_direction_has_more_noise_than_the_strength_says(hot, deviation):
    """x'Cov(E delta)x at the worst pair that turns of both find, of all lengths 1."""
    given = made(1, deviation, hot=hot)
    known = strength_of(given)
    v = covariance(given.cells, given.tied, known.root) + given.vector_noise + given.sampling
    metric = given.matrix @ np.linalg.solve(v, given.matrix)
    turns = [np.linalg.inv(np.linalg.cholesky(m)) for m in (v, metric)]
    worst = 0.0
    for seed in range(20):
        x = turns[0].T @ np.random.default_rng(seed).normal(size=5)
        for turn in [turns[1], turns[0]] * 20:
            values, ways = np.linalg.eigh(turn @ covariance(given.cells, given.tied, x) @ turn.T)
            x = turn.T @ ways[:, -1]
        worst = max(worst, float(values[-1]))
    assert np.sqrt(worst) <= known.noise <= 3 * np.sqrt(worst)
    np.testing.assert_allclose(known.deviations, np.sqrt(np.diag(np.linalg.inv(metric))))


@pytest.mark.parametrize("laplace", [False, True])
def test_points_of_the_set_are_within_reach_and_so_are_those_between_them(laplace):
    given, z, rng = made(2, 4.0, laplace), 1.96, np.random.default_rng(3)
    known = strength_of(given)
    assert known.convex(z)
    most = known.largest(z)
    reach = known.reach(z)
    assert np.all(np.isfinite(reach))
    phi = known.root + rng.choice([0.3, 1.0, 10.0, 1000.0], (40_000, 1)) * reach * rng.uniform(-1, 1, (40_000, 5))
    inside = phi[value(given, phi) <= most**2]
    assert len(inside) > 100
    assert np.all(np.abs(inside - known.root) <= reach)
    between = (inside[rng.permutation(len(inside))] + inside) / 2
    assert np.all(value(given, between) <= most**2)


def test_a_strong_matrix_is_convex_below_its_limit_and_reaches_no_end_above_one():
    known = Strength(np.zeros(2), np.ones(2), 0.1, laplace=False)
    assert known.convex(2.92)
    assert not known.convex(2.94)  # a = 1 - sqrt(1/2)
    np.testing.assert_allclose(known.reach(5.0), 10.0)
    assert np.all(np.isinf(known.reach(10.5)))
    assert replace_laplace(known).largest(1.96) == pytest.approx(2.1184, abs=1e-4)
    assert known.largest(1.96) == pytest.approx(1.96)


def replace_laplace(known):
    return known._replace(laplace=True)


@pytest.mark.parametrize("change", [{"matrix": np.zeros((5, 5))}, {"matrix": np.full((5, 5), np.nan)}])
def test_nothing_is_known_of_a_matrix_without_an_inverse(change):
    given = replace(made(4, 4.0), **change)
    assert np.isinf(strength_of(given).noise)
    assert np.all(np.isinf(strength_of(given).reach(1.0)))
    assert not strength_of(given).convex(0.1)
    assert ray_of(given, (False,) * 5, SURE) == np.inf


def test_the_statistic_stays_below_the_ray_whatever_is_added():
    """Far out on it a contrast may have any value."""
    given = made(5, 250.0)
    limit = ray_of(given, OPEN, SURE / 2)
    assert limit < SURE / 2
    rng = np.random.default_rng(6)
    away = [value(given, 1e9 * rng.normal(size=(1, 5)))[0] for _ in range(2000)]
    assert limit**2 <= 1.05 * min(away)
    best = min((1e7 * rng.normal(size=(1, 5)) for _ in range(4000)), key=lambda ray: value(given, ray)[0])
    np.testing.assert_allclose(value(given, best + 1e3 * rng.normal(size=(20, 5))), value(given, best)[0], rtol=0.02)


def test_a_ray_leaves_coefficients_with_a_bound_where_they_are():
    """The weak direction is one coefficient alone: with a bound it hides nothing."""
    given = noisy([0.5, 20.0, 30.0])
    assert ray_of(given, (True, True, True), SURE / 2) == pytest.approx(0.5, rel=0.1)
    assert ray_of(given, (False, True, True), SURE / 2) > 10


def steps(function, monkeypatch):
    """The number of points at which the statistic is computed."""
    of, counts = Local.of.__func__, []

    def counted(cls, given, phi):
        counts.append(len(phi))
        return of(cls, given, phi)

    with monkeypatch.context() as patched:
        patched.setattr(Local, "of", classmethod(counted))
        box_of.cache_clear()
        found = function()
    return found, sum(counts)


def table(given, bounds):
    found = intervals(given, np.eye(len(given.vector)), 0.95, False, bounds)
    return consistent(given, np.eye(len(given.vector)), np.zeros(len(given.vector)), found, bounds)[0]


@pytest.mark.parametrize(("strength", "verdict", "most"), [(60.0, BOUNDED, 15), (0.5, UNBOUNDED, 3)])
def test_a_table_whose_lines_all_speak_or_are_silent_takes_few_points(strength, verdict, most, monkeypatch):
    """Points for each coefficient: both ends in 4 steps, a test from two starts, and none where all are silent."""
    given = noisy([strength] * 12)
    found, count = steps(lambda: table(given, (np.inf,) * 12), monkeypatch)
    assert set(found.verdict) == {verdict}
    assert count <= most * 12


@pytest.mark.parametrize("bounds", [(np.inf,) * 3, (0.01,) * 3, (0.05, np.inf, 0.05)])
def test_what_is_known_is_what_searches_find(bounds, monkeypatch):
    for strength in (0.8, 3.0, 9.0, 30.0):
        given = noisy([strength, 40.0, 50.0])
        with monkeypatch.context() as patched:
            known = table(given, bounds)
            nothing = Strength(np.zeros(3), np.zeros(3), np.inf, laplace=False)
            patched.setattr(search, "strength_of", lambda given, nothing=nothing: nothing)
            patched.setattr(search, "ray_of", lambda *_: np.inf)
            box_of.cache_clear()
            searched = table(given, bounds)
            box_of.cache_clear()
        assert known.verdict.tolist() == searched.verdict.tolist()
        np.testing.assert_allclose(known.low, searched.low, rtol=1e-3)
        np.testing.assert_allclose(known.high, searched.high, rtol=1e-3)


def test_a_search_ends_where_the_only_coefficient_of_a_contrast_is_beyond_its_bound(monkeypatch):
    given, seen = of_strengths([1.0, 8.0]), []
    contrasts = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])

    def recorded(*arguments):
        seen.append(arguments[-1])
        return ends(*arguments)

    monkeypatch.setattr(search, "ends", recorded)
    case = Search.of(given, contrasts, box_of(given))
    seen.clear()
    assert case.searched(np.arange(3), SURE).tolist() == [False, True, False]
    assert seen[0].tolist() == [[True, False], [False, True], [False, False]] * 2
    case.ends(np.arange(3), SURE)
    assert not seen[-1].any()
    far, found = ends(given, contrasts[:1], np.ones(1), case.middle, case.box[:1], SURE, own=contrasts[:1] != 0)
    assert found[0]
    assert far[0, 0] > case.box[0, 0]
    assert value(given, far)[0] < SURE**2


def test_of_searches_for_the_same_only_the_lowest_goes_on_to_its_end():
    given = of_strengths([4.0, 1.5, 9.0, 2.0])
    starts = np.random.default_rng(0).normal(size=(40, 4)) * 200
    owners, fixed = np.repeat([0, 1], 20), np.repeat(np.eye(4)[[0, 2]], 20, axis=0)[:, None]
    starts[:20, 0], starts[20:, 2] = 1.0, 2.0
    every = lowest_of(given, np.full(4, 500.0), starts, fixed)[2].reshape(2, 20)
    some = lowest_of(given, np.full(4, 500.0), starts, fixed, owners)
    some = np.where(some[1], some[2], np.inf).reshape(2, 20)
    np.testing.assert_allclose(some.min(axis=1), every.min(axis=1), rtol=1e-6)


def test_steps_along_one_line_are_taken_at_once_and_others_one_by_one():
    move = np.array([[0.5, 0.0], [0.5, 0.0], [-1.0, 0.0], [0.5, 0.0], [0.99, 0.0], [0.5, 0.0]])
    before = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 0.0], [0.0, 0.0], [1.0, 0.0], [0.4, 0.0]])
    assert score._length(move, before).tolist() == [2.0, 1.0, 0.5, 1.0, 1.0, 1.0]


def test_normal_quantiles_come_back():
    z, tails = np.meshgrid(np.linspace(0.01, 37, 300), [1e-6, 0.01, 0.3, 1.0, 3.0])
    np.testing.assert_allclose(normal(quantile(z, tails), tails), z, rtol=1e-7)


def test_straight_steps_are_those_of_the_whole_matrix():
    """Where no coefficient is beyond its bound, D^-1 V D^-1 is the inverse of D V^-1 D."""
    given = made(7, 6.0)
    rng = np.random.default_rng(8)
    phi, goal = strength_of(given).root + 0.1 * rng.normal(size=(6, 5)), rng.normal(size=(6, 5))
    local = Local.of(given, phi)
    x, across, length = score._along(local, goal)
    along = np.linalg.solve(local.model.curvature, goal[..., None])[..., 0]
    np.testing.assert_allclose(np.einsum("mi,mi->m", goal, along), length)
    np.testing.assert_allclose((local.model.turn @ along[..., None])[..., 0], x)
    np.testing.assert_allclose(across, (local.covariance @ x[..., None])[..., 0])
    assert np.all(kurtosis(given, x, phi) == 0)
    assert np.all(second(given.cells, given.tied, x, phi) > 0)
