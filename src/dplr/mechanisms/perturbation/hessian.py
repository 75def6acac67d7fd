"""The Hessian at the released minimum of a logistic loss: with it, log odds have intervals for delta = 0.

With squares of the score along its eigenvectors they hold where no logistic model is exact, too. Proofs and constants:
objective.md, section 8.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dplr._kit.validation import sentence
from dplr.inference.reading import Curvature, Expansion, Reading
from dplr.inference.sampling import positive_part
from dplr.mechanisms.drawing import noisy_blocks
from dplr.mechanisms.equations import fill_tied, l1_of_rows, symmetric, tied, variances
from dplr.mechanisms.perturbation.minimisation import Minimisation, start_of
from dplr.noise import Source
from dplr.privacy import sensitivity
from dplr.privacy.calibration import integer_blocks, rest_of
from dplr.privacy.estimand import Estimand
from dplr.privacy.guarantees import Approx, Neighbouring
from dplr.problem.cells import Cells, second_moments
from dplr.problem.geometry import Geometry
from dplr.problem.losses import model_of
from dplr.problem.plan import Plan
from dplr.problem.problem import Problem
from dplr.rows import Rows
from dplr.rows.exact import on_coef_grid
from dplr.rows.scores_at import LONGEST, MOST_DIRECTIONS, ScoreMoments, ScoreSquares, directions

Vector = NDArray[np.float64]
SQUARES = "score_squares"
# The shares of eps of the Hessian and of the squares, and the largest noise of these, in parts of their expectation.
SHARE, SQUARES_SHARE, _NOISIEST = 0.4, 0.1, 0.125
# Eigenvalues of the Hessian count as at least this many deviations of the noise on its cells, and this part of the
# largest one.
_LEAST, _SMALLEST = 3.0, 2.0**-20


def check(problem: Problem) -> None:
    """Refuse losses other than the logistic one, which have no reading."""
    if problem.loss.name != "logistic":
        remedy = 'Linear models have intervals by mechanism="fm".'
        rule = "must be the logistic one with intervals='on'"
        raise ValueError(sentence("model", rule, model_of(problem.loss), remedy))


def squares_share(problem: Problem, eps: float) -> float:
    """The share of eps for the squares; 0 where their noise would be too large, or with too many directions."""
    assert problem.n_rows is not None
    size, noise = problem.geometry.n_coefs, math.sqrt(2) * problem.neighbouring.records_changed / (SQUARES_SHARE * eps)
    small = size <= MOST_DIRECTIONS and largest(noise, problem.n_rows, size) * noise <= _NOISIEST * problem.n_rows
    return SQUARES_SHARE if small else 0.0


def largest(noise: float, n_rows: int, size: int) -> float:
    """The cap on the squares of one row, in multiples of their mean: a larger cap cuts less and needs more noise."""
    return min(2 * math.sqrt(size * n_rows / noise), n_rows) if noise else n_rows


def model_share(problem: Problem, eps: float) -> float:
    return eps * (1 - SHARE - squares_share(problem, eps))


def blocks(problem: Problem, eps: float) -> dict[str, tuple[int]]:
    sizes = {name: (len(rows),) for name, (rows, _) in _cells(problem.geometry).items()}
    return sizes | ({SQUARES: (problem.geometry.n_coefs,)} if squares_share(problem, eps) else {})


def with_hessian(plan: Plan, eps: float) -> Plan:
    """The plan of the coefficients with `model_share` of eps; the Hessian, and squares of the score, with the rest.

    The exact sum of all parts is at most eps. One record adds squares of sum 1 at most (lemma 10).
    """
    problem, statement, squared = plan.problem, plan.statement, squares_share(plan.problem, eps) > 0
    source, finite = f"{statement.source}; theorem 8 for all parts", math.isfinite(eps)
    rest = rest_of(eps, model_share(problem, eps)) if finite else eps
    of_hessian = SHARE * eps if squared else rest
    moved = moved_by_records(problem.geometry, problem.neighbouring)
    released, named = dict(statement.released), statement.calibration
    parts = [(_cells(problem.geometry), of_hessian, moved, f"{100 * SHARE:g} % of eps for the Hessian there")]
    if squared:
        of_squares, moved = rest_of(rest, of_hessian) if finite else eps, float(problem.neighbouring.records_changed)
        axis = {SQUARES: (np.arange(problem.geometry.n_coefs),) * 2}
        parts.append((axis, of_squares, moved, f"{100 * SQUARES_SHARE:g} % of eps for squares of the score"))
    for cells, part, moved, words in parts:
        sizes = {name: len(rows) for name, (rows, _) in cells.items()}
        released |= integer_blocks(sizes, dict.fromkeys(sizes, 1.0), moved if finite else 0.0, part)[0]
        named += f"; {words}, L1 sensitivity {moved:.6g}"
    stated = replace(statement, released=released, source=source)
    if finite:
        stated = replace(stated, eps=eps, guarantee=Approx(eps, statement.delta), calibration=named)
    return replace(plan, statement=stated)


def moved_by_records(geometry: Geometry, neighbouring: Neighbouring) -> float:
    """L1 sensitivity of the released cells of the computed Hessian, truncated rows included (lemma 9)."""
    return sensitivity.hessian_change(*l1_of_rows(geometry), geometry.n_coefs, neighbouring.records_changed)


def deviation(plan: Plan) -> float:
    return max(plan.statement.released[name].deviation for name in _cells(plan.problem.geometry))


def released_hessian(rows: Rows, coef: Vector, plan: Plan, source: Source) -> dict[str, Vector]:
    """The Hessian at released coefficients, floored to its grid, with integer noise; then squares of the score."""
    geometry, point = plan.problem.geometry, on_coef_grid(coef)
    facts = plan.problem.loss, geometry.d, geometry.intercept > 0, geometry.row_norm
    total = rows.total(ScoreMoments(*facts), point)
    released = noisy_blocks({name: (total, cells, 0) for name, cells in _cells(geometry).items()}, plan, source)
    if SQUARES in plan.statement.released:
        total = rows.total(ScoreSquares(*facts, axes(plan, released).directions), point)
        released |= noisy_blocks({SQUARES: (total, ..., 0)}, plan, source)
    return released


class Axes(NamedTuple):
    """The eigenvectors of a released Hessian, and how long a direction is along each.

    Attributes
    ----------
    vectors : (q, q) an eigenvector in each column.
    values : (q,) eigenvalues; negative ones as 0.
    lengths : (q,) of the directions: squares along them are those of the score times the square of the length.
    """

    vectors: Vector
    values: Vector
    lengths: Vector

    @property
    def directions(self) -> NDArray[np.int64]:
        return directions(self.vectors.T * self.lengths[:, None])

    def sampling(self, squares: Vector) -> Vector:
        """The covariance of the score: along each eigenvector the larger of its squares and its eigenvalue."""
        along = np.maximum(self.values, squares / self.lengths**2)
        return np.asarray((self.vectors * along) @ self.vectors.T)


def axes(plan: Plan, released: Mapping[str, Vector]) -> Axes:
    """Those of the released Hessian. Along each, squares of rows that follow the model have a mean of 1 / `largest`."""
    n_rows, hessian = plan.problem.n_rows, _matrix(plan.problem.geometry, released)
    assert n_rows is not None
    try:
        values, vectors = np.linalg.eigh(hessian)
    except np.linalg.LinAlgError:  # after the first noise nothing may fail; axes of a released diagonal are as private
        values, vectors = np.diag(hessian), np.eye(len(hessian))
    least = max(_LEAST * deviation(plan), _SMALLEST * float(np.abs(values).max()), 2.0**-40)
    most = largest(plan.statement.released[SQUARES].deviation, n_rows, len(values))
    lengths = np.minimum(np.sqrt(n_rows / most / np.maximum(values, least)), LONGEST)
    return Axes(vectors, np.maximum(values, 0.0), lengths)


def reading(plan: Plan, released: Mapping[str, Vector], coef: Vector, deviations: Vector) -> Reading:
    """The stationarity of the objective as an equation: ridge (coef - start) reads the score at the coefficients.

    `deviations` are those of the linear term in the weighted problem (objective.md, section 8).
    """
    problem, geometry, size = plan.problem, plan.problem.geometry, plan.problem.geometry.n_coefs
    solved: Minimisation = plan.settings
    hessian, cells = _matrix(geometry, released), variances(size, _cells(geometry), plan.statement.released)
    weights = np.asarray(solved.weights or (1.0,) * size)
    ridges = solved.ridge / weights**2
    tolerance = 2 * solved.tolerance_noise**2 * weights**2
    pulled = hessian + np.diag(ridges)
    robust = SQUARES in released
    # Of rows that count less than whole the Hessian is larger than what their scores vary.
    sampling = axes(plan, released).sampling(released[SQUARES]) if robust else positive_part(hessian)
    return Reading(
        matrix=hessian,
        vector=ridges * (coef - start_of(problem)),
        cells=cells,
        tied=tied(geometry),
        vector_noise=np.diag((deviations / weights) ** 2) + (pulled * tolerance) @ pulled,
        sampling=sampling,
        laplace=bool(cells.any()),
        robust=robust,
        center=coef,
        sizes=np.array(geometry.sizes),
        estimand=Estimand.LOG_ODDS,
        n_rows=None if problem.neighbouring is Neighbouring.ADD_REMOVE else problem.n_rows,
        expansion=Expansion(Curvature.LOGISTIC, geometry.row_norm, geometry.intercept > 0),
    )


def _matrix(geometry: Geometry, released: Mapping[str, Vector]) -> Vector:
    hessian = symmetric(geometry.n_coefs, _cells(geometry), released)
    fill_tied(hessian, geometry)
    return hessian


def _cells(geometry: Geometry) -> dict[str, Cells]:
    """The cells of the Hessian that do not follow from others; the constant's is private under both relations."""
    return {f"hessian_{kind}": where for kind, where in second_moments(geometry, counted=True).items()}
