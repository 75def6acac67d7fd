"""Public cells of scores and outcomes: where a row is counted, as a function of that row and of public facts alone.

Numbers of a row are whole multiples of 2^-20, bounded here whatever the row holds. A row whose score or outcome is
missing has the cell -1 and counts nowhere.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from dplr._kit.validation import real_number, sentence
from dplr.privacy.sensitivity import (
    errors_add_remove,
    errors_replace_one,
    outcomes_add_remove,
    outcomes_replace_one,
)

FIXED_BITS = 20
UNIT = 2.0**-FIXED_BITS
# Scores count in log-loss, and have cells of their own, between these probabilities.
LIMIT = 0.001
_LEAST_CELLS, _MOST_CELLS = 8, 64
_ERROR_CELLS = 8  # of either sign

CELLS = "cells"
# What each sum of rests of losses takes beside the cells: it is bounded by a fraction of a cell, so that little is
# enough; of several classes the cells say less of the losses.
_SHARE, _SHARE_OF_CLASSES = 0.04, 0.1
# Weights of the sums of errors, of_outcome for the least noise of R^2 (bench/studies/evaluation.py).
_ERROR_WEIGHTS = {
    CELLS: 0.06, "square": 1.0, "absolute": 0.2, "error": 0.15, "fourth": 0.1, "target_square": 1.0, "target": 0.1,
}  # fmt: skip
_COUNT_WEIGHT = 0.1

Matrix = NDArray[np.float64]
Ints = NDArray[np.int64]
Blocks = dict[str, tuple[int, float]]  # name -> how many numbers, and their weight in the norm


def cells_for(records: float, eps: float) -> int:
    """An even number of cells of scores: noise of all cells together grows like its root, ties shrink with it."""
    return int(min(max(2 * round(min(records * eps, 1e9) ** (1 / 3)), _LEAST_CELLS), _MOST_CELLS))


def log_odds_edges(cells: int, low: float = LIMIT) -> list[float]:
    """Probabilities between cells that are even in log odds, from `low` to 1 - LIMIT, without these ends."""
    start, end = math.log(low / (1 - low)), math.log((1 - LIMIT) / LIMIT)
    inner = [start + (end - start) * step / cells for step in range(1, cells)]
    return [0.5 if abs(u) < 1e-9 else 1 / (1 + math.exp(-u)) for u in inner]


@dataclass(frozen=True, slots=True)
class Losses:
    """Losses of rows as functions of their cell, and bounds of the rest.

    Attributes
    ----------
    names : of the losses.
    middles : (cells, k) middle of the range of each loss in each cell.
    halves : (cells, k) half of the length of that range.
    bounds : (k,) what the rest of a row is clipped to, multiples of 2^-20.
    """

    names: tuple[str, ...]
    middles: Matrix
    halves: Matrix

    @property
    def bounds(self) -> Matrix:
        """The largest half-range, rounded up."""
        return np.asarray((np.ceil(self.halves.max(axis=0) / UNIT) + 1) * UNIT)

    def blocks(self, cells: int, share: float) -> Blocks:
        """The blocks of counts and of rests, each of which may move by `share`."""
        rests = {name: (1, share / float(most)) for name, most in zip(self.names, self.bounds, strict=True)}
        return {CELLS: (cells, 1.0), **rests}

    def sensitivity(self, share: float, replaced: bool) -> float:
        """The weighted L1 norm of the largest change (evaluation.md, lemma 1)."""
        shares = len(self.names) * share * (1 + 2.0**-40)
        return outcomes_replace_one(shares) if replaced else outcomes_add_remove(shares)

    def rest(self, losses: Matrix, cells: Ints) -> Ints:
        """(n, k) what the losses of rows have beyond the middle of their cell, in units of 2^-20; 0 without a cell."""
        most = self.bounds / UNIT
        rest = np.rint((losses - self.middles[cells]) / UNIT)
        rest[cells < 0] = 0.0
        return np.asarray(np.clip(np.nan_to_num(rest), -most, most), np.int64)


@dataclass(frozen=True)
class ScoreGrid:
    """Cells of the probability of the second of two labels, by outcome: cell 2 c + y.

    Attributes
    ----------
    edges : probabilities between cells, rising, with 1/2 among them.
    """

    edges: tuple[float, ...]

    @classmethod
    def of(cls, records: float, eps: float, thresholds: Sequence[float] = ()) -> ScoreGrid:
        """Cells for a public number of records, and edges where a user will ask for a decision."""
        extra = [real_number("thresholds", value) for value in thresholds]
        for value in extra:
            if not 0 < value < 1:
                raise ValueError(sentence("thresholds", "must hold probabilities between 0 and 1", value))
        return cls(tuple(sorted({*log_odds_edges(cells_for(records, eps)), *extra})))

    @property
    def size(self) -> int:
        """Number of cells."""
        return 2 * (len(self.edges) + 1)

    @cached_property
    def ends(self) -> Matrix:
        """(c, 2) lowest and highest score of each cell."""
        marks = np.array([0.0, *self.edges, 1.0])
        return np.stack([marks[:-1], marks[1:]], axis=1)

    @cached_property
    def log_odds(self) -> Matrix:
        """(c, 2) ends of each cell in log odds, within the limits."""
        clipped = np.clip(self.ends, LIMIT, 1 - LIMIT)
        return np.log(clipped / (1 - clipped))

    @cached_property
    def losses(self) -> Losses:
        """Brier score and log-loss."""
        clipped = np.clip(self.ends, LIMIT, 1 - LIMIT)
        by_outcome = [np.stack([(self.ends - y) ** 2, -np.log(clipped if y else 1 - clipped)], axis=-1) for y in (0, 1)]
        ranges = np.stack(by_outcome, axis=1).reshape(self.size, *by_outcome[0].shape[1:])  # (cells, end, loss)
        return Losses(("brier", "log_loss"), ranges.mean(axis=1), np.abs(np.diff(ranges, axis=1))[:, 0] / 2)

    def blocks(self, counted: bool) -> Blocks:
        """Name -> how many numbers, and their weight; the counts tell how many rows there are, public or not."""
        return self.losses.blocks(self.size, _SHARE)

    def sensitivity(self, replaced: bool, counted: bool) -> float:
        """The L1 norm, with the weights of the blocks, of the largest change."""
        return self.losses.sensitivity(_SHARE, replaced)

    def place(self, scores: Matrix, codes: Ints) -> tuple[Ints, Ints]:
        """(n,) cells and (n, 2) rest of the losses, from (n,) scores and codes 0, 1; any other code is no outcome."""
        is_known = ~np.isnan(scores) & ((codes == 0) | (codes == 1))
        score, y = np.clip(np.nan_to_num(scores, nan=0.5), 0.0, 1.0), np.where(is_known, codes, 0).astype(np.int64)
        cells = np.where(is_known, 2 * np.searchsorted(self.edges, score, "right") + y, -1)
        clipped = np.clip(score, LIMIT, 1 - LIMIT)
        losses = np.stack([(score - y) ** 2, -np.log(np.where(y == 1, clipped, 1 - clipped))], axis=1)
        return cells, self.losses.rest(losses, cells)

    @property
    def facts(self) -> list[str]:
        """Sentences for the statement."""
        shown = ", ".join(f"{edge:.4g}" for edge in self.edges)
        return [
            f"edges between cells of the score: {shown}",
            f"log-loss is of scores clipped to [{LIMIT}, {1 - LIMIT}]",
        ]


@dataclass(frozen=True)
class ClassGrid:
    """Cells of decision by outcome of K labels, and of the probability of the decision: (b K + decision) K + outcome.

    Attributes
    ----------
    classes : K.
    edges : between cells of the largest probability; empty for one cell.
    probabilities : whether a model gives them, and losses are released; else it gives decisions alone.
    """

    classes: int
    edges: tuple[float, ...]
    probabilities: bool

    @classmethod
    def of(cls, classes: int, probabilities: bool, records: float, eps: float) -> ClassGrid:
        """Cells for a public number of records."""
        cells = max(2, round(2 * cells_for(records, eps) / classes**2)) if probabilities else 1
        return cls(classes, tuple(log_odds_edges(cells, 1 / classes)), probabilities)

    @property
    def size(self) -> int:
        """Number of cells."""
        return (len(self.edges) + 1) * self.classes**2

    @cached_property
    def losses(self) -> Losses:
        """Brier score, the sum of squares over all labels, and log-loss; none of decisions alone."""
        if not self.probabilities:
            return Losses((), np.zeros((self.size, 0)), np.zeros((self.size, 0)))
        k = self.classes
        marks = [1 / k, *self.edges, 1.0]
        ranges = np.empty((len(marks) - 1, k, k, 2, 2))  # cell, decision, outcome, end, loss
        is_right = np.eye(k, dtype=bool)
        for cell, (low, high) in enumerate(itertools.pairwise(marks)):
            most = min(high, 1 - low)  # probability of a label that was not decided for
            right = [[(1 - high) ** 2 * k / (k - 1), -math.log(high)], [2 * (1 - low) ** 2, -math.log(max(low, LIMIT))]]
            wrong = [[low**2 + (1 - most) ** 2, -math.log(max(most, LIMIT))],
                     [1 + max(p * p + (1 - p) ** 2 for p in (low, high)), -math.log(LIMIT)]]  # fmt: skip
            ranges[cell] = np.where(is_right[:, :, None, None], right, wrong)
        flat = ranges.reshape(self.size, 2, 2)
        return Losses(("brier", "log_loss"), flat.mean(axis=1), np.abs(np.diff(flat, axis=1))[:, 0] / 2)

    def blocks(self, counted: bool) -> Blocks:
        """Name -> how many numbers, and their weight; the counts tell how many rows there are, public or not."""
        return self.losses.blocks(self.size, _SHARE_OF_CLASSES)

    def sensitivity(self, replaced: bool, counted: bool) -> float:
        """The L1 norm, with the weights of the blocks, of the largest change."""
        return self.losses.sensitivity(_SHARE_OF_CLASSES, replaced)

    def place(self, scores: Matrix, codes: Ints) -> tuple[Ints, Ints]:
        """(n,) cells and rest of the losses, from (n, K) probabilities, or (n,) decisions 0 to K - 1."""
        k = self.classes
        is_known = (codes >= 0) & (codes < k)
        y = np.where(is_known, codes, 0).astype(np.int64)
        if not self.probabilities:
            is_known &= (scores >= 0) & (scores < k)
            decisions = np.where(is_known, scores, 0).astype(np.int64)
            return np.where(is_known, decisions * k + y, -1), np.zeros((len(y), 0), np.int64)
        is_known &= ~np.isnan(scores).any(axis=1)
        p = np.clip(np.nan_to_num(scores), 0.0, 1.0)
        decisions, rows = p.argmax(axis=1), np.arange(len(p))
        band = np.searchsorted(self.edges, p[rows, decisions], "right")
        cells = np.where(is_known, (band * k + decisions) * k + y, -1)
        of_outcome = p[rows, y]
        brier = (p * p).sum(axis=1) - of_outcome**2 + (1 - of_outcome) ** 2
        losses = np.stack([brier, -np.log(np.maximum(of_outcome, LIMIT))], axis=1)
        return cells, self.losses.rest(losses, cells)

    @property
    def facts(self) -> list[str]:
        """Sentences for the statement."""
        if not self.probabilities:
            return ["the model's decisions are counted, and no probabilities"]
        shown = ", ".join(f"{edge:.4g}" for edge in self.edges)
        return [f"edges between cells of the largest probability: {shown}",
                f"log-loss is of probabilities of at least {LIMIT}"]  # fmt: skip


def fixed_targets(values: Matrix, low: float, high: float) -> Ints:
    """Values within bounds as whole multiples of 2^-20 of the range, above its lower end; the lower end for no number.

    The quotient is bounded after its rounding, so that it lies in the range for any bounds.
    """
    one = 1 << FIXED_BITS
    clipped = np.clip(np.nan_to_num(values, nan=low, posinf=high, neginf=low), low, high)
    return np.asarray(np.clip(np.rint((clipped - low) / (high - low) * one), 0, one), np.int64)


ERRORS = ("square", "absolute", "error", "fourth", "target_square", "target")


@dataclass(frozen=True)
class ErrorGrid:
    """Cells of errors, target minus prediction, both clipped to the declared bounds of the target.

    Attributes
    ----------
    low, high : the bounds of the target.
    edges : between cells, as fractions of high - low from -1 to 1; finer near 0.
    """

    low: float
    high: float
    edges: tuple[float, ...]

    @classmethod
    def of(cls, low: float, high: float) -> ErrorGrid:
        """Cells whose width doubles away from 0."""
        marks = [2.0**-step for step in range(_ERROR_CELLS - 2, 0, -1)]
        return cls(low, high, tuple([-mark for mark in reversed(marks)] + [0.0] + marks))

    @property
    def size(self) -> int:
        """Number of cells."""
        return len(self.edges) + 1

    @property
    def width(self) -> float:
        """Length of the range of the target."""
        return self.high - self.low

    def blocks(self, counted: bool) -> Blocks:
        """Name -> how many numbers, and their weight; `counted`: whether the weight of all rows is private."""
        sums: Blocks = {name: (1, _ERROR_WEIGHTS[name]) for name in ERRORS}
        return {CELLS: (self.size, _ERROR_WEIGHTS[CELLS]), **sums, **({"count": (1, _COUNT_WEIGHT)} if counted else {})}

    def sensitivity(self, replaced: bool, counted: bool) -> float:
        """The L1 norm, with the weights of the blocks, of the largest change."""
        weights: Mapping[str, float] = {name: weight for name, (_, weight) in self.blocks(counted).items()}
        return (errors_replace_one if replaced else errors_add_remove)(weights, UNIT)

    def place(self, scores: Matrix, targets: Matrix) -> tuple[Ints, Ints]:
        """(n,) cells and (n, 6) numbers in the order of `ERRORS`, of the error and of the target minus its middle."""
        is_known = ~(np.isnan(scores) | np.isnan(targets))
        one = 1 << FIXED_BITS
        y, guess = (fixed_targets(values, self.low, self.high) for values in (targets, scores))
        error, centred = y - guess, y - one // 2
        square = (error * error) >> FIXED_BITS
        numbers = np.stack([
            square, np.abs(error), error, (square * square) >> FIXED_BITS, (centred * centred) >> FIXED_BITS, centred,
        ], axis=1)  # fmt: skip
        cells = np.searchsorted(np.array(self.edges) * one, error, "right")
        numbers[~is_known] = 0
        return np.where(is_known, cells, -1), numbers

    @property
    def facts(self) -> list[str]:
        """Sentences for the statement."""
        return [f"target and prediction are clipped to [{self.low:g}, {self.high:g}], declared"]
