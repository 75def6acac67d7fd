"""Readings of rows that are made here, with noise of a known law."""

import numpy as np

from dplr.inference.reading import Reading
from dplr.inference.sampling import classical_sampling
from dplr.privacy.estimand import Estimand

IOTA = 0.5


def cell_variances(q, deviation, public=True):
    """Diagonal cells at the deviation, others at its half in variance, as for L2; the constant's own is public."""
    cells = np.full((q, q), deviation**2 / 2)
    np.fill_diagonal(cells, deviation**2)
    if public:
        cells[-1, -1] = 0.0
    return cells


def symmetric_noise(rng, cells, tied, laplace=False):
    """Noise with these variances, independent in the upper triangle; tied diagonal cells follow the last column."""
    draw = rng.laplace(size=cells.shape) / np.sqrt(2) if laplace else rng.normal(size=cells.shape)
    noise = np.triu(draw * np.sqrt(cells))
    noise += np.triu(noise, 1).T
    rows = np.flatnonzero(tied)
    noise[rows, rows] = tied[rows] * noise[rows, -1]
    return noise


def reading(rng, V, y, deviation, hot=(), laplace=False):
    """The equation of least squares on rows V, whose last column is the constant; `hot` columns have tied diagonals."""
    q = V.shape[1]
    cells, tied, hot = cell_variances(q, deviation), np.zeros(q), list(hot)
    if hot:
        tied[hot] = V[:, hot].max(axis=0) / IOTA
        cells[hot, hot] = 0.0
    matrix = V.T @ V + symmetric_noise(rng, cells, tied, laplace)
    draws = rng.laplace(size=q + 1) / np.sqrt(2) if laplace else rng.normal(size=q + 1)
    vector, square = V.T @ y + deviation * draws[:q], float(y @ y + deviation * draws[q])
    return of_moments(matrix, vector, square, len(y), cells, tied, deviation, laplace)


def of_moments(matrix, vector, square, n, cells, tied, deviation, laplace=False):
    q = len(vector)
    noise = np.eye(q) * deviation**2
    sampling = classical_sampling(matrix, vector, cells, tied, noise, square, deviation**2, n)
    return Reading(
        matrix=matrix, vector=vector, cells=cells, tied=tied, vector_noise=noise, sampling=sampling, laplace=laplace,
        center=np.zeros(q), sizes=np.full(q, q**-0.5), estimand=Estimand.MEAN, n_rows=n, square=square,
        square_noise=deviation**2,
    )  # fmt: skip


def rows(rng, n, d, hot=0):
    """Rows in the ball: numbers in a cube, then the columns of one one-hot block of `hot` levels and none; constant."""
    groups = d + (hot > 0)
    X = rng.uniform(-1, 1, (n, d)) / np.sqrt(groups)
    level = rng.integers(0, hot + 1, n) if hot else np.zeros(n, int)
    block = (level[:, None] == np.arange(1, hot + 1)) / np.sqrt(groups)
    return np.hstack([X, block, np.full((n, 1), IOTA)])


def target(rng, V, coef, deviation=0.2):
    return np.clip(V @ coef + deviation * rng.normal(size=len(V)), -1, 1)
