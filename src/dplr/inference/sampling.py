"""Covariance that the choice of the rows adds to an equation, from released numbers alone (intervals.md, 5)."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from dplr.inference.noise import covariance

Array = NDArray[np.float64]
# The residual variance is at least this many deviations of its own noise, and this part of the numbers it is made of.
_LEAST, _ROUNDING = 0.3, 2.0**-40
# The ridge of the fit whose residuals are taken, and its floor, in deviations of the noise: those of `fm`.
_RIDGE = 4.0


def positive_part(matrix: Array) -> Array:
    """The nearest positive semidefinite matrix: negative eigenvalues become 0."""
    values, vectors = np.linalg.eigh((matrix + matrix.T) / 2)
    return np.asarray((vectors * np.maximum(values, 0.0)) @ vectors.T)


def ridge_fit(matrix: Array, vector: Array, cells: Array) -> Array:
    """Coefficients with a ridge of 4 deviations of a diagonal cell's noise; directions without signal are 0."""
    off = cells - np.diag(np.diag(cells))
    ridge = _RIDGE * math.sqrt(max(float(np.diag(cells).max()), 2.0 * float(off.max())))
    values, vectors = np.linalg.eigh(matrix)
    kept = values > len(values) * np.finfo(np.float64).eps * float(np.abs(values).max())
    basis = vectors[:, kept]
    return np.asarray(basis @ ((basis.T @ vector) / (values[kept] + ridge)))


@np.errstate(over="ignore", invalid="ignore", divide="ignore")
def residual_sum(
    matrix: Array, vector: Array, cells: Array, tied: Array, vector_noise: Array, square: float, square_noise: float,
    at: Array | None = None,
) -> tuple[float, float]:  # fmt: skip
    """Released sum of squared residuals at a point (None: the ridge fit), and the smallest value it is taken for."""
    point = ridge_fit(matrix, vector, cells) if at is None else at
    parts = square, -2.0 * float(point @ vector), float(point @ matrix @ point)
    noise = covariance(cells, tied, point)
    variance = square_noise + 4.0 * float(point @ vector_noise @ point) + float(point @ noise @ point)
    return sum(parts), max(_LEAST * math.sqrt(variance), _ROUNDING * sum(map(abs, parts)))


@np.errstate(over="ignore", invalid="ignore", divide="ignore")
def classical_sampling(
    matrix: Array, vector: Array, cells: Array, tied: Array, vector_noise: Array, square: float, square_noise: float,
    n_rows: float, at: Array | None = None, less: float = 0.0,
) -> Array:  # fmt: skip
    """Residual variance times the positive part of the matrix: equal variances, from released moments.

    Parameters
    ----------
    matrix, vector, cells, tied, vector_noise : as in `Reading`, with ``center`` 0.
    square, square_noise : sum of the squares of the target, public or released, and the variance of its noise.
    n_rows : the number of rows. No residual is larger than 1.
    at : (q,) the point whose residuals are taken; None for the ridge fit.
    less : what is taken off the sum of squared residuals first.
    """
    total, least = residual_sum(matrix, vector, cells, tied, vector_noise, square, square_noise, at)
    variance = min(max(total - less, least), max(n_rows, 1.0)) / max(n_rows, 1.0)
    return variance * positive_part(matrix)


def bounded_sampling(matrix: Array, largest: float) -> Array:
    """For a target of which the mean square of a residual is at most `largest` in every row (moments.md, section 3)."""
    return largest * positive_part(matrix)


def robust_sampling(meat: Array) -> Array:
    """The covariance from a released sum of (squared residual) (row)(row)', for unequal variances."""
    return positive_part(meat)
