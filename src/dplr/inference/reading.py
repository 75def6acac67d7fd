"""The released facts about coefficients, as a noisy linear equation of which the noise is known."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum

import numpy as np
from numpy.typing import NDArray

from dplr._kit.validation import sentence
from dplr.inference.sampling import bounded_sampling, classical_sampling, residual_sum
from dplr.privacy.estimand import Estimand

# The largest effect of a flag, level or bin that noise drowns, in units of the equation (intervals.md, section 3): the
# width of a target from -1 to 1, log odds, and logarithms of rates.
EFFECT_BOUNDS = {
    Estimand.MEAN: 2.0,
    Estimand.LOCATION: 2.0,
    Estimand.PROBABILITY: 2.0,
    Estimand.LOG_ODDS: 6.0,
    Estimand.LOG_RATE: 6.0,
}


class Curvature(Enum):
    """How the second derivative of a loss changes along the margin."""

    LOGISTIC = "logistic"
    EXPONENTIAL = "exponential"  # of rates
    UNSIGNED = "unsigned"  # its logarithm by at most 1 per unit, up or down: the residual decides, and is not known


@dataclass(frozen=True, slots=True)
class Expansion:
    """Facts about a score that is expanded at a point.

    Attributes
    ----------
    curvature : of the loss.
    row_norm : the largest norm of a row.
    constant : whether the last coordinate is that of an intercept.
    steepness : units of the curve per unit of the margin.
    at_point : whether the covariance of sampling is that at the point; else at the coefficients.
    """

    curvature: Curvature
    row_norm: float
    constant: bool
    steepness: float = 1.0
    at_point: bool = True


@dataclass(frozen=True, eq=False, slots=True)
class Reading:
    """A released equation: at the coefficients that it is about, ``vector - matrix @ (theta - center)`` has mean 0.

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
    sampling : (q, q) covariance of ``vector - matrix @ (theta - center)`` that the choice of the rows causes, without
        any noise: `inference.sampling` computes it.
    laplace : whether the noise has discrete Laplace laws; else Gaussian.
    center : (q,) 0 where `vector` and `matrix` are moments; else the point at which they were released, a score and its
        derivative.
    sizes : (q,) the largest size of each coordinate in any row: theta * sizes are the effects.
    estimand : what a unit of a column changes: a mean, a probability or log odds.
    factor : coefficients of the estimand are `factor` times theta.
    n_rows : number of rows, public or released; None where it is not known.
    robust : whether `sampling` holds for unequal variances.
    square : sum of the squares of the target, public or released; None where it is not known. Subsets need it.
    square_noise : variance of the noise on `square`; 0 where it is public.
    clustered : whether `sampling` holds for rows of one person that depend on each other: `n_rows` are persons.
    expansion : of a score that is read at its point; None for moments, and where what its curve adds is counted.
    remainder : (q, q) the part of `sampling` that stands for what is not known of that; None where there is none.
    largest : mean square of a residual that is taken in all rows in place of an estimate; None for an estimate.
    """

    matrix: NDArray[np.float64]
    vector: NDArray[np.float64]
    cells: NDArray[np.float64]
    tied: NDArray[np.float64]
    vector_noise: NDArray[np.float64]
    sampling: NDArray[np.float64]
    laplace: bool
    center: NDArray[np.float64]
    sizes: NDArray[np.float64]
    estimand: Estimand
    factor: float = 1.0
    n_rows: float | None = None
    robust: bool = False
    square: float | None = None
    square_noise: float = 0.0
    clustered: bool = False
    expansion: Expansion | None = None
    remainder: NDArray[np.float64] | None = None
    largest: float | None = None

    def subset(self, keep: NDArray[np.intp]) -> Reading:
        """The equation of the model with these coordinates alone: another estimand, from the same release.

        `keep` is increasing, so that the constant, if it is kept, stays last. `sampling` is that of the smaller model,
        whose residuals are larger (intervals.md, section 6).
        """
        keep = np.asarray(keep, np.intp)
        if not len(keep) or np.any(np.diff(keep) <= 0) or keep[0] < 0 or keep[-1] >= len(self.vector):
            raise ValueError(sentence("keep", "must be increasing positions of coefficients", keep.tolist()))
        if len(keep) == len(self.vector):
            return self
        if np.any(self.center):
            remedy = "Fit a model of these columns: it has a release of its own."
            raise ValueError(sentence("keep", "must be all coefficients of a score at a point", keep.tolist(), remedy))
        if self.square is None or self.n_rows is None:
            remedy = "Without them nobody knows how large the residuals of the smaller model are."
            raise ValueError(sentence("keep", "needs the target's sum of squares and n_rows", keep.tolist(), remedy))
        small = self._cut(keep)
        return replace(small, sampling=small._resampled(self), robust=False)

    def referenced(self, keep: NDArray[np.intp], null: NDArray[np.float64]) -> Reading:
        """The equation of the same model without coordinates that other ones make up for.

        `null` (k, q) are directions of which no row has a part, one for each coordinate that is left out, 1 there and 0
        at the others that are. Along them coefficients may move without changing any margin: to where those that are
        left out are 0 (intervals.md, section 10). `keep` is increasing.
        """
        references = np.setdiff1d(np.arange(len(self.vector)), keep)
        equation = replace(self, center=self.center - self.center[references] @ null)
        return equation._cut(np.asarray(keep, np.intp))

    def _cut(self, keep: NDArray[np.intp]) -> Reading:
        """The rows and columns of the equation at these coordinates; what is left out must be 0 in the coefficients."""
        last, square = len(self.vector) - 1, np.ix_(keep, keep)
        cells, tied = self.cells[square].copy(), self.tied[keep]
        if keep[-1] != last:  # a tied cell is then a multiple of a cell that nothing else depends on
            np.fill_diagonal(cells, np.diag(cells) + tied**2 * self.cells[keep, last])
            tied = np.zeros(len(keep))
        return replace(
            self, matrix=self.matrix[square], vector=self.vector[keep], cells=cells, tied=tied,
            vector_noise=self.vector_noise[square], center=self.center[keep], sampling=self.sampling[square],
            sizes=self.sizes[keep],
            remainder=None if self.remainder is None else self.remainder[square],
        )  # fmt: skip

    def _resampled(self, larger: Reading) -> NDArray[np.float64]:
        """Classical: from its own residuals. Robust: what the larger residuals add is taken as equal in all rows."""
        assert self.square is not None
        assert self.n_rows is not None
        if self.largest is not None:
            return bounded_sampling(self.matrix, self.largest)
        if not larger.robust:
            return classical_sampling(
                self.matrix, self.vector, self.cells, self.tied, self.vector_noise, self.square, self.square_noise,
                self.n_rows,
            )  # fmt: skip
        before, _ = residual_sum(
            larger.matrix, larger.vector, larger.cells, larger.tied, larger.vector_noise, self.square, self.square_noise
        )
        now = classical_sampling(
            self.matrix, self.vector, self.cells, self.tied, self.vector_noise, self.square, self.square_noise,
            self.n_rows, less=max(before, 0.0),
        )  # fmt: skip
        return np.asarray(self.sampling + now)
