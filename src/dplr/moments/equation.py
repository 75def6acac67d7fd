"""The equation of one model among released moments, and the way of its coefficients to the user's units: moments.md."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from dplr.inference.reading import Reading
from dplr.inference.sampling import bounded_sampling, classical_sampling, residual_sum
from dplr.moments.law import LAPLACE
from dplr.moments.released import ReleasedMoments
from dplr.moments.selection import Chosen, Target
from dplr.privacy.estimand import Estimand
from dplr.problem.geometry import GRID

Matrix = NDArray[np.float64]


def reading_of(released: ReleasedMoments, columns: Chosen, target: Target, probability: bool, bounded: bool) -> Reading:
    """The equation of x_t / c on the chosen columns and the constant.

    `bounded` takes residuals as large as those of labels of which either is as likely, a quarter of the squared
    distance of the two labels; else their mean square is estimated, and taken as equal in all rows.
    """
    moments, variances, geometry = released.matrix, released.cell_variances, released.problem.geometry
    c, t = geometry.half_widths[target.place], target.place
    places = np.append(columns.places, len(moments) - 1)
    pairs = np.ix_(places, places)
    matrix, vector = moments[pairs], moments[places, t] / c
    cells, tied = variances[pairs], released.tied[places]
    vector_noise = np.diag(variances[places, t]) / c**2
    square = float(moments[t, t]) / c**2
    square_noise = float(variances[t, t] + released.tied[t] ** 2 * variances[t, -1]) / c**4
    n_rows = max(1.0, released.count)
    largest = float(released.prep.scale[t] / GRID / c) ** 2 / 4 if bounded else None
    sampling = (
        classical_sampling(matrix, vector, cells, tied, vector_noise, square, square_noise, n_rows)
        if largest is None
        else bounded_sampling(matrix, largest)
    )
    laws = {block.law for party in released.parties for block in party.statement.released.values()}
    return Reading(
        matrix=matrix,
        vector=vector,
        cells=cells,
        tied=tied,
        vector_noise=vector_noise,
        sampling=sampling,
        laplace=LAPLACE in laws,
        center=np.zeros(len(vector)),
        sizes=np.array(geometry.sizes)[places],
        estimand=Estimand.PROBABILITY if probability else Estimand.MEAN,
        n_rows=n_rows,
        robust=bounded,
        largest=largest,
        square=square,
        square_noise=square_noise,
    )


def user_units(released: ReleasedMoments, columns: Chosen, target: Target) -> tuple[Matrix, Matrix]:
    """Rows (q, q) of the map from scaled coefficients to slopes and, last, the intercept; and what is added (q,)."""
    prep, geometry = released.prep, released.problem.geometry
    places, c = columns.places, geometry.half_widths[target.place]
    scale, shift, goal = prep.scale[places], prep.shift[places], float(prep.scale[target.place])
    slopes = c * scale / goal
    units = np.diag(np.append(slopes, c * geometry.intercept * GRID / goal))
    units[-1, :-1] = -slopes * shift
    added = np.zeros(len(units))
    added[-1] = prep.shift[target.place]
    if target.flipped:
        units, added[-1] = -units, 1 - added[-1]
    return units, added


def target_unit(released: ReleasedMoments, target: Target) -> float:
    """The user's units of the target in one of its equation."""
    half_width = released.problem.geometry.half_widths[target.place]
    return half_width * GRID / float(released.prep.scale[target.place])


def determination(reading: Reading, coef: Matrix) -> float:
    """1 less the share of the target's variance that is left, as released; nan where noise drowns the variance."""
    assert reading.square is not None
    residual, least = residual_sum(
        reading.matrix, reading.vector, reading.cells, reading.tied, reading.vector_noise, reading.square,
        reading.square_noise, coef,
    )  # fmt: skip
    last = slice(-1, None)
    mean = reading.vector[last] / reading.matrix[-1, -1]
    total, least_total = residual_sum(
        reading.matrix[last, last], reading.vector[last], reading.cells[last, last], reading.tied[last],
        reading.vector_noise[last, last], reading.square, reading.square_noise, mean,
    )  # fmt: skip
    return 1 - max(residual, least) / total if total > 3 * least_total else math.nan
