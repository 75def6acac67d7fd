"""What was released about coefficients, as a noisy linear equation of which the noise is known."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

# What coefficients are of: all that a table must know to name them.
MEAN, PROBABILITY, LOG_ODDS = "mean", "probability", "log-odds"


@dataclass(frozen=True, eq=False, slots=True)
class Reading:
    """A released equation: at the coefficients that it is about, ``vector - matrix @ theta`` has mean 0.

    Everything is in scaled units, with the constant's coordinate last where there is an intercept. q coordinates.

    Attributes
    ----------
    matrix : (q, q) symmetric, noisy, possibly indefinite.
    vector : (q,) noisy.
    cells : (q, q) variances of the noise on the cells of `matrix`, symmetric; 0 for a public cell. The noise of two
        cells of the upper triangle is independent.
    tied : (q,) the noise of a diagonal cell (j, j) that was not released is tied[j] times that of cell (j, q - 1); 0
        for the others. ``cells[j, j]`` is 0 there.
    vector_noise : (q, q) covariance of the noise on `vector`, which is independent of that on `matrix`.
    sampling : (q, q) covariance of ``vector - matrix @ theta`` that the choice of the rows causes, without any noise.
    laplace : whether the noise has discrete Laplace laws; else Gaussian.
    center : (q,) point around which coefficients are sought: 0, or that at which the equation was released.
    reach : public guess of the largest distance of the coefficients from 0; what depends on it is not reported.
    estimand : `"mean"`, `"probability"` or `"log-odds"`: what a unit of a column adds to.
    factor : coefficients of the estimand are `factor` times theta.
    n_rows : number of rows, public or released; None where it is not known.
    robust : whether `sampling` holds for unequal variances.
    """

    matrix: NDArray[np.float64]
    vector: NDArray[np.float64]
    cells: NDArray[np.float64]
    tied: NDArray[np.float64]
    vector_noise: NDArray[np.float64]
    sampling: NDArray[np.float64]
    laplace: bool
    center: NDArray[np.float64]
    reach: float
    estimand: str
    factor: float = 1.0
    n_rows: float | None = None
    robust: bool = False

    def subset(self, keep: NDArray[np.intp]) -> Reading:
        """The equation of the model with these coordinates alone: another estimand, from the same release.

        The constant, if it is kept, stays last. `sampling` is taken over: it is that of the larger model.
        """
        raise NotImplementedError
