"""Exact sums of squared residuals times rows, or of the squares of the persons' scores. Proof: functional.md, lemma 18.

Few fits need them, so their queries are loaded when they are asked for.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dplr._kit.warnings import DataWarning, warn
from dplr.mechanisms.functional.moments import largest_residual
from dplr.problem.problem import Problem
from dplr.rows import Rows
from dplr.rows.queries.totals import Total


def squares_at(rows: Rows, problem: Problem, point: NDArray[np.float64]) -> Total:
    """The sum at a point, which must be on the grid of `on_coef_grid`."""
    from dplr.rows.queries.meat import meat_moments

    geometry, largest = problem.geometry, largest_residual(problem)
    query = meat_moments(geometry.d, geometry.intercept > 0, geometry.row_norm, largest)
    if problem.unit.person is None:
        return rows.total(query, point)
    from dplr.rows.queries.clusters import PersonScores

    scores = PersonScores(query, rows.units)
    return scores.squares(rows.total(scores, point).faults)


def warn_of_persons(problem: Problem, persons: int) -> None:
    """Warn the data holder of more persons than have room: their number is private, and a refusal would tell of it."""
    try:
        check_persons(problem, persons)
    except ValueError:
        size = 8 * persons * problem.geometry.n_coefs / 2**30
        text = f"the scores of {persons} persons take {size:.1f} GiB of memory; with n_rows=, a public reference, a fit"
        warn(DataWarning(f"{text} of so many is refused.", "For the data holder: this is not private."), DataWarning)


def check_persons(problem: Problem, persons: int) -> None:
    """Refuse more persons than have room for their scores, by a public number; where rows are units there are none."""
    if problem.unit.person is not None:
        from dplr.rows.queries.clusters import check_memory

        check_memory(persons, problem.geometry.n_coefs)
