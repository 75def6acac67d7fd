"""The layout of released moments: their cells, what one unit moves, the noise of each block, and matrices made of them.

Functions of public facts, and of what was released. Proofs: functional.md.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from dplr.mechanisms.composed import Part
from dplr.mechanisms.equations import MEAT, MEAT_BLOCKS, fill_tied, meat_l1_sensitivity, meat_l2_sensitivity, meat_words
from dplr.privacy import calibration, sensitivity
from dplr.privacy.guarantees import Gaussian, Neighbouring, Pure
from dplr.privacy.law import Law
from dplr.privacy.statement import Release
from dplr.problem.cells import Cells, moments_sensitivity, second_moments
from dplr.problem.geometry import Geometry
from dplr.problem.problem import Problem

Vector = NDArray[np.float64]
Blocks = Mapping[str, Vector]
SQUARE = "target_square"  # the block of sum y^2
# The share of mu^2, or of a pure eps, that squared residuals get, where variances may differ.
MEAT_SHARE = 0.15
_WEIGHTS = tuple(2.0 ** (step / 4) for step in range(-24, 25))  # candidates for the weight of the quadratic block
# Where releasing sum y^2 costs noise: its least weight, in units of the sensitivity of the other blocks.
_LEAST_SQUARE = 1 / 32


@functools.lru_cache(maxsize=16)
def blocks(geometry: Geometry, counted: bool) -> dict[str, Cells]:
    """Cells of the moment matrix that are released: sum y (x, iota), and the triangle of sum (x, iota)(x, iota)'.

    The cell iota^2 * n is left out where it is public, and not `counted` (`Problem.counts_units`). So are cells that
    follow from a one-hot block: two of its columns are never both set, and x^2 = half_width * x repeats the intercept's
    cell (functional.md, lemma 7). A number and its mark are never both set either: of their diagonal cells only the
    number's is released (lemma 10). A block of numbers has all its diagonal cells (lemma 11), and one of shares
    of knots those of neighbours too (lemma 17).
    """
    q = geometry.n_coefs
    return {"linear": (np.arange(q), np.full(q, q)), **second_moments(geometry, counted=counted)}


def moment_matrix(problem: Problem, released: Blocks) -> tuple[Vector, Vector]:
    """The symmetric matrix of sum (x, iota)(x, iota)' and the vector of sum y (x, iota) from released numbers."""
    geometry, q = problem.geometry, problem.geometry.n_coefs
    moments, counted = np.zeros((q + 1, q + 1)), problem.counts_units
    for name, (rows, columns) in blocks(geometry, counted).items():
        moments[rows, columns] = moments[columns, rows] = released[name]
    if geometry.intercept and not counted:
        assert problem.n_rows is not None
        moments[q - 1, q - 1] = problem.n_rows * geometry.intercept**2
    if geometry.grouped:
        fill_tied(moments, geometry)
    return moments[:q, :q].copy(), moments[:q, q].copy()


def linear_blocks(released: Mapping[str, Release]) -> list[Release]:
    """The blocks of sums of targets times rows: of one model, or of each class."""
    return [block for name, block in released.items() if name.startswith("linear")]


def one_class(released: Blocks, position: int) -> dict[str, Vector]:
    """The moments of one class against the rest: sum y (x, iota) is twice the class sum minus all class sums."""
    shared = {name: values for name, values in released.items() if not name.startswith("linear[")}
    sums = [values for name, values in released.items() if name not in shared]
    return shared | {"linear": 2 * sums[position] - np.sum(sums, axis=0)}


def agreeing(problem: Problem, released: Blocks, deviations: Mapping[str, float]) -> dict[str, Vector]:
    """Class sums and the intercept's cells by generalised least squares: post-processing (functional.md, lemma 9).

    Every record has one class, so the class sums add up to the intercept's cells over iota. Both carry noise of their
    own, and the difference is divided among them by variance. Without an intercept, or noise, nothing changes.
    """
    iota, d, counted = problem.geometry.intercept, problem.geometry.d, problem.counts_units
    classes, changed = [name for name in released if name.startswith("linear[")], dict(released)
    if not iota or not deviations[classes[0]]:
        return changed
    totals, noise = np.empty(d + 1), np.empty(d + 1)
    beside = blocks(problem.geometry, counted)["off_diagonal"][1] == d
    totals[:-1], noise[:-1] = released["off_diagonal"][beside] / iota, (deviations["off_diagonal"] / iota) ** 2
    totals[-1] = released["diagonal"][-1] / iota if counted else (problem.n_rows or 0) * iota
    noise[-1] = (deviations["diagonal"] / iota) ** 2 if counted else 0.0
    missing = totals - np.sum([released[name] for name in classes], axis=0)
    missing /= noise + sum(deviations[name] ** 2 for name in classes)
    for name in classes:
        changed[name] = released[name] + deviations[name] ** 2 * missing
    column = (totals - noise * missing) * iota
    changed["off_diagonal"] = released["off_diagonal"].copy()
    changed["off_diagonal"][beside] = column[:-1]
    if counted:
        changed["diagonal"] = np.append(released["diagonal"][:-1], column[-1])
    return changed


@functools.lru_cache(maxsize=64)
def best_weight(
    geometry: Geometry,
    neighbouring: Neighbouring,
    coef_norm: float,
    l2: bool = False,
    classes: int = 1,
    counted: bool = False,
) -> tuple[float, float]:
    """The weight that minimises the noise of the gradient, and its joint sensitivity.

    At coef the noise of (quadratic block) coef - (linear block) has variance proportional to
    classes * scale^2 + (scale / weight)^2 ||coef||^2 in each coordinate, with scale proportional to the joint
    sensitivity: the linear block of one class against the rest is made of the noisy sums of all classes.
    """
    measure = joint_l2_sensitivity if l2 else functools.partial(joint_sensitivity, counted=counted)
    candidates = [(weight, measure(geometry, neighbouring, weight, classes > 1)) for weight in _WEIGHTS]
    return min(candidates, key=lambda pair: pair[1] ** 2 * (classes + (coef_norm / pair[0]) ** 2))


def joint_sensitivity(
    geometry: Geometry, neighbouring: Neighbouring, weight: float, by_class: bool = False, counted: bool = False
) -> float:
    """The proved L1 sensitivity of (linear block, weight * quadratic block) over the public geometry.

    With `by_class` the linear block is one sum for each class. Then two records that are exchanged may stand in
    different classes, and both count whole (functional.md, lemma 8). `counted`: as in `moments_sensitivity`.
    """
    if by_class and neighbouring is Neighbouring.REPLACE_ONE:
        sums = 2 * moments_sensitivity(geometry, Neighbouring.ADD_REMOVE, 1.0, 0.0)
        replaced = sums + moments_sensitivity(geometry, neighbouring, 0.0, weight)
        added = moments_sensitivity(geometry, Neighbouring.ADD_REMOVE, 1.0, weight)
        return max(replaced, added) if counted else replaced
    return moments_sensitivity(geometry, neighbouring, 1.0, weight, counted)


def joint_l2_sensitivity(
    geometry: Geometry, neighbouring: Neighbouring, weight: float, by_class: bool = False
) -> float:
    """The proved L2 sensitivity of (linear, weight * diagonal, weight * sqrt 2 * off-diagonal) in the unit ball.

    With `by_class` the linear block is one sum for each class (functional.md, lemma 8). Units that count less than
    whole change nothing: replace_one costs more than add_remove (unit.md, lemma 1).
    """
    one_record = sensitivity.l2_add_remove(geometry.radius, 1.0, weight, geometry.intercept)
    if neighbouring is Neighbouring.ADD_REMOVE:
        return one_record
    same_class = sensitivity.l2_replace_one(geometry.radius, 1.0, weight, geometry.intercept)
    return max(same_class, math.sqrt(2) * one_record) if by_class else same_class


@functools.lru_cache(maxsize=64)
def square_weight(
    geometry: Geometry, neighbouring: Neighbouring, weight: float, counted: bool = False
) -> tuple[float, float]:
    """The weight of sum y^2 beside (linear, weight * quadratic), and the joint L1 sensitivity of all three.

    Under replace_one the weight is the largest that costs nothing, if it is not too small to be of use. `counted`: as
    in `moments_sensitivity`; a ratio of 0 is then the unit that is added or removed.
    """

    def moments(linear: float) -> float:
        return moments_sensitivity(geometry, neighbouring, linear, weight, counted)

    alone = moments(1.0)
    if neighbouring is Neighbouring.ADD_REMOVE:
        square = _LEAST_SQUARE * alone
        return square, sensitivity.square_add_remove(alone, square)
    reach = moments_sensitivity(geometry, Neighbouring.ADD_REMOVE, 1.0, 0.0)
    square = max(sensitivity.free_square(moments, reach), _LEAST_SQUARE * alone)
    return square, sensitivity.square_replace_one(moments, reach, square)


def square_l2_weight(geometry: Geometry, neighbouring: Neighbouring, weight: float) -> tuple[float, float]:
    """The weight of sum y^2 in L2, at which it is free under replace_one, and the joint sensitivity of all three."""
    square = sensitivity.free_square_l2(geometry.radius, 1.0, weight, geometry.intercept)
    alone = joint_l2_sensitivity(geometry, neighbouring, weight)
    if neighbouring is Neighbouring.ADD_REMOVE:
        return square, sensitivity.square_l2_add_remove(alone, square)
    return square, alone


def quadratic_sensitivity(geometry: Geometry, neighbouring: Neighbouring) -> float:
    """The proved L1 sensitivity of the quadratic block alone."""
    return moments_sensitivity(geometry, neighbouring, 0.0, 1.0)


def quadratic_l2_sensitivity(geometry: Geometry, neighbouring: Neighbouring) -> float:
    """The proved L2 sensitivity of (diagonal, sqrt 2 * off-diagonal) alone: the Frobenius norm of the whole matrix."""
    if neighbouring is Neighbouring.ADD_REMOVE:
        return sensitivity.l2_add_remove(geometry.radius, 0.0, 1.0, geometry.intercept)
    return sensitivity.l2_replace_one(geometry.radius, 0.0, 1.0, geometry.intercept)


def noise(
    problem: Problem, sizes: Mapping[str, int], eps: float, delta: float, coef_norm: float, classes: int, paper: bool
) -> tuple[dict[str, Release], Pure | Gaussian, str]:
    """The blocks with their noise, the guarantee of all of them, and the calibration in words.

    `sizes` are the numbers of each block, `classes` the number of classes with a linear block of their own (0 for one),
    and `paper` takes FM12's constants.
    """
    if math.isinf(eps):
        return *calibration.integer_blocks(sizes, dict.fromkeys(sizes, 1.0), 0.0, eps), "none: eps = inf"
    meat = {name: size for name, size in sizes.items() if name in MEAT_BLOCKS}
    moments = {name: size for name, size in sizes.items() if name not in meat}
    weights, joint, words = _printed(problem) if paper else _tight(problem, moments, coef_norm, classes, delta > 0)
    weights = dict.fromkeys(moments, 1.0) | weights
    if not meat:
        return *calibration.integer_blocks(moments, weights, joint, eps, delta), words
    share = f"{100 * MEAT_SHARE:g} % of {'mu^2' if delta else 'eps'} for the {meat_words(problem)}"
    if delta == 0:
        moments_eps = eps * (1 - MEAT_SHARE)
        meat_change = meat_l1_sensitivity(problem)
        released, _ = calibration.integer_blocks(moments, weights, joint, moments_eps)
        rest = calibration.rest_of(eps, moments_eps)
        released |= calibration.integer_blocks(meat, dict.fromkeys(meat, 1.0), meat_change, rest)[0]
        return released, Pure(eps), f"{words}; {share}, L1 sensitivity {meat_change:.6g}"
    mu, released = calibration.discrete_gaussian_mu(eps, delta, sum(sizes.values())), {}
    weights |= {MEAT + "diagonal": 1.0, MEAT + "off_diagonal": math.sqrt(2)}
    meat_bound = meat_l2_sensitivity(problem)
    for part, bound, of in ((1 - MEAT_SHARE, joint, moments), (MEAT_SHARE, meat_bound, meat)):
        ratio = Fraction(math.nextafter(1 / math.sqrt(part), math.inf)) / Fraction(mu)
        of_blocks = tuple((name, (size,), weights[name]) for name, size in of.items())
        released |= Part(Fraction(part), bound, of_blocks, remedy="Use a larger eps.").noisy(ratio, eps)
    return released, Gaussian(mu), f"{words}; {share}, L2 sensitivity {meat_bound:.6g}"


def _tight(
    problem: Problem, sizes: Mapping[str, int], coef_norm: float, classes: int, l2: bool
) -> tuple[dict[str, float], float, str]:
    """Weights of the blocks, their joint sensitivity, and both in words."""
    geometry, relation, counted = problem.geometry, problem.neighbouring, problem.counts_units and not l2
    weight, joint = best_weight(geometry, relation, coef_norm, l2, max(1, classes), counted)
    weights, square = {"diagonal": weight, "off_diagonal": weight * math.sqrt(2) if l2 else weight}, ""
    if SQUARE in sizes:
        beside = square_l2_weight if l2 else functools.partial(square_weight, counted=counted)
        weights[SQUARE], joint = beside(geometry, relation, weight)
        square = f", {weights[SQUARE]:.4g} sum y^2"
    norm = "L2" if l2 else "L1"
    return (
        weights,
        joint,
        f"tight: {norm} sensitivity {joint:.6g} of (linear, {weight:.4g} quadratic{square}), {geometry}",
    )


def _printed(problem: Problem) -> tuple[dict[str, float], float, str]:
    """The constants that FM12 prints, which releases alpha = -linear * S_xy and M = quadratic * S_xx with one scale."""
    logistic, size = problem.loss.classification, problem.geometry.n_coefs
    formula = "section 5.2, d^2/4 + 3d" if logistic else "section 4.2, 2(1 + 2d + d^2)"
    linear, quadratic = (0.5, 0.125) if logistic else (2.0, 1.0)
    joint = sensitivity.paper_replace_one(size, logistic=logistic) / linear
    weights = dict.fromkeys(("diagonal", "off_diagonal"), quadratic / linear)
    return weights, joint, f"paper: FM12 {formula} with d counting the intercept"


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
    linear = quadratic = 0.0
    size = 1
    for name, block in released.items():
        if name.startswith("linear"):
            linear, size = linear + block.deviation**2, block.shape[0]
        elif name in ("diagonal", "off_diagonal"):
            quadratic += (1 if name == "diagonal" else 2) * block.shape[0] * block.deviation**2
    return math.sqrt(linear + quadratic * (coef_norm / size) ** 2)
