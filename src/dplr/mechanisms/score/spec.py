"""The score release: gradients and Hessians with noise, at points that follow from those of earlier rounds.

Proofs and constants: score.md.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from dplr._kit.progress import Track, silent
from dplr._kit.validation import check_choice, sentence
from dplr.inference.reading import Reading
from dplr.mechanisms.composed import Part, composed
from dplr.mechanisms.equations import MEAT, meat_cells, meat_l2_sensitivity, meat_words
from dplr.mechanisms.protocol import RANGES, Description, Shape, Tabled
from dplr.mechanisms.score import ABOUT, rounds
from dplr.mechanisms.score.noise import FIRST_WEIGHT, MEAT_SHARE, round_anywhere, round_at_zero, shares
from dplr.mechanisms.squares import check_persons, warn_of_persons
from dplr.noise import Source
from dplr.privacy.calibration import MOST_GAUSSIAN_NUMBERS, SUM_EXPONENT
from dplr.problem.losses import LOGISTIC, has_score, model_of, models_with
from dplr.problem.outlook import GradientNoise
from dplr.problem.plan import Plan
from dplr.problem.problem import Problem
from dplr.rows import Rows

_MOST_ROUNDS = 2
_EXACT = SUM_EXPONENT - 2  # sums at zero are quarters of moments


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

    about: ClassVar[Description] = ABOUT
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
        problem = rounds.smooth(problem)
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
        squared = MEAT_SHARE if rounds.varies(problem) else Fraction(0)
        of_rounds, parts = shares(self.rounds, started=problem.w0 is not None), []
        for number, share in enumerate(of_rounds):
            if number == 0 and rounds.from_zero(problem):
                weight, moved = round_at_zero(geometry, FIRST_WEIGHT, relation)
            else:
                loss = rounds.of_round(problem.loss, number, len(of_rounds))
                weight, moved = round_anywhere(geometry, loss, relation)
            weights = {"score": 1.0, "diagonal": weight, "off_diagonal": weight * math.sqrt(2)}
            cells = rounds.cells_of(geometry).items()
            blocks = [(rounds.block_name(number, kind), (len(where),), weights[kind]) for kind, (where, _) in cells]
            parts.append(Part((1 - squared) * share, moved, tuple(blocks), _EXACT))
        if squared:
            # A cell off the diagonal counts twice in the Frobenius norm.
            weights = {MEAT + "diagonal": 1.0, MEAT + "off_diagonal": math.sqrt(2)}
            meat = [(name, (len(where),), weights[name]) for name, (where, _) in meat_cells(problem).items()]
            most = problem.loss.lipschitz / rounds.query_of_squares(problem).largest
            parts.append(Part(squared, meat_l2_sensitivity(problem, most), tuple(meat), _EXACT))
        return tuple(parts)

    def blocks(self, problem: Problem, eps: float, delta: float, classes: Sequence[Any] = ()) -> dict[str, Shape]:
        return {name: shape for part in self._parts(rounds.smooth(problem)) for name, shape, _ in part.blocks}

    def check_rows(self, rows: Rows, problem: Problem) -> None:
        if problem.n_rows is None:
            warn_of_persons(problem, rows.units)

    def run(self, rows: Rows, plan: Plan, source: Source, track: Track = silent) -> dict[str, NDArray[np.float64]]:
        return rounds.run(rows, plan, source)

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

    def readings(
        self, plan: Plan, parts: Sequence[Mapping[str, NDArray[np.float64]]], coefs: Sequence[NDArray[np.float64]]
    ) -> list[Reading]:
        released = replace(plan, problem=rounds.smooth(plan.problem))  # a fit's own plan has the loss asked for
        return [rounds.reading_of(released, part) for part in parts]

    def gradient_noise(self, plan: Plan) -> GradientNoise:
        return GradientNoise(self.equation_noise(plan)[0], slope=1.0)

    def equation_noise(self, plan: Plan) -> tuple[float, float]:
        last, cells = rounds.rounds_of(plan) - 1, rounds.cells_of(plan.problem.geometry)
        score, *hessian = (plan.statement.released[rounds.block_name(last, kind)].deviation for kind in cells)
        return score, max(hessian)


def _calibration(parts: Sequence[Part], problem: Problem) -> str:
    squares = [part for part in parts if part.blocks[0][0].startswith(MEAT)]
    steps = parts[: len(parts) - len(squares)]
    words = ", ".join(f"{float(part.share):.2%} of mu^2 for {part.sensitivity:.6g}" for part in steps)
    words = f"{len(steps)} rounds, {words}: joint L2 sensitivities of score and weighted Hessian"
    for part in squares:
        words += f"; {float(part.share):.0%} of mu^2 for the {meat_words(problem)}, L2 sensitivity "
        words += f"{part.sensitivity:.6g}"
    return f"{words}, {problem.geometry}"
