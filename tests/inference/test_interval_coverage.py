"""Simulated coverage of the engine, and that it would be lost if a part of the noise were forgotten."""

import functools
import itertools
from dataclasses import replace

import numpy as np
import pytest
from tests.helpers.made_readings import IOTA, cell_variances, of_moments, symmetric_noise

from dplr.inference import score
from dplr.inference.intervals import UNBOUNDED, intervals

DEVIATION, ROWS, ERROR, LEVEL = 9.0, 10_000, 0.05, 0.95
REPLICATIONS = 250


def population(d, hot, smallest, size):
    """Moments and coefficients: an isotropic part `smallest` deviations large, and coefficients of one sign."""
    q = d + hot + 1
    matrix = np.full((q, q), 0.1) + np.eye(q)
    matrix *= smallest * DEVIATION
    matrix[-1, -1] = ROWS * IOTA**2
    tied = np.zeros(q)
    tied[d : d + hot] = 1.0  # a half-width of one half over the constant
    return matrix, tied, np.append(np.full(d + hot, size), 0.2)


def replicated(d=3, hot=0, laplace=False, smallest=15.0, size=1.6, broken=lambda reading: reading):
    """Without end: which intervals hold the truth, of each coefficient and of their sum, and how many are unbounded."""
    rng = np.random.default_rng(0)
    matrix, tied, coef = population(d, hot, smallest, size)
    q = len(coef)
    cells = cell_variances(q, DEVIATION)
    levels = np.flatnonzero(tied)
    cells[levels, levels] = 0.0
    cells[np.ix_(levels, levels)] = 0.0
    root = np.sqrt(ERROR) * np.linalg.cholesky(matrix)
    contrasts = np.vstack([np.eye(q), np.append(np.ones(q - 1), 0.0)])
    while True:
        draws = rng.laplace(size=q) / np.sqrt(2) if laplace else rng.normal(size=q)
        noisy = matrix + symmetric_noise(rng, cells, tied, laplace)
        vector = matrix @ coef + root @ rng.normal(size=q) + DEVIATION * draws
        square = float(coef @ matrix @ coef) + ROWS * ERROR + DEVIATION * rng.normal()
        given = of_moments(noisy, vector, square, ROWS, cells, tied, DEVIATION, laplace)
        found = intervals(broken(given), contrasts, LEVEL)
        held = (found.low <= contrasts @ coef) & (contrasts @ coef <= found.high)
        yield held, np.mean(found.verdict == UNBOUNDED)


@functools.cache
def kept(d, hot, laplace, smallest, size):
    """What was replicated of a case so far, and what goes on with it."""
    return [], replicated(d, hot, laplace, smallest, size)


def covered(replications, d=3, hot=0, laplace=False, smallest=15.0, size=1.6):
    """Share of intervals that hold the truth, for each coefficient and for their sum, and share of unbounded ones."""
    done, more = kept(d, hot, laplace, smallest, size)
    done.extend(itertools.islice(more, max(0, replications - len(done))))
    held, unbounded = zip(*done[:replications], strict=True)
    return np.mean(held, axis=0), np.mean(unbounded)


@pytest.mark.parametrize(
    ("d", "hot", "laplace"),
    [
        (3, 0, False),
        *(pytest.param(*rest, marks=pytest.mark.thorough) for rest in [(2, 3, True), (3, 0, True), (2, 3, False)]),
    ],
)
def test_nineteen_of_twenty_intervals_hold_the_truth(d, hot, laplace):
    share, unbounded = covered(REPLICATIONS, d, hot, laplace)
    assert np.all(share >= 0.92)
    assert 0.94 <= share.mean() <= 0.97
    assert unbounded < 0.01


def without_matrix_noise(reading):
    return replace(reading, cells=np.zeros_like(reading.cells), tied=np.zeros_like(reading.tied))


def without_off_diagonal_cells(reading):
    return replace(reading, cells=np.diag(np.diag(reading.cells)), tied=np.zeros_like(reading.tied))


def without_ties(reading):
    return replace(reading, tied=np.zeros_like(reading.tied))


def without_sampling(reading):
    return replace(reading, sampling=reading.sampling * 1e-6)


def misses_more_than(most, broken, replications, **case):
    """Whether the truth of some coefficient is missed more than `most` times; later replications change nothing."""
    missed = 0
    for held, _ in itertools.islice(replicated(**case, broken=broken), replications):
        missed = missed + ~held
        if missed.max() > most:
            return True
    return False


@pytest.mark.parametrize(
    ("broken", "case"),
    [
        (without_matrix_noise, {}),
        (without_off_diagonal_cells, {}),
        (without_ties, {"d": 0, "hot": 3}),
        (without_sampling, {"smallest": 400.0, "size": 0.2}),
    ],
)
def test_forgetting_a_part_of_the_noise_is_seen(broken, case):
    assert covered(100, **case)[0].min() > 0.9
    assert misses_more_than(15, broken, 100, **case)


def test_a_large_coefficient_along_a_weak_direction_is_held_or_not_spoken_of():
    """The linear theory (Wald) loses a fifth of them here."""
    rng = np.random.default_rng(1)
    coef, q, replications = np.array([5.6, -5.6, 0.2, 0.3]), 4, 120
    cells = cell_variances(q, DEVIATION)
    difference = np.array([1.0, -1.0, 0.0, 0.0]) / np.sqrt(2)
    matrix = np.diag([60.0, 60.0, 60.0, ROWS * IOTA**2 / DEVIATION]) * DEVIATION
    matrix -= 59.2 * DEVIATION * np.outer(difference, difference)  # 0.8 deviations are left
    hits, wald, root = 0, 0, np.sqrt(ERROR) * np.linalg.cholesky(matrix)
    for _ in range(replications):
        noisy = matrix + symmetric_noise(rng, cells, np.zeros(q))
        vector = matrix @ coef + root @ rng.normal(size=q) + DEVIATION * rng.normal(size=q)
        square = float(coef @ matrix @ coef) + ROWS * ERROR
        given = replace(
            of_moments(noisy, vector, square, ROWS, cells, np.zeros(q), DEVIATION), sizes=np.full(q, 2 / 5.6)
        )  # the coefficients are at their bound
        found = intervals(given, np.eye(q))
        hits += np.mean((found.low <= coef) & (coef <= found.high))
        at, inverse = np.linalg.solve(noisy, vector), np.linalg.inv(noisy)
        noise = score.covariance(cells, np.zeros(q), at) + given.vector_noise + given.sampling
        half = 1.96 * np.sqrt(np.diag(inverse @ noise @ inverse))
        wald += np.mean(np.abs(at - coef)[:2] <= half[:2])
    assert hits / replications > 0.95
    assert wald / replications < 0.88
