"""Confidence intervals and tests of contrasts of the coefficients, from a reading alone. Proofs: intervals.md."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import special

from dplr._kit.validation import real_number, sentence
from dplr.inference.noise import weights
from dplr.inference.reading import EFFECT_BOUNDS, Reading
from dplr.inference.score import Flags, correlation, ends, kurtosis, lowest, outside, quantile, statistic, variances

Array = NDArray[np.float64]

# What bounds an interval: the released numbers; they do, narrowly; they and the public bound of effects; nothing, and
# there is no interval.
BOUNDED, NARROWLY, DECLARED, UNBOUNDED = "bounded", "bounded narrowly", "bounded by effect_bound", "unbounded"
# An interval is reported where that of 99.9 % is bounded too. Where that of the quantile z + `SURE` is not, noise on
# the matrix may be why it is reported, and counts as the largest of `_CHOICES` (intervals.md, section 3).
_CHOICES = 50
SURE = -float(special.ndtri(0.05 / _CHOICES / 2))
# A p-value and an interval contradict each other where they do by more than this factor of the level: the tails are
# read at two points, the end and the hypothesis, so that they may differ a little.
_APART = 1.5
# The bound of a coefficient that the released numbers bound, over that of others.
_WIDER = 4.0
# Half of an interval that says little more than the bounds do, over what these leave.
_VACUOUS = 0.9
# The second search for an end starts this many half-widths away.
_BEYOND = 3.0
# Halvings of the range in which the quantile lies up to which an interval is bounded.
_HALVINGS = 8
# Where a search does not end, another one goes from end to end of these parts of the quantile.
_PARTS = 0.2, 0.4, 0.6, 0.8


@dataclass(frozen=True, eq=False, slots=True)
class Intervals:
    """Confidence intervals of contrasts (m,), in the order asked for.

    Attributes
    ----------
    estimate : the contrast where the released equation holds exactly: neither ridge nor trimming. nan where the
        interval is unbounded or does not hold it.
    std_error : half the width over the normal quantile: of the interval, so also where the law is not normal. nan where
        it is bounded narrowly: it then grows faster than the quantile.
    low, high : ends; infinite where the released numbers do not bound the contrast.
    noise_share : the part of the estimate's variance that is privacy noise, the mean of both ends; nan where unbounded.
    verdict : `BOUNDED`, `NARROWLY`, `DECLARED` or `UNBOUNDED`.
    bounded_to : the level up to which the released numbers bound the contrast where they do narrowly; else nan.
    level : of each interval, or of all together where `joint`.
    joint : whether all intervals hold together with that probability (Bonferroni).
    weakest : the smallest eigenvalue of the released matrix, in deviations of the noise along its direction.
    direction : (q,) that direction, of length 1.
    """

    estimate: Array
    std_error: Array
    low: Array
    high: Array
    noise_share: Array
    verdict: NDArray[np.str_]
    bounded_to: Array
    level: float
    joint: bool
    weakest: float
    direction: Array


@dataclass(frozen=True, slots=True)
class ScoreTest:
    """Test of several coefficients at once.

    Attributes
    ----------
    statistic : float
        Wald statistic in the form of the score. nan where the released numbers cannot say.
    dof : int
        Degrees of freedom: the number of coefficients.
    p_value : float
        Of the chi-square law with that many degrees of freedom; larger where the interval of one of the coefficients is
        bounded narrowly. nan where the released numbers cannot say.
    verdict : str
        What the test says, in words.

    Privacy
    -------
    Post-processing of one release: no further privacy loss.

    See Also
    --------
    dplr.LinearRegression.wald_test : Make one.
    dplr.compare : Make one of two models.

    Examples
    --------
    >>> import dplr
    >>> dplr.ScoreTest(4.0, 1, 0.0455, "not zero").p_value
    0.0455
    """

    statistic: float
    dof: int
    p_value: float
    verdict: str


@np.errstate(over="ignore", invalid="ignore", divide="ignore")
def intervals(
    reading: Reading, contrasts: Array, level: float = 0.95, joint: bool = False, effect_bound: float | None = None
) -> Intervals:
    """Intervals of contrasts (m, q) of the scaled coefficients, by inversion of the score's statistic.

    Parameters
    ----------
    reading : the released equation.
    contrasts : (m, q) each row a linear combination of coefficients, such as those of user units.
    level : probability of each interval, or with `joint` of all of them together.
    effect_bound : public bound of the effect of every coordinate, instead of that of the estimand.

    Raises
    ------
    ValueError
        A contrast is zero, not finite or of another length; a level or bound is out of range.
    """
    contrasts = _checked_contrasts(reading, contrasts)
    alpha = (1 - check_level(level)) / (max(len(contrasts), 1) if joint else 1)
    search = _Search.of(reading, contrasts, box_of(reading, effect_bound))
    points, verdict, bounded_to = _surely(search, alpha)
    origin = contrasts @ reading.center
    pair = np.sort(reading.factor * (origin + np.einsum("smq,mq->sm", points, contrasts)), axis=0)
    bounded = verdict != UNBOUNDED
    low, high = np.where(bounded, pair[0], -np.inf), np.where(bounded, pair[1], np.inf)
    exact = reading.factor * (origin + contrasts @ _root(reading))
    inside = bounded & (low <= exact) & (exact <= high)  # nan is not inside
    weakest, direction = weakness(reading)
    return Intervals(
        estimate=np.where(inside, exact, np.nan),
        std_error=np.where(verdict == NARROWLY, np.nan, (high - low) / (2 * _quantile(alpha))),
        low=low,
        high=high,
        noise_share=np.where(bounded, _noise_share(search, points), np.nan),
        verdict=verdict,
        bounded_to=bounded_to,
        level=level,
        joint=joint,
        weakest=weakest,
        direction=direction,
    )


@np.errstate(over="ignore", invalid="ignore", divide="ignore")
def consistent(
    reading: Reading, contrasts: Array, values: Array, intervals: Intervals, effect_bound: float | None = None
) -> tuple[Intervals, Array]:
    """Intervals of contrasts (m, q), and the p-value of each having its value (m,); both cannot say where one cannot.

    Two searches look for the same set, the one for its ends and the other for a point of it. Where it goes on far away
    along another weak direction only one of them finds that, and what they say is contradictory (`contradictory`).
    """
    contrasts, values = _checked_contrasts(reading, contrasts), np.asarray(values, np.float64)
    m, box = len(contrasts), box_of(reading, effect_bound)
    alpha = (1 - intervals.level) / (max(m, 1) if intervals.joint else 1)
    p_values = np.full(m, math.nan)
    for k in np.flatnonzero(intervals.verdict != UNBOUNDED).tolist():
        p_values[k] = _tested(reading, contrasts[[k]], values[[k]], box, str(intervals.verdict[k])).p_value
    outside = (values < intervals.low) | (intervals.high < values)
    silent = contradictory(outside, p_values, alpha)
    return replace(
        intervals,
        estimate=np.where(silent, np.nan, intervals.estimate),
        std_error=np.where(silent, np.inf, intervals.std_error),
        low=np.where(silent, -np.inf, intervals.low),
        high=np.where(silent, np.inf, intervals.high),
        noise_share=np.where(silent, np.nan, intervals.noise_share),
        verdict=np.where(silent, UNBOUNDED, intervals.verdict),
        bounded_to=np.where(silent, np.nan, intervals.bounded_to),
    ), np.where(silent, np.nan, p_values)


def contradictory(outside: Flags, p_values: Array, alpha: float) -> Flags:
    """Whether p-values and intervals of level 1 - `alpha`, which a value is `outside` of or not, say opposite things.

    True where there is no p-value.
    """
    return np.where(outside, ~(p_values <= _APART * alpha), ~(p_values >= alpha / _APART))


@np.errstate(over="ignore", invalid="ignore", divide="ignore")
def score_test(reading: Reading, contrasts: Array, values: Array, effect_bound: float | None = None) -> ScoreTest:
    """Test that contrasts (m, q) of the scaled coefficients have these values (m,), all of them at once.

    The statistic is the smallest of all coefficients for which they have; its law is that of chi-square with m degrees
    of freedom, or smaller. Where the interval of one of the contrasts is unbounded, or contradicts the test of that one
    alone, the data cannot say.

    Raises
    ------
    ValueError
        The contrasts are not independent, or `values` are not as many numbers.
    """
    contrasts = _checked_contrasts(reading, contrasts)
    values, dof = np.asarray(values, np.float64), len(contrasts)
    if values.shape != (dof,) or not np.all(np.isfinite(values)):
        raise ValueError(sentence("values", f"must be {dof} finite numbers, one per contrast", values.tolist()))
    if not dof or np.linalg.matrix_rank(contrasts) < dof:
        raise ValueError(sentence("contrasts", "must be one or more independent rows", contrasts.tolist()))
    alone, _ = consistent(
        reading, contrasts, values, intervals(reading, contrasts, 0.95, False, effect_bound), effect_bound
    )
    if np.any(alone.verdict == UNBOUNDED):
        return ScoreTest(math.nan, dof, math.nan, UNBOUNDED)
    verdict = next((word for word in (DECLARED, NARROWLY) if word in alone.verdict), BOUNDED)
    return _tested(reading, contrasts, values, box_of(reading, effect_bound), verdict)


def _tested(reading: Reading, contrasts: Array, values: Array, bounds: Box, verdict: str) -> ScoreTest:
    """The test of contrasts whose intervals have this verdict, the weakest of them."""
    dof, box = len(contrasts), bounds.of(np.any(contrasts, axis=0))
    value, phi = _least(reading, box, contrasts, values / reading.factor - contrasts @ reading.center)
    if not math.isfinite(value):
        return ScoreTest(math.nan, dof, math.nan, UNBOUNDED)
    local = statistic(reading, phi[None], box)
    tails = float(kurtosis(reading, local.weights, phi[None])[0])
    p_value = _p_value(value, dof, tails)
    if verdict == NARROWLY:
        p_value = _of_a_choice(p_value, float(correlation(reading, local.weights, phi[None])[0]))
    return ScoreTest(value, dof, p_value, verdict)


def _least(reading: Reading, box: Array, contrasts: Array, goal: Array) -> tuple[float, Array]:
    """The smallest statistic where contrasts of phi are `goal`, and where it is; nan where no search ends.

    One search begins at the nearest point in the metric of the statistic, the other at the shortest one.
    """
    zero = np.zeros(len(reading.vector))
    middle, _ = lowest(reading, box, _start(reading, box))
    curvature = statistic(reading, middle[None], box).curvature[0]
    value, point = math.nan, zero
    across = np.linalg.pinv(curvature) @ contrasts.T if _finite(curvature) else contrasts.T
    for way in (across, contrasts.T):
        step = np.linalg.lstsq(contrasts @ way, goal - contrasts @ middle, rcond=None)[0]
        phi, success = lowest(reading, box, middle + way @ step, contrasts)
        least = float(statistic(reading, phi[None], box).value[0])
        if success and math.isfinite(least) and not value <= least:
            value, point = max(0.0, least), phi
    return value, point


def weakness(reading: Reading) -> tuple[float, Array]:
    """Smallest eigenvalue of the matrix over the deviation of the noise along its eigenvector, and that vector."""
    if not _finite(reading.matrix):
        return math.nan, np.full(len(reading.vector), np.nan)
    eigenvalues, vectors = np.linalg.eigh(reading.matrix)
    direction = np.asarray(vectors[:, 0])
    parts = np.triu(reading.cells * weights(reading.tied, direction, direction) ** 2)
    deviation = math.sqrt(float(np.sum(parts)))
    value = float(eigenvalues[0])
    return (value / deviation if deviation else math.copysign(math.inf, value)), direction


@dataclass(frozen=True, eq=False, slots=True)
class _Search:
    """The search for the ends of contrasts (m, q): from `middle`, where the statistic is lowest, within boxes (m, q)."""

    reading: Reading
    contrasts: Array
    box: Array
    nuisance: Array
    middle: Array
    success: bool

    @classmethod
    def of(cls, reading: Reading, contrasts: Array, box: Box) -> _Search:
        """The search of all of these contrasts."""
        middle, success = lowest(reading, box.own, _start(reading, box.own))
        if success:
            middle, success = lowest(reading, box.nuisance, middle)
        return cls(reading, contrasts, box.of(contrasts), box.nuisance, middle, success and not reading.far)

    def ends(self, which: NDArray[np.intp], z: float | Array, widening: float = 0.0) -> tuple[Array, Flags]:
        """Points (2, k, q) at which contrasts `which` are smallest and largest, and whether the search ended (k,).

        A second search begins beyond the ends, since a set that is not convex may go on there: the farther ends count.
        """
        m, contrasts = len(which), np.tile(self.contrasts[which], (2, 1))
        signs, quantiles = np.repeat([-1.0, 1.0], m), np.tile(np.broadcast_to(z, m), 2)
        case = _Ends(self.reading, contrasts, signs, np.tile(self.box[which], (2, 1)), quantiles, widening)
        points, success = case.of(np.arange(2 * m), self.middle)
        points, success = case.farther(points, success, np.arange(2 * m), self.middle + _BEYOND * (points - self.middle))
        if len(rest := np.flatnonzero(~success)):
            points, success = case.farther(points, success, rest, case.steps(rest, self.middle))
        points = points.reshape(2, m, -1)
        place = np.einsum("smq,mq->sm", points, self.contrasts[which])
        return points, success.reshape(2, m).all(axis=0) & (place[1] > place[0]) & self.success

    def bounded(self, which: NDArray[np.intp], z: float | Array) -> Flags:
        """Whether contrasts `which` are bounded by more than the assumption about the coefficients themselves.

        The coefficients that a contrast is about are inside their wider bounds at both ends; and where some coefficient
        is at its bound, the interval is shorter than what the bounds alone leave to the contrast: a column that
        another one makes up for would else be bounded by the bound of that.
        """
        points, success = self.ends(which, z)
        contrasts = self.contrasts[which]
        beyond = outside(self.reading, points, self.box[which])
        own = np.any(beyond & (contrasts != 0), axis=(0, 2))
        length = np.abs(np.einsum("mq,mq->m", points[1] - points[0], contrasts)) / 2
        vacuous = np.any(beyond, axis=(0, 2)) & (length > _VACUOUS * (np.abs(contrasts) @ self.nuisance))
        return np.asarray(success & ~own & ~vacuous)


@dataclass(frozen=True, eq=False, slots=True)
class _Ends:
    """Ends (k, q) of contrasts (k, q) on these sides (k,), in boxes (k, q), at quantiles (k,)."""

    reading: Reading
    contrasts: Array
    signs: Array
    box: Array
    quantiles: Array
    widening: float

    def of(self, which: NDArray[np.intp], start: Array, part: float = 1.0) -> tuple[Array, Flags]:
        """The ends `which` that searches from `start` come to, at this part of the quantile."""
        case = self.reading, self.contrasts[which], self.signs[which]
        return ends(*case, start, self.box[which], part * self.quantiles[which], self.widening)

    def farther(self, points: Array, success: Flags, which: NDArray[np.intp], start: Array) -> tuple[Array, Flags]:
        """The farther of these ends and those `which` that searches from `start` come to."""
        also, reached = self.of(which, start)
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


def _surely(search: _Search, alpha: float) -> tuple[Array, NDArray[np.str_], Array]:
    """The ends of what is bounded at the quantile `SURE` too: by more than noise that made a direction strong.

    What is not bounded at `SURE` beyond the level's quantile has wider ends, and the level up to which it is bounded.
    """
    z, m = _quantile(alpha), len(search.contrasts)
    every = np.arange(m)
    reported = every[search.bounded(every, max(z, SURE))]
    firm = reported[search.bounded(reported, z + SURE)] if len(reported) else reported
    narrow = np.setdiff1d(reported, firm)
    verdict = np.full(m, UNBOUNDED, dtype=f"<U{len(DECLARED)}")
    points, bounded_to = np.zeros((2, *search.box.shape)), np.full(m, np.nan)
    for places, widening, word in ((firm, 0.0, BOUNDED), (narrow, _widening(alpha), NARROWLY)):
        if len(places):
            points[:, places], success = search.ends(places, z, widening)
            verdict[places] = np.where(success, word, UNBOUNDED)
    dependent = np.any(outside(search.reading, points, search.box), axis=(0, 2))
    verdict[dependent & (verdict == BOUNDED)] = DECLARED
    if len(narrow):
        bounded_to[narrow] = _bounded_to(search, narrow, max(z, SURE), z + SURE)
    return points, verdict, bounded_to


def _bounded_to(search: _Search, which: NDArray[np.intp], low: float, high: float) -> Array:
    """The level up to which contrasts are bounded that are at the quantile `low`, and not at `high`."""
    least, most = np.full(len(which), low), np.full(len(which), high)
    for _ in range(_HALVINGS):
        middle = (least + most) / 2
        there = search.bounded(which, middle)
        least, most = np.where(there, middle, least), np.where(there, most, middle)
    return np.asarray(1 - 2 * special.ndtr(-least))


def _widening(alpha: float) -> float:
    """By how much the quantile grows where all of the error is noise that may have let an interval through."""
    return _quantile(alpha / _CHOICES) - _quantile(alpha)


def _quantile(alpha: float) -> float:
    """The normal quantile of both tails together."""
    return -float(special.ndtri(alpha / 2))


def _start(reading: Reading, box: Array) -> Array:
    """The generalised least squares solution with the covariance of the center, within the box."""
    zero = np.zeros(len(reading.vector))
    local = statistic(reading, zero[None], box)
    if not _finite(local.curvature) or not _finite(local.slope):
        return zero
    start = np.asarray(np.linalg.lstsq(local.curvature[0], local.slope[0], rcond=None)[0], np.float64)
    return np.clip(reading.center + start, -box, box) - reading.center if _finite(start) else zero


def _root(reading: Reading) -> Array:
    """Where the equation holds exactly; nan where the matrix has no inverse."""
    try:
        return np.asarray(np.linalg.solve(reading.matrix, reading.vector))
    except np.linalg.LinAlgError:
        return np.full(len(reading.vector), np.nan)


def _noise_share(search: _Search, points: Array) -> Array:
    """Part of the variance of the score, in the direction that moves each end, that is noise."""
    local = statistic(search.reading, points, search.box)
    total, private = variances(search.reading, local.weights, points)
    share = np.divide(private, total, out=np.full_like(total, np.nan), where=total > 0)
    return np.asarray(share.mean(axis=0))


def _p_value(value: float, dof: int, tails: float) -> float:
    """Tail of chi-square, read at the normal quantile that the Laplace correction takes to the statistic's."""
    alpha = float(special.chdtrc(dof, value))
    if not tails or alpha <= 0:
        return alpha
    goal = -float(special.ndtri(alpha / 2))
    low, high = 0.0, goal
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if float(quantile(middle, np.asarray(tails))) < goal else (low, middle)
    return 2 * float(special.ndtr(-low))


def _of_a_choice(p_value: float, correlation: float) -> float:
    """The level whose interval, widened, ends where one that is not widened ends at the level `p_value`."""
    if not p_value:
        return 0.0
    goal, low, high = _quantile(p_value), p_value, 1.0
    for _ in range(60):
        middle = math.sqrt(low * high)
        reached = _quantile(middle) + correlation * _widening(middle) <= goal
        low, high = (low, middle) if reached else (middle, high)
    return high


def _finite(values: Array) -> bool:
    return bool(np.all(np.isfinite(values)))


class Box(NamedTuple):
    """Bounds (q,) of coefficients that a contrast is not about, and the wider ones of those that it is about."""

    nuisance: Array
    own: Array

    def of(self, contrasts: Array) -> Array:
        """The bounds for contrasts (..., q)."""
        return np.where(contrasts != 0, self.own, self.nuisance)


@lru_cache(maxsize=16)
def box_of(reading: Reading, effect_bound: float | None = None) -> Box:
    """The bounds of the scaled coefficients: those of the effect bound, or that of the estimand.

    The own coefficients of a contrast, and those that the released numbers bound, have `_WIDER` times these: what is
    told by the data does not depend on the assumption, and a wider bound only makes intervals longer.
    """
    value = EFFECT_BOUNDS[reading.estimand] if effect_bound is None else real_number("effect_bound", effect_bound)
    if not 0 < value < math.inf:
        raise ValueError(sentence("effect_bound", "must be positive and finite", value))
    box = np.asarray(value / reading.sizes)
    own, size = _WIDER * box, len(box)
    search = _Search.of(reading, np.eye(size), Box(own, own))
    told = search.bounded(np.arange(size), _quantile(0.05) + SURE)
    return Box(np.where(told, own, box), own)


def check_level(level: float) -> float:
    """The level of an interval, checked."""
    value = real_number("level", level)
    if not 0.5 <= value < 1:
        raise ValueError(sentence("level", "must be at least 0.5 and below 1", value, "0.95 is usual."))
    return value


def _checked_contrasts(reading: Reading, contrasts: Array) -> Array:
    contrasts, q = np.asarray(contrasts, np.float64), len(reading.vector)
    if contrasts.ndim != 2 or contrasts.shape[1] != q:
        raise ValueError(sentence("contrasts", f"must have shape (m, {q}), one row per contrast", contrasts.shape))
    if not _finite(contrasts) or not np.all(np.any(contrasts, axis=1)):
        raise ValueError(sentence("contrasts", "must be finite, and no row may be zero", contrasts.tolist()))
    return contrasts
