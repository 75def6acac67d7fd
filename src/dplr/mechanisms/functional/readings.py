"""The released moments as the noisy equation of each model, from which its confidence intervals come."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from dplr.inference.reading import Reading
from dplr.inference.sampling import classical_sampling, robust_sampling
from dplr.mechanisms.equations import largest_residual, meat_cells, meat_matrix, tied, variances
from dplr.mechanisms.functional.moments import (
    SQUARE,
    blocks,
    linear_blocks,
    moment_matrix,
    one_class,
)
from dplr.privacy.estimand import Estimand
from dplr.privacy.law import Law
from dplr.problem.plan import Plan
from dplr.problem.problem import Problem

# Why labels have no intervals without squared residuals: the covariance of the score is then not released.
UNEQUAL = (
    "labels have unequal variances; FunctionalMechanism(intervals='robust') (of two labels) or aim='coefficients' "
    "makes intervals that hold"
)


def missing_for_intervals(plan: Plan) -> str:
    """The reason why a release allows no intervals; empty where it does."""
    lacking = missing_for_equation(plan.problem, plan.statement.released)
    squares = plan.problem.unit.person is not None or _has_squares(plan.problem, plan.statement.released)
    return UNEQUAL if not lacking and plan.problem.loss.classification and not squares else lacking


def missing_for_equation(problem: Problem, names: Collection[str]) -> str:
    """Why blocks of these names do not suffice for the noisy equation and its noise; empty where they do."""
    persons = problem.unit.person is not None
    if problem.unit.weighted and not _has_squares(problem, names):
        if persons:
            return "rows of one person depend on each other; FunctionalMechanism(intervals='robust') shows how much"
        return "rows that count differently have no common variance; fit with intervals='robust'"
    if not problem.loss.classification and SQUARE not in names and not persons:
        return "sum y^2 was not released; fit with calibration='tight' and intervals='on'"
    if problem.counts_units and not problem.geometry.intercept:
        remedy = "" if problem.unit.weighted else ", or take neighbouring='replace_one'"
        return f"nothing tells the number of rows; fit an intercept{remedy}"
    return ""


def _has_squares(problem: Problem, names: Collection[str]) -> bool:
    """Whether squared residuals, or the squares of the persons' scores, are among the blocks."""
    return meat_cells(problem).keys() <= set(names)


def readings(plan: Plan, problem: Problem, parts: Sequence[Mapping[str, NDArray[np.float64]]]) -> list[Reading]:
    """One equation for each model: that of two classes or of a number, or of each class against the rest.

    `problem` is the one whose cells were released. Class sums are taken as they were released, without what makes them
    agree with other cells: the noise of vector and matrix stays independent.
    """
    variance = sum(block.deviation**2 for block in linear_blocks(plan.statement.released))
    several = "linear" not in parts[0]
    models = [one_class(part, k) if several else part for k, part in enumerate(parts)]
    return [_reading(plan, problem, model, variance) for model in models]


def _reading(plan: Plan, problem: Problem, released: Mapping[str, NDArray[np.float64]], variance: float) -> Reading:
    matrix, vector = moment_matrix(problem, released)
    size, factors = problem.geometry.n_coefs, tied(problem.geometry)
    where = {name: cells for name, cells in blocks(problem.geometry, problem.counts_units).items() if name != "linear"}
    cells = variances(size, where, plan.statement.released)
    n_rows, square, square_noise = _sums(plan, problem, released, matrix, cells)
    vector_noise = variance * np.eye(size)
    meat = meat_matrix(problem, released)
    if meat is None:
        assert square is not None
        sampling = classical_sampling(matrix, vector, cells, factors, vector_noise, square, square_noise, n_rows)
    else:
        sampling = robust_sampling(meat * largest_residual(problem) ** 2)
    labels = problem.loss.classification
    return Reading(
        matrix=matrix,
        vector=vector,
        cells=cells,
        tied=factors,
        vector_noise=vector_noise,
        sampling=sampling,
        laplace=any(block.law is Law.DISCRETE_LAPLACE for block in plan.statement.released.values()),
        center=np.zeros(size),
        sizes=np.array(problem.geometry.sizes),
        estimand=Estimand.PROBABILITY if labels else Estimand.MEAN,
        factor=0.5 if labels else 1.0,  # labels are -1 and 1, probabilities from 0 to 1
        n_rows=n_rows,
        square=square,
        square_noise=square_noise,
        robust=meat is not None,
        clustered=problem.unit.person is not None,
    )


def units_of(problem: Problem, matrix: NDArray[np.float64]) -> float:
    """The number of units, or the sum of their weights: released where it is private, next to an intercept."""
    iota = problem.geometry.intercept
    if iota and problem.counts_units:
        return max(1.0, float(matrix[-1, -1]) / iota**2)
    assert problem.n_rows is not None
    return float(problem.n_rows)


def _sums(
    plan: Plan,
    problem: Problem,
    released: Mapping[str, NDArray[np.float64]],
    matrix: NDArray[np.float64],
    cells: NDArray[np.float64],
) -> tuple[float, float | None, float]:
    """The number of units, sum y^2, and the variance of the noise on it. Labels have y^2 = 1.

    Residuals of a smaller model cannot be told for persons: sum y^2 says nothing of how their rows depend on another.
    """
    iota, n_rows = problem.geometry.intercept, units_of(problem, matrix)
    count_noise = float(cells[-1, -1]) / iota**4 if iota and problem.counts_units else 0.0
    if problem.unit.person is not None:
        return n_rows, None, 0.0
    if problem.loss.classification:
        return n_rows, n_rows, count_noise
    return n_rows, float(released[SQUARE][0]), plan.statement.released[SQUARE].deviation ** 2
