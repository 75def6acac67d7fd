"""Exact sums of squared residuals times rows, or of the squares of the persons' scores (functional.md, lemma 18).

Few fits need them, so their queries are loaded when they are asked for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from dplr._kit.warnings import DataWarning, warn
from dplr.mechanisms.equations import largest_residual
from dplr.problem.problem import Problem
from dplr.rows import Rows
from dplr.rows.exact import Total, on_coef_grid

if TYPE_CHECKING:
    from dplr.rows.scores_at import MeatMoments


def residuals_of(problem: Problem) -> MeatMoments:
    """The query of the squared residuals of a linear equation; labels count as numbers."""
    from dplr.rows.scores_at import meat_moments

    geometry = problem.geometry
    return meat_moments(geometry.d, geometry.intercept > 0, geometry.row_norm, largest_residual(problem))


def squares_at(rows: Rows, problem: Problem, query: MeatMoments, point: NDArray[np.float64]) -> Total:
    """The sum at the point of the grid of coefficients that is nearest to this one."""
    point = on_coef_grid(point)
    if problem.unit.person is None:
        return rows.total(query, point)
    from dplr.rows.scores_at import PersonScores

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
        from dplr.rows.scores_at import check_memory

        check_memory(persons, problem.geometry.n_coefs)
