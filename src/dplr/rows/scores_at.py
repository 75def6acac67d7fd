"""Exact sums of scores at a point: with the Hessian, with the middle of a sandwich, of squares, and of persons."""

from __future__ import annotations

import functools
import math
import threading
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from dplr._core import add_moments
from dplr._kit.validation import sentence
from dplr.bounds.scaling import Prep
from dplr.problem.geometry import GRID
from dplr.problem.losses import Loss, huber_residual
from dplr.rows.exact import (
    Block,
    ClippedGradient,
    ExactQuery,
    Faults,
    Integers,
    Moments,
    Partial,
    Total,
    Vector,
    clipped_rows,
    exponent_above,
    normalised,
    row_map,
)
from dplr.rows.weights import BITS, RowWeights, Tally
from dplr.rows.weights import multipliers as roots_of

# Multipliers of the Gram kernel in 1.0, as a power of two.
MULTIPLIER_BITS = 30
# Rows whose residuals are held at once.
_ROWS = 2**14
_FINE = 40

# Of squares: the largest norm of a direction, and the most directions that the kernel sums along.
LONGEST, MOST_DIRECTIONS = 2.0**12, 4096

# Of persons: bytes of all scores, public, so that a refusal says nothing but how many persons there are; bits of a
# residual times a weight beyond those of the residual, so that sums lose next to nothing by truncation; and persons
# whose squares add up to less than 2^53, exactly, in float64.
MOST_BYTES = 2**31
_FINER = 15
_PERSONS = 2**12


class ScorePartial(Partial):
    """One thread's accumulators for a Hessian, and for a score."""

    def __init__(self, query: ScoreMoments) -> None:
        Partial.__init__(self, query)
        self.scratch: Vector = Moments(query.d, query.intercept).partial().scratch
        self.query: ScoreMoments = query
        self.score: Partial = query.gradient.partial()

    def total(self) -> Total:
        up, curved = self.score.exponent - Moments.exponent, self.query.curvature_exponent
        assert up >= 0, "a clip is at least 1"
        hi, lo = self.hi << curved, self.lo << curved
        hi[:-1, -1], lo[:-1, -1] = -self.score.hi << up, -self.score.lo << up  # in place of products with y
        hi[-1, -1] = lo[-1, -1] = 0
        return normalised(hi, lo, self.exponent, self.faults)


@dataclass(frozen=True, slots=True)
class ScoreMoments(ExactQuery):
    """Upper triangle of H = sum p (1 - p) v v', and in the last column U = sum p y v. Exact.

    v = (x, intercept if any), y = -1 or 1, and p = sigma(-y v.w) truncated to a multiple of 2^-19 or 2^-20, one number
    for both sums. The point w must be on the grid of `on_coef_grid`. The row of H is v times a multiplier, the whole
    part of the root of p (1 - p) in units of 2^-30, truncated towards zero: its norm never exceeds that of the root
    times v. `clip`, a bound of the norm of a gradient, clips nothing. A row of weight a adds a times that, at most: the
    residual p y is multiplied by a and truncated, the multiplier of H by the root of a.

    Of other losses -p y and p (1 - p) are the slope of the loss and its derivative (`SoftHuberMoments`, `RateMoments`).

    Sensitivity: sensitivity.score_*.
    """

    loss: Loss
    d: int
    intercept: bool
    clip: float

    counts_outside = True
    most_rows = _ROWS
    exponent: ClassVar[int] = Moments.exponent
    curvature_exponent = 0

    @property
    def shape(self) -> tuple[int, int]:
        size = self.d + self.intercept + 1
        return (size, size)

    @property
    def gradient(self) -> ClippedGradient:
        """The sum of gradients, which is -U, in units of its own."""
        return ClippedGradient(self.loss, self.d, self.intercept, self.clip)

    def partial(self) -> ScorePartial:
        return ScorePartial(self)

    def add_block(self, block: Block, coef: Vector, out: ScorePartial) -> None:
        (X, y, prep, weights), query = block, self.gradient
        residuals = query.residuals(clipped_rows(*block), coef, len(X), out.score)
        multipliers = self.multipliers(self.sizes(X, prep, coef, residuals), int(query.per_unit))
        if weights is not None:
            multipliers = multipliers * self.factors(weights) >> MULTIPLIER_BITS
        add_moments(X, y, row_map(prep), out.scratch, out.hi, out.lo, out.seen, out.outside, multipliers)
        out.rows += len(X)

    def sizes(self, X: NDArray[Any], prep: Prep, coef: Vector, residuals: Integers) -> Integers:
        """The whole numbers that tell a row's multiplier: the sizes of the residuals."""
        return np.abs(residuals)

    def multipliers(self, sizes: Integers, one: int) -> Integers:
        """The multiplier of each row, from the sizes of its residuals in units of 1 / one."""
        return multipliers_of(sizes, one)

    def factors(self, weights: Vector) -> Integers:
        """The factors on the multipliers of rows with these weights, in units of 2^-30: at most their roots."""
        return roots_of(weights)


def multipliers_of(sizes: Integers, one: int) -> Integers:
    """The whole part of 2^30 sqrt(p (1 - p)), exactly, for p = sizes / one, `one` a power of two from 2^15 to 2^20."""
    bits, sizes = one.bit_length() - 1, np.minimum(sizes, one)
    return whole_roots(sizes * (one - sizes) << (2 * (MULTIPLIER_BITS - bits)))  # of at most 2^58


def whole_roots(squares: Integers) -> Integers:
    """The whole parts of the roots, exactly, of numbers from 0 to 2^60."""
    roots = np.sqrt(squares.astype(np.float64)).astype(np.int64)  # off by one at most
    roots -= roots * roots > squares
    roots += (roots + 1) ** 2 <= squares
    return roots


@dataclass(frozen=True, slots=True)
class SoftHuberMoments(ScoreMoments):
    """Upper triangle of H = sum (1 - s) v v', and in the last column U = -sum u v, u the slope of the loss. Exact.

    s = |u| / C, C the largest slope. |u| is truncated to whole units, one number for both sums, and C to the units
    below it: s is then no less than the truncated slope over C, and the multiplier of v is the whole part of the root
    of 1 - s in units of 2^-30.

    Sensitivity: sensitivity.huber_score_*.
    """

    def multipliers(self, sizes: Integers, one: int) -> Integers:
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

    def sizes(self, X: NDArray[Any], prep: Prep, coef: Vector, residuals: Integers) -> Integers:
        # Rates in units of residuals, rounded down: the slopes at a target of -1, and what their least is above it.
        query, rows = self.gradient, clipped_rows(X, np.full(len(X), -1.0), _scaled_target(prep))
        slopes = query.residuals(rows, coef, len(X))
        assert self.loss.knots is not None
        least = math.floor((-float(self.loss.knots.values[0]) - 1) * query.per_unit)
        return np.maximum(slopes - (slopes < 0) + least, 0)

    def multipliers(self, sizes: Integers, one: int) -> Integers:
        # The whole part of 2^30 times the root of h over a power of two.
        bits = int(math.log2(self.gradient.per_unit)) + self.curvature_exponent
        return whole_roots(np.minimum(sizes, 1 << bits) << (2 * MULTIPLIER_BITS - bits))


@functools.lru_cache(maxsize=8)
def _scaled_target(prep: Prep) -> Prep:
    """The map of rows beside targets that are scaled already."""
    parts = tuple(part.copy() for part in (prep.shift, prep.scale, prep.low, prep.high))
    for part, entry in zip(parts, (0.0, GRID, -GRID, GRID), strict=True):
        part[-1] = entry
    shift, scale, low, high = parts
    return replace(prep, shift=shift, scale=scale, low=low, high=high)


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

    def add_block(self, block: Block, coef: Vector, out: ScorePartial) -> None:
        ScoreMoments.add_block(self, _numbered(self.loss, block), coef, out)

    def multipliers(self, sizes: Integers, one: int) -> Integers:
        # Sizes of the residuals over L, in units of 2^-30.
        multipliers: Integers = sizes * np.int64(2**MULTIPLIER_BITS // self.one)
        return multipliers

    def factors(self, weights: Vector) -> Integers:
        # The weights in units of 2^-30: they multiply residuals, which are squared.
        return (weights * 2.0**MULTIPLIER_BITS).astype(np.int64)


def _numbered(loss: Loss, block: Block) -> Block:
    """The block for a loss of numbers: labels become -1 and 1, an unknown one 0. Other targets stay as they are."""
    y, prep = block.y, block.prep
    if prep.labels is None or loss.classification:
        return block
    negative, positive = prep.labels
    numbers = np.where(y == positive, 1.0, np.where(y == negative, -1.0, 0.0))
    return block._replace(y=numbers, prep=replace(prep, labels=None))


def meat_moments(d: int, intercept: bool, row_norm: float, largest: int = 1) -> MeatMoments:
    """The query for rows v of at most this norm, and residuals that count as at most `largest`, a power of two."""
    return MeatMoments(huber_residual(float(largest)), d, intercept, row_norm * largest)


@dataclass(frozen=True, eq=False, slots=True)
class ScoreSquares(ExactQuery):
    """Sum of (p u_k.v)^2 along each direction u_k, k = 1 to m, where no row's squares add up to more than 1. Exact.

    v = (x, intercept if any) and p = sigma(-y v.w) at the point w, as in `ScoreMoments`. The squares of a row that add
    up to s > 1 are divided by s. The point must be on the grid of `on_coef_grid`; `clip` is a bound of the norm of v.
    The p of a row of weight a is multiplied by a, and truncated.

    Sensitivity in L1: 1 for each record that is added or removed (objective.md, lemma 10).

    Attributes
    ----------
    directions : (m, q) whole numbers, in units of 2^-20, q = d + intercept: see `directions`.
    """

    loss: Loss
    d: int
    intercept: bool
    clip: float
    directions: Integers

    most_rows = _ROWS
    exponent: ClassVar[int] = Moments.exponent

    @property
    def shape(self) -> tuple[int]:
        return (len(self.directions),)

    def add_block(self, block: Block, coef: Vector, out: Partial) -> None:
        gradient = ClippedGradient(self.loss, self.d, self.intercept, self.clip)
        rows, n, bits = clipped_rows(*block[:3]), len(block.X), int(gradient.per_unit).bit_length() - 1
        residuals = gradient.residuals(rows, coef, n)
        if block.weights is not None:
            residuals = (np.sign(residuals) * np.floor(np.abs(residuals) * block.weights)).astype(np.int64)
        rows.add_squares(residuals, bits, self.directions, 0, n, out.hi, out.lo)
        out.count(rows, n)


def directions(vectors: Vector) -> Integers:
    """Vectors (m, q) as `ScoreSquares` takes them, none longer than `LONGEST`."""
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    inside = vectors * np.minimum(1.0, np.divide(LONGEST, lengths, out=np.ones_like(lengths), where=lengths > 0))
    return np.ascontiguousarray(np.trunc(inside * GRID).astype(np.int64))


class PersonScores(ExactQuery):
    """The scores of persons, of one pass. Its total has no cell: it counts faults, and `squares` has the sum.

    Rows of one person may lie anywhere in a table or a stream, so there is a whole number for each person and
    coefficient until all rows were read.

    A score is s = sum a u v / L over a person's rows: v, the residual u and its largest size L are those of the query,
    and the weights a of a person add up to at most 1. Every s is truncated towards zero to a multiple of 2^-20, so it
    is no longer than a row may be (functional.md, lemma 18).

    Sensitivity of the sum of s s': sensitivity.meat_* in L2, sensitivity.clusters_change in L1.
    """

    by_person = True
    most_rows = _ROWS
    exponent: int = Moments.exponent
    shape: tuple[int, ...] = (0,)

    def __init__(self, query: MeatMoments, persons: int) -> None:
        self.query: MeatMoments = query
        self.d: int = query.d
        self._sums = np.zeros((persons, query.d + query.intercept), np.int64)
        self._tally = Tally(persons)
        self._lock = threading.Lock()  # parts of a stream may be read at once

    def add_block(self, block: Block, coef: Vector, out: Partial) -> None:
        weights: RowWeights = block.weights
        rows, n = clipped_rows(*_numbered(self.query.loss, block)[:3]), len(block.X)
        residuals = self.query.gradient.residuals(rows, coef, n)
        shares = (weights.of_rows * 2.0**BITS).astype(np.int64)
        factors = np.sign(residuals) * (np.abs(residuals) * shares >> (BITS - _FINER))
        self._tally.add(weights)
        with self._lock:
            rows.add_to_persons(factors, np.ascontiguousarray(weights.persons), 0, n, self._sums)
        out.count(rows, n)

    def squares(self, faults: Faults) -> Total:
        """The upper triangle of the sum of s s' over persons, exactly, with the faults of the pass.

        Raises RuntimeError where the rows of a person weigh more than 1: they are not those that were counted.
        """
        self._tally.check()
        size = self._sums.shape[1]
        hi, lo = np.zeros((2, size, size), np.int64)
        bits = self.query.one.bit_length() - 1 + _FINER
        for start in range(0, len(self._sums), _PERSONS):
            sums = self._sums[start : start + _PERSONS]
            scores = (np.sign(sums) * (np.abs(sums) >> bits)).astype(np.float64)
            products = (scores.T @ scores).astype(np.int64)
            hi += products >> 32
            lo += products & (2**32 - 1)
        return normalised(np.triu(hi), np.triu(lo), self.exponent, faults)


def check_memory(persons: int, coefficients: int) -> None:
    """Refuse more scores of persons than fit into `MOST_BYTES`."""
    most = MOST_BYTES // (8 * coefficients)
    if persons > most:
        rule = f"must tell at most {most} persons apart for intervals of {coefficients} coefficients"
        remedy = "Use fewer columns, or one random row of each person, without person=."
        raise ValueError(sentence("person", rule, persons, remedy))
