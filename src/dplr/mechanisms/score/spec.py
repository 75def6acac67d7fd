"""The score release: gradients and Hessians with noise, at points that follow from those of earlier rounds.

Proofs and constants: score.md.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dplr._kit.progress import Track, silent
from dplr._kit.validation import check_choice, sentence
from dplr.inference.reading import Curvature, Expansion, Reading
from dplr.inference.sampling import positive_part
from dplr.mechanisms.composed import Part, composed
from dplr.mechanisms.descriptions import SCORE
from dplr.mechanisms.drawing import kept_total, noisy_blocks
from dplr.mechanisms.equations import (
    MEAT,
    fill_tied,
    meat_cells,
    meat_l2_sensitivity,
    meat_matrix,
    meat_words,
    symmetric,
    tied,
    variances,
)
from dplr.mechanisms.protocol import RANGES, Description, Shape, Tabled
from dplr.mechanisms.score.noise import (
    COEF_DEVIATION,
    FIRST_WEIGHT,
    MEAT_SHARE,
    STEP_DEVIATION,
    reach,
    round_anywhere,
    round_at_zero,
    shares,
)
from dplr.mechanisms.squares import check_persons, squares_at, warn_of_persons
from dplr.noise import Source
from dplr.privacy.calibration import MOST_GAUSSIAN_NUMBERS, SUM_EXPONENT
from dplr.privacy.guarantees import Neighbouring
from dplr.problem.cells import Cells, second_moments
from dplr.problem.geometry import Geometry
from dplr.problem.losses import LOGISTIC, Loss, has_score, model_of, models_with, smooth_huber
from dplr.problem.outlook import GradientNoise
from dplr.problem.plan import Plan
from dplr.problem.problem import Problem
from dplr.rows import Rows
from dplr.rows.exact import Moments, Total, normalised, on_coef_grid
from dplr.rows.scores_at import MeatMoments, RateMoments, ScoreMoments, SoftHuberMoments
from dplr.solvers import solve_quadratic
from dplr.solvers.stein import stein_coef

Vector = NDArray[np.float64]
Blocks = Mapping[str, Vector]
_MOST_ROUNDS = 2
_EXACT = SUM_EXPONENT - 2  # sums at zero are quarters of moments
# The mean of a target counts as at least this part of the rate at zero.
_LEAST_MEAN = 2.0**-8
# The slope at which the Huber loss is cut in the first round: no residual is longer.
_WIDEST = 2.0


@dataclass(frozen=True, slots=True)
class ScoreRelease(Tabled):
    """Release the gradient and the Hessian of a loss with noise, a few times, with Newton steps between.

    For logistic, Huber and Poisson models. Coefficients are log odds, robust locations or logarithms of rates, and the
    last release tells how far they are from those of the rows: use it where coefficients and their confidence intervals
    matter. Where only predictions matter, others have smaller errors.

    For persons, weights and numbers 15 % of the privacy (of mu^2) go to squares of the scores: intervals then hold
    whatever the law of the target is, and count that rows of one person depend on each other.

    Parameters
    ----------
    rounds : int, default=2
        2, or 1. Before them the sums at zero are released; a public start takes their place. Of the privacy of all
        rounds (of mu^2) the last one has 70 %, and the others share the rest. With one round intervals are wider
        where coefficients are large: the point at which the loss is expanded is not yet near them.
    ranges : {"auto", "on", "off"}, default="auto"
        Whether numbers are clipped to narrower ranges, released first for a share of eps, as in
        `ObjectivePerturbation`.

    Raises
    ------
    ValueError
        An option is outside its range.

    Privacy
    -------
    Under the relation of the fit, replace_one or add_remove. Releases all noisy sums (`released_`); points,
    coefficients and intervals are post-processing of them. Needs delta > 0. All rounds compose exactly as one Gaussian
    mechanism, and at every point the Hessian costs nothing beside the gradient (score.md, theorem 1, lemmas 1 and 4),
    or for counts an eighth (lemma 5). Noise is the discrete Gaussian on exact sums, in integer arithmetic. Bounds and
    the number of rows under replace_one are assumed public.

    See Also
    --------
    dplr.fit : Takes it as `mechanism`; its shorthand is `"score"`.
    dplr.results.Summary : The table of its intervals.

    References
    ----------
    Proofs: score.md, theorem 1 and lemmas 1, 4 and 5.

    Examples
    --------
    >>> import dplr
    >>> plan = dplr.plan(n_rows=10_000, n_features=2, eps=1.0, delta=1e-6, mechanism="score")
    >>> [name for name in plan.released if name.endswith("score")]
    ['round_1_score', 'round_2_score', 'round_3_score']
    """

    about: ClassVar[Description] = SCORE
    rounds: int = _MOST_ROUNDS
    ranges: str = "auto"

    def __post_init__(self) -> None:
        if type(self.rounds) is not int or not 1 <= self.rounds <= _MOST_ROUNDS:
            raise ValueError(sentence("rounds", "must be 1 or 2", self.rounds))
        check_choice("ranges", self.ranges, RANGES)

    def check(self, problem: Problem) -> None:
        if not has_score(problem.loss):
            remedy = 'Use "fm" for a linear model, or "objective", "output" or "ngd".'
            rule = f'must be {models_with(has_score)} with mechanism="score"'
            raise ValueError(sentence("model", rule, model_of(problem.loss), remedy))
        if problem.n_rows is not None:
            check_persons(problem, problem.n_rows)
        if problem.l2 is not None and problem.n_rows is None:
            remedy = "Declare n_rows=, a public reference, or leave l2='auto'."
            raise ValueError(sentence("l2", "needs a public number of rows", problem.l2, remedy))

    def plan(self, problem: Problem, eps: float, delta: float, classes: Sequence[Any] = ()) -> Plan:
        if delta == 0 and math.isfinite(eps):
            remedy = "Gaussian noise has no pure guarantee: give delta, such as 1e-6"
            remedy += ', or use dplr.ObjectivePerturbation(intervals="on").' if problem.loss == LOGISTIC else "."
            raise ValueError(sentence("delta", 'must be positive with mechanism="score"', delta, remedy))
        self.check(problem)
        problem = smooth(problem)
        parts = self._parts(problem)
        numbers = sum(part.numbers for part in parts)
        if math.isfinite(eps) and numbers > MOST_GAUSSIAN_NUMBERS:
            rule = f"must be such that at most {MOST_GAUSSIAN_NUMBERS} numbers are released"
            raise ValueError(sentence("n_features", rule, numbers, "Use fewer features."))
        released, guarantee = composed(parts, eps, delta, parts[0].remedy)
        named = _calibration(parts, problem) if math.isfinite(eps) else "none: eps = inf"
        statement = self.promise(problem, eps, delta, guarantee, released, named, "dplr score.md, theorem 1")
        return Plan(self, problem, statement)

    def _parts(self, problem: Problem) -> tuple[Part, ...]:
        """The rounds, and the squares of scores where the Hessian does not show how much the score varies."""
        geometry, relation = problem.geometry, problem.neighbouring
        squared = MEAT_SHARE if varies(problem) else Fraction(0)
        of_rounds, parts = shares(self.rounds, started=problem.w0 is not None), []
        for number, share in enumerate(of_rounds):
            if number == 0 and from_zero(problem):
                weight, moved = round_at_zero(geometry, FIRST_WEIGHT, relation)
            else:
                loss = of_round(problem.loss, number, len(of_rounds))
                weight, moved = round_anywhere(geometry, loss, relation)
            weights = {"score": 1.0, "diagonal": weight, "off_diagonal": weight * math.sqrt(2)}
            cells = cells_of(geometry).items()
            blocks = [(block_name(number, kind), (len(where),), weights[kind]) for kind, (where, _) in cells]
            parts.append(Part((1 - squared) * share, moved, tuple(blocks), _EXACT))
        if squared:
            # A cell off the diagonal counts twice in the Frobenius norm.
            weights = {MEAT + "diagonal": 1.0, MEAT + "off_diagonal": math.sqrt(2)}
            meat = [(name, (len(where),), weights[name]) for name, (where, _) in meat_cells(problem).items()]
            most = problem.loss.lipschitz / query_of_squares(problem).largest
            parts.append(Part(squared, meat_l2_sensitivity(problem, most), tuple(meat), _EXACT))
        return tuple(parts)

    def blocks(self, problem: Problem, eps: float, delta: float, classes: Sequence[Any] = ()) -> dict[str, Shape]:
        return {name: shape for part in self._parts(smooth(problem)) for name, shape, _ in part.blocks}

    def check_rows(self, rows: Rows, problem: Problem) -> None:
        if problem.n_rows is None:
            warn_of_persons(problem, rows.units)

    def run(self, rows: Rows, plan: Plan, source: Source, track: Track = silent) -> dict[str, Vector]:
        problem, geometry, released = plan.problem, plan.problem.geometry, dict[str, Vector]()
        rounds, point = rounds_of(plan), start_of(problem)
        for number in range(rounds):
            if number:
                point = _next_point(plan, released, number - 1, point)
            if number == 0 and from_zero(problem):
                total = _at_zero(kept_total(rows, Moments(geometry.d, geometry.intercept > 0)))
            else:
                query = query_of(problem, of_round(problem.loss, number, rounds))
                total = rows.total(query, point)
            cells = {name: (total, where, 0) for name, where in cells_of_round(geometry, number).items()}
            released |= noisy_blocks(cells, plan, source)
        if varies(problem):
            reached = _next_point(plan, released, rounds - 1, point)
            total = squares_at(rows, problem, query_of_squares(problem), reached)
            cells = {name: (total, where, 0) for name, where in meat_cells(problem).items()}
            released |= noisy_blocks(cells, plan, source)
        return released | {"coef": _coef(plan, released, point)}

    def solution(self, problem: Problem, eps: float) -> tuple[str, ...]:
        bent = problem.loss.name in ("huber_residual", "smooth_huber")
        words = (f"the Huber loss is rounded: its slope is C (1 - exp(-|r| / C)), C = {problem.loss.width:g}",) * bent
        if problem.l2 is not None or math.isinf(eps):  # a ridge that was asked for replaces shorter steps in the last
            return words
        return (*words, "coefficients are shrunk by steps that are shorter where their noise is larger")

    def lacks_intervals(self, plan: Plan) -> str:
        return ""

    def as_declared(self, problem: Problem, names: Collection[str]) -> bool:
        return True

    def readings(self, plan: Plan, parts: Sequence[Mapping[str, Vector]], coefs: Sequence[Vector]) -> list[Reading]:
        released = replace(plan, problem=smooth(plan.problem))  # a fit's own plan has the loss asked for
        return [reading_of(released, part) for part in parts]

    def gradient_noise(self, plan: Plan) -> GradientNoise:
        return GradientNoise(self.equation_noise(plan)[0], slope=1.0)

    def equation_noise(self, plan: Plan) -> tuple[float, float]:
        last, cells = rounds_of(plan) - 1, cells_of(plan.problem.geometry)
        score, *hessian = (plan.statement.released[block_name(last, kind)].deviation for kind in cells)
        return score, max(hessian)


def _calibration(parts: Sequence[Part], problem: Problem) -> str:
    squares = [part for part in parts if part.blocks[0][0].startswith(MEAT)]
    steps = parts[: len(parts) - len(squares)]
    words = ", ".join(f"{float(part.share):.2%} of mu^2 for {part.sensitivity:.6g}" for part in steps)
    words = f"{len(steps)} rounds, {words}: joint L2 sensitivities of score and weighted Hessian"
    for part in squares:
        words += f"; {float(part.share):.0%} of mu^2 for the {meat_words(problem)}, "
        words += f"L2 sensitivity {part.sensitivity:.6g}"
    return f"{words}, {problem.geometry}"


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
    facts = _facts(problem, loss)
    if loss.classification:
        return ScoreMoments(*facts)
    return RateMoments(*facts) if loss.link == "log" else SoftHuberMoments(*facts)


def query_of_squares(problem: Problem) -> MeatMoments:
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


def _at_zero(moments: Total) -> Total:
    """Where p = 1/2 in every row, the Hessian is a quarter of the moments and the score a half: exact."""
    hi, lo = moments.hi.copy(), moments.lo.copy()
    hi[:, -1], lo[:, -1] = hi[:, -1] * 2, lo[:, -1] * 2
    return normalised(hi, lo, moments.exponent - 2, moments.faults)


def rounds_of(plan: Plan) -> int:
    rounds: int = plan.mechanism.rounds
    return rounds + (plan.problem.w0 is None)  # a public start takes the place of the sums at zero


def point_of(plan: Plan, released: Blocks, number: int) -> Vector:
    """The point of a round: a function of the releases before it."""
    point = start_of(plan.problem)
    for place in range(number):
        point = _next_point(plan, released, place, point)
    return point


def _next_point(plan: Plan, released: Blocks, number: int, point: Vector) -> Vector:
    """The point that a round leads to from its own, within the largest norm of coefficients."""
    reached = _step(plan, equation_of(plan, released, number), point, number)
    largest = reach(len(reached))
    return on_coef_grid(reached * min(1.0, largest / max(float(np.linalg.norm(reached)), largest)))


class Equation(NamedTuple):
    """Hessian (q, q) and score (q,) of one round with their noise, and the deviations of the noise of both."""

    hessian: Vector
    score: Vector
    hessian_noise: float
    score_noise: float


def equation_of(plan: Plan, released: Blocks, number: int) -> Equation:
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
    step = _filtered(equation, COEF_DEVIATION if first else STEP_DEVIATION)
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


def _coef(plan: Plan, released: Blocks, point: Vector) -> Vector:
    """A step from the last round's point, with the ridge asked for or one that the noise asks for."""
    last, problem = rounds_of(plan) - 1, plan.problem
    equation = equation_of(plan, released, last)
    if problem.l2 is None:
        return _step(plan, equation, point, last)
    assert problem.n_rows is not None
    ridge = problem.l2 * problem.n_rows
    pull = equation.score - ridge * (point - start_of(problem))
    return point + solve_quadratic(equation.hessian, pull, ridge, 0.0)


def reading_of(plan: Plan, released: Blocks) -> Reading:
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
        cells=variances(q, cells, plan.statement.released),
        tied=tied(geometry),
        vector_noise=np.eye(q) * equation.score_noise**2,
        sampling=positive_part(equation.hessian if meat is None else meat),
        laplace=False,
        center=point_of(plan, released, last),
        sizes=np.array(geometry.sizes),
        estimand=loss.estimand,
        n_rows=None if problem.neighbouring is Neighbouring.ADD_REMOVE else problem.n_rows,
        robust=meat is not None,
        clustered=problem.unit.person is not None,
        expansion=Expansion(curvature, geometry.row_norm, geometry.intercept > 0, steepness, at_point=meat is None),
    )
