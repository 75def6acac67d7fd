"""The middle of a sandwich covariance at a point: an exact sum."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dplr.problem.losses import huber_residual
from dplr.rows.queries.score import MULTIPLIER_BITS, ScoreMoments


@dataclass(frozen=True, slots=True)
class MeatMoments(ScoreMoments):
    """Upper triangle of sum min(u^2, 1) v v', where u = v.w - y is the residual at the point w. Exact.

    v = (x, intercept if any). |u| is truncated to a multiple of 2^-19 or 2^-20, and v times it towards zero, so that no
    row is longer than min(|u|, 1) v. The last column holds sum max(-1, min(u, 1)) v with the other sign.

    Sensitivity: sensitivity.meat_*.
    """

    def multipliers(self, sizes: NDArray[np.int64], one: int) -> NDArray[np.int64]:
        """Sizes of the residuals themselves, in units of 2^-30."""
        multipliers: NDArray[np.int64] = sizes * np.int64(2**MULTIPLIER_BITS // one)
        return multipliers


def meat_moments(d: int, intercept: bool, row_norm: float) -> MeatMoments:
    """The query for rows v of at most this norm."""
    return MeatMoments(huber_residual(1.0), d, intercept, row_norm)
