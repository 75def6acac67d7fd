"""The layout of released moments: their cells, weights and joint sensitivity, and matrices made of them."""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from dplr.privacy import sensitivity
from dplr.privacy.guarantees import Neighbouring
from dplr.privacy.statement import Release
from dplr.problem.cells import hot_columns as _hot
from dplr.problem.cells import moments_sensitivity, second_moments
from dplr.problem.geometry import Geometry
from dplr.problem.problem import Problem
from dplr.solvers.stein import stein_coef

_WEIGHTS = tuple(2.0 ** (step / 4) for step in range(-24, 25))  # candidates for the weight of the quadratic block
SQUARE = "target_square"  # the block of sum y^2
# Where releasing sum y^2 costs noise: its least weight, in units of the sensitivity of the other blocks.
_LEAST_SQUARE = 1 / 32


def moment_matrix(
    problem: Problem, released: Mapping[str, NDArray[np.float64]]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The symmetric matrix of sum (x, iota)(x, iota)' and the vector of sum y (x, iota) from released numbers."""
    q = problem.geometry.d + (problem.geometry.intercept > 0)
    moments = np.zeros((q + 1, q + 1))
    for name, (rows, columns) in blocks(problem.geometry, problem.counts_units).items():
        moments[rows, columns] = moments[columns, rows] = released[name]
    if problem.geometry.intercept and not problem.counts_units:
        assert problem.n_rows is not None
        moments[q - 1, q - 1] = problem.n_rows * problem.geometry.intercept**2
    hot, factor = derived(problem.geometry)
    moments[hot, hot] = factor * moments[hot, q - 1]
    return moments[:q, :q].copy(), moments[:q, q].copy()


def is_class_sum(name: str) -> bool:
    """Whether it is the name of the block of one class: `class_block("linear", label)`."""
    return name.startswith("linear[")


def linear_blocks(released: Mapping[str, Release]) -> list[Release]:
    """The blocks of sums of targets times rows: of one model, or of each class."""
    one = released.get("linear")
    return [block for name, block in released.items() if is_class_sum(name)] if one is None else [one]


def agreeing(
    problem: Problem, released: Mapping[str, NDArray[np.float64]], deviations: Mapping[str, float]
) -> dict[str, NDArray[np.float64]]:
    """Class sums and the intercept's cells by generalised least squares: post-processing (functional.md, lemma 9).

    Every record has one class, so the class sums add up to the intercept's cells over iota. Both carry noise of their
    own, and the difference is divided among them by variance. Without an intercept, or noise, nothing changes.
    """
    geometry, changed = problem.geometry, dict(released)
    classes = [name for name in released if is_class_sum(name)]
    if not geometry.intercept or not deviations[classes[0]]:
        return changed
    totals, noise = np.empty(geometry.d + 1), np.empty(geometry.d + 1)
    beside = blocks(geometry, problem.counts_units)["off_diagonal"][1] == geometry.d
    totals[:-1] = released["off_diagonal"][beside] / geometry.intercept
    noise[:-1] = (deviations["off_diagonal"] / geometry.intercept) ** 2
    counted = problem.counts_units
    if counted:
        totals[-1] = released["diagonal"][-1] / geometry.intercept
        noise[-1] = (deviations["diagonal"] / geometry.intercept) ** 2
    else:
        assert problem.n_rows is not None
        totals[-1], noise[-1] = problem.n_rows * geometry.intercept, 0.0
    missing = totals - np.sum([released[name] for name in classes], axis=0)
    missing /= noise + sum(deviations[name] ** 2 for name in classes)
    for name in classes:
        changed[name] = released[name] + deviations[name] ** 2 * missing
    column = (totals - noise * missing) * geometry.intercept
    changed["off_diagonal"] = released["off_diagonal"].copy()
    changed["off_diagonal"][beside] = column[:-1]
    if counted:
        changed["diagonal"] = np.append(released["diagonal"][:-1], column[-1])
    return changed


def one_class(released: Mapping[str, NDArray[np.float64]], position: int) -> dict[str, NDArray[np.float64]]:
    """The moments of one class against the rest: sum y (x, iota) is twice the class sum minus all class sums."""
    shared = {name: values for name, values in released.items() if not is_class_sum(name)}
    sums = [values for name, values in released.items() if is_class_sum(name)]
    return shared | {"linear": 2 * sums[position] - np.sum(sums, axis=0)}


@functools.lru_cache(maxsize=16)
def blocks(geometry: Geometry, counted: bool) -> dict[str, tuple[NDArray[np.intp], NDArray[np.intp]]]:
    """Cells of the moment matrix that are released: sum y (x, iota), and the triangle of sum (x, iota)(x, iota)'.

    The cell iota^2 * n is left out where it is public, and not `counted` (`Problem.counts_units`). So are cells that
    follow from a one-hot block: two of its columns are never both set, and x^2 = half_width * x repeats the intercept's
    cell (functional.md, lemma 7). A number and its mark are never both set either: of their diagonal cells only the
    number's is released (lemma 10). A block of numbers has all its diagonal cells (lemma 11), and one of shares
    of knots those of neighbours too (lemma 17).
    """
    q = geometry.d + (geometry.intercept > 0)
    return {"linear": (np.arange(q), np.full(q, q)), **second_moments(geometry, counted=counted)}


def derived(geometry: Geometry) -> tuple[list[int], float]:
    """The columns whose diagonal cell is not released, and its ratio to their cell with the intercept."""
    hot = _hot(geometry) if geometry.intercept else []
    if not hot:
        return [], 0.0
    assert geometry.half_width is not None
    return hot, geometry.half_width / geometry.intercept


def lengthened(
    problem: Problem, matrix: NDArray[np.float64], vector: NDArray[np.float64], coef: NDArray[np.float64]
) -> NDArray[np.float64]:
    """The Taylor solution, rescaled to the length of coefficients of a logistic model with Gaussian margins."""
    iota = problem.geometry.intercept
    n_rows = problem.reference_total
    if iota and problem.counts_units:
        n_rows = float(matrix[-1, -1]) / iota**2  # the released count
    if n_rows is None or n_rows < 1:
        return coef  # without a number of rows there is no scale of the margins: Taylor's solution stays
    mean_label = 0.0
    if iota:
        mean_label = float(vector[-1]) * problem.loss.curvature / problem.loss.slope / (iota * n_rows)
    return stein_coef(coef, matrix / n_rows, iota, mean_label)


def square_cell(geometry: Geometry) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """The cell of the moment matrix that holds sum y^2."""
    last = np.array([geometry.n_coefs])
    return last, last


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
