"""How many steps may noisy gradient descent take where n eps is large? Rows of training parts alone.

Errors of classifiers and 1 - R^2 of regressions: mean and standard error over fits, at several limits of the steps, and
the seconds of one fit over those at the first limit. "stones" are made: four collinear sizes of stones and their price.

    DPLR_DATA=<folder> python -m bench.studies.steps bench/results/steps.csv
"""

import csv
import os
import sys
import time
import warnings

import numpy as np

import dplr
from bench.data.tables import Table, tables
from dplr.mechanisms.noisy_gd import defaults

FITS, DELTA = 6, 1e-6
LEVELS = (0.5, 1.0, 3.0)
LIMITS = (200, 400, 800, 1600)
NAMES = ("Adult", "ACS 20k", "ACS income 20k", "KDD Cup 99", "few numbers", "many numbers", "blocks")


def stones() -> Table:
    """40,000 stones to fit and 10,000 to score: weight, length, width, depth, and a price that is no line in them."""
    rng, n = np.random.default_rng(11), 50_000
    weight = np.clip(rng.lognormal(-0.4, 0.58, n), 0.2, 5)
    sizes = np.cbrt(weight)[:, None] * np.array([6.5, 6.5, 4.0]) * (1 + rng.normal(0, 0.01, (n, 3)))
    grades = rng.integers(0, 8, (n, 3))
    price = np.clip(4500 * weight**1.7 * (1 - 0.04 * grades.sum(axis=1) / 3 + rng.normal(0, 0.1, n)), 300, 20_000)
    X = np.column_stack([weight, sizes, grades])
    bounds = dplr.Bounds([(0, 6), (0, 12), (0, 12), (0, 8)] + [(0, 7)] * 3, target=(0, 20_000))
    cut = 40_000
    return Table("stones", "linear", bounds, X[:cut], price[:cut], X[cut:], price[cut:])


def errors(table: Table, eps: float, limit: int) -> tuple[np.ndarray, float]:
    """Errors of FITS fits, and the seconds of one."""
    defaults._MOST_STEPS = limit
    options = {"model": table.model, "mechanism": "ngd", "bounds": table.bounds, "delta": DELTA}
    if table.model != "linear":
        options["classes"] = [False, True]
    start = time.process_time()
    fits = dplr.fit_many(table.X, table.y, eps=[eps], repeats=FITS, **options)
    seconds = (time.process_time() - start) / FITS
    return 1 - np.array([est.score(table.held_X, table.held_y) for est in fits]), seconds


def main(path: str) -> None:
    warnings.simplefilter("ignore")
    kept = [stones(), *(each for each in tables(os.environ["DPLR_DATA"], official=False) if each.name in NAMES)]
    with open(path, "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["table", "eps", "limit", "mean", "standard_error", "time"])
        for table in kept:
            for eps in LEVELS:
                first = None
                for limit in LIMITS:
                    found, seconds = errors(table, eps, limit)
                    first = first or seconds
                    error = found.std(ddof=1) / FITS**0.5
                    cells = (table.name, eps, limit, f"{found.mean():.5f}", f"{error:.5f}", f"{seconds / first:.2f}")
                    writer.writerow(cells)
                    print(*cells, flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
