"""Noisy gradient descent (Song et al. 2013, Abadi et al. 2016, HHA23): every sum of clipped gradients gets noise.

Proofs and constants: noisy_gd.md.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dplr._core import CLIPPED
from dplr._kit.progress import Track, silent
from dplr._kit.validation import check_choice, check_count, check_positive, real_number, sentence
from dplr.mechanisms.noisy_gd import ABOUT
from dplr.mechanisms.noisy_gd import noise as step_noise
from dplr.mechanisms.noisy_gd.columns import MEANS, column_release, column_sizes, exact_blocks
from dplr.mechanisms.noisy_gd.defaults import MOMENTUM, TAIL, defaults, link_of, pays, reach
from dplr.mechanisms.noisy_gd.descent import BLOCK, descend
from dplr.mechanisms.noisy_gd.frame import clips, intervals_of
from dplr.mechanisms.noisy_gd.settings import Descent
from dplr.mechanisms.protocol import CLIPS, RANGES, Description, Intervals, Mechanism, Shape, instead
from dplr.noise import Source
from dplr.privacy import sensitivity
from dplr.privacy.calibration import RATE_UNITS, GaussianBlock
from dplr.privacy.gaussian import gaussian_mu
from dplr.privacy.guarantees import Gaussian, Poisson, Pure
from dplr.privacy.law import Law
from dplr.privacy.statement import Release
from dplr.problem.link import LOGIT, Link
from dplr.problem.losses import Loss, model_of, models_with
from dplr.problem.outlook import GradientNoise
from dplr.problem.plan import Plan
from dplr.problem.problem import Problem
from dplr.rows import Rows
from dplr.rows.exact import LARGEST_COEF, ClippedGradient
from dplr.rows.losses import LossGradient

_SMALLEST_CLIP, _LARGEST_CLIP = 2.0**-20, 2.0**20
# No released sum over its number of rows is larger, and a longer move might overflow.
_LARGEST_MEAN, _LARGEST_MOVE = 2.0**100, 2.0**1000


@dataclass(frozen=True, slots=True)
class NoisyGradientDescent(Mechanism):
    """Gradient descent in which every row's gradient is clipped and every sum gets Gaussian noise.

    Parameters
    ----------
    steps : int or None, default=None
        Number of steps; None for a function of public facts (noisy_gd.md, section 5).
    learning_rate : float or None, default=None
        Learning rate of the mean objective in the scaled problem; None as for `steps`.
    clip : float or None, default=None
        Bound of the norm of one row's gradient in the scaled problem, in [2^-20, 2^20]; None as for `steps`.
    momentum : float, default=0.9
        Share of a step's direction that stays in the next, in [0, 1). A direction keeps its whole learning rate in the
        long run, and the noise of one.
    averaging : {"tail", "last"}, default="tail"
        `"tail"` for the average of the last quarter of the iterates, `"last"` for the last one.
    batch : "full" or int, default="full"
        `"full"`, or the expected size of a Poisson batch: each row enters each sum with the same probability,
        independently. Arrays and frames only; needs the extra `accounting`.
    init : {"public", "zero"}, default="public"
        `"public"` starts at the public coefficients where some are given, `"zero"` at zero.
    standardise : {"auto", "on", "off"}, default="auto"
        `"on"` spends a tenth of the privacy (of mu^2) on sums of the columns and of squared numbers, under add_remove
        also on the number of records, and descends on rows that these centre and rescale; `"off"` does not;
        `"auto"` does where it was found to pay (noisy_gd.md, section 7). Needs declared bounds, an intercept, full
        batches and no ridge. Learning rate and clip are then those of the standardised problem; coefficients and
        `history_` stay in the user's units. With a numeric target the same sums clip numbers to their `ranges_`,
        unless ``ranges="off"``.
    clipping : {"example", "aggregate"}, default="example"
        `"example"` clips each row's gradient; `"aggregate"` clips the sum instead, as HHA23 prints it.
    composition : {"exact", "per-step"}, default="exact"
        `"exact"` spends (eps, delta) on all steps together; `"per-step"` gives every step the noise that (eps, delta)
        would need alone, as HHA23 prints it: the statement carries the eps that all steps really cost.
    ranges : {"auto", "on", "off"}, default="auto"
        Whether numbers are clipped to narrower ranges, released first for a share of eps, as in
        `ObjectivePerturbation`.

    Raises
    ------
    ValueError
        An option is outside its range.

    Privacy
    -------
    Under the relation of the fit, replace_one or add_remove. Releases the noisy gradient sums (`released_`); iterates,
    coefficients and `history_` are post-processing of them. Needs delta > 0. Full batches compose exactly as one
    Gaussian mechanism, Poisson batches through the privacy loss distribution of dp-accounting. Noise is the discrete
    Gaussian on exact sums. Bounds, every option and a number of rows are assumed public. `clipping="aggregate"` and
    `composition="per-step"` are for reproduction.

    See Also
    --------
    dplr.fit : Takes it as `mechanism`; its shorthand is `"ngd"`.
    dplr.results.History : The path of the descent.
    dplr.plots.plot_history : Draw the path.

    References
    ----------
    Song, Chaudhuri and Sarwate 2013; Abadi et al. 2016, Algorithm 1. Proofs: noisy_gd.md, theorems 1 and 2.

    Examples
    --------
    >>> import dplr
    >>> plan = dplr.plan(n_rows=10_000, n_features=2, eps=1.0, delta=1e-6, mechanism="ngd")
    >>> print(plan.statement.released["gradients"].law)
    discrete Gaussian
    """

    about: ClassVar[Description] = ABOUT
    steps: int | None = None
    learning_rate: float | None = None
    clip: float | None = None
    momentum: float = MOMENTUM
    averaging: str = "tail"
    batch: int | str = "full"
    init: str = "public"
    standardise: str = "auto"
    clipping: str = "example"
    composition: str = "exact"
    ranges: str = "auto"

    def __post_init__(self) -> None:
        """Check the options."""
        if self.steps is not None:
            object.__setattr__(self, "steps", check_count("steps", self.steps))  # a NumPy integer would overflow
        for name in ("learning_rate", "clip"):
            if getattr(self, name) is not None:  # a NumPy float32 would do its arithmetic in float32
                object.__setattr__(self, name, check_positive(name, getattr(self, name)))
        if self.clip is not None and not _SMALLEST_CLIP <= self.clip <= _LARGEST_CLIP:
            raise ValueError(sentence("clip", "must be between 2^-20 and 2^20", self.clip))
        object.__setattr__(self, "momentum", real_number("momentum", self.momentum))
        if not 0 <= self.momentum < 1:
            raise ValueError(sentence("momentum", "must be at least 0 and below 1", self.momentum))
        check_choice("averaging", self.averaging, ("last", "tail"))
        if isinstance(self.batch, str):
            check_choice("batch", self.batch, ("full",))
        else:
            check_count("batch", self.batch)
        check_choice("init", self.init, ("public", "zero"))
        check_choice("standardise", self.standardise, ("auto", "on", "off"))
        check_choice("clipping", self.clipping, ("example", "aggregate"))
        check_choice("composition", self.composition, ("exact", "per-step"))
        check_choice("ranges", self.ranges, RANGES)
        if self.batch != "full" and self._printed:
            rule = "must be 'full' with clipping='aggregate' or composition='per-step'"
            raise ValueError(sentence("batch", rule, self.batch, "HHA23 sums over all rows."))
        if self.standardise == "on" and (self._printed or self.batch != "full"):
            rule = "must be 'auto' or 'off' with Poisson batches, clipping='aggregate' or composition='per-step'"
            raise ValueError(sentence("standardise", rule, "on", "Use batch='full' and the default algorithm."))

    @property
    def _printed(self) -> bool:
        return (self.clipping, self.composition) != ("example", "exact")

    def plan(self, problem: Problem, eps: float, delta: float, classes: Sequence[Any] = ()) -> Plan:
        """Fix steps, clip, noise and the statement from public facts."""
        self._check_delta(eps, delta)
        self.check(problem)
        descent = self._descent(problem, eps, delta)
        cost = _cost(self, problem, descent, eps, delta)
        statement = self.promise(
            problem,
            cost.eps,
            delta,
            cost.guarantee,
            cost.released,
            f"{descent.calibration}{cost.remark}",
            f"Abadi et al. 2016; dplr noisy_gd.md, {cost.theorem}",
            problem.loss.estimand.clipped,
            (*problem.assumptions, CLIPS) if clips(problem, cost.released) else None,
        )
        return Plan(self, problem, statement, descent)

    def _check_delta(self, eps: float, delta: float) -> None:
        if delta == 0 and math.isfinite(eps):
            remedy = 'Gaussian noise has no pure guarantee: use 1e-6, say, or mechanism "fm", "output" or "objective".'
            raise ValueError(sentence("delta", 'must be positive with mechanism="ngd"', delta, remedy))

    def check(self, problem: Problem) -> None:
        """Refuse what no theorem here covers, and losses that the kernel of clipped gradients does not have."""
        if not _clipped(problem.loss):
            rule = f'must be {models_with(_clipped)} with mechanism="ngd"'
            remedy = f"Gradients of its loss, {problem.loss.label}, are not clipped here."
            raise ValueError(sentence("model", rule, model_of(problem.loss), remedy))
        if problem.n_rows is None:
            remedy = "Declare a public reference: sums are divided by it."
            raise ValueError(sentence("n_rows", 'is required with mechanism="ngd" under add_remove', None, remedy))
        if self.batch != "full" and int(self.batch) > problem.n_rows:
            counted = "rows" if problem.unit.person is None else "persons"
            raise ValueError(
                sentence("batch", f"must be at most the number of {counted}, {problem.n_rows}", self.batch)
            )
        if self.clipping == "aggregate" and math.isinf(problem.loss.lipschitz):
            remedy = "Clip each row's gradient: clipping='example'."
            raise ValueError(
                sentence("clipping", "must be 'example' where one row's gradient is unbounded", "aggregate", remedy)
            )
        if self.standardise == "on" and (lacking := _lacking(problem)):
            raise ValueError(sentence("standardise", f"must be 'auto' or 'off' {lacking.where}", "on", lacking.remedy))

    def standardises(self, problem: Problem, eps: float, delta: float) -> bool:
        """Whether rows of this problem are standardised. Private."""
        if self.standardise != "auto":
            return self.standardise == "on"
        able = self.batch == "full" and not self._printed and _lacking(problem) is None
        return able and pays(problem, _blur(problem, eps, delta))

    def blocks(self, problem: Problem, eps: float, delta: float, classes: Sequence[Any] = ()) -> dict[str, Shape]:
        """Return the sums of the columns, if there are any, and of all steps, whose number may be a default."""
        steps: dict[str, Shape] = {BLOCK: (self.steps, problem.geometry.n_coefs)}
        return column_sizes(problem) | steps if self.standardises(problem, eps, delta) else steps

    def intervals_of(self, plan: Plan, part: Mapping[str, NDArray[np.float64]]) -> Intervals | None:
        """Ranges made of the sums of the columns, to which rows were clipped before the steps."""
        return intervals_of(part, plan)

    def lacks_intervals(self, plan: Plan) -> str:
        """The reason why there are no intervals: clipped gradients are zero at other coefficients, unknown how far."""
        return f"it clips gradients, so its coefficients are not those of the loss{instead(plan)}"

    def gradient_noise(self, plan: Plan) -> GradientNoise:
        """The gradient noise of the mean of all steps."""
        block, problem = plan.statement.released[BLOCK], plan.problem
        records = problem.neighbouring.records_changed if self.batch == "full" else 1  # a batch is charged for one
        clip = block.sensitivity / (records * problem.geometry.row_norm)
        return GradientNoise(block.deviation / math.sqrt(block.shape[0]), clip)

    def link(self, plan: Plan) -> Link:
        """The link of the logistic loss with clipped slopes, and the logistic link where there are few rows."""
        if plan.problem.loss.name != "logistic" or self.clipping == "aggregate":
            return LOGIT
        return link_of(plan, self.batch == "full", MEANS in plan.statement.released)

    @property
    def keeps_eps(self) -> bool:
        """Whether all steps together cost eps: with composition="per-step" they cost more."""
        return self.composition == "exact"

    def run(self, rows: Rows, plan: Plan, source: Source, track: Track = silent) -> dict[str, NDArray[np.float64]]:
        """Refuse faulty rows; then sum, add noise and step, as often as planned."""
        problem = plan.problem
        query = LossGradient(problem.loss, problem.geometry.d, problem.geometry.intercept > 0)
        rows.total(query, np.zeros(query.shape))
        return descend(rows, plan, source, track)

    def _descent(self, problem: Problem, eps: float, delta: float) -> Descent:
        """Every number of the descent: the user's, or a function of public facts."""
        total = problem.reference_total
        assert problem.n_rows is not None
        assert total is not None
        size, norm = problem.geometry.n_coefs, problem.geometry.row_norm
        mu = math.inf if math.isinf(eps) else gaussian_mu(eps, delta)
        per_clip = problem.neighbouring.records_changed * math.sqrt(size) / (total * mu)
        started = problem.w0 if self.init == "public" else None
        standardised = self.standardises(problem, eps, delta)
        if standardised:  # the steps have the remaining share of mu^2
            per_clip /= math.sqrt(1 - step_noise.COLUMNS_SHARE)
        warm = started is not None
        settings = defaults(
            problem.loss, norm, size, per_clip, warm, self.momentum, self.steps, self.clip, standardised=standardised
        )
        rate_units = RATE_UNITS if self.batch == "full" else _rate(int(self.batch), problem.n_rows)
        descent = Descent(
            steps=settings.steps,
            learning_rate=self.learning_rate or settings.learning_rate,
            momentum=self.momentum,
            clip=settings.clip,
            tail=max(1, round(settings.steps * TAIL)) if self.averaging == "tail" else 1,
            l2=(problem.l2 or 0.0) * (problem.n_rows / total),
            start=started or (0.0,) * size,
            rows=total * rate_units / RATE_UNITS,
            rate_units=rate_units,
            standardised=standardised,
        )
        descent = descent if self.clipping == "example" else _of_the_sum(self, descent, problem)
        _check_moves(descent, problem.w0 or ())
        return descent


def _clipped(loss: Loss) -> bool:
    """Whether gradients of the loss are clipped exactly: those of counts have knots once their range is known."""
    return loss.knots is not None or loss.link == "log" or loss.name in CLIPPED


class _Lack(NamedTuple):
    """The lack of a problem that standardisation needs, and the remedy."""

    where: str
    remedy: str


def _lacking(problem: Problem) -> _Lack | None:
    """Centred rows need a range of every column, an intercept that takes the centre up, and no ridge.

    A ridge is on the coefficients of the scaled problem, and the descent knows those of the standardised one. Means
    are sums over the number of units, which the weights must add up to.
    """
    if not problem.unit.total_is_public:
        return _Lack("where the sum of the weights is private", "Use rows_per_person=1 and no other weights.")
    if problem.geometry.half_width is None:
        return _Lack("without bounds", "Declare what is public about the columns: bounds=.")
    if not problem.geometry.intercept:
        return _Lack("without an intercept", "Use fit_intercept=True.")
    if problem.l2:
        return _Lack("with a ridge", "Use l2='auto', which is none here.")
    return None


def _check_moves(descent: Descent, center: Sequence[float]) -> None:
    """Refuse numbers that could overflow in a step: after noise was drawn there would be no point for the next sum."""
    pull = descent.l2 * (LARGEST_COEF + math.hypot(*center)) if descent.l2 else 0.0
    if not descent.learning_rate * (_LARGEST_MEAN + pull) <= _LARGEST_MOVE:
        rule = f"must be at most {_LARGEST_MOVE / (_LARGEST_MEAN + pull):.3g} with this ridge and public start"
        remedy = "Use a smaller learning rate or ridge, or public coefficients nearer to zero."
        raise ValueError(sentence("learning_rate", rule, descent.learning_rate, remedy))


def _rate(batch: int, n_rows: int) -> int:
    """Sampling rate in units of 2^-32, at least one of them."""
    return max(1, round(batch / n_rows * RATE_UNITS))


def _of_the_sum(spec: NoisyGradientDescent, descent: Descent, problem: Problem) -> Descent:
    """HHA23 clips the sum over all rows itself and steps along it; rows keep the gradients that they have."""
    # A sum is nearly always longer than the clip, so this is about how far the descent goes.
    rate = reach(len(descent.start)) / (descent.steps * descent.clip)
    return replace(
        descent,
        clip=problem.loss.lipschitz * problem.geometry.row_norm,
        radius=descent.clip,
        rows=1.0,
        learning_rate=spec.learning_rate or rate,
    )


@dataclass(frozen=True, slots=True)
class _Cost:
    """The released blocks with their noise, and the cost of all of them."""

    eps: float
    guarantee: Pure | Gaussian | Poisson
    released: dict[str, Release]
    theorem: str
    remark: str = ""


def _cost(spec: NoisyGradientDescent, problem: Problem, descent: Descent, eps: float, delta: float) -> _Cost:
    """Noise of every step and guarantee of all of them."""
    size, records = problem.geometry.n_coefs, problem.neighbouring.records_changed
    query = ClippedGradient(problem.loss, problem.geometry.d, problem.geometry.intercept > 0, descent.clip)
    moved = sensitivity.clipped_sum(records, descent.clip, descent.radius, size, query.exponent)
    if math.isinf(eps):
        exact = exact_blocks(problem) if descent.standardised else {}
        exact[BLOCK] = Release((descent.steps, size), moved, Law.NONE, 0.0, math.ldexp(1.0, query.exponent))
        return _Cost(eps, Pure(eps), exact, "section 1", "; no noise: eps = inf")
    if descent.standardised:
        return _standardised(problem, descent, query, moved, eps, delta)
    if spec.composition == "per-step":
        return _as_printed(problem, descent, query, moved, eps, delta)
    if descent.samples_rows:
        charged, multiplier, noise = step_noise.poisson_gaussian_steps(
            descent.clip, descent.rate_units, eps, delta, descent.steps, size, problem.neighbouring, query.exponent
        )
        guarantee = Poisson(descent.rate, multiplier, descent.steps)
        return _Cost(eps, guarantee, {BLOCK: _release((descent.steps, size), charged, noise)}, "theorem 2")
    charged, mu, noise = step_noise.discrete_gaussian_steps(moved, eps, delta, descent.steps, size, query.exponent)
    return _Cost(eps, Gaussian(mu), {BLOCK: _release((descent.steps, size), charged, noise)}, "theorem 1")


def _release(shape: tuple[int, ...], charged: float, noise: GaussianBlock, weight: float = 1.0) -> Release:
    return Release(shape, charged, Law.DISCRETE_GAUSSIAN, noise.scale, noise.grid, weight, noise.units)


def _standardised(
    problem: Problem, descent: Descent, query: ClippedGradient, moved: float, eps: float, delta: float
) -> _Cost:
    """The cost of the sums of columns, and of the steps with the remaining share of mu^2."""
    size, columns = problem.geometry.n_coefs, column_release(problem)
    noise = step_noise.standardised_gaussian_steps(columns, moved, eps, delta, descent.steps, size, query.exponent)
    released = {
        name: _release(shape, noise.charged_columns, block, weight)
        for (name, shape), block, weight in zip(
            column_sizes(problem).items(), noise.columns, columns.weights, strict=True
        )
    }
    released[BLOCK] = _release((descent.steps, size), noise.charged_step, noise.step)
    share = f"{float(step_noise.COLUMNS_SHARE):.0%} of mu^2"
    remark = f"; rows centred and rescaled by sums of the columns, released before for {share}"
    return _Cost(eps, Gaussian(noise.mu), released, "theorem 3", remark)


def _blur(problem: Problem, eps: float, delta: float) -> float:
    """Deviation of the noise of a released mean, in half-widths; inf where there is no noise that could be private."""
    if math.isinf(eps):
        return 0.0
    if delta == 0 or problem.n_rows is None or problem.geometry.half_width is None:
        return math.inf
    noise = column_release(problem).sensitivity / gaussian_mu(eps, delta) / math.sqrt(step_noise.COLUMNS_SHARE)
    return noise / problem.n_rows / problem.geometry.half_width


def _as_printed(
    problem: Problem, descent: Descent, query: ClippedGradient, moved: float, eps: float, delta: float
) -> _Cost:
    """Every step with the classical noise for (eps, delta) of its own, as HHA23's equations have it, and its cost.

    They calibrate to 2C/n, C the clip: right for a mean of clipped gradients, n times too little for a sum of them.
    """
    assert problem.n_rows is not None
    size, records = problem.geometry.n_coefs, problem.neighbouring.records_changed
    printed = records * (descent.clip if math.isinf(descent.radius) else descent.radius / problem.n_rows)
    deviation = printed * math.sqrt(2 * math.log(1.25 / delta)) / eps
    charged, mu, noise, real = step_noise.steps_of_deviation(
        moved, deviation, eps, delta, descent.steps, size, query.exponent
    )
    remark = f"; HHA23 as printed: noise for eps = {eps:g} in each step, which is eps = {real:.6g} for all of them"
    released = {BLOCK: _release((descent.steps, size), charged, noise)}
    return _Cost(real, Gaussian(mu), released, "section 6", remark)
