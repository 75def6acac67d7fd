"""The rounds: sum, add noise, step; and the equation of the last one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dplr.inference.reading import Expansion, Reading
from dplr.inference.sampling import robust_sampling
from dplr.mechanisms.drawing import kept_total, noisy_blocks
from dplr.mechanisms.meat import half_width_over_constant, meat_cells, meat_matrix
from dplr.mechanisms.score import defaults
from dplr.mechanisms.score.losses import curvature_of, lengthened, of_round, query_of, query_of_squares, steepness
from dplr.mechanisms.squares import squares_at
from dplr.noise import Source
from dplr.privacy.guarantees import Neighbouring
from dplr.privacy.statement import Release
from dplr.problem.cells import Cells, hot_columns, second_moments
from dplr.problem.geometry import Geometry
from dplr.problem.plan import Plan
from dplr.problem.problem import Problem
from dplr.rows import Rows
from dplr.rows.exact import Moments, Total, normalised, on_coef_grid
from dplr.rows.scores_at import ScoreMoments
from dplr.solvers import solve_quadratic

Vector = NDArray[np.float64]
Part = Mapping[str, Vector]
KINDS = ("score", "diagonal", "off_diagonal")


class Equation(NamedTuple):
    """Hessian (q, q) and score (q,) of one round with their noise, and the deviations of the noise of both."""

    hessian: Vector
    score: Vector
    hessian_noise: float
    score_noise: float


def cells_of(geometry: Geometry) -> dict[str, Cells]:
    """Cells of the matrix with H and, in its last column, U that a round releases; no cell of H is public."""
    q = geometry.n_coefs
    return {"score": (np.arange(q), np.full(q, q)), **second_moments(geometry, counted=True)}


def block_name(number: int, kind: str) -> str:
    """Name of the released block of a round, which are counted from 1."""
    return f"round_{number + 1}_{kind}"


def from_zero(problem: Problem) -> bool:
    """Whether the first sums are those at zero, which of labels are moments."""
    return problem.loss.classification and not started(problem)


def started(problem: Problem) -> bool:
    """Whether a public point takes the place of the first sums."""
    return problem.w0 is not None


def varies(problem: Problem) -> bool:
    """Whether the score varies otherwise than its Hessian says: only that of rows with a logistic model does not."""
    return problem.unit.weighted or not problem.loss.classification


def start_of(problem: Problem) -> Vector:
    """The public start, or zero."""
    return on_coef_grid(np.zeros(problem.geometry.n_coefs) if problem.w0 is None else np.array(problem.w0))


def _at_zero(moments: Total) -> Total:
    """Where p = 1/2 in every row, the Hessian is a quarter of the moments and the score a half: exact."""
    hi, lo = moments.hi.copy(), moments.lo.copy()
    hi[:, -1], lo[:, -1] = hi[:, -1] * 2, lo[:, -1] * 2
    return normalised(hi, lo, moments.exponent - 2, moments.faults)


def run(rows: Rows, plan: Plan, source: Source) -> dict[str, Vector]:
    """The released blocks of all rounds, and the coefficients that they lead to."""
    problem, geometry = plan.problem, plan.problem.geometry
    released: dict[str, Vector] = {}
    point, last = start_of(problem), rounds_of(plan) - 1
    for number in range(last + 1):
        if number:
            point = _next_point(plan, released, point, number - 1)
        if number == 0 and from_zero(problem):
            total = _at_zero(kept_total(rows, Moments(geometry.d, geometry.intercept > 0)))
        else:
            total = rows.total(_query(plan, number), point)
        cells = {block_name(number, kind): (total, where, 0) for kind, where in cells_of(geometry).items()}
        released |= noisy_blocks(cells, plan, source)
    if varies(problem):
        squares = squares_at(rows, problem, query_of_squares(problem), _next_point(plan, released, point, last))
        cells = {name: (squares, where, 0) for name, where in meat_cells(problem).items()}
        released |= noisy_blocks(cells, plan, source)
    return released | {"coef": _coef(plan, released, point)}


def _query(plan: Plan, number: int) -> ScoreMoments:
    """The query of a round, which is counted from 0."""
    return query_of(plan.problem, of_round(plan.problem.loss, number, rounds_of(plan)))


def rounds_of(plan: Plan) -> int:
    """How many rounds a plan has."""
    number = 0
    while block_name(number, "score") in plan.statement.released:
        number += 1
    return number


def last_point(plan: Plan, released: Part) -> Vector:
    """The point of the last round: a function of the releases before it."""
    point = start_of(plan.problem)
    for number in range(rounds_of(plan) - 1):
        point = _next_point(plan, released, point, number)
    return point


def _next_point(plan: Plan, released: Part, point: Vector, number: int) -> Vector:
    """The point of the next round, after a step from `point`, within the largest norm of coefficients."""
    reached = _step(plan, equation_of(plan, released, number), point, number)
    largest = defaults.reach(len(reached))
    return on_coef_grid(reached * min(1.0, largest / max(float(np.linalg.norm(reached)), largest)))


def equation_of(plan: Plan, released: Part, number: int) -> Equation:
    """Hessian and score of a round from its released blocks; cells that follow from the layout are filled in."""
    problem, geometry = plan.problem, plan.problem.geometry
    q, blocks = geometry.n_coefs, plan.statement.released
    matrix = np.zeros((q + 1, q + 1))
    for kind, (rows, columns) in cells_of(geometry).items():
        matrix[rows, columns] = matrix[columns, rows] = released[block_name(number, kind)]
    if number == 0 and from_zero(problem) and geometry.intercept and not problem.counts_units:
        assert problem.n_rows is not None
        matrix[q - 1, q - 1] = problem.n_rows * geometry.intercept**2 / 4  # p = 1/2 in every row
    if geometry.intercept:
        hot = hot_columns(geometry)
        matrix[hot, hot] = matrix[hot, q - 1] * half_width_over_constant(geometry)
    noise = _diagonal_noise(blocks, number)
    return Equation(matrix[:q, :q].copy(), matrix[:q, q].copy(), noise, blocks[block_name(number, "score")].deviation)


def _diagonal_noise(blocks: Mapping[str, Release], number: int) -> float:
    """Standard deviation of the noise on a diagonal cell."""
    return blocks[block_name(number, "diagonal")].deviation


def _step(plan: Plan, equation: Equation, point: Vector, number: int) -> Vector:
    """The point after a Newton step, which is shorter where the noise is larger: post-processing."""
    first = number == 0 and not started(plan.problem)
    step = _filtered(equation, defaults.COEF_DEVIATION if first else defaults.STEP_DEVIATION)
    return lengthened(plan.problem, equation.hessian, equation.score, step) if first else point + step


def _filtered(equation: Equation, spread: float) -> Vector:
    """The best linear guess of a step of this standard deviation in each direction, from what noise left of it.

    Along an eigenvector of value h it is h / (h^2 + noise) of the score, and 1 / h without noise. The noise of the
    Hessian adds that of a step in all directions.
    """
    values, vectors = np.linalg.eigh(equation.hessian)
    noise = (equation.score_noise / spread) ** 2 + len(values) * equation.hessian_noise**2 / 2
    tolerance = len(values) * np.finfo(np.float64).eps * float(np.abs(values).max(initial=0.0))
    kept = values > tolerance
    factors = np.zeros(len(values))
    factors[kept] = values[kept] / (values[kept] ** 2 + noise)
    return np.asarray(vectors @ (factors * (vectors.T @ equation.score)))


def _coef(plan: Plan, released: Part, point: Vector) -> Vector:
    """The coefficients: a step from the last round, with the ridge asked for or one that the noise asks for."""
    last, problem = rounds_of(plan) - 1, plan.problem
    equation = equation_of(plan, released, last)
    if problem.l2 is None:
        return _step(plan, equation, point, last)
    assert problem.n_rows is not None
    ridge = problem.l2 * problem.n_rows
    pull = equation.score - ridge * (point - start_of(problem))
    return point + solve_quadratic(equation.hessian, pull, ridge, 0.0)


def reading_of(plan: Plan, released: Part) -> Reading:
    """The last round as an equation of log odds theta: score - hessian (theta - point) has mean 0, to second order."""
    geometry, last = plan.problem.geometry, rounds_of(plan) - 1
    equation, point = equation_of(plan, released, last), last_point(plan, released)
    q = geometry.n_coefs
    cells, tied = np.zeros((q, q)), np.zeros(q)
    for kind, (rows, columns) in cells_of(geometry).items():
        if kind != "score":
            deviation = plan.statement.released[block_name(last, kind)].deviation
            cells[rows, columns] = cells[columns, rows] = deviation**2
    if geometry.intercept:
        tied[hot_columns(geometry)] = half_width_over_constant(geometry)
    values, vectors = np.linalg.eigh(equation.hessian)
    meat = meat_matrix(plan.problem, released)
    if meat is not None:
        meat *= query_of_squares(plan.problem).largest ** 2
    loss = plan.problem.loss
    return Reading(
        matrix=equation.hessian,
        vector=equation.score,
        cells=cells,
        tied=tied,
        vector_noise=np.eye(q) * equation.score_noise**2,
        sampling=(vectors * np.maximum(values, 0.0)) @ vectors.T if meat is None else robust_sampling(meat),
        laplace=False,
        center=point,
        sizes=np.array(geometry.sizes),
        estimand=loss.estimand,
        n_rows=None if plan.problem.neighbouring is Neighbouring.ADD_REMOVE else plan.problem.n_rows,
        robust=meat is not None,
        clustered=plan.problem.unit.person is not None,
        expansion=Expansion(
            curvature_of(loss), geometry.row_norm, geometry.intercept > 0, steepness(loss), at_point=meat is None
        ),
    )
