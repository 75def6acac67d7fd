"""Confidence intervals and tests of contrasts of the coefficients, from a reading alone. Proofs: intervals.md."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from itertools import product

import numpy as np
from numpy.typing import NDArray
from scipy import special

from dplr._kit.validation import real_number, sentence
from dplr.inference.noise import weights
from dplr.inference.reading import Reading
from dplr.inference.score import (
    Flags,
    correlation,
    kurtosis,
    lowest,
    lowest_of,
    normal,
    outside,
    statistic,
    variances,
    weights_of,
)
from dplr.inference.search import (
    CHOICES,
    SURE,
    VISIBLE,
    Bounds,
    Box,
    Search,
    box_of,
    finite,
    start_of,
    two_sided,
    widest,
)

Array = NDArray[np.float64]

# What bounds an interval: the released numbers; they do, narrowly; they and the public bound of effects; both,
# narrowly; nothing, and there is no interval.
BOUNDED, NARROWLY, DECLARED, UNBOUNDED = "bounded", "bounded narrowly", "bounded by effect_bound", "unbounded"
BARELY = "bounded narrowly by effect_bound"
# Those that a public bound has a part in, and those that noise may be why there is an interval of.
ASSUMED, NARROW = (DECLARED, BARELY), (NARROWLY, BARELY)
# The released numbers bound some of the coefficients of a test, or a combination of them, and not all.
PARTLY = "bounded in part"
# A p-value and an interval contradict each other where they do by more than this factor of the level: the tails are
# read at two points, the end and the hypothesis, so that they may differ a little.
_APART = 1.5
# Of the intervals that a test reads the verdicts of which is not one of a table.
TEST_LEVEL = 0.95
# Coefficients that noise drowns from both bounds of which a search begins, at most.
_MOST_SIDES = 8
# Of these, so many are at both bounds in all combinations.
_TOGETHER = 3
# Halvings of the range in which the quantile lies up to which an interval is bounded.
_HALVINGS = 8


@dataclass(frozen=True, eq=False, slots=True)
class Intervals:
    """Confidence intervals of contrasts (m,), in the order asked for.

    Attributes
    ----------
    estimate : the contrast where the released equation holds exactly: neither ridge nor trimming. nan where the
        interval is unbounded or does not hold it.
    std_error : half the width over the normal quantile: of the interval, so also where the law is not normal. nan where
        it is bounded narrowly, as it then grows faster than the quantile, and where an end is a public bound.
    low, high : ends; infinite where the released numbers do not bound the contrast.
    noise_share : the part of the estimate's variance that is privacy noise, the mean of both ends; nan where unbounded.
    verdict : `BOUNDED`, `NARROWLY`, `DECLARED`, `BARELY` or `UNBOUNDED`.
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
        Of the chi-square law with that many degrees of freedom; larger where all intervals of the coefficients are
        bounded narrowly, and in a test of several with one degree more for each other column that noise drowns. nan
        where the released numbers cannot say.
    verdict : str
        What bounds the coefficients: ``"bounded"``, ``"bounded narrowly"``, ``"bounded by effect_bound"``,
        ``"bounded narrowly by effect_bound"``, ``"bounded in part"`` where noise drowns some of them, and
        ``"unbounded"`` where the numbers cannot say.

    Privacy
    -------
    Post-processing of one release: no further privacy loss.

    See Also
    --------
    dplr.LinearRegression.wald_test : Make one.

    Examples
    --------
    >>> import dplr
    >>> dplr.results.ScoreTest(4.0, 1, 0.0455, "not zero").p_value
    0.0455
    """

    statistic: float
    dof: int
    p_value: float
    verdict: str


@np.errstate(over="ignore", invalid="ignore", divide="ignore")
def intervals(
    reading: Reading, contrasts: Array, level: float = 0.95, joint: bool = False, bounds: Bounds = None
) -> Intervals:
    """Intervals of contrasts (m, q) of the scaled coefficients, by inversion of the score's statistic.

    Parameters
    ----------
    reading : the released equation.
    contrasts : (m, q) each row a linear combination of coefficients, such as those of user units.
    level : probability of each interval, or with `joint` of all of them together.
    bounds : public bounds of the effects of coordinates, instead of that of the estimand; infinite for none.

    Raises
    ------
    ValueError
        A contrast is zero, not finite or of another length; a level or bound is out of range.
    """
    ends, search, alpha = _ends(reading, contrasts, level, joint, bounds)
    return replace(ends, bounded_to=_bounded_to(search, np.flatnonzero(ends.verdict == NARROWLY), alpha))


def ends_alone(reading: Reading, contrasts: Array, level: float, joint: bool, bounds: Bounds) -> Intervals:
    """The intervals without the levels up to which narrow ones are bounded, whose search takes longest."""
    return _ends(reading, contrasts, level, joint, bounds)[0]


@np.errstate(over="ignore", invalid="ignore", divide="ignore")
def _ends(
    reading: Reading, contrasts: Array, level: float, joint: bool, bounds: Bounds
) -> tuple[Intervals, Search, float]:
    """The intervals, the search for them, and the share of samples that each may miss."""
    contrasts = _checked_contrasts(reading, contrasts)
    alpha = (1 - check_level(level)) / (max(len(contrasts), 1) if joint else 1)
    search = Search.of(reading, contrasts, box_of(reading, bounds))
    points, verdict = _surely(search, alpha)
    origin = contrasts @ reading.center
    pair = np.sort(reading.factor * (origin + np.einsum("smq,mq->sm", points, contrasts)), axis=0)
    least, most = np.outer([-1, 1], abs(reading.factor) * np.abs(contrasts) @ search.limits.nuisance)
    within = np.isin(verdict, ASSUMED) & (pair[0] < most) & (least < pair[1])  # ends stand where the bound is
    pair = np.where(within, np.clip(pair, least, most), pair)
    bounded = verdict != UNBOUNDED
    low, high = np.where(bounded, pair[0], -np.inf), np.where(bounded, pair[1], np.inf)
    exact = reading.factor * (origin + contrasts @ _root(reading))
    inside = bounded & (low <= exact) & (exact <= high)  # nan is not inside
    weakest, direction = weakness(reading)
    cut = np.any(outside(reading, points, search.limits.nuisance) & (contrasts != 0), axis=(0, 2))
    ends = Intervals(
        estimate=np.where(inside, exact, np.nan),
        std_error=np.where(
            (cut & (verdict == DECLARED)) | np.isin(verdict, NARROW), np.nan, (high - low) / (2 * two_sided(alpha))
        ),
        low=low,
        high=high,
        noise_share=_noise_share(search, points, bounded),
        verdict=verdict,
        bounded_to=np.full(len(contrasts), np.nan),
        level=level,
        joint=joint,
        weakest=weakest,
        direction=direction,
    )
    return ends, search, alpha


@np.errstate(over="ignore", invalid="ignore", divide="ignore")
def consistent(
    reading: Reading, contrasts: Array, values: Array, intervals: Intervals, bounds: Bounds = None
) -> tuple[Intervals, Array]:
    """Intervals of contrasts (m, q), and the p-value of each having its value (m,); both cannot say where one cannot.

    Two searches look for the same set, the one for its ends and the other for a point of it. Where it goes on far away
    along another weak direction only one of them finds that, and what they say is contradictory (`contradictory`).
    """
    contrasts, values = _checked_contrasts(reading, contrasts), np.asarray(values, np.float64)
    m, box = len(contrasts), box_of(reading, bounds)
    alpha = (1 - intervals.level) / (max(m, 1) if intervals.joint else 1)
    p_values, said = np.full(m, math.nan), np.flatnonzero(intervals.verdict != UNBOUNDED)
    if len(said):
        alone = contrasts[said, None]
        _, p_values[said] = _tested(reading, alone, values[said, None], box, intervals.verdict[said])
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
def score_test(
    reading: Reading, contrasts: Array, values: Array, bounds: Bounds = None,
    known: NDArray[np.str_] | None = None, level: float = TEST_LEVEL,
) -> ScoreTest:  # fmt: skip
    """Test that contrasts (m, q) of the scaled coefficients have these values (m,), all of them at once.

    The statistic is the smallest of all coefficients for which they have. A test of several has a p-value where the
    released numbers bound one of the contrasts, or the combination of them that they know best: where noise drowns the
    others too, these have known values under the hypothesis (intervals.md, lemma 9). A contrast whose interval
    contradicts its own test counts as one that is not bounded. `known` are the verdicts of the contrasts in the table
    of this level that the test stands in, where it stands in one.

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
    verdicts = _verdicts(reading, contrasts, values, bounds) if known is None else known
    if dof > 1 and not np.any((verdicts == BOUNDED) | (verdicts == DECLARED)):
        best = ends_alone(reading, _clearest(reading, contrasts, bounds), level, False, bounds)
        verdicts = np.append(verdicts, best.verdict)
    verdict = _together(verdicts)
    if verdict == UNBOUNDED:
        return ScoreTest(math.nan, dof, math.nan, UNBOUNDED)
    box, found = box_of(reading, bounds), np.array([verdict])
    (value,), (p_value,) = _tested(reading, contrasts[None], values[None], box, found)
    return ScoreTest(float(value), dof, float(p_value), UNBOUNDED if math.isnan(value) else verdict)


def _verdicts(reading: Reading, contrasts: Array, values: Array, bounds: Bounds) -> NDArray[np.str_]:
    """The verdict of the interval of 95 % of each contrast, if its own test does not contradict it."""
    alone = ends_alone(reading, contrasts, TEST_LEVEL, False, bounds)
    return consistent(reading, contrasts, values, alone, bounds)[0].verdict


def _together(verdicts: NDArray[np.str_]) -> str:
    """The verdict of a test from those of its contrasts: noise may let it through where all bounded ones barely are."""
    firm = (verdicts == BOUNDED) | (verdicts == DECLARED)
    if not np.any(firm):
        return next((word for word in (BARELY, NARROWLY) if word in verdicts), UNBOUNDED)
    if not np.all(firm):
        return PARTLY
    return DECLARED if DECLARED in verdicts else BOUNDED


def _clearest(reading: Reading, contrasts: Array, bounds: Bounds) -> Array:
    """The combination (1, q) of contrasts that the released numbers know best beside what the bounds leave to them."""
    box = widest(reading, bounds)[1]
    middle, _ = lowest(reading, box, start_of(reading, box))
    curvature = statistic(reading, middle[None], box).curvature[0]
    scaled = contrasts / (np.abs(contrasts) @ box)[:, None]
    spread = scaled @ np.linalg.pinv(curvature) @ scaled.T if finite(curvature) else np.eye(len(contrasts))
    return np.asarray(np.linalg.eigh(spread)[1][:, :1].T @ scaled)


def _degrees(contrasts: Array, bounds: Box) -> int:
    """Degrees of freedom of a test: a test of several counts the coefficients that the released numbers do not bound.

    A test of one has those of its interval.
    """
    if len(contrasts) == 1:
        return 1
    drowned = np.eye(contrasts.shape[1])[bounds.drowned]
    return int(np.linalg.matrix_rank(np.concatenate([contrasts / np.abs(contrasts).max(axis=1)[:, None], drowned])))


def _tested(
    reading: Reading, contrasts: Array, values: Array, bounds: Box, verdicts: NDArray[np.str_]
) -> tuple[Array, Array]:
    """Statistics and p-values of tests (k,) of contrasts (k, m, q) with these verdicts; nan where no search ends.

    A test of one contrast is in the box of its interval.
    """
    goals = values / reading.factor - contrasts @ reading.center
    boxes = bounds.of(np.any(contrasts, axis=1))
    within = np.isin(verdicts, ASSUMED) & (contrasts.shape[1] == 1)
    boxes = np.where(within[:, None], bounds.nuisance, boxes)
    least, phi = _least(reading, bounds, boxes, contrasts, goals)
    excluded = np.abs(values / reading.factor)[:, 0] >= np.abs(contrasts[:, 0]) @ bounds.nuisance
    least[within & excluded] = np.nan  # by what is assumed: the released numbers have no part in it
    x = weights_of(reading, phi)
    dof = np.array([_degrees(fixed, bounds) for fixed in contrasts])
    p_values = _p_values(least, dof, kurtosis(reading, x, phi))
    shares = correlation(reading, x, phi)
    for k in np.flatnonzero(np.isin(verdicts, NARROW) & np.isfinite(least)).tolist():
        p_values[k] = _of_a_choice(float(p_values[k]), float(shares[k]))
    return least, p_values


def _least(reading: Reading, bounds: Box, boxes: Array, contrasts: Array, goals: Array) -> tuple[Array, Array]:
    """The smallest statistics (k,) in boxes (k, q) where contrasts (k, m, q) of phi are `goals` (k, m), and where.

    nan where no search ends. One search begins at the nearest point in the metric of the statistic, another at the
    shortest one, and others at both bounds of the coefficients that the released numbers do not bound, as there may be
    a minimum on either side.
    """
    boxes, kinds = np.unique(boxes, axis=0, return_inverse=True)
    kinds = kinds.reshape(-1)
    middles, _, _ = lowest_of(reading, boxes, np.stack([start_of(reading, box) for box in boxes]))
    metrics = [
        np.linalg.pinv(curvature) if finite(curvature) else np.eye(len(curvature))
        for curvature in statistic(reading, middles, boxes).curvature
    ]
    starts = []
    for fixed, goal, kind in zip(contrasts, goals, kinds.tolist(), strict=True):
        sides = _sides(reading, bounds, fixed, middles[kind])
        nearest = _onto(fixed, goal, metrics[kind] @ fixed.T, middles[kind])
        starts.append(np.stack([nearest, *(_onto(fixed, goal, fixed.T, side) for side in sides)]))
    owners = np.repeat(np.arange(len(contrasts)), [len(of_one) for of_one in starts])
    points, success, found = lowest_of(reading, boxes[kinds[owners]], np.concatenate(starts), contrasts[owners], owners)
    least, where = np.full(len(contrasts), np.nan), np.zeros(middles[kinds].shape)
    found[~success] = np.nan
    for k in range(len(contrasts)):
        mine = np.flatnonzero((owners == k) & ~np.isnan(found))
        if len(mine):
            first = mine[np.argmin(found[mine])]
            least[k], where[k] = max(0.0, found[first]), points[first]
    return least, where


def _onto(contrasts: Array, goal: Array, way: Array, start: Array) -> Array:
    """The point to which a step of these ways (q, m) leads from `start`, where the contrasts are `goal`."""
    if len(goal) == 1:
        return np.asarray(start + way[:, 0] * ((goal - contrasts @ start) / (contrasts @ way)[0]))
    return np.asarray(start + way @ np.linalg.lstsq(contrasts @ way, goal - contrasts @ start, rcond=None)[0])


def _sides(reading: Reading, bounds: Box, contrasts: Array, middle: Array) -> list[Array]:
    """`middle`, and points with coefficients that the released numbers do not bound, and no contrast has, at bounds.

    The widest ones are at every combination of both bounds and the middle, the others one after the other.
    """
    drowned = np.flatnonzero(bounds.drowned & ~np.any(contrasts, axis=0))
    drowned = drowned[np.argsort(-bounds.nuisance[drowned], kind="stable")][:_MOST_SIDES]
    together, alone = drowned[:_TOGETHER], drowned[_TOGETHER:]
    signs = [*product((0.0, -1.0, 1.0), repeat=len(together))]
    rows = [np.append(sign, np.zeros(len(alone))) for sign in signs]
    rows += [side * row for row in np.eye(len(drowned))[len(together) :] for side in (-1.0, 1.0)]
    points = []
    for row in rows:
        point, moved = middle.copy(), drowned[row != 0]
        point[moved] = row[row != 0] * bounds.nuisance[moved] - reading.center[moved]
        points.append(point)
    return points


def weakness(reading: Reading) -> tuple[float, Array]:
    """Smallest eigenvalue of the matrix over the deviation of the noise along its eigenvector, and that vector."""
    if not finite(reading.matrix):
        return math.nan, np.full(len(reading.vector), np.nan)
    eigenvalues, vectors = np.linalg.eigh(reading.matrix)
    direction = np.asarray(vectors[:, 0])
    parts = np.triu(reading.cells * weights(reading.tied, direction, direction) ** 2)
    deviation = math.sqrt(float(np.sum(parts)))
    value = float(eigenvalues[0])
    return (value / deviation if deviation else math.copysign(math.inf, value)), direction


def _surely(search: Search, alpha: float) -> tuple[Array, NDArray[np.str_]]:
    """The ends of what is bounded at the quantile `SURE` too: by more than noise that made a direction strong.

    What is not bounded at `SURE` beyond the level's quantile has wider ends. Where a bound of an effect is assumed of
    what a contrast is about, its interval ends there at the latest, and `VISIBLE` is asked in place of `SURE`.
    """
    z, wider = two_sided(alpha), _widening(alpha)
    points = np.zeros((2, *search.box.shape))
    verdict = np.full(len(search.contrasts), UNBOUNDED, dtype=f"<U{len(BARELY)}")

    def tell(case: Search, places: NDArray[np.intp], word: str, widening: float = 0.0) -> None:
        if len(places):
            points[:, places], success = case.ends(places, z, widening)
            beyond = outside(case.reading, points[:, places], case.box[places])
            success &= ~np.any(beyond & case.limits.open, axis=(0, 2))
            verdict[places] = np.where(success, word, UNBOUNDED)
            if word == BOUNDED:
                verdict[places[success & np.any(beyond, axis=(0, 2))]] = DECLARED

    every = np.arange(len(verdict))
    reported = every[search.bounded(every, max(z, SURE))]
    firm = reported[search.bounded(reported, z + SURE)] if len(reported) else reported
    tell(search, firm, BOUNDED)
    tell(search, np.setdiff1d(reported, firm), NARROWLY, wider)
    nearer = np.any(search.box > search.limits.nuisance, axis=1)
    rest = np.flatnonzero(search.leaning & (verdict != BOUNDED) & ((verdict != DECLARED) | nearer))
    if len(rest):
        reported = rest[search.bounded(rest, VISIBLE)]
        firm = reported[search.bounded(reported, z + VISIBLE)] if len(reported) else reported
        barely = np.setdiff1d(reported[verdict[reported] == UNBOUNDED], firm)
        tell(search.assuming(), firm, DECLARED)
        tell(search.assuming(), barely, BARELY, wider)
    return points, verdict


def _bounded_to(search: Search, which: NDArray[np.intp], alpha: float) -> Array:
    """The level up to which contrasts `which` are bounded, that are at `SURE` and not beyond it; nan of all others."""
    levels, z = np.full(len(search.contrasts), np.nan), two_sided(alpha)
    if not len(which):
        return levels
    least, most = np.full(len(which), max(z, SURE)), np.full(len(which), z + SURE)
    for _ in range(_HALVINGS // 2):  # two at once: the middle, and those of both halves
        middle = (least + most) / 2
        quantiles = np.stack([(least + middle) / 2, middle, (middle + most) / 2])
        below, there, above = search.bounded(np.tile(which, 3), quantiles.ravel()).reshape(3, -1)
        inner, bounded = np.where(there, quantiles[2], quantiles[0]), np.where(there, above, below)
        least, most = np.where(there, middle, least), np.where(there, most, middle)
        least, most = np.where(bounded, inner, least), np.where(bounded, most, inner)
    levels[which] = 1 - 2 * special.ndtr(-least)
    return levels


def _widening(alpha: float) -> float:
    """By how much the quantile grows where all of the error is noise that may have let an interval through."""
    return two_sided(alpha / CHOICES) - two_sided(alpha)


def _root(reading: Reading) -> Array:
    """Where the equation holds exactly; nan where the matrix has no inverse."""
    try:
        return np.asarray(np.linalg.solve(reading.matrix, reading.vector))
    except np.linalg.LinAlgError:
        return np.full(len(reading.vector), np.nan)


def _noise_share(search: Search, points: Array, bounded: Flags) -> Array:
    """Part of the variance of the score, in the direction that moves each end, that is noise: of bounded contrasts."""
    out, ends = np.full(len(bounded), np.nan), np.concatenate(points[:, bounded])
    total, private = variances(search.reading, weights_of(search.reading, ends), ends)
    share = np.divide(private, total, out=np.full_like(total, np.nan), where=total > 0)
    out[bounded] = share.reshape(2, -1).mean(axis=0)
    return out


def _p_values(values: Array, dof: Array, tails: Array) -> Array:
    """Tails of chi-square, read at the normal quantiles that the Laplace correction takes to the statistics'."""
    alpha = np.asarray(special.chdtrc(dof, values))
    read = normal(-special.ndtri(alpha / 2), tails)
    return np.where((tails > 0) & (alpha > 0), 2 * special.ndtr(-read), alpha)


def _of_a_choice(p_value: float, correlation: float) -> float:
    """The level whose interval, widened, ends where one that is not widened ends at the level `p_value`."""
    if not p_value:
        return 0.0
    goal, low, high = two_sided(p_value), p_value, 1.0
    for _ in range(60):
        middle = math.sqrt(low * high)
        reached = two_sided(middle) + correlation * _widening(middle) <= goal
        low, high = (low, middle) if reached else (middle, high)
    return high


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
    if not finite(contrasts) or not np.all(np.any(contrasts, axis=1)):
        raise ValueError(sentence("contrasts", "must be finite, and no row may be zero", contrasts.tolist()))
    return contrasts
