"""From eps, delta and a number of steps to the integer noise of each step. Proofs: accounting.md."""

from __future__ import annotations

import functools
import math
from fractions import Fraction
from typing import NamedTuple

from scipy import special

from dplr._kit.validation import sentence
from dplr.privacy.accounting import poisson_noise_multiplier
from dplr.privacy.calibration import (
    GAUSSIAN_BITS,
    MOST_GAUSSIAN_NUMBERS,
    RATE_UNITS,
    SUM_EXPONENT,
    GaussianBlock,
    continuous_delta,
    continuous_target,
    gaussian_blocks,
    root_above,
)
from dplr.privacy.gaussian import gaussian_eps, gaussian_mu
from dplr.privacy.guarantees import Neighbouring

# Share of mu^2 for the sums of columns where rows are standardised, chosen by measurement.
COLUMNS_SHARE = Fraction(1, 10)
_STEPS_REMEDY = "Use fewer steps, or a larger eps or delta."


def _check_numbers(steps: int, size: int) -> int:
    """How many integers all steps release together."""
    if steps * size > MOST_GAUSSIAN_NUMBERS:
        rule = f"must be at most {MOST_GAUSSIAN_NUMBERS // size} to release {size} numbers per step"
        raise ValueError(sentence("steps", rule, steps, "Use fewer steps or fewer features."))
    return steps * size


def _step_block(
    sensitivity: float, ratio: Fraction, size: int, eps: float, sum_exponent: int
) -> tuple[float, GaussianBlock]:
    noise = gaussian_blocks(sensitivity, ratio, (1.0,), (size,), sum_exponent)
    if noise is None:
        remedy = "Use a smaller eps, or another clip."
        raise ValueError(sentence("eps", "is out of the range of the Gaussian noise", eps, remedy))
    charged, (block,) = noise
    return charged, block


@functools.lru_cache(maxsize=256)
def discrete_gaussian_steps(
    sensitivity: float, eps: float, delta: float, steps: int, size: int, sum_exponent: int = SUM_EXPONENT
) -> tuple[float, float, GaussianBlock]:
    """Variance that makes `steps` adaptive releases of `size` integers each (eps, delta)-DP together.

    `sensitivity` bounds the L2 norm of the change of each release, whatever was released before. Flooring to the grid g
    adds at most sqrt(size) g (nothing where g is 2^sum_exponent, the spacing of the sums), and mu of the steps adds in
    squares, so the standard deviation is sqrt(steps) * charged / mu (accounting.md, theorem 4).

    Raises ValueError as `discrete_gaussian`.

    Returns
    -------
    The charged sensitivity of one step (rounded up), mu of all steps together, and the block of one step.
    """
    numbers = _check_numbers(steps, size)
    mu = gaussian_mu(*continuous_target(eps, delta, numbers, _STEPS_REMEDY))
    charged, block = _step_block(sensitivity, root_above(Fraction(steps)) / Fraction(mu), size, eps, sum_exponent)
    return charged, mu, block


class Columns(NamedTuple):
    """The release before the steps: joint L2 sensitivity, and weights and sizes of its blocks."""

    sensitivity: float
    weights: tuple[float, ...]
    sizes: tuple[int, ...]


class StandardisedSteps(NamedTuple):
    """mu of all releases together; charged sensitivities (rounded up) and blocks of the columns and of one step."""

    mu: float
    charged_columns: float
    columns: tuple[GaussianBlock, ...]
    charged_step: float
    step: GaussianBlock


@functools.lru_cache(maxsize=256)
def standardised_gaussian_steps(
    columns: Columns, sensitivity: float, eps: float, delta: float, steps: int, size: int,
    sum_exponent: int = SUM_EXPONENT,
) -> StandardisedSteps:  # fmt: skip
    """As `discrete_gaussian_steps`, after a release of columns that takes `COLUMNS_SHARE` of mu^2.

    Squares of mu add up, and the draws of both count together (noisy_gd.md, theorem 3).
    """
    numbers = _check_numbers(steps, size) + sum(columns.sizes)
    mu = gaussian_mu(*continuous_target(eps, delta, numbers, _STEPS_REMEDY))
    of_columns = root_above(1 / COLUMNS_SHARE) / Fraction(mu)
    of_step = root_above(steps / (1 - COLUMNS_SHARE)) / Fraction(mu)
    noise = gaussian_blocks(columns.sensitivity, of_columns, columns.weights, columns.sizes, SUM_EXPONENT)
    if noise is None:
        raise ValueError(sentence("eps", "is out of the range of the Gaussian noise", eps, "Use standardise='off'."))
    return StandardisedSteps(mu, *noise, *_step_block(sensitivity, of_step, size, eps, sum_exponent))


@functools.lru_cache(maxsize=256)
def poisson_gaussian_steps(
    clip: float,
    rate_units: int,
    eps: float,
    delta: float,
    steps: int,
    size: int,
    neighbouring: Neighbouring,
    sum_exponent: int = SUM_EXPONENT,
) -> tuple[float, float, GaussianBlock]:
    """As `discrete_gaussian_steps`, where each step sums a batch that a record joins with rate_units / 2^32.

    `clip` bounds the L2 norm of what one record adds to a sum, under both relations: the accountant knows that a
    replaced record changes two of them (accounting.md, theorem 5).

    Raises ValueError as `discrete_gaussian`, and ModuleNotFoundError without dp-accounting.

    Returns
    -------
    The charged clip (rounded up), the noise multiplier (standard deviation over charged clip), the block of one step.
    """
    numbers = _check_numbers(steps, size)
    target = continuous_target(eps, delta, numbers, _STEPS_REMEDY)
    multiplier = poisson_noise_multiplier(rate_units / RATE_UNITS, steps, *target, neighbouring)
    charged, block = _step_block(clip, Fraction(multiplier), size, eps, sum_exponent)
    return charged, multiplier, block


def steps_of_deviation(
    sensitivity: float, deviation: float, eps: float, delta: float, steps: int, size: int, sum_exponent: int
) -> tuple[float, float, GaussianBlock, float]:
    """The cost of `steps` releases with noise of at least `deviation` for that sensitivity.

    By accounting.md, lemma 3, with continuous noise of mu = sqrt(steps) * charged / deviation: delta is met at eps =
    gaussian_eps(mu, delta') + eta, delta' what `continuous_delta` leaves.

    Raises ValueError as `discrete_gaussian_steps`; `eps` is what was asked for, for the message.

    Returns
    -------
    The charged sensitivity of one step, mu of all steps, the block of one step, and eps of all steps at delta.
    """
    numbers = _check_numbers(steps, size)
    ratio = Fraction(deviation) / Fraction(sensitivity)
    charged, block = _step_block(sensitivity, ratio, size, eps, sum_exponent)
    mu = math.sqrt(steps) * charged / block.scale * (1 + 2.0**-40)
    continuous = gaussian_eps(mu, continuous_delta(delta, numbers))
    # So far out that 2 N e^eps Phi(-t) <= delta 5e-7, as `continuous_target` has it.
    t = 12.0
    while math.log(2 * numbers) + continuous + 1 + float(special.log_ndtr(-t)) > math.log(delta) + math.log(5e-7):
        t *= 1.1
    eta = numbers * (1 + t * t) / (24 * 4.0**GAUSSIAN_BITS)
    if eta > 1:
        raise ValueError(sentence("delta", "is out of the range of the Gaussian noise", delta, _STEPS_REMEDY))
    return charged, mu, block, continuous + eta
