"""The release before the steps: sums of columns, of squared numbers, and the number of records where it is private.

Proofs: noisy_gd.md, section 7.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from dplr.mechanisms.noisy_gd.noise import Columns
from dplr.noise import Ints, Source
from dplr.privacy import sensitivity
from dplr.privacy.guarantees import Neighbouring
from dplr.privacy.law import Law
from dplr.privacy.statement import Release
from dplr.problem.geometry import Geometry
from dplr.problem.plan import Plan
from dplr.problem.problem import Problem
from dplr.rows import Rows
from dplr.rows.exact import ColumnMoments, Total

Vector = NDArray[np.float64]
MEANS, SQUARES, RECORDS = "means", "squares", "records"


def numeric_columns(geometry: Geometry) -> NDArray[np.bool_]:
    """Which columns are numbers: outside every one-hot block and every block of shares, and no marks, (d,)."""
    numeric = np.zeros(geometry.d, dtype=bool)
    numeric[list(geometry.numbers)] = True
    return numeric


def column_sizes(problem: Problem) -> dict[str, tuple[int]]:
    """Shapes of the released blocks of the columns, in their order; no squares where there are no numbers."""
    geometry = problem.geometry
    sizes: dict[str, tuple[int]] = {MEANS: (geometry.d,)}
    if geometry.numbers:
        sizes[SQUARES] = (len(geometry.numbers),)
    return sizes | ({RECORDS: (1,)} if problem.counts_units else {})


def column_release(problem: Problem) -> Columns:
    """Sums of the columns, of squared numbers over the half-width, and of records times it: lemma 1."""
    geometry, sizes = problem.geometry, column_sizes(problem)
    assert geometry.half_width is not None
    c, levels = geometry.half_width, [size for _, size, *_ in (*geometry.blocks, *geometry.hats)]
    # A block of numbers of which at most one is not 0 moves the sums no further than one number.
    numeric = sizes.get(SQUARES, (0,))[0] - sum(size - 1 for _, size in geometry.shared)
    if problem.neighbouring is Neighbouring.REPLACE_ONE:
        moved = sensitivity.columns_replace_one(numeric, levels, c)
    else:
        moved = sensitivity.columns_add_remove(numeric, len(levels), c)
    weights = {MEANS: 1.0, SQUARES: 1 / c, RECORDS: c}
    return Columns(moved, tuple(weights[name] for name in sizes), tuple(size for (size,) in sizes.values()))


def exact_blocks(problem: Problem) -> dict[str, Release]:
    """The blocks of the columns without noise."""
    exact, columns = math.ldexp(1.0, ColumnMoments.exponent), column_release(problem)
    return {
        name: Release(shape, columns.sensitivity, Law.NONE, 0.0, exact, weight)
        for (name, shape), weight in zip(column_sizes(problem).items(), columns.weights, strict=True)
    }


def column_total(rows: Rows, problem: Problem) -> Total:
    """The exact sums of the columns and of all squares, and the number of records where it is released."""
    return rows.total(ColumnMoments(problem.geometry.d, problem.counts_units))


def noisy_columns(total: Callable[[], Total], plan: Plan, source: Source) -> dict[str, Vector]:
    """The sums of the columns, of squared numbers and of records, on their grids with noise."""
    d = plan.problem.geometry.d
    numbers = d + np.flatnonzero(numeric_columns(plan.problem.geometry))
    cells = {MEANS: np.arange(d), SQUARES: numbers, RECORDS: np.array([2 * d])}
    released = {}
    for name in column_sizes(plan.problem):
        block = plan.statement.released[name]
        exact = functools.partial(_cells, total, block, cells[name])
        value = noisy(block, source, cells[name].shape, exact)
        released[name] = value.astype(np.float64) * block.grid
    return released


def noisy(block: Release, source: Source, shape: tuple[int, ...], exact: Callable[[], Ints]) -> Ints:
    """Exact sums of that shape with the noise of a block."""
    value = exact()
    return value + source.gaussian(block.units, math.prod(shape)).reshape(shape) if block.units else value


def _cells(total: Callable[[], Total], block: Release, cells: NDArray[np.intp]) -> Ints:
    return total().integers(math.frexp(block.grid)[1] - 1, cells)
