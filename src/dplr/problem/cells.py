"""Which cells of a sum of rows' squares say something of their own, in every layout of the columns."""

from __future__ import annotations

import functools

import numpy as np
from numpy.typing import NDArray

from dplr.privacy import sensitivity
from dplr.privacy.guarantees import Neighbouring
from dplr.problem.geometry import Geometry

Cells = tuple[NDArray[np.intp], NDArray[np.intp]]
_SMALL = 200


def second_moments(geometry: Geometry, *, counted: bool) -> dict[str, Cells]:
    """Diagonal and other cells of the upper triangle of sum a (x, iota)(x, iota)', whatever factors a the rows have.

    The last diagonal cell, iota^2 sum a, is left out where it is not `counted`. So is what a one-hot block tells of
    itself: two of its columns are never both set, and x^2 = half_width * x repeats the intercept's cell (functional.md,
    lemma 7). A number and its mark are never both set either, and of the two the number's diagonal cell alone is there
    (lemma 10). Of a block of numbers all diagonal cells are (lemma 11); of a block of shares those of neighbours are
    there too (lemma 17).
    """
    q = geometry.n_coefs
    diagonal = np.arange(q - (geometry.intercept > 0 and not counted))
    rows, columns = _triangle(q) if q <= _SMALL else np.triu_indices(q, 1)
    if geometry.grouped:
        group = np.repeat(np.arange(len(geometry.groups)), geometry.groups)
        apart = group[rows] != group[columns]
        for knot, neighbour in geometry.neighbours:
            apart[_place(q, knot, neighbour)] = True
        rows, columns = rows[apart], columns[apart]
        diagonal = np.setdiff1d(diagonal, hot_columns(geometry)) if geometry.intercept else diagonal
    cells = {"diagonal": (diagonal, diagonal), "off_diagonal": (rows, columns)}
    return {name: pair for name, pair in cells.items() if len(pair[0])}


def one_hot_blocks(geometry: Geometry) -> list[tuple[int, int]]:
    """The one-hot blocks in which two rows can show two levels: a block of one column is but a numeric column."""
    return [block for block in geometry.blocks if block[1] > 1]


def hot_columns(geometry: Geometry) -> list[int]:
    """The columns of these blocks, and the marks beside numbers: 0 or the half-width in every row."""
    levels = [first + k for first, size in one_hot_blocks(geometry) for k in range(size)]
    return [*levels, *(first + 1 for first in geometry.marked)]


def moments_sensitivity(
    geometry: Geometry, neighbouring: Neighbouring, linear: float, quadratic: float, counted: bool = False
) -> float:
    """The proved L1 sensitivity of (linear * sum y v, quadratic * the cells of sum v v'), v = (x, iota), |y| <= 1.

    Where the sum of all weights is private, and `counted`, a replaced unit may move the sums by as much as one that is
    added or removed (unit.md, lemma 1).
    """
    if counted and neighbouring is Neighbouring.REPLACE_ONE:
        return max(moments_sensitivity(geometry, relation, linear, quadratic) for relation in Neighbouring)
    d, iota, c = geometry.d, geometry.intercept, geometry.half_width
    if geometry.grouped:
        assert c is not None
        blocks, marked = len(one_hot_blocks(geometry)), len(geometry.marked)
        shared = len(geometry.shared) + len(geometry.hats)  # lemmas 11 and 17
        columns = sum(size for _, size, *_ in (*geometry.shared, *geometry.hats))
        numeric = d - len(hot_columns(geometry)) - marked - columns
        if neighbouring is Neighbouring.ADD_REMOVE:
            return sensitivity.groups_add_remove(numeric, blocks, c, linear, quadratic, iota, marked, shared)
        return sensitivity.groups_replace_one(numeric, blocks, c, linear, quadratic, iota, marked, shared)
    if neighbouring is Neighbouring.ADD_REMOVE:
        if c is None:
            return sensitivity.ball_add_remove(d, geometry.radius, linear, quadratic, iota)
        return sensitivity.box_add_remove(d, c, linear, quadratic, iota)
    if c is None:
        return sensitivity.ball_replace_one(d, geometry.radius, linear, quadratic, iota)
    return sensitivity.box_replace_one(d, c, linear, quadratic, iota)


def _place(q: int, row: int, column: int) -> int:
    """Where a cell stands among those of the strict upper triangle, row by row."""
    return row * q - row * (row + 1) // 2 + column - row - 1


@functools.lru_cache(maxsize=16)
def _triangle(q: int) -> Cells:
    """Indices of the strict upper triangle, kept for the sizes at which finding them takes longer than the sums."""
    rows, columns = np.triu_indices(q, 1)
    rows.flags.writeable = columns.flags.writeable = False
    return rows, columns
