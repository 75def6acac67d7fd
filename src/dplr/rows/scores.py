"""Losses of models on private rows: sums of bounded scores, whole numbers to which no record adds more than one unit.

Each record's score is a function of this record and of the model alone, also in its last bit: predictions are summed
column by column, since a product of matrices may round a row by where it lies. tuning.md, lemma 1.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from dplr.bounds.columns import Pair
from dplr.privacy.selection import SCORE_UNITS
from dplr.rows.labels import Labels

Matrix = NDArray[np.float64]


def linear(rows: Matrix, coef: Matrix, intercept: Matrix) -> Matrix:
    """(n, models) values of coef (models, d) and intercept (models,), each of one row alone."""
    values = np.tile(np.asarray(intercept, np.float64), (len(rows), 1))
    for place in range(rows.shape[1]):
        values += rows[:, place, None] * coef[:, place]
    return values


def errors(values: Matrix, labels: Labels) -> int:
    """How many records a classifier labels wrongly, in score units; `values` are its margins."""
    if len(labels.classes) > 2:
        wrong = labels.y != values.argmax(axis=1)
    else:
        negative, positive = labels.codes
        wrong = labels.y != np.where(values[:, 0] > 0, positive, negative)
    return int(np.count_nonzero(wrong)) * SCORE_UNITS


def rates(values: Matrix, high: float) -> Matrix:
    """Expected counts (n, 1) of log-rates, up to the largest: one by one, as vectors may round by where they lie."""
    largest = math.log(high)
    counts = [math.exp(value) if value < largest else high for value in values[:, 0].tolist()]
    return np.array(counts, np.float64)[:, None]


def squared_errors(values: Matrix, y: NDArray[np.float64], target: Pair) -> int:
    """Squared errors in units of the squared width of the target's range, to which both are clipped; rounded down."""
    low, high = target
    distance = (np.clip(values[:, 0], low, high) - np.clip(y, low, high)) / (high - low)
    shares = np.where(np.isnan(distance), 1.0, np.minimum(distance * distance, 1.0))
    return int(np.floor(shares * SCORE_UNITS).astype(np.int64).sum())
