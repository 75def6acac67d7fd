"""How well scores rank two labels: area under the ROC curve, and average precision, from noisy cells.

Within a cell the order of rows is not released. It is taken as that of a calibrated score, whose log likelihood ratio
rises by 1 per unit of log odds; intervals are widened for any slope from 0, which is chance, to 2 (evaluation.md,
section 4).
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
# Cells from the top are joined until their count is this many standard deviations of its noise.
_CLEAR = 4.0
# Average precision is not linear in the counts of positives: it needs them, and the interval is drowned above this.
_MOST_NOISE = 0.15


def auc(grid: ScoreGrid, sums: Sums) -> Ratio:
    """The probability that a positive has a higher score than a negative; equal scores count half."""
    counts, sampled = sums.counts.reshape(-1, 2), sums.positive.reshape(-1, 2)
    tilt = np.minimum(np.diff(grid.log_odds, axis=1)[:, 0] / 12, 0.5)
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
    """The mean precision over the positives, each at its own score, by linearisation."""
    drowned = Measure("average_precision", math.nan, 0.0, 1.0, level, math.nan)
    positive = np.zeros(len(sums.values))
    positive[1 : sums.cells : 2] = 1.0
    count = float(positive @ sums.values)
    if not count > 0 or math.sqrt(sums.noise(positive, positive)) > _MOST_NOISE * count:
        return drowned
    value, groups, counts = _precision(grid, sums)
    estimate, slack = value(counts, 1.0), abs(value(counts, 2.0) - value(counts, 0.0)) / 2
    slopes = _slopes(value, counts)
    form = np.zeros(len(sums.values))
    form[: sums.cells] = slopes[groups][::-1].ravel()
    noise = max(sums.noise(form, form), 0.0)
    variance = noise + float(form[: sums.cells] ** 2 @ sums.positive)
    reach = sums.quantile(level, form, variance) * math.sqrt(variance) + slack
    if not math.isfinite(reach) or (estimate - reach <= 0 and estimate + reach >= 1):
        return drowned
    lower, estimate, upper = (float(np.clip(end, 0.0, 1.0)) for end in (estimate - reach, estimate, estimate + reach))
    return Measure("average_precision", estimate, lower, upper, level, math.sqrt(noise))


def _precision(grid: ScoreGrid, sums: Sums) -> tuple[Callable[[Vector, float], float], NDArray[np.intp], Vector]:
    """Average precision as a function of (groups, 2) counts and the slope; the group of each cell from the top; counts.

    The first group joins cells from the top until noise no longer hides their count.
    """
    cells = sums.cells // 2
    down = sums.counts.reshape(-1, 2)[::-1]
    deviations = np.sqrt(np.cumsum(sums.variances[: sums.cells].reshape(-1, 2).sum(axis=1)[::-1]))
    clear = np.flatnonzero(np.cumsum(down.sum(axis=1)) >= _CLEAR * deviations)
    joined = int(clear[0]) + 1 if len(clear) else cells
    groups = np.concatenate([np.zeros(joined, np.intp), np.arange(1, cells - joined + 1)])
    counts: Vector = np.zeros((groups[-1] + 1, 2))
    np.add.at(counts, groups, down)
    shape = np.repeat(sums.positive.reshape(-1, 2)[::-1].sum(axis=1) + 1.0, _PARTS)
    ends = grid.log_odds[::-1]
    places = (np.arange(_PARTS) + 0.5) / _PARTS
    u = (ends[:, 1:] - np.diff(ends, axis=1) * places).ravel()
    of_parts = np.repeat(groups, _PARTS)

    def value(counts: Vector, slope: float) -> float:
        tilt = np.exp(slope * (u - u.mean()) / 2)
        shares = [shape / tilt, shape * tilt]
        zero, one = (
            share / np.bincount(of_parts, share)[of_parts] * counts[of_parts, y] for y, share in enumerate(shares)
        )
        every = np.cumsum(zero + one) - (zero + one) / 2
        return float(one @ ((np.cumsum(one) - one / 2) / np.where(every == 0, 1.0, every)) / one.sum())

    return value, groups, counts


def _slopes(value: Callable[[Vector, float], float], counts: Vector) -> Vector:
    """Central differences by each count."""
    slopes: Vector = np.empty(counts.shape)
    for group, label in np.ndindex(*counts.shape):
        step, moved = max(1.0, abs(float(counts[group, label])) / 100), np.zeros(counts.shape)
        moved[group, label] = step
        slopes[group, label] = (value(counts + moved, 1.0) - value(counts - moved, 1.0)) / (2 * step)
    return slopes
