"""Squares of the score along the eigenvectors of a released Hessian: log odds where no logistic model is exact.

Proofs and constants: objective.md, section 8.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dplr.mechanisms.drawing import noisy_cells
from dplr.noise import Source
from dplr.privacy import calibration
from dplr.privacy.law import Law
from dplr.privacy.statement import Release
from dplr.problem.plan import Plan
from dplr.problem.problem import Problem
from dplr.rows import Rows
from dplr.rows.exact import Moments
from dplr.rows.scores_at import LONGEST, MOST_DIRECTIONS, ScoreSquares, directions

Array = NDArray[np.float64]
# The released block.
NAME = "score_squares"
# The share of eps that the squares get, and the largest noise that they may have, in parts of their expectation.
SHARE, _NOISIEST = 0.1, 0.125
# Eigenvalues of the Hessian count as at least this many deviations of the noise on its cells, and this part of the
# largest one.
_LEAST, _SMALLEST = 3.0, 2.0**-20


def share(problem: Problem, eps: float) -> float:
    """The share of eps for the squares; 0 where their noise would be too large, or with too many directions."""
    assert problem.n_rows is not None
    noise = math.sqrt(2) * problem.neighbouring.records_changed / (SHARE * eps)
    size = problem.geometry.n_coefs
    if size > MOST_DIRECTIONS:
        return 0.0
    return SHARE if largest(noise, problem.n_rows, size) * noise <= _NOISIEST * problem.n_rows else 0.0


def largest(noise: float, n_rows: int, size: int) -> float:
    """The cap on the squares of one row, in multiples of their mean: a larger cap cuts less and needs more noise."""
    return min(2 * math.sqrt(size * n_rows / noise), n_rows) if noise else n_rows


def release(problem: Problem, eps: float) -> tuple[Release, str]:
    """The block with this eps, and its words: one record adds squares of sum 1 at most (lemma 10)."""
    size, moved = problem.geometry.n_coefs, float(problem.neighbouring.records_changed)
    if math.isinf(eps):
        return Release((size,), 0.0, Law.NONE, 0.0, math.ldexp(1.0, Moments.exponent)), ""
    charged, (noise,) = calibration.discrete_laplace(moved, eps, (1.0,), (size,))
    block = Release((size,), charged, Law.DISCRETE_LAPLACE, noise.scale, noise.grid, 1.0, noise.units)
    return block, f"; {100 * SHARE:g} % of eps for squares of the score, L1 sensitivity {moved:g}"


@dataclass(frozen=True, eq=False, slots=True)
class ScoreAxes:
    """The eigenvectors of a released Hessian, and how long a direction is along each.

    Attributes
    ----------
    vectors : (q, q) an eigenvector in each column.
    values : (q,) eigenvalues; negative ones as 0.
    lengths : (q,) of the directions: squares along them are those of the score times the square of the length.
    """

    vectors: Array
    values: Array
    lengths: Array

    @property
    def directions(self) -> NDArray[np.int64]:
        """The directions as the sum takes them."""
        return directions(self.vectors.T * self.lengths[:, None])

    def sampling(self, squares: Array) -> Array:
        """The covariance of the score: along each eigenvector the larger of its squares and its eigenvalue."""
        along = np.maximum(self.values, squares / self.lengths**2)
        return np.asarray((self.vectors * along) @ self.vectors.T)


def axes(hessian: Array, noise: float, plan: Plan) -> ScoreAxes:
    """The axes of a released Hessian (q, q) with this noise on a cell.

    Along each, the squares of rows that follow the model have a mean of 1 / `largest`.
    """
    n_rows = plan.problem.n_rows
    assert n_rows is not None
    try:
        values, vectors = np.linalg.eigh(hessian)
    except np.linalg.LinAlgError:  # after the first noise nothing may fail; axes of a released diagonal are as private
        values, vectors = np.diag(hessian), np.eye(len(hessian))
    least = max(_LEAST * noise, _SMALLEST * float(np.abs(values).max()), 2.0**-40)
    most = largest(plan.statement.released[NAME].deviation, n_rows, len(values))
    lengths = np.minimum(np.sqrt(n_rows / most / np.maximum(values, least)), LONGEST)
    return ScoreAxes(vectors, np.maximum(values, 0.0), lengths)


def released_squares(rows: Rows, coef: Array, along: ScoreAxes, plan: Plan, source: Source) -> Array:
    """The exact squares at released coefficients along released axes, with integer noise."""
    geometry = plan.problem.geometry
    query = ScoreSquares(plan.problem.loss, geometry.d, geometry.intercept > 0, geometry.row_norm, along.directions)
    return noisy_cells(rows.total(query, coef), plan.statement.released[NAME], ..., source)
