"""Do default intervals of linear `fm` cover the coefficients of the declared columns? Decision 45.

Least squares of all rows are the truth; fits have 20,000 rows that are drawn with replacement. One line per
coefficient: how many fits bound it, and how many of these cover it.

    DPLR_DATA=<folder> python -m bench.studies.ranges_coverage OUT.csv [FITS]
"""

import csv
import os
import pathlib
import sys
import warnings

import numpy as np
import pandas as pd

import dplr
from bench.data.tables import INCOME
from bench.studies.defaults import FEATURES

LEVELS = (0.5, 1.0, 3.0)
ROWS = 20_000
CENSUS = {
    "acs 5": ("Age", "Male", "Education", "WorkHours", "IsMarried"),
    "acs 3": ("Education", "WorkHours", "Disability"),
}


def census(folder, names):
    """Income of 370,000 adults, clipped to its bounds as the columns are to theirs."""
    frame = pd.read_parquet(pathlib.Path(folder) / "acs2024_fm_370k.parquet")
    pairs = [FEATURES[name] for name in names]
    X = np.clip(frame[list(names)].to_numpy(float), *np.array(pairs, float).T)
    return X, frame["AnnualIncome"].to_numpy(float).clip(*INCOME), dplr.Bounds(pairs, target=INCOME), names


def flags(n=370_000):
    """Two numbers, flags that are 1 in 2, 10 and 97 of a hundred rows, and a code that is mostly 1."""
    rng = np.random.default_rng(11)
    a, b = rng.normal(40, 12, n).clip(0, 100), rng.exponential(1.0, n).clip(0, 20)
    rare, some, most = (rng.random(n) < share for share in (0.02, 0.1, 0.97))
    code = rng.choice(5, n, p=[0.7, 0.2, 0.06, 0.03, 0.01]) + 1
    y = 0.3 * a + 4 * np.sqrt(b) + 15 * rare - 6 * some + 8 * most + 2 * code + rng.normal(0, 6, n)
    X = np.column_stack([a, b, rare, some, most, code]).astype(float)
    bounds = dplr.Bounds([(0, 100), (0, 20), (0, 1), (0, 1), (0, 1), (1, 5)], target=(-20, 80))
    return X, y.clip(-20, 80), bounds, ("a", "sqrt b", "flag .02", "flag .1", "flag .97", "code")


def covered(X, y, bounds, eps, fits):
    """(coefficients, 2): in how many fits the interval of each is bounded, and covers the truth."""
    truth = np.linalg.lstsq(np.column_stack([X, np.ones(len(X))]), y, rcond=None)[0]
    counts = np.zeros((len(truth), 2), int)
    for k in range(fits):
        drawn = np.random.default_rng(1_000 + k).integers(0, len(X), ROWS)
        est = dplr.fit(X[drawn], y[drawn], model="linear", mechanism="fm", bounds=bounds, eps=eps)
        low, high = np.array(list(est.conf_int().values())).T
        bounded = np.isfinite(high - low)
        counts += np.column_stack([bounded, bounded & (low <= truth) & (truth <= high)])
    return counts


def main(path, fits=200):
    warnings.simplefilter("ignore")  # clipped shares of public data
    with open(path, "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["table", "eps", "coefficient", "fits", "bounded", "covered"])
        for name in (*CENSUS, "flags"):
            X, y, bounds, names = census(os.environ["DPLR_DATA"], CENSUS[name]) if name in CENSUS else flags()
            for eps in LEVELS:
                for column, counts in zip((*names, "intercept"), covered(X, y, bounds, eps, fits), strict=True):
                    writer.writerow((name, eps, column, fits, *counts))
                file.flush()


if __name__ == "__main__":
    main(sys.argv[1], *map(int, sys.argv[2:]))
