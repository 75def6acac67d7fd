"""The middle of a sandwich covariance at a point: an exact sum."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dplr.bounds.scaling import Prep
from dplr.problem.losses import Loss, huber_residual
from dplr.rows.queries.clipped import exponent_above
from dplr.rows.queries.score import MULTIPLIER_BITS, ScoreMoments, ScorePartial, Vector
from dplr.rows.weights import Weights


@dataclass(frozen=True, slots=True)
class MeatMoments(ScoreMoments):
    """Upper triangle of sum (u / L)^2 v v', u the slope of the loss at the point w, L a power of two. Exact.

    v = (x, intercept if any). |u| / L is truncated to a multiple of 2^-13 or less, and v times it towards zero, so that
    no row is longer than |u| / L times v. L is the smallest power of two that is no less than any slope: of least
    squares the width at which residuals are cut. The last column holds the sum of the gradients with the other sign. A
    row of weight a counts with a u for u.

    Sensitivity: sensitivity.meat_*.
    """

    @property
    def largest(self) -> float:
        """L, which is no less than any slope."""
        return 2.0 ** exponent_above(self.loss.lipschitz)

    @property
    def one(self) -> int:
        """L in units of residuals: a power of two."""
        return int(self.gradient.per_unit * self.largest)

    def add_block(
        self, X: NDArray[Any], y: NDArray[Any], prep: Prep, coef: Vector, out: ScorePartial, weights: Weights = None
    ) -> None:
        """Add the sums of a block at `coef` (q,); labels count as the numbers -1 and 1, an unknown one as 0."""
        y, prep = numbered(self.loss, y, prep)
        ScoreMoments.add_block(self, X, y, prep, coef, out, weights)

    def multipliers(self, sizes: NDArray[np.int64], one: int) -> NDArray[np.int64]:
        """Sizes of the residuals over L, in units of 2^-30."""
        multipliers: NDArray[np.int64] = sizes * np.int64(2**MULTIPLIER_BITS // self.one)
        return multipliers

    def factors(self, weights: Vector) -> NDArray[np.int64]:
        """The weights in units of 2^-30: they multiply residuals, which are squared."""
        return (weights * 2.0**MULTIPLIER_BITS).astype(np.int64)


def numbered(loss: Loss, y: NDArray[Any], prep: Prep) -> tuple[NDArray[Any], Prep]:
    """Targets and map of a loss of numbers: labels become -1 and 1, an unknown one 0. Others stay as they are."""
    if prep.labels is None or loss.classification:
        return y, prep
    negative, positive = prep.labels
    return np.where(y == positive, 1.0, np.where(y == negative, -1.0, 0.0)), replace(prep, labels=None)


def meat_moments(d: int, intercept: bool, row_norm: float, largest: int = 1) -> MeatMoments:
    """The query for rows v of at most this norm, and residuals that count as at most `largest`, a power of two."""
    return MeatMoments(huber_residual(float(largest)), d, intercept, row_norm * largest)
