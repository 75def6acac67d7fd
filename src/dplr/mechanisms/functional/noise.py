"""From eps, delta and the geometry to the integer noise of each released block. Proofs: mechanisms/functional.md.

`sizes` are the numbers of each block, `classes` the number of classes with a linear block of their own (0 for one), and
`coef_norm` sets the weight between the linear and the quadratic blocks.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction

from dplr._kit.validation import sentence
from dplr.mechanisms.equations import MEAT, MEAT_BLOCKS, meat_l1_sensitivity, meat_l2_sensitivity, meat_words
from dplr.mechanisms.functional.moments import SQUARE, best_weight, linear_blocks, square_l2_weight, square_weight
from dplr.privacy import calibration, sensitivity
from dplr.privacy.guarantees import Gaussian, Pure
from dplr.privacy.law import Law
from dplr.privacy.statement import Release
from dplr.problem.problem import Problem

# The share of mu^2, and that of a pure eps, that squared residuals get, where variances may differ.
MEAT_SHARE, PURE_MEAT_SHARE = 0.15, 0.15


def laplace_release(
    problem: Problem, sizes: Mapping[str, int], eps: float, coef_norm: float, classes: int, paper: bool
) -> tuple[dict[str, Release], str]:
    """Blocks with discrete Laplace noise that are eps-DP together, and the calibration's name; `paper` for FM12's."""
    meat = {name: size for name, size in sizes.items() if name in MEAT_BLOCKS}
    if meat:
        return _with_pure_meat(problem, sizes, meat, eps, coef_norm, classes)
    weight, joint, named = _printed_sensitivity(problem) if paper else _tight_sensitivity(problem, coef_norm, classes)
    weights = dict.fromkeys(sizes, 1.0) | {"diagonal": weight, "off_diagonal": weight}
    if SQUARE in sizes:
        weights[SQUARE], joint = square_weight(problem.geometry, problem.neighbouring, weight, problem.counts_units)
        named = _named("L1", joint, weight, problem, weights[SQUARE])
    return calibration.integer_blocks(sizes, weights, joint, eps)[0], named


def _with_pure_meat(
    problem: Problem,
    sizes: Mapping[str, int],
    meat: Mapping[str, int],
    eps: float,
    coef_norm: float,
    classes: int,
) -> tuple[dict[str, Release], str]:
    """The moments with most of eps, then the squared residuals at their solution with `PURE_MEAT_SHARE` of it."""
    moments = {name: size for name, size in sizes.items() if name not in meat}
    moments_eps = eps * (1 - PURE_MEAT_SHARE)
    released, moments_words = laplace_release(problem, moments, moments_eps, coef_norm, classes, False)
    meat_change = meat_l1_sensitivity(problem)
    weights = dict.fromkeys(meat, 1.0)
    released |= calibration.integer_blocks(meat, weights, meat_change, calibration.rest_of(eps, moments_eps))[0]
    share = f"{100 * PURE_MEAT_SHARE:g} % of eps for the {meat_words(problem)}"
    return released, f"{moments_words}; {share}, L1 sensitivity {meat_change:.6g}"


def gaussian_release(
    problem: Problem, sizes: Mapping[str, int], eps: float, delta: float, coef_norm: float, classes: int
) -> tuple[dict[str, Release], Pure | Gaussian, str]:
    """Blocks with discrete Gaussian noise that are (eps, delta)-DP together, their guarantee, and the name."""
    geometry = problem.geometry
    weight, joint = best_weight(geometry, problem.neighbouring, coef_norm, True, max(1, classes))
    weights = dict.fromkeys(sizes, 1.0) | {"diagonal": weight, "off_diagonal": weight * math.sqrt(2)}
    if SQUARE in sizes:
        weights[SQUARE], joint = square_l2_weight(geometry, problem.neighbouring, weight)
    named = _named("L2", joint, weight, problem, weights.get(SQUARE, 0.0))
    meat = {name: size for name, size in sizes.items() if name in MEAT_BLOCKS}
    if meat:
        return _with_meat(problem, sizes, weights, joint, eps, delta, named)
    return *calibration.integer_blocks(sizes, weights, joint, eps, delta), named


def _with_meat(
    problem: Problem,
    sizes: Mapping[str, int],
    weights: Mapping[str, float],
    joint: float,
    eps: float,
    delta: float,
    named: str,
) -> tuple[dict[str, Release], Gaussian, str]:
    """The moments with most of mu^2, then the squared residuals at their solution with `MEAT_SHARE` of it."""
    mu = calibration.discrete_gaussian_mu(eps, delta, sum(sizes.values()))
    weights = {**weights, MEAT + "diagonal": 1.0, MEAT + "off_diagonal": math.sqrt(2)}
    meat_bound = meat_l2_sensitivity(problem)
    released: dict[str, Release] = {}
    for share, bound, meat in ((1 - MEAT_SHARE, joint, False), (MEAT_SHARE, meat_bound, True)):
        part = {name: size for name, size in sizes.items() if (name in MEAT_BLOCKS) is meat}
        ratio = Fraction(math.nextafter(1 / math.sqrt(share), math.inf)) / Fraction(mu)
        shares, counts = tuple(weights[name] for name in part), tuple(part.values())
        noise = calibration.gaussian_blocks(bound, ratio, shares, counts, calibration.SUM_EXPONENT)
        if noise is None:
            raise ValueError(sentence("eps", "is out of the range of the Gaussian noise", eps, "Use a larger eps."))
        for (name, size), block in zip(part.items(), noise[1], strict=True):
            law = Law.DISCRETE_GAUSSIAN
            released[name] = Release((size,), noise[0], law, block.scale, block.grid, weights[name], block.units)
    words = f"{100 * MEAT_SHARE:g} % of mu^2 for the {meat_words(problem)}, L2 sensitivity {meat_bound:.6g}"
    return released, Gaussian(mu), f"{named}; {words}"


def diagonal_deviation(released: Mapping[str, Release]) -> float:
    """Standard deviation of the noise on a diagonal cell.

    With an intercept, one-hot columns release no diagonal cells; this is then the value that such a cell would have.
    """
    if "diagonal" in released:
        return released["diagonal"].deviation
    block = released["off_diagonal"]
    return block.deviation * (math.sqrt(2) if block.law is Law.DISCRETE_GAUSSIAN else 1.0)


def gradient_noise(released: Mapping[str, Release], coef_norm: float) -> float:
    """Root mean square noise of (quadratic) coef - (linear) at coefficients of norm `coef_norm` in any direction.

    A model of one class against the rest is made of the sums of all classes.
    """
    linear = linear_blocks(released)
    times = {"diagonal": 1, "off_diagonal": 2}
    cells = [(released[name], count) for name, count in times.items() if name in released]
    size = linear[0].shape[0]
    quadratic = sum(count * block.shape[0] * block.deviation**2 for block, count in cells)
    return math.sqrt(sum(block.deviation**2 for block in linear) + quadratic * (coef_norm / size) ** 2)


def _tight_sensitivity(problem: Problem, coef_norm: float, classes: int) -> tuple[float, float, str]:
    """Weight of the quadratic block, joint L1 sensitivity of (linear, weight * quadratic), and its name."""
    geometry = problem.geometry
    counted = problem.counts_units
    weight, joint = best_weight(geometry, problem.neighbouring, coef_norm, False, max(1, classes), counted)
    return weight, joint, _named("L1", joint, weight, problem)


def _named(norm: str, joint: float, weight: float, problem: Problem, square: float = 0.0) -> str:
    """The statement's words on the joint sensitivity."""
    squared = f", {square:.4g} sum y^2" if square else ""
    return f"tight: {norm} sensitivity {joint:.6g} of (linear, {weight:.4g} quadratic{squared}), {problem.geometry}"


def _printed_sensitivity(problem: Problem) -> tuple[float, float, str]:
    """Weight, joint sensitivity and name with the constants that FM12 prints.

    FM12 releases alpha = -linear * S_xy and M = quadratic * S_xx with one scale; ours are S_xy and S_xx.
    """
    logistic, geometry = problem.loss.classification, problem.geometry
    coordinates = geometry.d + (geometry.intercept > 0)
    printed = sensitivity.paper_replace_one(coordinates, logistic=logistic)
    formula = "section 5.2, d^2/4 + 3d" if logistic else "section 4.2, 2(1 + 2d + d^2)"
    linear, quadratic = (0.5, 0.125) if logistic else (2.0, 1.0)
    return quadratic / linear, printed / linear, f"paper: FM12 {formula} with d counting the intercept"
