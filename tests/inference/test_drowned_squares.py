"""Explained variance and residual deviation beside columns that noise drowns: what these add at most (lemma 10)."""

import math
from dataclasses import replace

import numpy as np
import pytest

from dplr.inference.determination import Squares, explained, residual_deviation
from dplr.inference.drowned import _gain, deviation_within, drowned, explained_within

ROWS, ERROR = 20_000.0, 0.05
BOUNDS = np.full(4, 2.0)


def squares(effect=0.0, rare=60.0, noise=0.0, coef=0.4):
    """Moments of a target, an ample column, two columns of `rare` rows, of which one has an effect, and a constant.

    The cells have the variances of `noise`, and no noise is in them.
    """
    S = np.diag([ROWS / 3, rare, rare, ROWS])
    S[0, 1] = S[1, 0] = 0.2 * rare
    theta = np.array([coef, effect, 0.0, 0.1])
    matrix = np.empty((5, 5))
    matrix[1:, 1:], matrix[0, 1:] = S, S @ theta
    matrix[1:, 0], matrix[0, 0] = S @ theta, theta @ S @ theta + ROWS * ERROR
    cells = np.full((5, 5), noise**2 / 2)
    np.fill_diagonal(cells, noise**2)
    cells[-1, -1] = 0.0
    given = Squares(matrix, cells, np.zeros(5), ROWS, True, False)
    centred = theta @ S @ theta - ROWS * 0.01
    return given, centred / (centred + ROWS * ERROR)


def noisy(given, rng):
    noise = np.triu(rng.normal(size=(5, 5)) * np.sqrt(given.cells))
    return replace(given, matrix=given.matrix + noise + np.triu(noise, 1).T)


def test_columns_that_noise_drowns_are_named_and_no_others():
    given, _ = squares(noise=20.0)
    assert drowned(given).tolist() == [2, 3]
    assert drowned(squares(noise=1.0)[0]).tolist() == []
    assert drowned(replace(given, constant=False)).tolist() == [2, 3]
    assert drowned(squares(noise=1e5)[0]).tolist() == [1, 2, 3]
    everywhere = replace(given, cells=np.full((5, 5), 1e10))
    assert drowned(everywhere).tolist() == [1, 2, 3]  # the constant stays


def test_without_drowned_columns_nothing_changes():
    given, _ = squares(noise=1.0)
    assert explained_within(given, BOUNDS, 0.95) == explained(given, 0.95)
    assert deviation_within(given, BOUNDS, 0.95) == residual_deviation(given, 0.95)


def test_the_gain_is_reached_at_the_bound():
    """With an effect of the bound the gain is what the column explains, up to the noise of its score."""
    given, _ = squares(effect=2.0, noise=1e-6)
    gain = _gain(given, np.array([2, 3]), BOUNDS, 0.95)
    least = 4.0 * 60 * (1 - 0.04 * 60 / (ROWS / 3))
    assert least <= gain
    quiet = replace(given, cells=0 * given.cells)
    half = sum(2.0 * 2.935 * 2.0 * math.sqrt(60) for _ in range(2))  # .33 % for each; residuals of at most 2
    assert gain == pytest.approx(least + half, rel=0.02)
    assert gain == pytest.approx(_gain(quiet, np.array([2, 3]), BOUNDS, 0.95), rel=1e-3)
    assert _gain(given, np.array([2, 3]), BOUNDS / 2, 0.95) == pytest.approx(gain / 2)


@pytest.mark.parametrize("effect", [0.0, 1.9])
def test_intervals_hold_with_and_without_an_effect_of_the_drowned_column(effect):
    rng, (given, share) = np.random.default_rng(0), squares(effect, rare=100.0, noise=20.0)
    held, alone = np.zeros((2, 300, 2), bool)
    for k in range(300):
        one = noisy(given, rng)
        value, low, high = explained_within(one, BOUNDS, 0.95)
        assert low <= value <= high
        deviation = deviation_within(one, BOUNDS, 0.95)
        held[k] = low <= share <= high, deviation[1] <= math.sqrt(ERROR) <= deviation[2]
        kept = np.ix_([0, 1, 4], [0, 1, 4])
        rest = Squares(one.matrix[kept], one.cells[kept], np.zeros(3), ROWS, True, False)
        ends = explained(rest, 0.95), residual_deviation(rest, 0.95)
        alone[k] = ends[0][1] <= share <= ends[0][2], ends[1][1] <= math.sqrt(ERROR) <= ends[1][2]
    assert held.mean(axis=0).min() >= 0.95
    if effect:  # which the other columns do not know of
        assert alone.mean(axis=0).max() < 0.5


def test_where_every_slope_is_drowned_or_the_gain_is_all_that_there_is_nothing_is_said():
    assert math.isnan(explained_within(squares(noise=5000.0)[0], BOUNDS, 0.95)[0])
    assert math.isnan(deviation_within(squares(noise=5000.0)[0], BOUNDS, 0.95)[0])
    given, _ = squares(noise=1500.0)
    given.matrix[0, 0] = 1e5  # a target that is clear, and a gain that would be
    assert drowned(given).tolist() == [1, 2, 3]
    assert math.isnan(explained_within(given, 1e-3 * BOUNDS, 0.95)[0])
    given, _ = squares(noise=20.0, coef=0.0)
    assert math.isnan(explained_within(given, 100 * BOUNDS, 0.95)[0])
    assert math.isnan(deviation_within(given, 100 * BOUNDS, 0.95)[0])
