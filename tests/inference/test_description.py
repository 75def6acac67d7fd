"""Bounds of fourth moments and of correlations' errors: attained, and never exceeded by a law in its range."""

import numpy as np
import pytest

from dplr.inference import description
from dplr.inference.description import Range, correlation_scatter, fourth


def moments(points, chances):
    mean = points @ chances
    return mean, ((points - mean) ** 2) @ chances, ((points - mean) ** 4) @ chances


def test_no_law_in_the_range_has_a_larger_fourth_moment():
    rng, reached = np.random.default_rng(0), 0.0
    for _ in range(20_000):
        count = rng.integers(2, 6)
        points = rng.uniform(-1, 3, count)
        points[: rng.integers(0, 3)] = rng.choice([-1.0, 3.0])
        chances = rng.dirichlet(np.full(count, 0.5))
        mean, variance, moment = moments(points, chances)
        bound = fourth(variance, Range(-1.0, 3.0, mean))
        if variance < 1e-9:
            continue
        assert moment <= bound * (1 + 1e-9)
        reached = max(reached, moment / bound)
    assert reached > 0.99


@pytest.mark.parametrize("share", [0.003, 0.2, 0.25, 0.4, 0.5, 0.9])
def test_a_flag_attains_it(share):
    points, chances = np.array([0.0, 1.0]), np.array([1 - share, share])
    mean, variance, moment = moments(points, chances)
    assert fourth(variance, Range(0.0, 1.0, mean)) == pytest.approx(moment)


@pytest.mark.parametrize("weight", [0.2, 0.5, 0.75])
def test_a_law_on_three_points_attains_it(weight):
    """Of mean 0 on -2, 0.5 and 1: the last is the nearer end, and the middle one minus half of what it is nearer by."""
    far, near, turn = 2.0, 1.0, 0.5
    low = (near * (1 - weight) + turn * weight) / (far + near)
    points, chances = np.array([-far, turn, near]), np.array([low, weight, 1 - weight - low])
    assert chances.min() >= 0
    mean, variance, moment = moments(points, chances)
    assert mean == pytest.approx(0)
    assert fourth(variance, Range(-far, near, mean)) == pytest.approx(moment)


def test_no_pair_of_columns_moves_a_correlation_by_more():
    rng = np.random.default_rng(1)
    for _ in range(5_000):
        count = rng.integers(3, 7)
        x, y = rng.uniform(0, 1, (2, count))
        chances = rng.dirichlet(np.full(count, 0.5))
        if rng.random() < 0.5:
            x, y = np.round(x), np.round(y)
        means = x @ chances, y @ chances
        variances = [((column - mean) ** 2) @ chances for column, mean in zip((x, y), means, strict=True)]
        if min(variances) < 1e-6:
            continue
        z = [(column - m) / np.sqrt(v) for column, m, v in zip((x, y), means, variances, strict=True)]
        ratio = (z[0] * z[1]) @ chances
        moved = z[0] * z[1] - ratio * (z[0] ** 2 + z[1] ** 2) / 2
        bound = correlation_scatter(ratio, variances, [Range(0.0, 1.0, mean) for mean in means])
        assert moved**2 @ chances <= bound * (1 + 1e-9) + 1e-9


def test_the_range_of_a_mean_is_never_left():
    assert description._within(0.5, (-1.0, 2.0), 0.0, 1.0) == pytest.approx([np.nan] * 3, nan_ok=True)
    assert description._within(-0.1, (-0.3, 0.1), 0.0, 1.0) == (0.0, 0.0, 0.1)
    assert description._within(-0.5, (-0.7, -0.3), 0.0, 1.0) == pytest.approx([np.nan] * 3, nan_ok=True)
