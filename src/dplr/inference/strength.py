"""What the released matrix tells of all contrasts at once: that noise leaves none bounded, or that the set of the
statistic is small and convex. Proofs: intervals.md, section 4.
"""

from __future__ import annotations

import math
from dataclasses import replace
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dplr.inference.noise import covariance
from dplr.inference.reading import Reading
from dplr.inference.score import Local, lowest_of, quantile

Array = NDArray[np.float64]
# The largest excess kurtosis of a sum of independent Laplace numbers: that of one.
_LAPLACE = 3.0
# Below this product of `Strength.noise` and the quantile the set is convex (lemma 13).
_CONVEX = 1 - math.sqrt(0.5)
# A ray is turned to where the statistic is lower if it is below so many times the quantile that matters.
_NEAR = 2.0
# Beyond all coefficients of a ray, which has length 1.
_NOWHERE = 1e9


class Strength(NamedTuple):
    """How far the set of a quantile goes from `root`, where the equation holds.

    `deviations` (q,) are those of the coefficients; `noise` is how much of a direction, at most, is noise on the
    matrix. `laplace` as in `Reading`.
    """

    root: Array
    deviations: Array
    noise: float
    laplace: bool

    def largest(self, z: float) -> float:
        """The largest quantile that stands for the normal one."""
        return float(quantile(z, np.asarray(_LAPLACE if self.laplace else 0.0)))

    def reach(self, z: float) -> Array:
        """How far (q,) coefficients on the set are from `root` at most; infinite where that is not known."""
        most = self.largest(z)
        left = 1 - self.noise * most
        return most / left * self.deviations if left > 0 else np.full_like(self.root, np.inf)

    def convex(self, z: float) -> bool:
        """Whether the set is known to be convex where no coefficient comes to its bound."""
        return self.noise * self.largest(z) < _CONVEX


@lru_cache(maxsize=16)
@np.errstate(over="ignore", invalid="ignore", divide="ignore")
def strength_of(reading: Reading) -> Strength:
    """The strength of a reading; its noise is infinite where nothing is known."""
    nothing = Strength(np.zeros_like(reading.vector), np.zeros_like(reading.vector), math.inf, reading.laplace)
    try:
        inverse = np.linalg.inv(reading.matrix)
        root = inverse @ reading.vector
        v = covariance(reading.cells, reading.tied, root) + reading.vector_noise + reading.sampling
        metric = inverse @ v @ inverse.T  # the inverse of S V^-1 S
        shares = _shares(reading)
        of_rows = np.max(shares, axis=1)
        of_columns = np.max(shares / of_rows[:, None], axis=0)
        noise = _longest(np.asarray(np.linalg.inv(v)), of_rows) * _longest(metric, of_columns)
    except np.linalg.LinAlgError:
        return nothing
    if not 0 <= noise < math.inf or not np.linalg.eigvalsh(v)[0] > 0:
        return nothing
    return Strength(root, np.sqrt(np.diag(metric)), math.sqrt(noise), reading.laplace)


def _longest(inverse: Array, weights: Array) -> float:
    """The largest sum of weights x^2 of the vectors that the metric with this inverse says are of length 1."""
    roots = np.sqrt(weights)
    return float(np.linalg.eigvalsh(roots[:, None] * inverse * roots)[-1])


def _shares(reading: Reading) -> Array:
    """U (q, q) with Cov(E delta) at most the diagonal matrix of U delta^2."""
    cells, ties = reading.cells, np.abs(reading.tied)
    out = 2 * cells - np.diag(cells.diagonal())
    rows = np.flatnonzero(ties)
    out[rows, -1] *= 1 + ties[rows]
    out[rows, rows] = ties[rows] * out[rows, -1]
    return np.asarray(out)


@lru_cache(maxsize=16)
@np.errstate(over="ignore", invalid="ignore", divide="ignore")
def ray_of(reading: Reading, open_: tuple[bool, ...], z: float) -> float:
    """The root of the limit of the statistic on the ray of coefficients without a bound that noise hides best.

    Infinite where there is none. The ray is turned where that may take it below z.
    """
    free, q = np.flatnonzero(open_), len(reading.vector)
    units, zero = np.max(reading.cells, axis=0)[free] ** 0.25, np.zeros((q, q))
    if not len(free) or not np.all(units > 0) or not np.all(np.isfinite(reading.matrix)):
        return math.inf
    values, ways = np.linalg.eigh(reading.matrix[np.ix_(free, free)] / units / units[:, None])
    ray = np.zeros((1, q))
    ray[0, free] = ways[:, np.argmin(np.abs(values))] / units
    ray /= np.linalg.norm(ray)
    far = replace(reading, vector=zero[0], vector_noise=zero, sampling=zero, center=zero[0])
    value = float(Local.of(far, ray).value[0])
    if z**2 <= value < (_NEAR * z) ** 2:
        fixed = np.concatenate([np.delete(np.eye(q), free, axis=0), ray])
        ray, ended, found = lowest_of(far, np.full(q, _NOWHERE), ray, fixed)
        value = float(found[0]) if ended[0] else value
    regular = np.all(np.diag(covariance(reading.cells, reading.tied, ray[0])) > 0)
    return math.sqrt(value) if value >= 0 and regular else math.inf
