"""How well scores rank two labels: area under the ROC curve, and average precision, from noisy cells.

Within a cell neither the order of rows nor equal scores are released. Estimates take the order of a calibrated score,
whose log likelihood ratio rises by 1 per unit of log odds; intervals are widened for any slope from 0, which is chance,
to 2, for cells whose rows all have one score, and for any right order in the end cells (evaluation.md, section 4).
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from dplr.evaluation.grids import ScoreGrid
from dplr.evaluation.measures import Measure, Ratio, Sums

Vector = NDArray[np.float64]

_PARTS = 4  # of a cell, for average precision
# The highest cells are counted in the first one where the count from the top is this many deviations of its noise.
_CLEAR = 4.0
# Average precision is not linear in the counts of positives: it needs them, and the interval is drowned above this.
_MOST_NOISE = 0.15


def auc(grid: ScoreGrid, sums: Sums) -> Ratio:
    """The probability that a positive has a higher score than a negative; equal scores count half."""
    counts, sampled = sums.counts.reshape(-1, 2), sums.positive.reshape(-1, 2)
    tilt = np.minimum(np.diff(grid.log_odds, axis=1)[:, 0] / 12, 0.5)
    tilt[[0, -1]] = 0.25  # log odds have no end there: anything from chance to right order
    # A positive in the cell of the row, a negative in that of the column.
    beats = np.tril(np.ones((len(counts),) * 2), -1) + np.diag(0.5 + tilt)
    negatives, positives = counts.sum(axis=0)
    first, second = np.zeros(len(sums.values)), np.zeros(len(sums.values))
    of_cells, of_all = first[: sums.cells].reshape(-1, 2), second[: sums.cells].reshape(-1, 2)
    of_cells[:, 1], of_cells[:, 0] = beats @ counts[:, 0], beats.T @ counts[:, 1]
    of_all[:, 1], of_all[:, 0] = negatives, positives
    pairs = float(sampled[:, 0].sum() * sampled[:, 1].sum())
    slack = float((sampled[:, 0] * sampled[:, 1]) @ tilt) / max(pairs, 1.0)
    a, b = first[: sums.cells], second[: sums.cells]
    weights = sums.positive
    sampling = (float((a * a) @ weights), float((a * b) @ weights), float((b * b) @ weights))
    product = float(negatives * positives) if min(negatives, positives) > 0 else 0.0
    return Ratio("auc", float(counts[:, 1] @ beats @ counts[:, 0]), product, first, second, sampling, slack=slack)


def average_precision(grid: ScoreGrid, sums: Sums, level: float) -> Measure:
    """The mean precision over the positives, each at its own score, by linearisation; equal scores have one threshold.

    The lower end holds for ties within cells too, which no release can tell (evaluation.md, lemma 4).
    """
    drowned = Measure("average_precision", math.nan, 0.0, 1.0, level, math.nan)
    positive = np.zeros(len(sums.values))
    positive[1 : sums.cells : 2] = 1.0
    count = float(positive @ sums.values)
    if not count > 0 or math.sqrt(sums.noise(positive, positive)) > _MOST_NOISE * count:
        return drowned
    above, counts = _from_top(sums)
    widths = np.diff(grid.log_odds, axis=1)[::-1][above:]

    def value(counts: Vector) -> Vector:
        return np.asarray(_contributions(counts, widths, 1.0).sum(axis=-1) / counts[..., 1].sum(axis=-1))

    def reach(form: Vector) -> float:
        variance = max(sums.noise(form, form), 0.0) + float(form[: sums.cells] ** 2 @ sums.positive)
        return sums.quantile(level, form, variance) * math.sqrt(variance)

    estimate, form = float(value(counts)), np.zeros(len(sums.values))
    slopes = _slopes(value, counts)
    form[: sums.cells] = slopes[np.maximum(np.arange(sums.cells // 2) - above, 0)][::-1].ravel()
    precisions = np.cumsum(counts[:, 1]) / np.cumsum(counts.sum(axis=1))  # at the lowest score of each cell
    tied = np.minimum(_contributions(counts, widths, 0.0), counts[:, 1] * precisions)
    # Of positives above the first cell each may have a precision of 1.
    better = np.zeros(len(form))
    better[1 : sums.cells : 2][sums.cells // 2 - above :] = max(1 - float(precisions[0]), 0.0) / count
    low = min(float(tied.sum()) / count, estimate) - reach(form)
    steep = _contributions(counts, widths, 2.0)
    ends = [-1, 0] if above == 0 else [-1]  # log odds have no end there: all positives may come first
    before = np.cumsum(counts, axis=0) - counts
    best = counts[:, 1] * (before + counts)[:, 1] / np.maximum(before.sum(axis=1) + counts[:, 1], 1.0)
    steep[ends] = np.maximum(steep, best)[ends]
    further = max(reach(form), float(better @ sums.values) + reach(form + better))
    high = max(float(steep.sum()) / count, estimate) + further
    if not math.isfinite(high - low) or (low <= 0 and high >= 1):
        return drowned
    low, estimate, high = (float(np.clip(end, 0.0, 1.0)) for end in (low, estimate, high))
    noise = max(sums.noise(form, form), 0.0)
    return Measure("average_precision", estimate, low, high, level, math.sqrt(noise))


def _from_top(sums: Sums) -> tuple[int, Vector]:
    """How many cells are counted in the first one below them that is clear of noise; (cells, 2) counts from there."""
    down = sums.counts.reshape(-1, 2)[::-1]
    deviations = np.sqrt(np.cumsum(sums.variances[: sums.cells].reshape(-1, 2).sum(axis=1)[::-1]))
    rows = np.cumsum(down.sum(axis=1))
    clear = np.flatnonzero((rows > 0) & (rows >= _CLEAR * deviations))
    above = int(clear[0]) if len(clear) else len(down) - 1
    return above, np.concatenate([down[: above + 1].sum(axis=0, keepdims=True), down[above + 1 :]])


def _contributions(counts: Vector, widths: Vector, slope: float) -> Vector:
    """(..., cells) sums of precisions over the positives of a cell, of a log likelihood ratio of this slope in it."""
    places = 0.5 - (np.arange(_PARTS) + 0.5) / _PARTS
    tilt = np.exp(slope * widths * places / 2)
    parts = (*counts.shape[:-2], tilt.size)
    zero, one = (
        (counts[..., [y]] * share / share.sum(axis=1, keepdims=True)).reshape(parts)
        for y, share in enumerate((1 / tilt, tilt))
    )
    every = np.cumsum(zero + one, axis=-1) - (zero + one) / 2
    precisions = (np.cumsum(one, axis=-1) - one / 2) / np.where(every == 0, 1.0, every)
    return np.asarray((one * precisions).reshape(*counts.shape[:-1], _PARTS).sum(axis=-1))


def _slopes(value: Callable[[Vector], Vector], counts: Vector) -> Vector:
    """Central differences by each count."""
    steps = np.maximum(1.0, np.abs(counts) / 100).ravel()
    moves = np.diag(steps).reshape(-1, *counts.shape)
    return np.asarray((value(counts + moves) - value(counts - moves)) / (2 * steps)).reshape(counts.shape)
