"""From public facts to the noise of an evaluation, and its statement. Proofs: evaluation.md."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from dplr._kit.validation import sentence
from dplr.mechanisms.protocol import Description
from dplr.privacy import calibration
from dplr.privacy.gaussian import pure_eps
from dplr.privacy.guarantees import Approx, Gaussian, Neighbouring, Poisson, Pure
from dplr.privacy.law import Law
from dplr.privacy.statement import PrivacyStatement, Release
from dplr.privacy.unit import Unit

ABOUT = Description(
    name="evaluation",
    module="dplr.evaluation.release",
    spec="evaluate",
    title="an evaluation of a model",
    words="noise on counts and sums of outcomes, from which measures are computed",
    laws=((Law.DISCRETE_LAPLACE,), (Law.DISCRETE_LAPLACE,)),
    arithmetic="integer",
    noise_in="sums",
)
_EXACT = math.ldexp(1.0, calibration.SUM_EXPONENT)


class Grid(Protocol):
    """Public cells, and the sums beside their counts."""

    @property
    def size(self) -> int:
        """Number of cells."""
        ...

    @property
    def facts(self) -> list[str]:
        """Sentences for the statement."""
        ...

    def blocks(self, counted: bool) -> dict[str, tuple[int, float]]:
        """Name -> how many numbers, and their weight in the norm; `counted`: the weight of all rows is private."""
        ...

    def sensitivity(self, replaced: bool, counted: bool) -> float:
        """The L1 norm, with the weights of the blocks, of the largest change."""
        ...

    def place(self, scores: Any, outcomes: Any) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """(n,) cells, -1 for none, and (n, k) numbers in units of 2^-20, each row by itself."""
        ...


def beside(guarantee: Pure | Gaussian | Poisson | Approx) -> float:
    """The eps of an evaluation of other rows that has no larger loss than a fit (evaluation.md, theorem 2).

    Pure noise of that eps is mu-GDP beside a Gaussian fit.
    """
    if isinstance(guarantee, Gaussian):
        return pure_eps(guarantee.mu) * (1 - 2.0**-30)
    if isinstance(guarantee, Poisson):
        raise ValueError(sentence("mechanism", "must take full batches beside an evaluation", str(guarantee)))
    return guarantee.eps


def is_counted(neighbouring: Neighbouring, unit: Unit) -> bool:
    """Whether the sum of the weights of all rows is private."""
    return neighbouring is not Neighbouring.REPLACE_ONE or not unit.total_is_public


def plan_evaluation(
    grid: Grid, eps: float, neighbouring: Neighbouring, unit: Unit, assumptions: Sequence[str]
) -> PrivacyStatement:
    """Fix the noise and the statement from public facts."""
    counted = is_counted(neighbouring, unit)
    parts = grid.blocks(counted)
    norm = grid.sensitivity(neighbouring is Neighbouring.REPLACE_ONE, counted)
    if math.isinf(eps):
        released = {name: Release((size,), 0.0, Law.NONE, 0.0, _EXACT) for name, (size, _) in parts.items()}
        named = "none: eps = inf"
    else:
        weights = tuple(weight for _, weight in parts.values())
        charged, noises = calibration.discrete_laplace(norm, eps, weights, tuple(size for size, _ in parts.values()))
        if any(noise.exponent <= calibration.SUM_EXPONENT for noise in noises):
            raise ValueError(sentence("eps", "is out of the range of integer noise", eps, "Use inf for no noise."))
        released = {
            name: Release((size,), charged, Law.DISCRETE_LAPLACE, noise.scale, noise.grid, weight, noise.units)
            for (name, (size, weight)), noise in zip(parts.items(), noises, strict=True)
        }
        named = f"tight: L1 sensitivity {norm:.6g} of counts and sums of outcomes"
    return PrivacyStatement(
        mechanism=ABOUT.name,
        eps=eps,
        delta=0.0,
        guarantee=Pure(eps),
        neighbouring=neighbouring,
        released=released,
        calibration=named,
        assumptions=(*grid.facts, *assumptions),
        arithmetic="integer",
        reproducible=False,
        source="dplr evaluation.md, theorem 1",
        unit=unit,
    )
