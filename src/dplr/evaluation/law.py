"""From public facts to the noise of an evaluation, and its statement. Proofs: evaluation.md."""

from __future__ import annotations

import math
from collections.abc import Sequence

from dplr._kit.validation import sentence
from dplr.evaluation.grids import ERRORS, UNIT, ErrorGrid, Grid, ScoreGrid
from dplr.privacy import calibration
from dplr.privacy.evaluation_sensitivity import (
    errors_add_remove,
    errors_replace_one,
    outcomes_add_remove,
    outcomes_replace_one,
)
from dplr.privacy.guarantees import Neighbouring, Pure
from dplr.privacy.law import Law
from dplr.privacy.statement import PrivacyStatement, Release
from dplr.privacy.unit import Unit

CELLS = "cells"
_EXACT = math.ldexp(1.0, calibration.SUM_EXPONENT)
# What each sum of rests of losses takes beside the cells: it is bounded by a fraction of a cell, so that little is
# enough; of several classes the cells say less of the losses.
_SHARE, _SHARE_OF_CLASSES = 0.04, 0.1
# Weights of the sums of errors beside `square`, chosen for the least noise of R^2 (bench/studies/evaluation).
_ERROR_WEIGHTS = {
    "cells": 0.06, "square": 1.0, "absolute": 0.2, "error": 0.15, "fourth": 0.1, "target_square": 1.0, "target": 0.1,
}  # fmt: skip
_COUNT_WEIGHT = 0.1


def blocks(grid: Grid, counted: bool) -> dict[str, tuple[int, float]]:
    """Name -> how many numbers, and their weight in the norm; `counted`: whether the sum of weights is private."""
    if isinstance(grid, ErrorGrid):
        of = {name: (1, _ERROR_WEIGHTS[name]) for name in ERRORS}
        return {CELLS: (grid.size, _ERROR_WEIGHTS[CELLS]), **of, **({"count": (1, _COUNT_WEIGHT)} if counted else {})}
    share = _SHARE if isinstance(grid, ScoreGrid) else _SHARE_OF_CLASSES
    losses = grid.losses
    rests = {name: (1, share / float(most)) for name, most in zip(losses.names, losses.bounds, strict=True)}
    return {CELLS: (grid.size, 1.0), **rests}


def sensitivity(grid: Grid, neighbouring: Neighbouring, counted: bool) -> float:
    """The L1 norm, with the weights of the blocks, of the largest change."""
    weights = {name: weight for name, (_, weight) in blocks(grid, counted).items()}
    replaced = neighbouring is Neighbouring.REPLACE_ONE
    if isinstance(grid, ErrorGrid):
        return (errors_replace_one if replaced else errors_add_remove)(weights, UNIT)
    bounds = dict(zip(grid.losses.names, grid.losses.bounds.tolist(), strict=True))
    shares = sum(weights[name] * bound for name, bound in bounds.items()) * (1 + 2.0**-40)
    return (outcomes_replace_one if replaced else outcomes_add_remove)(shares)


def is_counted(neighbouring: Neighbouring, unit: Unit) -> bool:
    """Whether the sum of the weights of all rows is private."""
    return neighbouring is not Neighbouring.REPLACE_ONE or not unit.total_is_public


def plan_evaluation(
    grid: Grid, eps: float, neighbouring: Neighbouring, unit: Unit, assumptions: Sequence[str]
) -> PrivacyStatement:
    """Fix the noise and the statement from public facts."""
    counted = is_counted(neighbouring, unit)
    parts = blocks(grid, counted)
    norm = sensitivity(grid, neighbouring, counted)
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
        mechanism="evaluation",
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
