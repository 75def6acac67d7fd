"""Joint cost of releases with privacy profiles: delta as a function of eps. Proofs: profiles.md.

Losses lie on a grid, and are composed by sums of numbers that are not negative. There is no Fourier transform here, so
every rounding is bounded.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

# Log of a delta that a release has at eps >= 0, for all neighbours in both orders.
Profile = Callable[[float], float]

# Positive losses of the grid. Any number is safe.
_POINTS = 128
# Beyond it ratios of probabilities leave the range of floats.
_LARGEST_LOSS = 300.0
# The share of delta that the ends of the grid may take, again and again.
_ENDS = 2.0**-12
# Covers the roundings of ratios, slopes and sums, and what underflows.
_UP = 1 + 2.0**-36
_UNDERFLOW = 2.0**-100
# Of a loss and of 1: a ratio's float is that of a loss which differs by less.
_ULPS = 2.0**-50
_HALVINGS = 60


class _Losses(NamedTuple):
    """A measure of privacy losses: `masses` at (first + 0, 1, 2, ...) times the spacing, and a mass at infinity."""

    masses: NDArray[np.float64]
    first: int
    infinite: float

    @property
    def total(self) -> float:
        """The whole mass: 1, or a little more."""
        return float(self.masses.sum()) + self.infinite


def pure_profile(eps: float) -> Profile:
    """The profile of eps-DP, that of randomised response: (e^eps - e^x) / (1 + e^eps) at x."""
    # log1p of the smaller side: nothing cancels.
    log_total = math.log1p(math.exp(-eps))
    return lambda x: math.log(-math.expm1(x - eps)) - log_total if x < eps else -math.inf


def profile_eps(parts: Sequence[Profile], count: int, delta: float, start: float) -> float:
    """Smallest eps that is confirmed at delta for `count` releases, each with all parts, rounded up (theorem 1).

    Parameters
    ----------
    parts : profiles of what each release consists of, one after the other.
    count : number of releases.
    delta : of all together.
    start : an eps from which the end of the grid is looked for: that of one release at its share of delta.

    Returns
    -------
    eps >= 0; inf where none is confirmed.
    """
    lost, end = delta * _ENDS / count, start
    while max(part(end) for part in parts) > math.log(lost):
        end *= 1.25
        if end > _LARGEST_LOSS:
            return math.inf
    spacing = end / _POINTS
    one = functools.reduce(
        lambda first, second: _sum(first, second, lost), (_dominating(part, spacing) for part in parts)
    )
    together = one
    for _ in range(count - 1):
        together = _sum(together, one, lost)
    return _least_eps(together, spacing, count * len(parts) * (1 + end) * _ULPS, delta)


def _dominating(profile: Profile, spacing: float) -> _Losses:
    """Losses of a discrete pair that dominates every release with this profile (lemma 1).

    Its profile is a line between neighbouring ratios. A drop of the slope by q at a ratio a is a mass a q at the loss
    log a, and by symmetry a mass q at -log a.
    """
    losses = spacing * np.arange(_POINTS + 1)
    ratios, below = np.exp(losses), np.maximum(losses - (1 + losses) * _ULPS, 0.0)
    deltas = np.minimum.accumulate([math.exp(min(profile(loss), 0.0)) for loss in below.tolist()])
    slopes = _slopes(np.append(-1.0, ratios), np.append(1.0, deltas))
    drops = np.maximum(-np.diff(slopes, append=0.0), 0.0)
    masses = np.concatenate([drops[:0:-1], 2 * drops[:1], (ratios * drops)[1:]])
    return _Losses(masses * _UP, -_POINTS, float(deltas[-1]) * _UP + _UNDERFLOW)


def _slopes(x: NDArray[np.float64], y: NDArray[np.float64]) -> NDArray[np.float64]:
    """How steeply the lower convex envelope of the points falls, between each and the next."""

    def fall(start: int, stop: int) -> float:
        return float((y[start] - y[stop]) / (x[stop] - x[start]))

    corners, slopes = [0], np.empty(len(x) - 1)
    for point in range(1, len(x)):
        while len(corners) > 1 and fall(corners[-2], corners[-1]) <= fall(corners[-1], point):
            corners.pop()
        corners.append(point)
    for start, stop in itertools.pairwise(corners):
        slopes[start:stop] = fall(start, stop)
    return slopes


def _sum(one: _Losses, two: _Losses, lost: float) -> _Losses:
    """Losses of two releases together; ends of at most `lost` are raised, to infinity or to the next loss."""
    masses = np.convolve(one.masses, two.masses) * _UP
    infinite = (one.infinite * two.total + two.infinite * one.total) * _UP
    below, above = np.cumsum(masses), np.cumsum(masses[::-1])
    low, high = (int(np.searchsorted(sums, lost, side="right")) for sums in (below, above))
    low = min(low, len(masses) - 1)
    high = min(high, len(masses) - 1 - low)  # one is kept, also where all mass is at infinity
    if high:
        infinite += float(above[high - 1]) * _UP
    kept = masses[low : len(masses) - high]
    if low:
        kept[0] += below[low - 1] * _UP
    return _Losses(kept, one.first + two.first + low, infinite)


def _least_eps(together: _Losses, spacing: float, rounding: float, delta: float) -> float:
    """Smallest eps at which the losses, each raised by the rounding, leave at most delta."""
    losses = spacing * (together.first + np.arange(len(together.masses))) + rounding

    def exceeds(eps: float) -> bool:
        beyond = losses > eps
        finite = float(together.masses[beyond] @ -np.expm1(eps - losses[beyond]))
        return finite * _UP + together.infinite > delta

    low, high = 0.0, max(float(losses[-1]), 0.0)
    if exceeds(high):
        return math.inf
    if not exceeds(low):
        return low
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if exceeds(middle) else (low, middle)
    return high * _UP
