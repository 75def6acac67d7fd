"""The Hessian at the released minimum of a logistic loss: with it, log odds have intervals for delta = 0.

Proofs and constants: objective.md, section 8.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from dplr._kit.validation import sentence
from dplr.inference.reading import Curvature, Expansion, Reading
from dplr.inference.sampling import positive_part
from dplr.mechanisms.drawing import noisy_cells
from dplr.mechanisms.perturbation import squares
from dplr.mechanisms.perturbation.minimisation import Minimisation
from dplr.noise import Source
from dplr.privacy import calibration, sensitivity
from dplr.privacy.estimand import Estimand
from dplr.privacy.guarantees import Approx, Neighbouring
from dplr.privacy.statement import Release
from dplr.problem.cells import hot_columns, moments_sensitivity, second_moments
from dplr.problem.geometry import Geometry
from dplr.problem.losses import model_of
from dplr.problem.plan import Plan
from dplr.problem.problem import Problem
from dplr.rows import Rows
from dplr.rows.exact import on_coef_grid
from dplr.rows.scores_at import ScoreMoments

Vector = NDArray[np.float64]
# The share of eps that the Hessian gets.
SHARE = 0.4


def model_share(problem: Problem, eps: float) -> float:
    """The share of eps for the coefficients."""
    return eps * (1 - SHARE - squares.share(problem, eps))


def check(problem: Problem) -> None:
    """Refuse losses other than the logistic one, which have no reading."""
    if problem.loss.name != "logistic":
        remedy = 'Linear models have intervals by mechanism="fm".'
        rule = "must be the logistic one with intervals='on'"
        raise ValueError(sentence("model", rule, model_of(problem.loss), remedy))


def blocks(problem: Problem, eps: float) -> dict[str, tuple[int]]:
    """Names and sizes of what is released beside the coefficients."""
    sizes = {name: (len(rows),) for name, (rows, _) in _cells(problem.geometry).items()}
    return sizes | ({squares.NAME: (problem.geometry.n_coefs,)} if squares.share(problem, eps) else {})


def with_hessian(plan: Plan, eps: float) -> Plan:
    """The plan of the coefficients with `model_share` of eps; the Hessian, and squares of the score, with the rest."""
    problem, statement = plan.problem, plan.statement
    hessian_eps, squares_eps = _parts(problem, eps)
    released, words = _release(problem, hessian_eps)
    if squares_eps:
        released[squares.NAME], of_squares = squares.release(problem, squares_eps)
        words += of_squares
    source = f"{statement.source}; theorem 8 for all parts"
    stated = replace(statement, released={**statement.released, **released}, source=source)
    if math.isfinite(eps):
        named = f"{statement.calibration}{words}"
        stated = replace(stated, eps=eps, guarantee=Approx(eps, statement.delta), calibration=named)
    return replace(plan, statement=stated)


def _parts(problem: Problem, eps: float) -> tuple[float, float]:
    """The eps of the Hessian and of the squares; with the eps of the coefficients their exact sum is at most eps."""
    of_squares = squares.share(problem, eps)
    if math.isinf(eps):
        return eps, eps if of_squares else 0.0
    rest = calibration.rest_of(eps, model_share(problem, eps))
    return (SHARE * eps, calibration.rest_of(rest, SHARE * eps)) if of_squares else (rest, 0.0)


def _release(problem: Problem, eps: float) -> tuple[dict[str, Release], str]:
    """The blocks of the Hessian with this eps, and their words."""
    sizes = {name: len(rows) for name, (rows, _) in _cells(problem.geometry).items()}
    moved = 0.0 if math.isinf(eps) else moved_by_records(problem.geometry, problem.neighbouring)
    released, _ = calibration.integer_blocks(sizes, dict.fromkeys(sizes, 1.0), moved, eps)
    words = f"; {100 * SHARE:g} % of eps for the Hessian there, L1 sensitivity {moved:.6g}"
    return released, "" if math.isinf(eps) else words


def moved_by_records(geometry: Geometry, neighbouring: Neighbouring) -> float:
    """L1 sensitivity of the released cells of the computed Hessian, truncated rows included (lemma 9)."""
    added = moments_sensitivity(geometry, Neighbouring.ADD_REMOVE, 0.0, 1.0)
    replaced = moments_sensitivity(geometry, Neighbouring.REPLACE_ONE, 0.0, 1.0)
    longest = moments_sensitivity(geometry, Neighbouring.ADD_REMOVE, 1.0, 0.0)
    return sensitivity.hessian_change(added, replaced, longest, geometry.n_coefs, neighbouring.records_changed)


def deviation(plan: Plan) -> float:
    """Standard deviation of the noise on a cell of the Hessian."""
    return max(plan.statement.released[name].deviation for name in _cells(plan.problem.geometry))


def released_hessian(rows: Rows, coef: Vector, plan: Plan, source: Source) -> dict[str, Vector]:
    """The Hessian at released coefficients, floored to its grid, with integer noise; then squares of the score."""
    geometry, point = plan.problem.geometry, on_coef_grid(coef)
    query = ScoreMoments(plan.problem.loss, geometry.d, geometry.intercept > 0, geometry.row_norm)
    total, stated = rows.total(query, point), plan.statement.released
    released = {name: noisy_cells(total, stated[name], cells, source) for name, cells in _cells(geometry).items()}
    if squares.NAME in stated:
        released[squares.NAME] = squares.released_squares(rows, point, axes(plan, released), plan, source)
    return released


def axes(plan: Plan, released: Mapping[str, Vector]) -> squares.ScoreAxes:
    """The axes of the released Hessian."""
    return squares.axes(_matrix(plan.problem.geometry, released), deviation(plan), plan)


def reading(plan: Plan, released: Mapping[str, Vector], coef: Vector, deviations: Vector) -> Reading:
    """The stationarity of the objective as an equation: ridge (coef - start) reads the score at the coefficients.

    `deviations` are those of the linear term in the weighted problem (objective.md, section 8).
    """
    problem = plan.problem
    solved: Minimisation = plan.settings
    geometry = problem.geometry
    size, hessian = geometry.n_coefs, _matrix(geometry, released)
    cells = _filled(geometry, {name: plan.statement.released[name].deviation ** 2 for name in _cells(geometry)})
    tied = _tied(geometry)
    weights = np.asarray(solved.weights or (1.0,) * size)
    ridges = solved.ridge / weights**2
    start = np.zeros(size) if problem.w0 is None else np.array(problem.w0)
    tolerance = 2 * solved.tolerance_noise**2 * weights**2
    pulled = hessian + np.diag(ridges)
    robust = squares.NAME in released
    sampling = positive_part(hessian)  # of rows that count less than whole it is larger than what their scores vary
    if robust:
        sampling = axes(plan, released).sampling(released[squares.NAME])
    return Reading(
        matrix=hessian,
        vector=ridges * (coef - start),
        cells=cells,
        tied=tied,
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
    """The released Hessian (q, q), with the diagonal cells that others tell."""
    hessian, tied = _filled(geometry, released), _tied(geometry)
    hot = np.flatnonzero(tied)
    hessian[hot, hot] = hessian[hot, -1] * tied[hot]
    return hessian


def _filled(geometry: Geometry, values: Mapping[str, Vector | float]) -> Vector:
    """A symmetric matrix with these values in the cells of each block; 0 elsewhere."""
    matrix = np.zeros((geometry.n_coefs, geometry.n_coefs))
    for name, (rows, columns) in _cells(geometry).items():
        matrix[rows, columns] = matrix[columns, rows] = values[name]
    return matrix


def _tied(geometry: Geometry) -> Vector:
    """(q,) How many times its cell with the constant a diagonal cell is that was not released; 0 for the others."""
    tied = np.zeros(geometry.n_coefs)
    hot = hot_columns(geometry) if geometry.intercept else []
    tied[hot] = (geometry.half_width or 0.0) / (geometry.intercept or 1.0)
    return tied


def _cells(geometry: Geometry) -> dict[str, tuple[NDArray[np.intp], NDArray[np.intp]]]:
    """The cells of the Hessian that do not follow from others; the constant's is private under both relations."""
    return {f"hessian_{kind}": where for kind, where in second_moments(geometry, counted=True).items()}
