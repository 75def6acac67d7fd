"""Smaller models from the same equation, and the part of the covariance that the choice of the rows causes."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats
from tests.helpers.made_readings import cell_variances, of_moments, reading, rows, symmetric_noise, target

from dplr.inference.expansion import expanded
from dplr.inference.intervals import BOUNDED, intervals
from dplr.inference.noise import covariance
from dplr.inference.reading import Curvature, Expansion, Reading
from dplr.inference.sampling import (
    classical_sampling,
    positive_part,
    residual_sum,
    ridge_fit,
    robust_sampling,
)
from dplr.privacy.estimand import Estimand


def correlated(rng, n=800):
    V = rows(rng, n, 4)
    V[:, 1] = 0.7 * V[:, 0] + 0.3 * V[:, 1]
    return V, target(rng, V, np.array([0.5, 0.6, 0.2, -0.3, 0.2]))


@pytest.mark.parametrize("keep", [[0, 2, 4], [1, 4], [0, 1, 2, 3], [4]])
def test_without_noise_a_subset_is_least_squares_on_its_columns(keep):
    V, y = correlated(np.random.default_rng(0))
    small = reading(np.random.default_rng(1), V, y, 0.0).subset(np.array(keep))
    found = intervals(small, np.eye(len(keep)))
    coef = np.linalg.lstsq(V[:, keep], y, rcond=None)[0]
    variance = np.mean((y - V[:, keep] @ coef) ** 2) * np.linalg.inv(V[:, keep].T @ V[:, keep])
    half = stats.norm.ppf(0.975) * np.sqrt(np.diag(variance))
    np.testing.assert_allclose(found.estimate, coef, atol=1e-9)
    np.testing.assert_allclose((found.high - found.low) / 2, half, rtol=1e-3)


def test_the_larger_residuals_of_a_smaller_model_count():
    V, y = correlated(np.random.default_rng(2))
    whole = reading(np.random.default_rng(3), V, y, 2.0)
    keep = np.array([2, 3, 4])
    small = whole.subset(keep)
    taken_over = np.trace(whole.sampling[np.ix_(keep, keep)])
    assert np.trace(small.sampling) > 1.5 * taken_over


def test_a_subset_of_all_is_the_same_and_the_rest_keeps_its_cells():
    whole = reading(np.random.default_rng(4), *correlated(np.random.default_rng(4)), 5.0, hot=[0, 1])
    assert whole.subset(np.arange(5)) is whole
    keep = np.array([0, 3, 4])
    small = whole.subset(keep)
    for name in ("matrix", "cells", "vector_noise"):
        np.testing.assert_array_equal(getattr(small, name), getattr(whole, name)[np.ix_(keep, keep)])
    np.testing.assert_array_equal(small.tied, whole.tied[keep])
    np.testing.assert_array_equal(small.vector, whole.vector[keep])


def test_without_the_constant_a_tied_cell_has_noise_of_its_own():
    whole = reading(np.random.default_rng(5), *correlated(np.random.default_rng(5)), 5.0, hot=[0, 1])
    small = whole.subset(np.array([0, 1, 2]))
    assert not np.any(small.tied)
    phi = np.array([0.3, -0.2, 0.5])
    larger = covariance(whole.cells, whole.tied, np.array([*phi, 0.0, 0.0]))[:3, :3]
    np.testing.assert_allclose(covariance(small.cells, small.tied, phi), larger, rtol=1e-12)


def test_a_robust_subset_adds_what_the_residuals_gain():
    V, y = correlated(np.random.default_rng(6), 5000)
    whole = reading(np.random.default_rng(6), V, y, 0.0)
    residual = y - V @ np.linalg.lstsq(V, y, rcond=None)[0]
    meat = (V * residual[:, None] ** 2).T @ V
    whole, keep = replace(whole, sampling=robust_sampling(meat), robust=True), np.array([2, 3, 4])
    small = whole.subset(keep)
    again = y - V[:, keep] @ np.linalg.lstsq(V[:, keep], y, rcond=None)[0]
    truth = (V[:, keep] * again[:, None] ** 2).T @ V[:, keep]
    np.testing.assert_allclose(np.diag(small.sampling), np.diag(truth), rtol=0.1)
    assert not small.robust
    assert np.all(np.diag(small.sampling) > 1.3 * np.diag(meat)[keep])


def test_subsets_that_make_no_sense_are_refused():
    whole = reading(np.random.default_rng(7), *correlated(np.random.default_rng(7)), 5.0)
    for keep in ([], [1, 0], [0, 0], [0, 5], [-1, 2]):
        with pytest.raises(ValueError, match="`keep` must be increasing"):
            whole.subset(np.array(keep, int))
    with pytest.raises(ValueError, match="sum of squares"):
        replace(whole, square=None).subset(np.array([0]))
    with pytest.raises(ValueError, match="score at a point"):
        replace(whole, center=np.ones(5)).subset(np.array([0]))


def test_the_positive_part_is_the_nearest_matrix_without_negative_eigenvalues():
    matrix = np.diag([3.0, -1.0, 2.0])
    np.testing.assert_allclose(positive_part(matrix), np.diag([3.0, 0.0, 2.0]), atol=1e-12)
    turn = np.linalg.qr(np.random.default_rng(8).normal(size=(3, 3)))[0]
    np.testing.assert_allclose(positive_part(turn @ matrix @ turn.T), turn @ np.diag([3.0, 0, 2]) @ turn.T, atol=1e-12)


def test_the_residual_variance_is_found_and_never_below_its_noise_or_above_one():
    rng = np.random.default_rng(9)
    V, y = correlated(rng, 20_000)
    residual = y - V @ np.linalg.lstsq(V, y, rcond=None)[0]
    cells, noise = cell_variances(5, 5.0), 25.0 * np.eye(5)
    variances = []
    for _ in range(50):
        matrix = V.T @ V + symmetric_noise(rng, cells, np.zeros(5))
        given = of_moments(
            matrix, V.T @ y + 5 * rng.normal(size=5), y @ y + 5 * rng.normal(), len(y), cells, np.zeros(5), 5.0
        )
        variances.append(np.trace(given.sampling) / np.trace(positive_part(matrix)))
    assert np.mean(variances) == pytest.approx(np.mean(residual**2), rel=0.05)
    exact = V.T @ V, V.T @ y
    _, least = residual_sum(*exact, cells, np.zeros(5), noise, 0.0, 25.0)
    tiny = classical_sampling(*exact, cells, np.zeros(5), noise, -1e4, 25.0, len(y))
    np.testing.assert_allclose(tiny, least / len(y) * exact[0], rtol=1e-9)
    huge = classical_sampling(*exact, cells, np.zeros(5), noise, 1e9, 25.0, len(y))
    np.testing.assert_allclose(huge, exact[0], rtol=1e-9)


def test_the_least_residual_sum_is_a_part_of_its_own_deviation():
    rng = np.random.default_rng(10)
    V, y = correlated(rng)
    cells, at = cell_variances(5, 4.0), rng.normal(size=5)
    found = []
    for _ in range(4000):
        noise = symmetric_noise(rng, cells, np.zeros(5))
        found.append(4 * rng.normal() - 2 * 4 * at @ rng.normal(size=5) + at @ noise @ at)
    _, least = residual_sum(V.T @ V, V.T @ y, cells, np.zeros(5), 16.0 * np.eye(5), float(y @ y), 16.0, at)
    assert least == pytest.approx(0.3 * np.std(found), rel=0.05)


def test_a_ridge_fit_without_noise_is_least_squares():
    V, y = correlated(np.random.default_rng(11))
    fit = ridge_fit(V.T @ V, V.T @ y, np.zeros((5, 5)))
    np.testing.assert_allclose(fit, np.linalg.lstsq(V, y, rcond=None)[0], atol=1e-9)
    assert np.linalg.norm(ridge_fit(V.T @ V, V.T @ y, cell_variances(5, 9.0))) < np.linalg.norm(fit)


def test_a_level_that_the_others_make_up_for_is_left_out_of_a_score_wherever_it_was_released():
    rng = np.random.default_rng(5)
    hot = np.eye(3)[rng.integers(0, 3, 4000)] * 0.5
    V = np.column_stack([rng.uniform(-0.5, 0.5, 4000), hot, np.full(4000, 0.5)])
    null = np.array([[0.0, 1.0, 1.0, 1.0, -1.0]])  # of no row
    assert np.abs(V @ null[0]).max() < 1e-12
    y = rng.random(4000) < 1 / (1 + np.exp(-V @ [1.0, 0.0, 1.0, -1.0, 0.5]))
    keep = np.array([0, 2, 3, 4])

    def at(center):
        p = 1 / (1 + np.exp(-V @ center))
        hessian = (V * (p * (1 - p))[:, None]).T @ V
        noise = np.zeros((5, 5))
        given = Reading(
            matrix=hessian, vector=V.T @ (y - p), cells=noise + 1e-4, tied=np.zeros(5), vector_noise=np.eye(5),
            sampling=hessian, laplace=False, center=center, sizes=np.full(5, 0.5),
            estimand=Estimand.LOG_ODDS, n_rows=4000.0,
            expansion=Expansion(Curvature.LOGISTIC, 1.5, constant=True),
        )  # fmt: skip
        return intervals(expanded(given).referenced(keep, null), np.eye(4))

    best = np.zeros(5)
    for _ in range(20):  # maximum likelihood without the level
        p = 1 / (1 + np.exp(-V @ best))
        small = V[:, keep]
        best[keep] += np.linalg.solve((small * (p * (1 - p))[:, None]).T @ small, small.T @ (y - p))
    one, other = at(best), at(best + 3.0 * null[0])
    assert np.all(one.verdict == BOUNDED)
    assert one.estimate == pytest.approx(best[keep], abs=1e-9)
    assert other.estimate == pytest.approx(best[keep], abs=1e-9)
    assert other.low == pytest.approx(one.low, abs=1e-6)
    assert other.high == pytest.approx(one.high, abs=1e-6)
