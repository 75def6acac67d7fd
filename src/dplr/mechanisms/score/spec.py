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
from dplr.mechanisms.meat import MEAT, meat_cells, meat_l2_sensitivity, meat_words
from dplr.mechanisms.protocol import RANGES, Description, Shape, Tabled
from dplr.mechanisms.score import ABOUT, rounds
from dplr.mechanisms.score import noise as round_noise
from dplr.mechanisms.score.defaults import FIRST_WEIGHT, MEAT_SHARE, shares
from dplr.mechanisms.score.losses import of_round, query_of_squares, smooth
from dplr.mechanisms.squares import check_persons, warn_of_persons
from dplr.noise import Source
from dplr.privacy.guarantees import Gaussian, Pure
from dplr.privacy.law import Law
from dplr.privacy.statement import Release
from dplr.problem.losses import LOGISTIC, has_score, model_of, models_with
from dplr.problem.outlook import GradientNoise
from dplr.problem.plan import Plan
from dplr.problem.problem import Problem
from dplr.rows import Rows

_MOST_ROUNDS = 2


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
        """Check the options."""
        if type(self.rounds) is not int or not 1 <= self.rounds <= _MOST_ROUNDS:
            raise ValueError(sentence("rounds", "must be 1 or 2", self.rounds))
        check_choice("ranges", self.ranges, RANGES)

    def plan(self, problem: Problem, eps: float, delta: float, classes: Sequence[Any] = ()) -> Plan:
        """Fix the rounds, their noise and the statement from public facts."""
        if delta == 0 and math.isfinite(eps):
            remedy = "Gaussian noise has no pure guarantee: give delta, such as 1e-6"
            remedy += ', or use dplr.ObjectivePerturbation(intervals="on").' if problem.loss == LOGISTIC else "."
            raise ValueError(sentence("delta", 'must be positive with mechanism="score"', delta, remedy))
        self.check(problem)
        problem = smooth(problem)
        steps = self._steps(problem)
        guarantee: Pure | Gaussian = Pure(eps)
        if math.isinf(eps):
            exact = math.ldexp(1.0, round_noise.EXACT)
            released = {
                name: Release((size,), step.sensitivity, Law.NONE, 0.0, exact)
                for step in steps
                for name, size, _ in step.blocks
            }
        else:
            noise = round_noise.gaussian_steps(steps, eps, delta)
            released, guarantee = _releases(steps, noise), Gaussian(noise.mu)
        named = _calibration(steps, problem) if math.isfinite(eps) else "none: eps = inf"
        return Plan(
            self, problem, self.promise(problem, eps, delta, guarantee, released, named, "dplr score.md, theorem 1")
        )

    def check(self, problem: Problem) -> None:
        """Refuse losses that the proof is not about, and a ridge without a number of rows."""
        if not has_score(problem.loss):
            remedy = 'Use "fm" for a linear model, or "objective", "output" or "ngd".'
            rule = f'must be {models_with(has_score)} with mechanism="score"'
            raise ValueError(sentence("model", rule, model_of(problem.loss), remedy))
        if problem.n_rows is not None:
            check_persons(problem, problem.n_rows)
        if problem.l2 is not None and problem.n_rows is None:
            remedy = "Declare n_rows=, a public reference, or leave l2='auto'."
            raise ValueError(sentence("l2", "needs a public number of rows", problem.l2, remedy))

    def blocks(self, problem: Problem, eps: float, delta: float, classes: Sequence[Any] = ()) -> dict[str, Shape]:
        """Return the cells of the score and the Hessian in every round, and of squares of scores."""
        return {name: (size,) for step in self._steps(smooth(problem)) for name, size, _ in step.blocks}

    def check_rows(self, rows: Rows, problem: Problem) -> None:
        """Warn of more persons than have room for their scores, where no public number could be checked before."""
        if problem.n_rows is None:
            warn_of_persons(problem, rows.units)

    def run(self, rows: Rows, plan: Plan, source: Source, track: Track = silent) -> dict[str, NDArray[np.float64]]:
        """Sum exactly at zero, add integer noise, step, and again."""
        return rounds.run(rows, plan, source)

    def solution(self, problem: Problem, eps: float) -> tuple[str, ...]:
        """Shorter steps; none beside a ridge that was asked for, which replaces them in the last."""
        bent = problem.loss.name in ("huber_residual", "smooth_huber")
        words = (f"the Huber loss is rounded: its slope is C (1 - exp(-|r| / C)), C = {problem.loss.width:g}",) * bent
        if problem.l2 is not None or math.isinf(eps):
            return words
        return (*words, "coefficients are shrunk by steps that are shorter where their noise is larger")

    def lacks_intervals(self, plan: Plan) -> str:
        """Every release has intervals."""
        return ""

    def as_declared(self, problem: Problem, names: Collection[str]) -> bool:
        """The score is an equation of the columns."""
        return True

    def readings(
        self, plan: Plan, parts: Sequence[Mapping[str, NDArray[np.float64]]], coefs: Sequence[NDArray[np.float64]]
    ) -> list[Reading]:
        """The equation of the last round for each model, whose solution are log odds."""
        # A fit's own plan has the loss that was asked for.
        released = replace(plan, problem=smooth(plan.problem))
        return [rounds.reading_of(released, part) for part in parts]

    def gradient_noise(self, plan: Plan) -> GradientNoise:
        """The gradient noise of the last score."""
        name = rounds.block_name(rounds.rounds_of(plan) - 1, "score")
        return GradientNoise(plan.statement.released[name].deviation, slope=1.0)

    def equation_noise(self, plan: Plan) -> tuple[float, float]:
        """The noise of the last round."""
        last = rounds.rounds_of(plan) - 1
        blocks = {kind: plan.statement.released[rounds.block_name(last, kind)] for kind, _ in _sizes(plan.problem)}
        return blocks.pop("score").deviation, max(block.deviation for block in blocks.values())

    def _steps(self, problem: Problem) -> tuple[round_noise.Step, ...]:
        """The rounds, and the squares of scores where the Hessian does not show how much the score varies."""
        geometry, neighbouring, sizes = problem.geometry, problem.neighbouring, _sizes(problem)
        rest, steps = Fraction(1), []
        if rounds.varies(problem):
            rest -= MEAT_SHARE
        parts = shares(self.rounds, started=rounds.started(problem))
        for number, share in enumerate(parts):
            if number == 0 and rounds.from_zero(problem):
                weight, moved = round_noise.round_at_zero(geometry, FIRST_WEIGHT, neighbouring)
            else:
                weight, moved = round_noise.round_anywhere(
                    geometry, of_round(problem.loss, number, len(parts)), neighbouring
                )
            weights = {"score": 1.0, "diagonal": weight, "off_diagonal": weight * math.sqrt(2)}
            blocks = tuple((rounds.block_name(number, kind), size, weights[kind]) for kind, size in sizes)
            steps.append(round_noise.Step(rest * share, moved, blocks))
        if rest < 1:
            weights = {MEAT + "diagonal": 1.0, MEAT + "off_diagonal": math.sqrt(2)}
            meat = tuple((name, len(where), weights[name]) for name, (where, _) in meat_cells(problem).items())
            most = problem.loss.lipschitz / query_of_squares(problem).largest
            steps.append(round_noise.Step(1 - rest, meat_l2_sensitivity(problem, most), meat))
        return tuple(steps)


def _sizes(problem: Problem) -> tuple[tuple[str, int], ...]:
    """How many numbers of each kind one round releases."""
    return tuple((kind, len(where)) for kind, (where, _) in rounds.cells_of(problem.geometry).items())


def _releases(steps: Sequence[round_noise.Step], noise: round_noise.Noise) -> dict[str, Release]:
    return {
        name: Release((size,), charged, Law.DISCRETE_GAUSSIAN, block.scale, block.grid, weight, block.units)
        for step, (charged, blocks) in zip(steps, noise.steps, strict=True)
        for (name, size, weight), block in zip(step.blocks, blocks, strict=True)
    }


def _calibration(steps: Sequence[round_noise.Step], problem: Problem) -> str:
    squares = steps[-1] if steps[-1].blocks[0][0].startswith(MEAT) else None
    parts = [f"{float(step.share):.2%} of mu^2 for {step.sensitivity:.6g}" for step in steps if step is not squares]
    words = f"{len(parts)} rounds, {', '.join(parts)}: joint L2 sensitivities of score and weighted Hessian"
    if squares is not None:
        words += f"; {float(squares.share):.0%} of mu^2 for the {meat_words(problem)}, L2 sensitivity "
        words += f"{squares.sensitivity:.6g}"
    return f"{words}, {problem.geometry}"
