"""Matrices of released cells, and the middle of a sandwich covariance: squares of residuals times rows, or of scores.

A mechanism releases the middle at a point that follows from its earlier releases. Proofs: functional.md, lemmas 15, 16
and 18.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from dplr.privacy import sensitivity
from dplr.privacy.guarantees import Neighbouring
from dplr.privacy.statement import Release
from dplr.problem.cells import Cells, hot_columns, moments_sensitivity, second_moments
from dplr.problem.geometry import Geometry
from dplr.problem.problem import Problem

Vector = NDArray[np.float64]
# The prefix of the names of the blocks of the middle.
MEAT = "meat_"
MEAT_BLOCKS = frozenset({MEAT + "diagonal", MEAT + "off_diagonal"})


def symmetric(size: int, cells: Mapping[str, Cells], values: Mapping[str, Vector | float]) -> Vector:
    """A symmetric matrix with these values in the cells of each block; 0 elsewhere."""
    matrix = np.zeros((size, size))
    for name, (rows, columns) in cells.items():
        matrix[rows, columns] = matrix[columns, rows] = values[name]
    return matrix


def variances(size: int, cells: Mapping[str, Cells], released: Mapping[str, Release]) -> Vector:
    """Those of the noise on the cells of such a matrix; 0 for cells that were not released."""
    return symmetric(size, cells, {name: released[name].deviation ** 2 for name in cells})


def tied(geometry: Geometry) -> Vector:
    """(q,) How many times its cell with the constant a diagonal cell is that was not released; 0 for the others.

    Its column is 0 or the half-width in every row.
    """
    factors = np.zeros(geometry.n_coefs)
    if geometry.intercept:
        factors[hot_columns(geometry)] = (geometry.half_width or 0.0) / geometry.intercept
    return factors


def fill_tied(matrix: Vector, geometry: Geometry) -> None:
    """Set the diagonal cells that were not released."""
    if geometry.intercept:
        hot = hot_columns(geometry)
        matrix[hot, hot] = matrix[hot, geometry.n_coefs - 1] * tied(geometry)[hot]


def meat_cells(problem: Problem) -> dict[str, Cells]:
    """The released cells: those of the second moments, and the constant's, which is private here.

    Of the squares of persons' scores all cells are: a person may have rows of two levels (functional.md, lemma 18).
    """
    if problem.unit.person is None:
        return {MEAT + name: where for name, where in second_moments(problem.geometry, counted=True).items()}
    size = problem.geometry.n_coefs
    pairs = {"diagonal": (np.arange(size), np.arange(size)), "off_diagonal": np.triu_indices(size, 1)}
    return {MEAT + name: where for name, where in pairs.items() if len(where[0])}


def meat_matrix(problem: Problem, released: Mapping[str, Vector]) -> Vector | None:
    """The symmetric matrix (q, q) of the released cells; None where they were not released."""
    cells = meat_cells(problem)
    if not cells.keys() <= released.keys():
        return None
    matrix = symmetric(problem.geometry.n_coefs, cells, released)
    if problem.unit.person is None:
        fill_tied(matrix, problem.geometry)
    return matrix


def largest_residual(problem: Problem) -> int:
    """The largest residual whose square counts in full: numbers lie in [-1, 1], and labels are -1 and 1."""
    return 2 if problem.loss.classification else 1


def meat_words(problem: Problem) -> str:
    return "squared residuals times rows" if problem.unit.person is None else "squares of the persons' scores"


def meat_l2_sensitivity(problem: Problem, largest: float = 1.0) -> float:
    """L2 sensitivity of the cells, those off the diagonal with weight sqrt 2 (functional.md, lemmas 15 and 18).

    `largest` is the largest size of what multiplies a row.
    """
    one = problem.neighbouring is Neighbouring.ADD_REMOVE
    return (sensitivity.meat_add_remove if one else sensitivity.meat_replace_one)(largest * problem.geometry.row_norm)


def l1_of_rows(geometry: Geometry) -> tuple[float, float, float]:
    """L1 sensitivities of sums of squared rows, added or replaced, and the largest L1 norm of a row."""
    both = (Neighbouring.ADD_REMOVE, Neighbouring.REPLACE_ONE)
    added, replaced = (moments_sensitivity(geometry, relation, 0.0, 1.0) for relation in both)
    return added, replaced, moments_sensitivity(geometry, Neighbouring.ADD_REMOVE, 1.0, 0.0)


def meat_l1_sensitivity(problem: Problem) -> float:
    """L1 sensitivity of the cells at any point (functional.md, lemmas 16 and 18)."""
    geometry, records = problem.geometry, problem.neighbouring.records_changed
    added, replaced, longest = l1_of_rows(geometry)
    if problem.unit.person is not None:
        widths = () if geometry.half_width is None else geometry.half_widths
        return sensitivity.clusters_change(longest, geometry.row_norm, widths, records)
    return sensitivity.squares_change(added, replaced, longest, geometry.n_coefs, records, 1.0)
