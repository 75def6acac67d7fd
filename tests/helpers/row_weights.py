"""Weights of rows made up for the tests of sums."""

import numpy as np

from dplr.rows import RowWeights


def drawn_weights(n, seed=0):
    """Whole numbers of 2^-30 from 0 to 1; 0, 1, and what is beside them among the first four."""
    drawn = np.random.default_rng(seed).integers(0, 2**30 + 1, n)
    drawn[: min(n, 4)] = [2**30, 0, 1, 2**30 - 1][: min(n, 4)]
    return drawn / 2.0**30


def of_rows(weights):
    """The same where every row is a unit of its own."""
    return RowWeights(weights, None, len(weights))
