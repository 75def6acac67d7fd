"""The search for the ends of contrasts within a box of public bounds (intervals.md, sections 3 and 4)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import special

from dplr._kit.validation import sentence
from dplr.inference.reading import EFFECT_BOUNDS, Reading
from dplr.inference.score import STEPS, Flags, ends, lowest, outside, statistic
from dplr.inference.strength import ray_of, strength_of

Array = NDArray[np.float64]
# The largest effects of coordinates in units of the equation, infinite where nothing is assumed; one for all of them;
# None for that of the estimand.
Bounds = float | tuple[float, ...] | None

# An interval is reported where that of 99.9 % is bounded too. Where that of the quantile z + `SURE` is not, noise on
# the matrix may be why it is reported, and counts as the largest of `CHOICES` (intervals.md, section 3).
CHOICES = 50
SURE = -float(special.ndtri(0.05 / CHOICES / 2))
# What is bounded at this one, with all bounds wide, has wider bounds in all searches.
_FIRM = -float(special.ndtri(0.025)) + SURE
# An interval within a public bound of its own coefficient has ends at any quantile: this one is asked instead.
VISIBLE = 1.0
# The bound of a coefficient that the released numbers bound, over that of others.
_WIDER = 4.0
# How far a coefficient without a bound is followed, in bounds of the estimand (intervals.md, section 3).
_FOLLOWED = 1000.0
# Half of an interval that says little more than the bounds do, over what these leave.
_VACUOUS = 0.9
# A ray that goes on in the set of this part of the quantile tells that no contrast is bounded.
_DEEP = 0.5
# The second search for an end starts this many half-widths away.
_BEYOND = 3.0
# Steps of that search, where the first one ended.
_AGAIN = 20
# Where a search does not end, another one goes from end to end of these parts of the quantile.
_PARTS = 0.2, 0.4, 0.6, 0.8


class Box(NamedTuple):
    """Bounds (q,) of coefficients that a contrast is not about, and the wider ones of those that it is about.

    `drowned` (q,) are those that the released numbers do not bound. Of those that are `open` (q,) nothing is assumed:
    the box is where a search ends.
    """

    nuisance: Array
    main: Array
    drowned: Flags
    open: Flags

    def of(self, contrasts: Array) -> Array:
        """The bounds for contrasts (..., q)."""
        return np.where(contrasts != 0, self.main, self.nuisance)


def widest(reading: Reading, bounds: Bounds = None) -> tuple[Array, Array, Flags]:
    """The bounds of the scaled coefficients, the wider ones, and of which of them nothing is assumed."""
    usual = EFFECT_BOUNDS[reading.estimand]
    effects = np.broadcast_to(np.asarray(usual if bounds is None else bounds, np.float64), reading.sizes.shape)
    if not np.all(effects > 0):
        raise ValueError(sentence("effect_bound", "must be positive and finite", bounds))
    free = np.isinf(effects)
    box = np.where(free, _FOLLOWED * usual, effects) / reading.sizes
    return box, np.where(free, 1.0, _WIDER) * box, free


@lru_cache(maxsize=16)
def box_of(reading: Reading, bounds: Bounds = None) -> Box:
    """The bounds of the scaled coefficients: of these effects, or of that of the estimand.

    The own coefficients of a contrast, and those that the released numbers bound, have `_WIDER` times these: what is
    told by the data does not depend on the assumption, and a wider bound only makes intervals longer.
    """
    box, wide, free = widest(reading, bounds)
    search = Search.of(reading, np.eye(len(box)), Box(wide, wide, np.ones_like(free), free))
    firm = search.bounded(np.arange(len(box)), _FIRM)
    larger = firm | _larger(search, np.flatnonzero(~firm & ~free), box)
    return Box(np.where(larger, wide, box), wide, ~firm, free)


def _larger(search: Search, which: NDArray[np.intp], box: Array) -> Flags:
    """Which coefficients (q,), of these, their own intervals let be larger than is assumed: log odds that are steep."""
    larger = np.zeros(len(box), bool)
    if search.reading.remainder is not None and len(which) and len(told := which[search.bounded(which, SURE)]):
        points = np.abs(search.reading.center + search.ends(told, SURE)[0])
        larger[told] = np.any(points[:, np.arange(len(told)), told] > box[told], axis=0)
    return larger


@dataclass(frozen=True, eq=False, slots=True)
class Search:
    """The search for the ends of contrasts (m, q), from `middle`, where the statistic is lowest, in boxes (m, q)."""

    reading: Reading
    contrasts: Array
    box: Array
    limits: Box
    middle: Array
    success: bool

    @classmethod
    def of(cls, reading: Reading, contrasts: Array, box: Box) -> Search:
        """The search of all of these contrasts."""
        middle, success = lowest(reading, box.main, start_of(reading, box.main))
        if success:
            middle, success = lowest(reading, box.nuisance, middle)
        success = success and finite(reading.matrix**2)
        return cls(reading, contrasts, box.of(contrasts), box, middle, success)

    def ends(
        self, which: NDArray[np.intp], z: float | Array, widening: float = 0.0, known: bool = True
    ) -> tuple[Array, Flags]:
        """Points (2, k, q) at which contrasts `which` are smallest and largest, and whether the search ended (k,).

        A second search begins beyond the ends, since a set that is not convex may go on there: the farther ends count.
        Without `known` contrasts of one coefficient are left where a point of the set has it beyond its bound: so have
        the ends, which are farther.
        """
        m, contrasts = len(which), np.tile(self.contrasts[which], (2, 1))
        if not self.success:
            return np.zeros((2, m, len(self.middle))), np.zeros(m, bool)
        signs, quantiles = np.repeat([-1.0, 1.0], m), np.tile(np.broadcast_to(z, m), 2)
        own = (contrasts != 0) & (np.count_nonzero(contrasts, axis=1) == 1)[:, None] & (not known)
        case = _Ends(self.reading, contrasts, signs, np.tile(self.box[which], (2, 1)), quantiles, widening, own)
        points, success = case.of(np.arange(2 * m), self.middle)
        going = np.arange(0 if self._convex(np.max(z, initial=0.0) + widening) and success.all() else 2 * m)
        if not known:
            through = success & np.any(outside(self.reading, points, case.box) & own, axis=1)
            going = np.flatnonzero(~np.tile(np.any(through.reshape(2, m), axis=0), 2))
        points, success = case.farther(points, success, going, self.middle + _BEYOND * (points - self.middle)[going])
        if len(rest := going[~success[going]]):
            points, success = case.farther(points, success, rest, case.steps(rest, self.middle))
        points = points.reshape(2, m, -1)
        place = np.einsum("smq,mq->sm", points, self.contrasts[which])
        return points, success.reshape(2, m).all(axis=0) & (place[1] > place[0])

    @property
    def leaning(self) -> Flags:
        """Which contrasts are about coefficients alone whose effects have public bounds: these bound them too."""
        return np.asarray(~np.any((self.contrasts != 0) & self.limits.open, axis=1))

    def assuming(self) -> Search:
        """The search in which the bounds of the coefficients that a contrast is about count as those of others do."""
        return replace(self, box=np.broadcast_to(self.limits.nuisance, self.contrasts.shape))

    def _convex(self, z: float) -> bool:
        """Whether the set is known to be convex, and none of its coefficients at a bound: ends are then the farthest.

        Sets of smaller quantiles are so too.
        """
        return strength_of(self.reading).convex(z) and bool(np.all(self._sure(z)))

    def _sure(self, z: float) -> Flags:
        """The contrasts of which the set is known to be within the box."""
        strength = strength_of(self.reading)
        return np.asarray(np.all(np.abs(self.reading.center + strength.root) + strength.reach(z) < self.box, axis=1))

    def bounded(self, which: NDArray[np.intp], z: float | Array) -> Flags:
        """Whether contrasts `which` are bounded, as `searched` finds it, where it is not known without a search.

        A coefficient that the released numbers bound with all bounds wide is bounded with smaller ones.
        """
        quantiles, own = np.broadcast_to(z, len(which)), self.contrasts != 0
        most = np.max(quantiles, initial=0.0)
        known = (most <= _FIRM) & (np.sum(own, axis=1) == 1) & ~np.any(own & self.limits.drowned, axis=1)
        out: Flags = self.success & (known | self._sure(most))[which]
        ray = ray_of(self.reading, tuple(self.limits.open.tolist()), _DEEP * SURE)
        left = np.flatnonzero(~out & (ray >= _DEEP * quantiles) & self.success)
        if len(left):
            out[left] = self.searched(which[left], quantiles[left])
        return out

    def searched(self, which: NDArray[np.intp], z: float | Array) -> Flags:
        """Whether contrasts `which` are bounded by more than the assumption about the coefficients themselves.

        The coefficients that a contrast is about are inside their wider bounds at both ends, and so are those of which
        nothing is assumed; and where some coefficient is at its bound, the interval is shorter than what the bounds
        alone leave to the contrast: a column that another one makes up for would else be bounded by the bound of that.
        """
        points, success = self.ends(which, z, known=False)
        contrasts = self.contrasts[which]
        beyond = outside(self.reading, points, self.box[which])
        far = np.any(beyond & ((contrasts != 0) | self.limits.open), axis=(0, 2))
        length = np.abs(np.einsum("mq,mq->m", points[1] - points[0], contrasts)) / 2
        vacuous = np.any(beyond, axis=(0, 2)) & (length > _VACUOUS * (np.abs(contrasts) @ self.limits.nuisance))
        return np.asarray(success & ~far & ~vacuous)


@dataclass(frozen=True, eq=False, slots=True)
class _Ends:
    """Ends (k, q) of contrasts (k, q) on these sides (k,), in boxes (k, q), at quantiles (k,)."""

    reading: Reading
    contrasts: Array
    signs: Array
    box: Array
    quantiles: Array
    widening: float
    own: Flags

    def of(self, which: NDArray[np.intp], start: Array, part: float = 1.0, steps: int = STEPS) -> tuple[Array, Flags]:
        """The ends `which` that searches from `start` come to, at this part of the quantile."""
        case = self.reading, self.contrasts[which], self.signs[which]
        return ends(*case, start, self.box[which], part * self.quantiles[which], self.widening, steps, self.own[which])

    def farther(self, points: Array, success: Flags, which: NDArray[np.intp], start: Array) -> tuple[Array, Flags]:
        """The farther of these ends and those `which` that searches from `start` come to."""
        also, reached = self.of(which, start, steps=_AGAIN if np.all(success[which]) else STEPS)
        ahead = self.signs[which] * np.sum((also - points[which]) * self.contrasts[which], axis=1) > 0
        better = reached & (~success[which] | ahead)
        points, success = points.copy(), success.copy()
        points[which[better]], success[which] = also[better], success[which] | reached
        return points, success

    def steps(self, which: NDArray[np.intp], start: Array) -> Array:
        """Where to start at the quantiles: at the ends of smaller ones, one after the other."""
        for part in _PARTS:
            points, reached = self.of(which, start, part)
            start = np.where(reached[:, None], points, start)
        return np.asarray(start)


def two_sided(alpha: float) -> float:
    """The normal quantile of both tails together."""
    return -float(special.ndtri(alpha / 2))


def start_of(reading: Reading, box: Array) -> Array:
    """The generalised least squares solution with the covariance of the center, within the box."""
    zero = np.zeros(len(reading.vector))
    local = statistic(reading, zero[None], box)
    if not finite(local.curvature) or not finite(local.slope):
        return zero
    start = np.asarray(np.linalg.lstsq(local.curvature[0], local.slope[0], rcond=None)[0], np.float64)
    return np.clip(reading.center + start, -box, box) - reading.center if finite(start) else zero


def finite(values: Array) -> bool:
    """Whether all numbers are finite."""
    return bool(np.all(np.isfinite(values)))
