"""Settings, noise and cost of a descent: functions of public facts. Proofs: noisy_gd.md, accounting.md."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

from scipy import special

from dplr._kit.validation import sentence
from dplr.mechanisms.composed import Part, composed
from dplr.mechanisms.descriptions import DESCENT
from dplr.privacy import sensitivity
from dplr.privacy.accounting import poisson_noise_multiplier
from dplr.privacy.calibration import (
    GAUSSIAN_BITS,
    MOST_GAUSSIAN_NUMBERS,
    RATE_UNITS,
    continuous_delta,
    continuous_target,
)
from dplr.privacy.gaussian import gaussian_eps, gaussian_mu
from dplr.privacy.guarantees import Gaussian, Neighbouring, Poisson, Pure
from dplr.privacy.statement import Release
from dplr.problem.plan import Settings
from dplr.problem.problem import Problem

BLOCK = DESCENT.steps_in
MEANS, SQUARES, RECORDS = "means", "squares", "records"
# Share of mu^2 for the sums of columns where rows are standardised, chosen by measurement.
COLUMNS_SHARE = Fraction(1, 10)
_STEPS_REMEDY = "Use fewer steps, or a larger eps or delta."
# Defaults: noisy_gd.md, section 5.
_FEWEST_STEPS, _MOST_STEPS = 100, 400
# Share of the largest learning rate at which momentum is proved stable.
_STABLE_SHARE = 0.63
# Shares of the row norm: below the first, rows of unit norm would be clipped at the start; beyond the last none is.
_SMALLEST_CLIP_LABELS, _SMALLEST_CLIP_NUMBERS, _LARGEST_CLIP = 0.45, 0.11, 2.0
_CLIP_SCALE_LABELS, _CLIP_SCALE_NUMBERS = 0.02, 0.025
# Factor of the reach of regression, whose margins lie in about [-1, 1]; those of a classifier are much larger.
_REGRESSION_REACH = 0.2
_WARM_REACH = 1 / 3
# Factor of the horizon on standardised rows, whose noise is larger in directions that matter less.
_STANDARDISED_HORIZON = 0.7
_LARGEST_BLUR = 1.0


@dataclass(frozen=True, slots=True)
class Descent(Settings):
    """The settings of noisy gradient descent.

    Attributes
    ----------
    learning_rate : of the mean objective of the scaled problem; a direction keeps all of it in the long run.
    momentum : how much of the last step's direction stays.
    clip : largest norm of one row's gradient.
    tail : how many of the last iterates are averaged; 1 for the last one alone.
    l2 : ridge of the mean objective.
    start : (q,) first iterate.
    rows : what a sum is divided by: a public guess of its rows' weights, of a Poisson batch as many as are expected.
    rate_units : a unit, with all of its rows, enters a sum with this probability, in units of 2^-32.
    radius : where the sum itself is clipped, its largest norm; inf for no such clip.
    standardised : whether rows are centred and rescaled first, by sums that are released; rate and clip are then those
        of the standardised problem.
    """

    steps: int
    learning_rate: float
    momentum: float
    clip: float
    tail: int
    l2: float
    start: tuple[float, ...]
    rows: float
    rate_units: int = RATE_UNITS
    radius: float = math.inf
    standardised: bool = False

    @property
    def rate(self) -> float:
        return self.rate_units / RATE_UNITS

    @property
    def samples_rows(self) -> bool:
        return self.rate_units != RATE_UNITS

    @property
    def line(self) -> tuple[str, str]:
        rows = f"Poisson batches of {self.rows:.6g} rows expected" if self.samples_rows else "all rows"
        rows += ", standardised" if self.standardised else ""
        return "descent", (
            f"{self.steps} steps of rate {self.learning_rate:.6g} over {rows}, "
            f"momentum {self.momentum:.6g}, clip {self.clip:.6g}, the last {self.tail} averaged"
        )

    @property
    def calibration(self) -> str:
        """The steps, batches and clipping of a statement, in words."""
        batch = f"Poisson batches of rate {self.rate:.6g}" if self.samples_rows else "all rows"
        clipped = f"the sum clipped to {self.radius:.6g}"
        if math.isinf(self.radius):
            clipped = f"each row's gradient clipped to {self.clip:.6g}"
        return f"{self.steps} sums over {batch}, {clipped}"


def reach(size: int) -> float:
    """A public guess of the norm of good coefficients in the scaled problem."""
    return min(16.0, 2 * math.sqrt(size))


def defaults(
    problem: Problem, noise_per_clip: float, warm: bool, momentum: float, steps: int | None, clip: float | None,
    standardised: bool,
) -> tuple[int, float, float]:  # fmt: skip
    """Steps, learning rate and clip; arguments that are not None are kept.

    `noise_per_clip` is the expected norm of the noise in a mean gradient if one step spent all, for a clip of 1; `warm`
    is whether the descent starts at public coefficients.
    """
    loss, row_norm, size = problem.loss, problem.geometry.row_norm, problem.geometry.n_coefs
    if clip is None:
        smallest, scale = _SMALLEST_CLIP_NUMBERS, _CLIP_SCALE_NUMBERS
        if loss.classification:
            smallest, scale = _SMALLEST_CLIP_LABELS, _CLIP_SCALE_LABELS
        balanced = scale / math.sqrt(noise_per_clip) if noise_per_clip else math.inf
        clip = row_norm * min(max(smallest, balanced), loss.lipschitz, _LARGEST_CLIP)
    closeness = _WARM_REACH if warm else 1.0
    distance = reach(size) * closeness * (1.0 if loss.classification else _REGRESSION_REACH)
    noise = clip * noise_per_clip
    # The ridge that balances the noise, plus one that counts only where the noise exceeds the data.
    ridge = noise / distance + noise**2 / (2 * closeness**2)
    # A rate at which momentum is surely stable: (1 - m) rate curvature < 2 (1 + m) is.
    largest = _STABLE_SHARE * 2 * (1 + momentum) / ((1 - momentum) * loss.smoothness * row_norm**2)
    horizon = (_STANDARDISED_HORIZON if standardised else 1.0) / ridge if ridge > 0 else math.inf
    if steps is None:
        steps = math.ceil(min(max(horizon / largest, _FEWEST_STEPS), _MOST_STEPS))
    return steps, min(horizon / steps, largest), clip


def column_part(problem: Problem) -> Part:
    """Sums of the columns, of squared numbers over the half-width, and of records, where they are private, times it.

    Proof: noisy_gd.md, lemma 1. There are no squares where there are no numbers.
    """
    geometry, c = problem.geometry, problem.geometry.half_width
    assert c is not None
    levels = [size for _, size, *_ in (*geometry.blocks, *geometry.hats)]
    # A block of numbers of which at most one is not 0 moves the sums no further than one number.
    numeric = len(geometry.numbers) - sum(size - 1 for _, size in geometry.shared)
    if problem.neighbouring is Neighbouring.REPLACE_ONE:
        moved = sensitivity.columns_replace_one(numeric, levels, c)
    else:
        moved = sensitivity.columns_add_remove(numeric, len(levels), c)
    blocks: list[tuple[str, tuple[int, ...], float]] = [(MEANS, (geometry.d,), 1.0)]
    if geometry.numbers:
        blocks.append((SQUARES, (len(geometry.numbers),), 1 / c))
    if problem.counts_units:
        blocks.append((RECORDS, (1,), c))
    return Part(COLUMNS_SHARE, moved, tuple(blocks), remedy="Use standardise='off'.")


def pays(problem: Problem, eps: float, delta: float) -> bool:
    """Whether standardising rows that can be standardised is worth its share of the budget.

    Beyond a noise of one half-width of the bounds the released means say nothing. A regression from good public
    coefficients loses up to 0.6 %.
    """
    if not problem.loss.classification and problem.w0 is not None:
        return False
    if math.isinf(eps):
        return True
    if delta == 0 or problem.n_rows is None or problem.geometry.half_width is None:
        return False
    noise = column_part(problem).sensitivity / gaussian_mu(eps, delta) / math.sqrt(COLUMNS_SHARE)
    return noise / problem.n_rows / problem.geometry.half_width <= _LARGEST_BLUR


class Cost(NamedTuple):
    """The released blocks with their noise, what all of them cost, and where that is proved."""

    eps: float
    guarantee: Pure | Gaussian | Poisson
    released: Mapping[str, Release]
    theorem: str
    remark: str = ""


def cost_of(problem: Problem, descent: Descent, exponent: int, eps: float, delta: float, per_step: bool) -> Cost:
    """Noise of every step and guarantee of all of them; exact sums are multiples of two to the power `exponent`.

    `per_step`: every step has noise for (eps, delta) of its own.
    """
    size, records, steps = problem.geometry.n_coefs, problem.neighbouring.records_changed, descent.steps
    if descent.samples_rows and math.isfinite(eps):
        records = 1  # the accountant knows that a replaced one changes two sums (accounting.md, theorem 5)
    moved = sensitivity.clipped_sum(records, descent.clip, descent.radius, size, exponent)
    share = 1 - COLUMNS_SHARE if descent.standardised else Fraction(1)
    remedy = "Use a smaller eps, or another clip."
    gradients = Part(share, moved, ((BLOCK, (steps, size), 1.0),), exponent, steps, remedy)
    if math.isfinite(eps) and gradients.numbers > MOST_GAUSSIAN_NUMBERS:
        rule = f"must be at most {MOST_GAUSSIAN_NUMBERS // size} to release {size} numbers per step"
        raise ValueError(sentence("steps", rule, steps, "Use fewer steps or fewer features."))
    if math.isfinite(eps) and per_step:
        return _as_printed(problem, descent, gradients, eps, delta)
    if math.isfinite(eps) and descent.samples_rows:
        target = continuous_target(eps, delta, gradients.numbers, _STEPS_REMEDY)
        multiplier = poisson_noise_multiplier(descent.rate, steps, *target, problem.neighbouring)
        guarantee = Poisson(descent.rate, multiplier, steps)
        return Cost(eps, guarantee, gradients.noisy(Fraction(multiplier), eps), "theorem 2")
    parts = (column_part(problem), gradients) if descent.standardised else (gradients,)
    released, together = composed(parts, eps, delta, _STEPS_REMEDY)
    if math.isinf(eps):
        return Cost(eps, together, released, "section 1", "; no noise: eps = inf")
    if descent.standardised:
        share_words = f"{float(COLUMNS_SHARE):.0%} of mu^2"
        remark = f"; rows centred and rescaled by sums of the columns, released before for {share_words}"
        return Cost(eps, together, released, "theorem 3", remark)
    return Cost(eps, together, released, "theorem 1")


def _as_printed(problem: Problem, descent: Descent, gradients: Part, eps: float, delta: float) -> Cost:
    """Every step with the classical noise for (eps, delta) of its own, as HHA23's equations have it, and its cost.

    They calibrate to 2C/n, C the clip: right for a mean of clipped gradients, n times too little for a sum of them. By
    accounting.md, lemma 3, with continuous noise of mu = sqrt(steps) * charged / deviation: delta is met at eps =
    gaussian_eps(mu, delta') + eta, delta' what `continuous_delta` leaves.
    """
    assert problem.n_rows is not None
    records, numbers = problem.neighbouring.records_changed, gradients.numbers
    printed = records * (descent.clip if math.isinf(descent.radius) else descent.radius / problem.n_rows)
    deviation = printed * math.sqrt(2 * math.log(1.25 / delta)) / eps
    released = gradients.noisy(Fraction(deviation) / Fraction(gradients.sensitivity), eps)
    mu = math.sqrt(descent.steps) * released[BLOCK].sensitivity / released[BLOCK].scale * (1 + 2.0**-40)
    continuous = gaussian_eps(mu, continuous_delta(delta, numbers))
    # So far out that 2 N e^eps Phi(-t) <= delta 5e-7, as `continuous_target` has it.
    t = 12.0
    while math.log(2 * numbers) + continuous + 1 + float(special.log_ndtr(-t)) > math.log(delta) + math.log(5e-7):
        t *= 1.1
    eta = numbers * (1 + t * t) / (24 * 4.0**GAUSSIAN_BITS)
    if eta > 1:
        raise ValueError(sentence("delta", "is out of the range of the Gaussian noise", delta, _STEPS_REMEDY))
    real = continuous + eta
    remark = f"; HHA23 as printed: noise for eps = {eps:g} in each step, which is eps = {real:.6g} for all of them"
    return Cost(real, Gaussian(mu), released, "section 6", remark)
