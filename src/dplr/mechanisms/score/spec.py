"""The score release: gradients and Hessians of the logistic loss with noise, at points that earlier rounds found.

Proofs and constants: score.md.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from dplr._kit.progress import Track, silent
from dplr._kit.validation import sentence
from dplr.inference.reading import Reading
from dplr.mechanisms.protocol import Description, Shape, Tabled
from dplr.mechanisms.score import ABOUT, rounds
from dplr.mechanisms.score import noise as round_noise
from dplr.mechanisms.score.defaults import FIRST_WEIGHT, shares
from dplr.noise import Source
from dplr.privacy.guarantees import Gaussian, Pure
from dplr.privacy.law import Law
from dplr.privacy.statement import PrivacyStatement, Release
from dplr.problem.fit import Fit
from dplr.problem.losses import LOGISTIC, model_of, models_with
from dplr.problem.outlook import GradientNoise
from dplr.problem.plan import Plan
from dplr.problem.problem import Problem
from dplr.rows import Rows

_MOST_ROUNDS = 2


@dataclass(frozen=True, slots=True)
class ScoreRelease(Tabled):
    """Release the gradient and the Hessian of the logistic loss with noise, a few times, with Newton steps between.

    Its coefficients are log odds, and the last release tells how far they are from those of the rows: use it where
    coefficients and their confidence intervals matter. Where only predictions matter, others have smaller errors.

    Parameters
    ----------
    rounds : int, default=2
        2, or 1. Before them the sums at zero are released; a public start takes their place. The last round has 70 % of
        the privacy (of mu^2), and the others share the rest. With one round the intervals may miss coefficients that
        are large: the point at which the loss is expanded is not yet near them.

    Raises
    ------
    ValueError
        An option is outside its range.

    Privacy
    -------
    Under the relation of the fit, replace_one or add_remove. Releases all noisy sums (`released_`); points,
    coefficients and intervals are post-processing of them. Needs delta > 0. All rounds compose exactly as one Gaussian
    mechanism, and at every point the Hessian costs nothing beside the gradient (score.md, theorem 1 and lemma 1). Noise
    is the discrete Gaussian on exact sums, in integer arithmetic. Bounds and the number of rows under replace_one are
    assumed public.

    See Also
    --------
    dplr.fit : Takes it as `mechanism`; its shorthand is `"score"`.
    dplr.Summary : The table of its intervals.

    References
    ----------
    Proofs: score.md, theorem 1 and lemma 1.

    Examples
    --------
    >>> import dplr
    >>> plan = dplr.plan(n_rows=10_000, n_features=2, eps=1.0, delta=1e-6, mechanism="score")
    >>> [name for name in plan.released if name.endswith("score")]
    ['round_1_score', 'round_2_score', 'round_3_score']
    """

    about: ClassVar[Description] = ABOUT
    rounds: int = _MOST_ROUNDS

    def __post_init__(self) -> None:
        """Check the options."""
        if type(self.rounds) is not int or not 1 <= self.rounds <= _MOST_ROUNDS:
            raise ValueError(sentence("rounds", "must be 1 or 2", self.rounds))

    def plan(self, problem: Problem, eps: float, delta: float) -> Plan:
        """Fix the rounds, their noise and the statement from public facts."""
        if delta == 0 and math.isfinite(eps):
            remedy = "Gaussian noise has no pure guarantee: give delta, such as 1e-6, or use "
            remedy += 'dplr.ObjectivePerturbation(intervals="on").'
            raise ValueError(sentence("delta", 'must be positive with mechanism="score"', delta, remedy))
        self.check(problem)
        planned = self._rounds(problem)
        sizes = _sizes(problem)
        guarantee: Pure | Gaussian = Pure(eps)
        if math.isinf(eps):
            exact = math.ldexp(1.0, round_noise.EXACT)
            released = {
                rounds.block_name(number, kind): Release((size,), step.sensitivity, Law.NONE, 0.0, exact)
                for number, step in enumerate(planned)
                for kind, size in sizes
            }
        else:
            noise = round_noise.gaussian_rounds(planned, sizes, eps, delta)
            released, guarantee = _releases(planned, noise, sizes), Gaussian(noise.mu)
        statement = PrivacyStatement(
            mechanism=self.about.name,
            eps=eps,
            delta=delta,
            guarantee=guarantee,
            neighbouring=problem.neighbouring,
            released=released,
            calibration=_calibration(planned, problem) if math.isfinite(eps) else "none: eps = inf",
            assumptions=problem.assumptions,
            solution=problem.solution,
            arithmetic=self.about.arithmetic,
            reproducible=False,
            source="dplr score.md, theorem 1",
            unit=problem.unit,
            estimand=problem.loss.estimand,
        )
        return Plan(problem, statement)

    def check(self, problem: Problem) -> None:
        """Refuse losses other than the logistic one, which the proof is about, and a ridge without a number of rows."""
        if problem.loss != LOGISTIC:
            remedy = 'Use "fm" for a linear model, or "objective", "output" or "ngd".'
            rule = f'must be {models_with(lambda loss: loss == LOGISTIC)} with mechanism="score"'
            raise ValueError(sentence("model", rule, model_of(problem.loss), remedy))
        if problem.l2 is not None and problem.n_rows is None:
            remedy = "Declare n_rows=, a public reference, or leave l2='auto'."
            raise ValueError(sentence("l2", "needs a public number of rows", problem.l2, remedy))

    def blocks(self, problem: Problem, eps: float, delta: float, classes: Sequence[Any] = ()) -> dict[str, Shape]:
        """Return the cells of the score and the Hessian, in every round."""
        count = len(shares(self.rounds, started=problem.w0 is not None))
        return {rounds.block_name(k, kind): (size,) for k in range(count) for kind, size in _sizes(problem)}

    def run(self, rows: Rows, plans: Sequence[Plan], source: Source, track: Track = silent) -> list[Fit]:
        """Sum exactly at zero, add integer noise, step, and again."""
        return rounds.run(rows, plans, source, track)

    def solution(self, problem: Problem, eps: float) -> tuple[str, ...]:
        """Shorter steps; none beside a ridge that was asked for, which replaces them in the last."""
        if problem.l2 is not None or math.isinf(eps):
            return ()
        return ("coefficients are shrunk by steps that are shorter where their noise is larger",)

    def lacks_intervals(self, plan: Plan) -> str:
        """The reason why there are no intervals: persons or weights; empty where every row has weight 1."""
        if plan.problem.unit.person is not None:
            return "rows of one person depend on each other, and the Hessian does not show how much"
        if plan.problem.unit.weighted:
            return "the Hessian of rows that count differently does not show how much their score varies"
        return ""

    def as_declared(self, problem: Problem, names: Collection[str]) -> bool:
        """The score is an equation of the columns."""
        return True

    def readings(
        self, plan: Plan, parts: Sequence[Mapping[str, NDArray[np.float64]]], coefs: Sequence[NDArray[np.float64]]
    ) -> list[Reading]:
        """The equation of the last round for each model, whose solution are log odds."""
        return [rounds.reading_of(plan, part) for part in parts]

    def gradient_noise(self, plan: Plan) -> GradientNoise:
        """The gradient noise of the last score."""
        name = rounds.block_name(rounds.rounds_of(plan) - 1, "score")
        return GradientNoise(plan.statement.released[name].deviation, slope=1.0)

    def equation_noise(self, plan: Plan) -> tuple[float, float]:
        """The noise of the last round."""
        last = rounds.rounds_of(plan) - 1
        blocks = {kind: plan.statement.released[rounds.block_name(last, kind)] for kind, _ in _sizes(plan.problem)}
        return blocks.pop("score").deviation, max(block.deviation for block in blocks.values())

    def _rounds(self, problem: Problem) -> tuple[round_noise.Round, ...]:
        """The sensitivity of each round, and its share."""
        where = (problem.geometry.radius, problem.geometry.intercept, problem.neighbouring)
        started = problem.w0 is not None
        first, *rest = shares(self.rounds, started=started)
        at_start = (
            round_noise.round_anywhere(first, *where)
            if started
            else round_noise.round_at_zero(first, FIRST_WEIGHT, *where)
        )
        return (at_start, *(round_noise.round_anywhere(share, *where) for share in rest))


def _sizes(problem: Problem) -> tuple[tuple[str, int], ...]:
    """How many numbers of each kind one round releases."""
    return tuple((kind, len(where)) for kind, (where, _) in rounds.cells_of(problem.geometry).items())


def _releases(
    planned: Sequence[round_noise.Round], noise: round_noise.Noise, sizes: Sequence[tuple[str, int]]
) -> dict[str, Release]:
    released = {}
    for number, (step, (charged, blocks)) in enumerate(zip(planned, noise.rounds, strict=True)):
        weights = {"score": 1.0, "diagonal": step.weight, "off_diagonal": step.weight * math.sqrt(2)}
        for (kind, size), block in zip(sizes, blocks, strict=True):
            released[rounds.block_name(number, kind)] = Release(
                (size,), charged, Law.DISCRETE_GAUSSIAN, block.scale, block.grid, weights[kind], block.units
            )
    return released


def _calibration(planned: Sequence[round_noise.Round], problem: Problem) -> str:
    parts = ", ".join(f"{float(step.share):.0%} of mu^2 for {step.sensitivity:.6g}" for step in planned)
    return f"{len(planned)} rounds, {parts}: joint L2 sensitivities of score and weighted Hessian, {problem.geometry}"
