"""Privacy loss distributions through dp-accounting: Poisson-sampled steps, many releases. Proofs in accounting.md."""

from __future__ import annotations

import functools
import math
from typing import Any

from scipy import optimize

from dplr._kit.extras import missing_library
from dplr._kit.validation import sentence
from dplr.privacy.guarantees import Approx, Gaussian, Neighbouring, Poisson, Pure

# Below it rounding in the accountant's Fourier transforms would drown delta: of 10,000 steps it shows at 1e-12.
SMALLEST_DELTA = 2.0**-40
# Smaller multipliers give an eps that protects nobody, and their loss distributions take gigabytes.
SMALLEST_MULTIPLIER = 0.3
_LARGEST_MULTIPLIER = 1e9
# Points of a grid of losses: a few seconds for each evaluation.
_MOST_LOSSES = 2e5
_CLOSE = 1e-6  # of the search, relative


def _library() -> Any:
    """dp-accounting, imported when it is first needed: an optional dependency that takes a second to load."""
    try:
        import dp_accounting
        import dp_accounting.pld
    except ImportError as missing:
        purpose = "accounting for Poisson-sampled batches and by privacy loss distributions (composition='pld')"
        raise missing_library(purpose, "dp-accounting", "accounting", "dp_accounting") from missing
    return dp_accounting


@functools.lru_cache(maxsize=1024)
def poisson_eps(guarantee: Poisson, delta: float, neighbouring: Neighbouring) -> float:
    """Smallest eps that the accountant confirms at delta, rounded up; inf where it confirms none (theorem 5).

    Raises ModuleNotFoundError without dp-accounting, and ValueError where delta is too small for its arithmetic.
    """
    library = _library()
    if not SMALLEST_DELTA <= delta < 1:
        rule = f"must be in [{SMALLEST_DELTA:.2g}, 1) with Poisson-sampled batches"
        raise ValueError(sentence("delta", rule, delta))
    accountant = library.pld.PLDAccountant(
        _relation(neighbouring), _spacing(guarantee.rate, guarantee.noise_multiplier)
    )
    # In both relations the multiplier is over one record's bound: the accountant itself doubles for a replaced record.
    step = library.PoissonSampledDpEvent(guarantee.rate, library.GaussianDpEvent(guarantee.noise_multiplier))
    accountant.compose(library.SelfComposedDpEvent(step, guarantee.steps))
    return float(accountant.get_epsilon(delta))


def _spacing(rate: float, multiplier: float) -> float:
    """Grid of the losses. Any grid is safe, since losses are rounded up; this one rounds little and fits into memory.

    A typical loss of one step is about rate / multiplier; the largest one that the accountant keeps is that of a draw
    ten deviations out.
    """
    return min(1e-4, max(rate / multiplier / 10, _largest_loss(rate, multiplier) / _MOST_LOSSES))


def _largest_loss(rate: float, multiplier: float) -> float:
    return math.log1p(rate * math.expm1(min(10 / multiplier + 0.5 / multiplier**2, 700)))


def _relation(neighbouring: Neighbouring) -> Any:
    relation = _library().NeighboringRelation
    return relation.REPLACE_ONE if neighbouring is Neighbouring.REPLACE_ONE else relation.ADD_OR_REMOVE_ONE


def _guess(rate: float, steps: int, eps: float, delta: float, neighbouring: Neighbouring) -> float:
    """Where to start the search: the central limit of many steps, mu = rate sqrt(steps (e^(1/z^2) - 1))."""
    tail = math.sqrt(-2 * math.log(delta))
    mu = 2 * eps / (math.sqrt(tail * tail + 2 * eps) + tail)
    records = 2 if neighbouring is Neighbouring.REPLACE_ONE else 1
    return 1 / math.sqrt(math.log1p((mu / (records * rate)) ** 2 / steps))


@functools.lru_cache(maxsize=256)
def poisson_noise_multiplier(rate: float, steps: int, eps: float, delta: float, neighbouring: Neighbouring) -> float:
    """Smallest noise multiplier (at least 0.3) with which the steps are (eps, delta)-DP, rounded up and confirmed.

    Raises ModuleNotFoundError without dp-accounting, and ValueError where delta is too small or no noise suffices.
    """

    def excess(log_multiplier: float) -> float:
        """Logarithm of eps over what was asked for: nearly a straight line."""
        reached = poisson_eps(Poisson(rate, math.exp(log_multiplier), steps), delta, neighbouring)
        return math.log(min(max(reached, 1e-300), 1e300) / eps)

    least, most = math.log(SMALLEST_MULTIPLIER), math.log(_LARGEST_MULTIPLIER)
    low = high = min(max(math.log(_guess(rate, steps, eps, delta, neighbouring)), least), most)
    stride = 0.1
    while excess(high) > 0:
        if high == most:
            remedy = "Use a larger eps or delta."
            raise ValueError(sentence("eps", f"is too small for {steps} Poisson-sampled steps", eps, remedy))
        low, high, stride = high, min(high + stride, most), 2 * stride
    while excess(low) <= 0:
        if low == least:
            return SMALLEST_MULTIPLIER
        low, high, stride = max(low - stride, least), low, 2 * stride
    multiplier = math.exp(optimize.brentq(excess, low, high, xtol=_CLOSE))
    margin = _CLOSE
    while poisson_eps(Poisson(rate, multiplier, steps), delta, neighbouring) > eps:
        multiplier *= 1 + margin
        margin *= 2
    return multiplier


def check_installed() -> None:
    """Raise ModuleNotFoundError, with the line that installs it, if dp-accounting is missing."""
    _library()


def composed_eps(
    parts: tuple[tuple[Pure | Gaussian | Poisson | Approx, int], ...],
    delta: float,
    neighbouring: Neighbouring,
    resolution: float,
) -> float:
    """Smallest eps that the loss distribution of all parts, (guarantee, times), confirms at delta (theorem 6).

    Noise counts as continuous: the discreteness of the noise is charged by the caller. `resolution` is a loss that
    matters: the grid is a 10^-4 of it where memory allows, and any grid is safe.

    Raises ModuleNotFoundError without dp-accounting.
    """
    if not parts:
        return 0.0
    sampled = [part for part, _ in parts if isinstance(part, Poisson)]
    finest = min([1e-4, 1e-4 * resolution, *(_spacing(part.rate, part.noise_multiplier) for part in sampled)])
    spacing = max([finest, *(_largest_loss(part.rate, part.noise_multiplier) / _MOST_LOSSES for part in sampled)])
    first, *rest = (_distribution(part, count, neighbouring, spacing) for part, count in parts)
    return float(functools.reduce(lambda one, two: one.compose(two), rest, first).get_epsilon_for_delta(delta))


@functools.lru_cache(maxsize=256)
def _distribution(
    part: Pure | Gaussian | Poisson | Approx, count: int, neighbouring: Neighbouring, spacing: float
) -> Any:
    """Privacy loss distribution that dominates `count` releases with this guarantee."""
    library = _library().pld.privacy_loss_distribution
    if isinstance(part, Gaussian):  # mu already speaks of the relation, and mu^2 adds
        return library.from_gaussian_mechanism(1 / (part.mu * math.sqrt(count)), value_discretization_interval=spacing)
    if isinstance(part, Poisson):
        one = library.from_gaussian_mechanism(
            part.noise_multiplier,
            value_discretization_interval=spacing,
            sampling_prob=part.rate,
            neighboring_relation=_relation(neighbouring),
        )
        return one.self_compose(part.steps * count)
    delta = part.delta if isinstance(part, Approx) else 0.0
    parameters = _library().pld.common.DifferentialPrivacyParameters(part.eps, delta)
    one = library.from_privacy_parameters(parameters, value_discretization_interval=spacing)
    return one.self_compose(count)
