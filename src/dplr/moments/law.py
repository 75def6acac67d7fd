"""From public facts to the noise on second moments, and the statement. Proofs: moments.md."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from dplr.mechanisms.functional import moments as layout
from dplr.moments import ABOUT
from dplr.privacy import calibration
from dplr.privacy.guarantees import Gaussian, Neighbouring, Pure
from dplr.privacy.law import Law
from dplr.privacy.statement import PrivacyStatement, Release
from dplr.problem.geometry import Geometry
from dplr.problem.plan import Plan
from dplr.problem.problem import Problem

LAPLACE, GAUSSIAN = Law.DISCRETE_LAPLACE, Law.DISCRETE_GAUSSIAN
_EXACT = math.ldexp(1.0, calibration.SUM_EXPONENT)
_ROUNDED = 1 + 2.0**-30  # of quotients of rounded numbers

Cells = tuple[NDArray[np.intp], NDArray[np.intp]]


def cells(geometry: Geometry, neighbouring: Neighbouring) -> dict[str, Cells]:
    """The cells of sum (x, iota)(x, iota)' that are released: no cell that is public, or that another one tells."""
    blocks = layout.blocks(geometry, neighbouring is Neighbouring.ADD_REMOVE)
    return {name: cells for name, cells in blocks.items() if name != "linear"}


def weights(law: Law) -> dict[str, float]:
    """The factor of each block inside the norm in which the sensitivity is measured."""
    return {"diagonal": 1.0, "off_diagonal": math.sqrt(2) if law is GAUSSIAN else 1.0}


def proved_sensitivity(geometry: Geometry, neighbouring: Neighbouring, law: Law) -> float:
    """In L2 for Gaussian noise, in L1 for Laplace noise."""
    measure = layout.quadratic_l2_sensitivity if law is GAUSSIAN else layout.quadratic_sensitivity
    return measure(geometry, neighbouring)


def plan_release(problem: Problem, eps: float, delta: float) -> Plan:
    """Fix the noise and the statement from public facts."""
    sizes = {name: len(rows) for name, (rows, _) in cells(problem.geometry, problem.neighbouring).items()}
    released, guarantee, named = _noise(problem, sizes, eps, delta)
    statement = PrivacyStatement(
        mechanism=ABOUT.name,
        eps=eps,
        delta=delta,
        guarantee=guarantee,
        neighbouring=problem.neighbouring,
        released=released,
        calibration=named,
        assumptions=problem.assumptions,
        arithmetic=ABOUT.arithmetic,
        reproducible=False,
        source=f"dplr moments.md, theorem {2 if delta > 0 else 1}",
    )
    return Plan(None, problem, statement)


def _noise(
    problem: Problem, sizes: Mapping[str, int], eps: float, delta: float
) -> tuple[dict[str, Release], Pure | Gaussian, str]:
    """Blocks that together are as private as asked for, the guarantee, and the calibration's name."""
    if math.isinf(eps):
        exact = {name: Release((size,), 0.0, Law.NONE, 0.0, _EXACT) for name, size in sizes.items()}
        return exact, Pure(eps), "none: eps = inf"
    law = GAUSSIAN if delta > 0 else LAPLACE
    of = {name: weights(law)[name] for name in sizes}
    norm = proved_sensitivity(problem.geometry, problem.neighbouring, law)
    shares, counts = tuple(of.values()), tuple(sizes.values())
    guarantee: Pure | Gaussian = Pure(eps)
    if delta > 0:
        charged, mu, noises = calibration.discrete_gaussian(norm, eps, delta, shares, counts)
        guarantee = Gaussian(mu)
    else:
        charged, noises = calibration.discrete_laplace(norm, eps, shares, counts)
    released = {
        name: Release((size,), charged, law, noise.scale, noise.grid, of[name], noise.units)
        for (name, size), noise in zip(sizes.items(), noises, strict=True)
    }
    measured = "L2" if delta > 0 else "L1"
    named = f"tight: {measured} sensitivity {norm:.6g} of the second moments, {problem.geometry}"
    return released, guarantee, named


def spread(statement: PrivacyStatement) -> float:
    """Root mean square noise of a cell of the whole matrix."""
    cells_of = {"diagonal": 1, "off_diagonal": 2}
    sizes = {name: cells_of[name] * block.shape[0] for name, block in statement.released.items()}
    total = sum(sizes[name] * block.deviation**2 for name, block in statement.released.items())
    return math.sqrt(total / sum(sizes.values()))


def covers(statement: PrivacyStatement, geometry: Geometry) -> bool:
    """Whether the noise of a statement is as large as its guarantee needs; for what comes from a file."""
    if math.isinf(statement.eps):
        return True
    law = GAUSSIAN if statement.delta > 0 else LAPLACE
    needed = proved_sensitivity(geometry, statement.neighbouring, law)
    loss = statement.eps
    if isinstance(statement.guarantee, Gaussian):
        loss = statement.guarantee.mu
        numbers = sum(block.shape[0] for block in statement.released.values())
        if loss > calibration.discrete_gaussian_mu(statement.eps, statement.delta, numbers) * _ROUNDED:
            return False
    return all(_covers(block, weights(law)[name], needed, loss) for name, block in statement.released.items())


def _covers(block: Release, weight: float, needed: float, loss: float) -> bool:
    """Whether a block has its weight, at least this sensitivity, and the noise that both and its units call for."""
    gaussian = block.law is GAUSSIAN
    drawn = block.grid * (math.sqrt(block.units) if gaussian else block.units)
    enough = min(block.scale, drawn) * _ROUNDED >= block.sensitivity / (weight * loss)
    return block.weight == weight and block.sensitivity >= needed and enough and drawn <= block.scale * _ROUNDED
