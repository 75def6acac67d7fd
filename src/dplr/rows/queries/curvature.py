"""Score and Hessian of losses of numbers: of a soft Huber loss, and of the Poisson likelihood. Exact sums."""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dplr.bounds.scaling import Prep
from dplr.problem.geometry import GRID
from dplr.rows.queries.clipped import clipped_rows, exponent_above
from dplr.rows.queries.kernel import kernel_of
from dplr.rows.queries.score import MULTIPLIER_BITS, ScoreMoments, Vector, whole_roots

_FINE = 40


@functools.lru_cache(maxsize=8)
def _scaled_target(prep: Prep) -> Prep:
    """The way of rows beside targets that are scaled already."""
    parts = tuple(part.copy() for part in (prep.shift, prep.scale, prep.low, prep.high))
    for part, entry in zip(parts, (0.0, GRID, -GRID, GRID), strict=True):
        part[-1] = entry
    shift, scale, low, high = parts
    return replace(prep, shift=shift, scale=scale, low=low, high=high)


@dataclass(frozen=True, slots=True)
class SoftHuberMoments(ScoreMoments):
    """Upper triangle of H = sum (1 - s) v v', and in the last column U = -sum u v, u the slope of the loss. Exact.

    s = |u| / C, C the largest slope. |u| is truncated to whole units, one number for both sums, and C to the units
    below it: s is then no less than the truncated slope over C, and the multiplier of v is the whole part of the root
    of 1 - s in units of 2^-30.

    Sensitivity: sensitivity.huber_score_*.
    """

    def multipliers(self, sizes: NDArray[np.int64], one: int) -> NDArray[np.int64]:
        """The whole part of 2^30 times the root of 1 - s."""
        most = int(self.loss.lipschitz * one)
        rest = most - np.minimum(sizes, most)  # up to 2^20
        return whole_roots((rest << _FINE) // most << (2 * MULTIPLIER_BITS - _FINE))


@dataclass(frozen=True, slots=True)
class RateMoments(ScoreMoments):
    """Upper triangle of H = sum h v v', and in the last column U = -sum u v, of the Poisson likelihood. Exact.

    h is the rate and u = h - y, both in units of half the width of the target's bounds. h is summed over a power of two
    that is no less, as the multiplier of v is the whole part of the root of that in units of 2^-30.

    Sensitivity: sensitivity.rate_score_*.
    """

    @property
    def curvature_exponent(self) -> int:  # type: ignore[override]
        """Exponent of the power of two by which h is divided while it is summed."""
        return max(0, exponent_above(self.loss.lipschitz))

    def sizes(self, X: NDArray[Any], prep: Prep, coef: Vector, residuals: NDArray[np.int64]) -> NDArray[np.int64]:
        """Rates in units of residuals, rounded down: the slopes at a target of -1, and what their least is above it."""
        query, rows = self.gradient, clipped_rows(X, np.full(len(X), -1.0), _scaled_target(prep))
        slopes = np.empty(len(X), np.int64)
        hi, lo = np.zeros((2, len(coef)), np.int64)  # of a score that is nobody's
        rows.add_with_residuals(
            kernel_of(query.loss), query.loss.width, coef * GRID, query.clip * query.per_unit, query.per_unit, 0,
            len(X), hi, lo, slopes,
        )  # fmt: skip
        assert self.loss.knots is not None
        least = math.floor((-float(self.loss.knots.values[0]) - 1) * query.per_unit)
        return np.maximum(slopes - (slopes < 0) + least, 0)

    def multipliers(self, sizes: NDArray[np.int64], one: int) -> NDArray[np.int64]:
        """The whole part of 2^30 times the root of h over a power of two."""
        bits = int(math.log2(self.gradient.per_unit)) + self.curvature_exponent
        return whole_roots(np.minimum(sizes, 1 << bits) << (2 * MULTIPLIER_BITS - bits))
