"""Intervals from one release by several methods: lower and upper ends of the watched coefficients."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

import dplr
from bench.studies.intervals.designs import Design
from dplr.inference.intervals import intervals
from dplr.inference.noise import covariance
from dplr.inference.reading import Reading
from dplr.inference.sampling import classical_sampling, positive_part, residual_sum
from dplr.mechanisms.functional.moments import blocks
from dplr.privacy.estimand import Estimand
from dplr.privacy.law import Law

LEVEL, Z = 0.95, 1.959963984540054
SCORE, WALD, NAIVE, BOOTSTRAP, OLS = "score", "wald", "ridge", "bootstrap", "non-private"
REPEATS = 200


@dataclass(frozen=True)
class Noise:
    """The noise of a plan, cell by cell: variances, what diagonal cells follow, and which law."""

    cells: np.ndarray
    tied: np.ndarray
    vector: float
    square: float
    diagonal: float
    laplace: bool

    def numbers(self, rng: np.random.Generator, *shape: int) -> np.ndarray:
        """Independent draws of variance 1. The laws of a release are these on a grid below 10^-5 of their deviation."""
        return rng.laplace(size=shape) / math.sqrt(2) if self.laplace else rng.normal(size=shape)

    def matrices(self, rng: np.random.Generator, *shape: int) -> np.ndarray:
        """Noise of the moment matrix."""
        draw = np.triu(self.numbers(rng, *shape, *self.cells.shape) * np.sqrt(self.cells))
        draw = draw + np.swapaxes(np.triu(draw, 1), -1, -2)
        rows = np.flatnonzero(self.tied)
        draw[..., rows, rows] = self.tied[rows] * draw[..., rows, -1]
        return draw


def planned(design: Design, n: int, eps: float, delta: float) -> Noise:
    """The noise of the functional mechanism: Laplace for delta = 0, Gaussian for delta > 0."""
    spec = dplr.FunctionalMechanism(noise="gaussian", ranges="off")
    facts = {"bounds": design.bounds, "model": "linear", "mechanism": spec}
    plan = dplr.plan(n_rows=n, eps=eps, delta=delta, **facts)
    geometry, released, q = plan.problem.geometry, plan.statement.released, len(design.coef)
    cells, tied = np.zeros((q, q)), np.zeros(q)
    for name, (rows, columns) in blocks(geometry, plan.problem.counts_units).items():
        if name in ("diagonal", "off_diagonal"):
            cells[rows, columns] = cells[columns, rows] = released[name].deviation ** 2
    for first, size in geometry.blocks:
        tied[first : first + size] = geometry.half_width / geometry.intercept
    linear, diagonal = released["linear"], released["diagonal"].deviation
    laplace = linear.law is Law.DISCRETE_LAPLACE
    return Noise(cells, tied, linear.deviation, square_deviation(plan), diagonal, laplace)


def square_deviation(plan) -> float:
    """Deviation of the noise on the sum of squared targets: the plan's, or that of the largest weight that is cheap."""
    released, geometry = plan.statement.released, plan.problem.geometry
    if "target_square" in released:
        return released["target_square"].deviation
    linear, weight = released["linear"], released["diagonal"].weight
    if linear.law.gaussian:
        norm = math.hypot(geometry.radius, geometry.intercept)
        tau = 1 / (2 * weight) if weight >= 1 / (math.sqrt(2) * norm) else norm / math.sqrt(2)
    else:
        tau = max((geometry.intercept + geometry.d / weight) / (2 * (geometry.d + 1)), linear.sensitivity / 32)
    return linear.deviation / tau


def release(sums: tuple[np.ndarray, np.ndarray, float], n: int, noise: Noise, rng: np.random.Generator) -> Reading:
    """Sums with fresh noise, as an equation."""
    q = len(sums[1])
    matrix = sums[0] + noise.matrices(rng)
    vector = sums[1] + noise.vector * noise.numbers(rng, q)
    square = sums[2] + noise.square * float(noise.numbers(rng, 1)[0])
    of_vector = noise.vector**2 * np.eye(q)
    sampling = classical_sampling(matrix, vector, noise.cells, noise.tied, of_vector, square, noise.square**2, n)
    return Reading(
        matrix=matrix, vector=vector, cells=noise.cells, tied=noise.tied, vector_noise=of_vector, sampling=sampling,
        laplace=noise.laplace, center=np.zeros(q), sizes=np.full(q, 0.5), estimand=Estimand.MEAN, n_rows=n,
        square=square, square_noise=noise.square**2,
    )  # fmt: skip


def non_private(sums: tuple[np.ndarray, np.ndarray, float], n: int, watched: np.ndarray) -> np.ndarray:
    """Least squares of the rows, with the classical variance."""
    matrix, vector, square = sums
    coef = np.linalg.solve(matrix, vector)
    variance = (square - vector @ coef) / (n - len(vector)) * np.linalg.inv(matrix)
    return _around(coef, variance, watched)


def score(reading: Reading, watched: np.ndarray) -> tuple[np.ndarray, float]:
    """The engine's intervals, and how many deviations of noise the smallest eigenvalue is."""
    found = intervals(reading, np.eye(len(reading.vector))[watched], LEVEL)
    return np.stack([found.low, found.high]), found.weakest


def wald(reading: Reading, watched: np.ndarray) -> np.ndarray:
    """The exact solution, with the variance that the noise has there."""
    coef = np.linalg.solve(reading.matrix, reading.vector)
    inverse = np.linalg.inv(reading.matrix)
    noise = reading.sampling + reading.vector_noise + covariance(reading.cells, reading.tied, coef)
    return _around(coef, inverse @ noise @ inverse, watched)


def naive(reading: Reading, noise: Noise, watched: np.ndarray) -> np.ndarray:
    """The default coefficients with standard errors of least squares, as if the moments were exact."""
    ridge = 4 * noise.diagonal
    total, least = residual_sum(
        reading.matrix, reading.vector, reading.cells, reading.tied, reading.vector_noise, reading.square, 0.0
    )
    matrix = positive_part(reading.matrix) + ridge * np.eye(len(reading.vector))
    coef = default(reading.matrix, reading.vector, ridge)
    return _around(coef, max(total, least) / reading.n_rows * np.linalg.inv(matrix), watched)


def bootstrap(reading: Reading, noise: Noise, watched: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Rows and noise simulated around the default coefficients, which are fitted anew: the basic interval."""
    ridge, q = 4 * noise.diagonal, len(reading.vector)
    coef = default(reading.matrix, reading.vector, ridge)
    base = positive_part(reading.matrix)
    values, vectors = np.linalg.eigh(reading.sampling)
    root = vectors * np.sqrt(np.maximum(values, 0))
    matrix = base + noise.matrices(rng, REPEATS)
    vector = base @ coef + rng.normal(size=(REPEATS, q)) @ root.T + noise.vector * noise.numbers(rng, REPEATS, q)
    again = default(matrix, vector, ridge)[:, watched]
    low, high = np.quantile(again, [(1 - LEVEL) / 2, (1 + LEVEL) / 2], axis=0)
    return np.stack([2 * coef[watched] - high, 2 * coef[watched] - low])


def default(matrix: np.ndarray, vector: np.ndarray, ridge: float) -> np.ndarray:
    """Coefficients with the default ridge and trimming: directions with a negative eigenvalue are dropped."""
    values, vectors = np.linalg.eigh(matrix)
    along = np.einsum("...ji,...j->...i", vectors, vector)
    scaled = np.where(values > 0, along / (np.maximum(values, 0) + ridge), 0.0)
    return np.einsum("...ij,...j->...i", vectors, scaled)


def _around(coef: np.ndarray, variance: np.ndarray, watched: np.ndarray) -> np.ndarray:
    half = Z * np.sqrt(np.maximum(np.diag(variance), 0))
    return np.stack([coef - half, coef + half])[:, watched]
