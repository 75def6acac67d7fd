"""Tables in which one person has many rows: RAND by person, and a panel in which few persons have most rows."""

import math

import numpy as np

import dplr
from bench.data.rand import BOUNDS

VISITS = (0, math.log(101))  # of ln(visits + 1): at most 100 a year, a guess
MOST_YEARS = 5  # of the experiment: public
PERSONS, MOST_VISITS = 8_000, 200


def rand():
    """RAND's 20,190 years of 5,810 persons: columns, ln(visits + 1), ids and bounds.

    The table has no ids. Rows of one person stand together and differ in visits alone, for at most five years.
    """
    from statsmodels.datasets import randhie

    frame = randhie.load_pandas().data
    X = frame[list(BOUNDS)].astype(np.float64)
    run = np.cumsum(np.r_[True, (X.to_numpy()[1:] != X.to_numpy()[:-1]).any(axis=1)])
    year = np.arange(len(X)) - np.flatnonzero(np.r_[True, np.diff(run) > 0])[run - 1]
    ids = run * len(X) + year // MOST_YEARS
    bounds = dplr.Bounds(BOUNDS, target=VISITS)
    return X, np.log1p(frame["mdvis"].to_numpy(np.float64)), ids, bounds


def skewed(seed=2026):
    """8,000 made-up persons with 1 to 200 rows, whose columns and targets are alike within a person."""
    rng = np.random.default_rng(seed)
    rows = np.minimum(rng.zipf(1.85, PERSONS), MOST_VISITS)
    ids = np.repeat(np.arange(PERSONS), rows)
    own = rng.uniform(-1, 1, (PERSONS, 5))[ids]
    X = np.clip(own + rng.normal(0, 0.2, own.shape), -1, 1)
    y = 0.2 * X @ np.array([1.0, -0.5, 0.3, 0.0, 0.8]) + rng.normal(0, 0.1, PERSONS)[ids] + rng.normal(0, 0.2, len(ids))
    return X, np.clip(y, -1, 1), ids, dplr.Bounds([(-1, 1)] * 5, target=(-1, 1))
