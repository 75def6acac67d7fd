"""The rounds: sum, add noise, step; and the equation of the last one.

For the logistic loss, a smooth Huber loss, and the Poisson likelihood.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dplr.inference.reading import Curvature, Expansion, Reading
from dplr.inference.sampling import positive_part
from dplr.mechanisms.drawing import kept_total, noisy_blocks
from dplr.mechanisms.equations import fill_tied, meat_cells, meat_matrix, symmetric, tied
from dplr.mechanisms.score import noise
from dplr.mechanisms.squares import squares_at
from dplr.noise import Source
from dplr.privacy.guarantees import Neighbouring
from dplr.problem.cells import Cells, second_moments
from dplr.problem.geometry import Geometry
from dplr.problem.losses import Loss, smooth_huber
from dplr.problem.plan import Plan
from dplr.problem.problem import Problem
from dplr.rows import Rows
from dplr.rows.exact import Moments, Total, normalised, on_coef_grid
from dplr.rows.scores_at import MeatMoments, RateMoments, ScoreMoments, SoftHuberMoments
from dplr.solvers import solve_quadratic
from dplr.solvers.stein import stein_coef

Vector = NDArray[np.float64]
Part = Mapping[str, Vector]
KINDS = ("score", "diagonal", "off_diagonal")
# The mean of a target counts as at least this part of the rate at zero.
_LEAST_MEAN = 2.0**-8
# The slope at which the Huber loss is cut in the first round: no residual is longer.
_WIDEST = 2.0


def smooth(problem: Problem) -> Problem:
    """The problem with the loss whose score is released: a Huber loss without its kinks."""
    loss = problem.loss
    return replace(problem, loss=smooth_huber(loss.width)) if loss.name == "huber_residual" else problem


def of_round(loss: Loss, place: int, rounds: int) -> Loss:
    """The loss of a round, counted from 0: the slope of a Huber loss falls to its own, so that no step is too long."""
    if loss.name != "smooth_huber":
        return loss
    share = place / (rounds - 1) if rounds > 1 else 1.0
    return smooth_huber(max(loss.width, loss.width**share * _WIDEST ** (1 - share)))


def query_of(problem: Problem, loss: Loss) -> ScoreMoments:
    """The query for score and Hessian of a loss."""
    facts = _facts(problem, loss)
    if loss.classification:
        return ScoreMoments(*facts)
    return RateMoments(*facts) if loss.link == "log" else SoftHuberMoments(*facts)


def query_of_squares(problem: Problem) -> MeatMoments:
    """The query for the squares of scores."""
    return MeatMoments(*_facts(problem, problem.loss))


def _facts(problem: Problem, loss: Loss) -> tuple[Loss, int, bool, float]:
    """The common part of the queries; no gradient is longer than the last number, the clip, which is at least 1."""
    geometry = problem.geometry
    return loss, geometry.d, geometry.intercept > 0, max(1.0, geometry.row_norm * loss.lipschitz)


def cells_of(geometry: Geometry) -> dict[str, Cells]:
    """Cells of the matrix with H and, in its last column, U that a round releases; no cell of H is public."""
    q = geometry.n_coefs
    return {"score": (np.arange(q), np.full(q, q)), **second_moments(geometry, counted=True)}


def block_name(number: int, kind: str) -> str:
    """Name of the released block of a round, which are counted from 1."""
    return f"round_{number + 1}_{kind}"


def cells_of_round(geometry: Geometry, number: int) -> dict[str, Cells]:
    return {block_name(number, kind): cells for kind, cells in cells_of(geometry).items()}


def from_zero(problem: Problem) -> bool:
    """Whether the first sums are those at zero, which of labels are moments; a public start takes their place."""
    return problem.loss.classification and problem.w0 is None


def varies(problem: Problem) -> bool:
    """Whether the score varies otherwise than its Hessian says: only that of rows with a logistic model does not."""
    return problem.unit.weighted or not problem.loss.classification


def start_of(problem: Problem) -> Vector:
    return on_coef_grid(np.zeros(problem.geometry.n_coefs) if problem.w0 is None else np.array(problem.w0))


def run(rows: Rows, plan: Plan, source: Source) -> dict[str, Vector]:
    """The released blocks of all rounds, and the coefficients that they lead to."""
    problem, geometry = plan.problem, plan.problem.geometry
    point, last, released = start_of(problem), rounds_of(plan) - 1, dict[str, Vector]()
    for number in range(last + 1):
        if number == 0 and from_zero(problem):
            total = _at_zero(kept_total(rows, Moments(geometry.d, geometry.intercept > 0)))
        else:
            point = _next_point(plan, released, point, number - 1) if number else point
            total = rows.total(query_of(problem, of_round(problem.loss, number, last + 1)), point)
        cells = {name: (total, where, 0) for name, where in cells_of_round(geometry, number).items()}
        released |= noisy_blocks(cells, plan, source)
    if varies(problem):
        total = squares_at(rows, problem, query_of_squares(problem), _next_point(plan, released, point, last))
        cells = {name: (total, where, 0) for name, where in meat_cells(problem).items()}
        released |= noisy_blocks(cells, plan, source)
    return released | {"coef": _coef(plan, released, point)}


def _at_zero(moments: Total) -> Total:
    """Where p = 1/2 in every row, the Hessian is a quarter of the moments and the score a half: exact."""
    hi, lo = moments.hi.copy(), moments.lo.copy()
    hi[:, -1], lo[:, -1] = hi[:, -1] * 2, lo[:, -1] * 2
    return normalised(hi, lo, moments.exponent - 2, moments.faults)


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
    largest = noise.reach(len(reached))
    return on_coef_grid(reached * min(1.0, largest / max(float(np.linalg.norm(reached)), largest)))


class Equation(NamedTuple):
    """Hessian (q, q) and score (q,) of one round with their noise, and the deviations of the noise of both."""

    hessian: Vector
    score: Vector
    hessian_noise: float
    score_noise: float


def equation_of(plan: Plan, released: Part, number: int) -> Equation:
    """Hessian and score of a round from its released blocks; cells that follow from the layout are filled in."""
    problem, geometry, blocks = plan.problem, plan.problem.geometry, plan.statement.released
    q = geometry.n_coefs
    matrix = symmetric(q + 1, cells_of_round(geometry, number), released)
    if number == 0 and from_zero(problem) and geometry.intercept and not problem.counts_units:
        assert problem.n_rows is not None
        matrix[q - 1, q - 1] = problem.n_rows * geometry.intercept**2 / 4  # p = 1/2 in every row
    fill_tied(matrix, geometry)
    diagonal, score = (blocks[block_name(number, kind)].deviation for kind in ("diagonal", "score"))
    return Equation(matrix[:q, :q].copy(), matrix[:q, q].copy(), diagonal, score)


def _step(plan: Plan, equation: Equation, point: Vector, number: int) -> Vector:
    """The point after a Newton step, which is shorter where the noise is larger: post-processing."""
    first = number == 0 and plan.problem.w0 is None
    step = _filtered(equation, noise.COEF_DEVIATION if first else noise.STEP_DEVIATION)
    return _lengthened(plan.problem, equation.hessian, equation.score, step) if first else point + step


def _filtered(equation: Equation, spread: float) -> Vector:
    """The best linear guess of a step of this standard deviation in each direction, from what noise left of it.

    Along an eigenvector of value h it is h / (h^2 + noise) of the score, and 1 / h without noise. The noise of the
    Hessian adds that of a step in all directions.
    """
    values, vectors = np.linalg.eigh(equation.hessian)
    variance = (equation.score_noise / spread) ** 2 + len(values) * equation.hessian_noise**2 / 2
    kept = values > len(values) * np.finfo(np.float64).eps * float(np.abs(values).max(initial=0.0))
    factors = np.zeros(len(values))
    factors[kept] = values[kept] / (values[kept] ** 2 + variance)
    return np.asarray(vectors @ (factors * (vectors.T @ equation.score)))


def _lengthened(problem: Problem, hessian: Vector, score: Vector, coef: Vector) -> Vector:
    """The step from zero with the length that fits rows with a Gaussian law; of a Huber loss it has it already.

    Where the number of rows is not known, the step stays as it is.
    """
    loss, iota = problem.loss, problem.geometry.intercept
    if loss.link == "log":
        return _log_linear(loss, hessian, score, coef, iota)
    if not loss.classification:
        return coef
    n_rows = problem.reference_total or 0.0
    if iota:
        n_rows = 4 * float(hessian[-1, -1]) / iota**2  # public, or released
    if n_rows < 1:
        return coef
    mean_label = 2 * float(score[-1]) / (iota * n_rows) if iota else 0.0
    return stein_coef(coef, 4 * hessian / n_rows, iota, mean_label)


def _log_linear(loss: Loss, hessian: Vector, score: Vector, coef: Vector, iota: float) -> Vector:
    """The Poisson coefficients whose least-squares solution is a step from zero, for Gaussian rows.

    There cov(y, x) = E[y] cov(x) w, and E[y] is the rate at the mean row times exp(w' cov(x) w / 2).
    """
    assert loss.knots is not None
    rate = float(np.interp(0.0, loss.knots.places, loss.knots.values)) - float(loss.knots.values[0])
    n_rows = float(hessian[-1, -1]) / (rate * iota**2) if iota else 0.0
    if n_rows < 1:
        return coef
    change = max(1 + float(score[-1]) / (iota * n_rows * rate), _LEAST_MEAN)
    result, mean = coef / change, hessian[:-1, -1] / (rate * iota * n_rows)
    slopes = result[:-1]
    spread = float(slopes @ hessian[:-1, :-1] @ slopes) / (rate * n_rows) - float(slopes @ mean) ** 2
    result[-1] = (math.log(change) - float(slopes @ mean) - max(spread, 0.0) / 2) / iota
    return result


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
    problem, geometry, loss, last = plan.problem, plan.problem.geometry, plan.problem.loss, rounds_of(plan) - 1
    equation, cells, q = equation_of(plan, released, last), cells_of_round(geometry, last), geometry.n_coefs
    del cells[block_name(last, "score")]
    meat = meat_matrix(problem, released)
    if meat is not None:
        meat *= query_of_squares(problem).largest ** 2
    # Of a residual its own sign decides how the second derivative changes.
    curvature = Curvature.LOGISTIC if loss.classification else Curvature.UNSIGNED
    curvature = Curvature.EXPONENTIAL if loss.link == "log" else curvature
    steepness = 1 / loss.width if loss.name == "smooth_huber" else 1.0  # of the logarithm of the second derivative
    return Reading(
        matrix=equation.hessian,
        vector=equation.score,
        cells=symmetric(q, cells, {name: plan.statement.released[name].deviation ** 2 for name in cells}),
        tied=tied(geometry),
        vector_noise=np.eye(q) * equation.score_noise**2,
        sampling=positive_part(equation.hessian if meat is None else meat),
        laplace=False,
        center=last_point(plan, released),
        sizes=np.array(geometry.sizes),
        estimand=loss.estimand,
        n_rows=None if problem.neighbouring is Neighbouring.ADD_REMOVE else problem.n_rows,
        robust=meat is not None,
        clustered=problem.unit.person is not None,
        expansion=Expansion(curvature, geometry.row_norm, geometry.intercept > 0, steepness, at_point=meat is None),
    )
