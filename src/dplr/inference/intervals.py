"""Confidence intervals and tests of contrasts of the coefficients, from a reading alone. Proofs: intervals.md."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy import special

from dplr._kit.validation import real_number, sentence
from dplr.inference.noise import weights
from dplr.inference.reading import Reading
from dplr.inference.score import Flags, correlation, ends, kurtosis, lowest, quantile, statistic, variances

Array = NDArray[np.float64]

# What bounds an interval: the released numbers; they do, narrowly; they and the declared `coef_bound`; nothing, and
# there is no interval.
BOUNDED, NARROWLY, DECLARED, UNBOUNDED = "bounded", "bounded narrowly", "bounded by coef_bound", "unbounded"
# The statistic may exceed its quantile by this much where the coefficients are as far from 0 as the reach.
_SLACK = 0.25
# An end that moves by more than this part of the width when the reach is four times as large depends on the reach.
_FARTHER, _MOVED = 4.0, 0.2
# An interval is reported where that of 99.9 % is bounded too. Where that of the quantile z + `SURE` is not, noise on
# the matrix may be why it is reported, and counts as the largest of `_CHOICES` (intervals.md, section 3).
_CHOICES = 50
SURE = -float(special.ndtri(0.05 / _CHOICES / 2))
# A p-value and an interval contradict each other where they do by more than this factor of the level: the tails are
# read at two points, the end and the hypothesis, so that they may differ a little.
_APART = 1.5
# The second search for an end starts this many half-widths away.
_BEYOND = 3.0


@dataclass(frozen=True, eq=False, slots=True)
class Intervals:
    """Confidence intervals of contrasts (m,), in the order asked for.

    Attributes
    ----------
    estimate : the contrast where the released equation holds exactly: neither ridge nor trimming. nan where the
        interval is unbounded or does not hold it.
    std_error : half the width over the normal quantile: of the interval, so also where the law is not normal.
    low, high : ends; infinite where the released numbers do not bound the contrast.
    noise_share : the part of the estimate's variance that is privacy noise, the mean of both ends; nan where unbounded.
    verdict : `BOUNDED`, `NARROWLY`, `DECLARED` or `UNBOUNDED`.
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
    reading: Reading, contrasts: Array, level: float = 0.95, joint: bool = False, coef_bound: float | None = None
) -> Intervals:
    """Intervals of contrasts (m, q) of the scaled coefficients, by inversion of the score's statistic.

    Parameters
    ----------
    reading : the released equation.
    contrasts : (m, q) each row a linear combination of coefficients, such as those of user units.
    level : probability of each interval, or with `joint` of all of them together.
    coef_bound : largest norm of the scaled coefficients that the caller vouches for, instead of the reading's reach.
        What the released numbers alone do not bound is then bounded, and marked.

    Raises
    ------
    ValueError
        A contrast is zero, not finite or of another length; a level or bound is out of range.
    """
    contrasts = _checked_contrasts(reading, contrasts)
    alpha = (1 - check_level(level)) / (max(len(contrasts), 1) if joint else 1)
    z = _quantile(alpha)
    points, verdict = _surely(reading, contrasts, alpha, _reach(reading, coef_bound), coef_bound is not None)
    origin = contrasts @ reading.center
    pair = np.sort(reading.factor * (origin + np.einsum("smq,mq->sm", points, contrasts)), axis=0)
    bounded = verdict != UNBOUNDED
    low, high = np.where(bounded, pair[0], -np.inf), np.where(bounded, pair[1], np.inf)
    exact = reading.factor * (origin + contrasts @ _root(reading))
    inside = bounded & (low <= exact) & (exact <= high)  # nan is not inside
    weakest, direction = weakness(reading)
    return Intervals(
        estimate=np.where(inside, exact, np.nan),
        std_error=(high - low) / (2 * z),
        low=low,
        high=high,
        noise_share=np.where(bounded, _noise_share(reading, points), np.nan),
        verdict=verdict,
        level=level,
        joint=joint,
        weakest=weakest,
        direction=direction,
    )


@np.errstate(over="ignore", invalid="ignore", divide="ignore")
def consistent(
    reading: Reading, contrasts: Array, values: Array, intervals: Intervals, coef_bound: float | None = None
) -> tuple[Intervals, Array]:
    """Intervals of contrasts (m, q), and the p-value of each having its value (m,); both cannot say where one cannot.

    Two searches look for the same set, the one for its ends and the other for a point of it. Where it goes on far away
    along another weak direction only one of them finds that, and what they say is contradictory (`contradictory`).
    """
    contrasts, values = _checked_contrasts(reading, contrasts), np.asarray(values, np.float64)
    m, reach = len(contrasts), _reach(reading, coef_bound)
    alpha = (1 - intervals.level) / (max(m, 1) if intervals.joint else 1)
    p_values = np.full(m, math.nan)
    for k in np.flatnonzero(intervals.verdict != UNBOUNDED).tolist():
        p_values[k] = _tested(reading, contrasts[[k]], values[[k]], reach, str(intervals.verdict[k])).p_value
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
    ), np.where(silent, np.nan, p_values)


def contradictory(outside: Flags, p_values: Array, alpha: float) -> Flags:
    """Whether p-values and intervals of level 1 - `alpha`, which a value is `outside` of or not, say opposite things.

    True where there is no p-value.
    """
    return np.where(outside, ~(p_values <= _APART * alpha), ~(p_values >= alpha / _APART))


@np.errstate(over="ignore", invalid="ignore", divide="ignore")
def score_test(reading: Reading, contrasts: Array, values: Array, coef_bound: float | None = None) -> ScoreTest:
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
        reading, contrasts, values, intervals(reading, contrasts, 0.95, False, coef_bound), coef_bound
    )
    if np.any(alone.verdict == UNBOUNDED):
        return ScoreTest(math.nan, dof, math.nan, UNBOUNDED)
    verdict = next((word for word in (DECLARED, NARROWLY) if word in alone.verdict), BOUNDED)
    return _tested(reading, contrasts, values, _reach(reading, coef_bound), verdict)


def _tested(reading: Reading, contrasts: Array, values: Array, reach: float, verdict: str) -> ScoreTest:
    """The test of contrasts whose intervals have this verdict, the weakest of them."""
    dof, near, declared = len(contrasts), _SLACK / reach**2, verdict == DECLARED
    # Any point with these values will do to start from.
    goal = values / reading.factor - contrasts @ reading.center
    start = np.asarray(np.linalg.lstsq(contrasts, goal, rcond=None)[0], np.float64)
    phi, success, penalty = start, False, near
    for penalty in (near,) if declared else (near / _FARTHER**2, near):  # the nearer where the farther is not found
        phi, success = lowest(reading, penalty, start, contrasts)
        if success:
            break
    if success and not declared:
        free, free_success = lowest(reading, 0.0, phi, contrasts)
        phi, penalty = (free, 0.0) if free_success else (phi, penalty)
    local = statistic(reading, phi[None], penalty)
    value = max(0.0, float(local.value[0]) - (_SLACK if penalty else 0.0))
    if not success or not math.isfinite(value):
        return ScoreTest(math.nan, dof, math.nan, UNBOUNDED)
    tails = float(kurtosis(reading, local.weights, phi[None])[0])
    p_value = _p_value(value, dof, tails)
    if verdict == NARROWLY:
        p_value = _of_a_choice(p_value, float(correlation(reading, local.weights, phi[None])[0]))
    return ScoreTest(value, dof, p_value, verdict)


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


def _surely(
    reading: Reading, contrasts: Array, alpha: float, reach: float, declared: bool
) -> tuple[Array, NDArray[np.str_]]:
    """The ends of what is bounded at the quantile `SURE` too: by more than noise that made a direction strong.

    What is not bounded at `SURE` beyond the level's quantile has wider ends. With a declared reach every interval is
    reported, so that none is chosen; what it alone bounds at `SURE` is marked (intervals.md, section 3).
    """
    z = _quantile(alpha)
    points, verdict = _both_ends(reading, contrasts, max(z, SURE), reach, declared)
    firm = reported = np.flatnonzero(verdict != UNBOUNDED)
    if not declared and len(reported):
        _, at_firm = _both_ends(reading, contrasts[reported], z + SURE, reach, declared)
        firm = reported[at_firm != UNBOUNDED]
    narrow = np.setdiff1d(reported, firm)
    verdict[narrow] = NARROWLY
    for places, widening in ((firm, 0.0), (narrow, _widening(alpha))):
        if len(places):
            points[:, places], at_end = _both_ends(reading, contrasts[places], z, reach, declared, widening)
            verdict[places] = np.where(at_end == UNBOUNDED, UNBOUNDED, verdict[places])
    return points, verdict


def _widening(alpha: float) -> float:
    """By how much the quantile grows where all of the error is noise that may have let an interval through."""
    return _quantile(alpha / _CHOICES) - _quantile(alpha)


def _quantile(alpha: float) -> float:
    """The normal quantile of both tails together."""
    return -float(special.ndtri(alpha / 2))


def _both_ends(
    reading: Reading, contrasts: Array, z: float, reach: float, declared: bool, widening: float = 0.0
) -> tuple[Array, NDArray[np.str_]]:
    """Points (2, m, q) at which each contrast is smallest and largest, and what bounds it."""
    m, q = contrasts.shape
    twice, signs = np.tile(contrasts, (2, 1)), np.repeat([-1.0, 1.0], m)
    near = _SLACK / reach**2
    middle, success = lowest(reading, near, _start(reading, near))
    success = success and not reading.far
    points, reached = ends(reading, twice, signs, middle, near, _SLACK, z, widening)
    if declared:
        points, reached = _from_outside(reading, twice, signs, middle, points, reached, near, z, widening)
    place = _places(points, twice)
    width = place[1] - place[0]
    sound = (reached.reshape(2, m).all(axis=0) & (width > 0)) if success else np.zeros(m, bool)
    verdict = np.full(m, UNBOUNDED, dtype=f"<U{len(DECLARED)}")
    verdict[sound] = DECLARED if declared else UNBOUNDED
    rest = np.flatnonzero(sound)
    for penalty in (near / _FARTHER**2, 0.0):
        both = np.concatenate([rest, rest + m])
        case = reading, twice[both], signs[both]
        wider, there = ends(*case, points[both], penalty, _SLACK if penalty else 0.0, z, widening)
        if penalty:
            wider, there = _from_outside(*case, middle, wider, there, penalty, z, widening)
        old, new = place[:, rest], _places(wider, twice[both])
        there = there.reshape(2, len(rest)).all(axis=0) & (new[1] > new[0])
        still = there & np.all(np.abs(new - old) <= _MOVED * width[rest], axis=0)
        if penalty:
            verdict[rest[still]] = BOUNDED
        else:  # where there are no ends without a reach, those of the larger reach are kept
            verdict[rest[there & ~still]] = DECLARED if declared else UNBOUNDED
        both_still = np.concatenate([still, still])
        points[both[both_still]] = wider[both_still]
        rest = rest[still]
    return points.reshape(2, m, q), verdict


def _from_outside(
    reading: Reading, contrasts: Array, signs: Array, middle: Array, points: Array, reached: Flags, penalty: float,
    z: float, widening: float,
) -> tuple[Array, Flags]:  # fmt: skip
    """Search again from beyond the ends, since a set that is not convex may go on there: the farther ends."""
    start = middle + _BEYOND * (points - middle)
    outer, also = ends(reading, contrasts, signs, start, penalty, _SLACK, z, widening)
    farther = also & (~reached | (signs * np.sum((outer - points) * contrasts, axis=1) > 0))
    return np.where(farther[:, None], outer, points), reached | also


def _places(points: Array, contrasts: Array) -> Array:
    """Where the ends (2 m, q) of contrasts (2 m, q) are: (2, m), the lower ones first."""
    return np.asarray(np.sum(points * contrasts, axis=1).reshape(2, -1))


def _start(reading: Reading, penalty: float) -> Array:
    """The penalised generalised least squares solution with the covariance of the center."""
    local = statistic(reading, np.zeros((1, len(reading.vector))), penalty)
    zero = np.zeros(len(reading.vector))
    if not _finite(local.curvature) or not _finite(local.slope):
        return zero
    start = np.asarray(np.linalg.lstsq(local.curvature[0], local.slope[0], rcond=None)[0], np.float64)
    return start if _finite(start) else zero


def _root(reading: Reading) -> Array:
    """Where the equation holds exactly; nan where the matrix has no inverse."""
    try:
        return np.asarray(np.linalg.solve(reading.matrix, reading.vector))
    except np.linalg.LinAlgError:
        return np.full(len(reading.vector), np.nan)


def _noise_share(reading: Reading, points: Array) -> Array:
    """Part of the variance of the score, in the direction that moves each end, that is noise."""
    local = statistic(reading, points)
    total, private = variances(reading, local.weights, points)
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


def _reach(reading: Reading, coef_bound: float | None) -> float:
    if coef_bound is None:
        return reading.reach
    value = real_number("coef_bound", coef_bound)
    if not 0 < value < math.inf:
        raise ValueError(sentence("coef_bound", "must be positive and finite", value))
    return value / abs(reading.factor)


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
