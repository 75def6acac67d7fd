"""Steps, learning rate and clip of noisy gradient descent as functions of public facts: noisy_gd.md, section 5."""

from __future__ import annotations

import math
from typing import NamedTuple

from dplr.mechanisms.noisy_gd import ABOUT
from dplr.mechanisms.noisy_gd.settings import Descent
from dplr.problem.link import Link, clipped_link, link_share
from dplr.problem.losses import Loss
from dplr.problem.plan import Plan
from dplr.problem.problem import Problem

MOMENTUM = 0.9
# Share of the iterates, the last ones, that are averaged.
TAIL = 0.25
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
# Rows times eps at which half of the link is that of clipped slopes (link.md, section 3).
_HALFWAY = 500.0
_WIDEST = 1 - 2.0**-53


class Defaults(NamedTuple):
    """The defaults of the descent's options."""

    steps: int
    learning_rate: float
    clip: float


def pays(problem: Problem, blur: float) -> bool:
    """Whether standardising rows that can be standardised is worth its share of the budget.

    `blur` is the deviation of the noise of a released mean, in half-widths of the bounds: beyond one the means say
    nothing. A regression from good public coefficients loses up to 0.6 %.
    """
    return blur <= _LARGEST_BLUR and (problem.loss.classification or problem.w0 is None)


def reach(size: int) -> float:
    """A public guess of the norm of good coefficients in the scaled problem."""
    return min(16.0, 2 * math.sqrt(size))


def largest_rate(loss: Loss, row_norm: float, momentum: float) -> float:
    """A learning rate at which momentum is surely stable: (1 - m) rate curvature < 2 (1 + m) is."""
    return _STABLE_SHARE * 2 * (1 + momentum) / ((1 - momentum) * loss.smoothness * row_norm**2)


def defaults(
    loss: Loss, row_norm: float, size: int, noise_per_clip: float, warm: bool, momentum: float,
    steps: int | None = None, clip: float | None = None, standardised: bool = False,
) -> Defaults:  # fmt: skip
    """Steps, learning rate and clip; arguments that are not None are kept.

    Parameters
    ----------
    size : number of coefficients.
    noise_per_clip : expected norm of the noise in a mean gradient if one step spent all, for a clip of 1.
    warm : whether the descent starts at public coefficients.
    standardised : whether rows are; `row_norm` is then that of their mean square.
    """
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
    largest = largest_rate(loss, row_norm, momentum)
    horizon = (_STANDARDISED_HORIZON if standardised else 1.0) / ridge if ridge > 0 else math.inf
    if steps is None:
        steps = math.ceil(min(max(horizon / largest, _FEWEST_STEPS), _MOST_STEPS))
    return Defaults(steps, min(horizon / steps, largest), clip)


def link_of(plan: Plan, full: bool, standardised: bool) -> Link:
    """From margins to log odds: the gradient of a row of norm r is clipped where its slope is above clip / r.

    Standardised rows have a mean square norm of about 1; of others r is taken to be the largest norm. The plan of a
    model file has no descent: there the noise of full or Poisson batches tells the clip. What they charge is the clip
    and what flooring to the grid adds (calibration.py, `gaussian_blocks`), which at small eps is as large as the clip.
    """
    problem, released = plan.problem, plan.statement.released
    norm = 1.0 if standardised else problem.geometry.row_norm
    if isinstance(plan.settings, Descent):
        cut = plan.settings.clip / norm
    else:
        records, block = problem.neighbouring.records_changed if full else 1, released[ABOUT.steps_in]
        moved = block.sensitivity - math.sqrt(block.shape[-1]) * block.grid
        cut = min(moved / (records * norm), _WIDEST)  # rounding may hide that it is just below 1
    return clipped_link(cut, link_share(problem.reference_total, plan.statement.eps, _HALFWAY))
