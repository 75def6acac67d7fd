"""Lines and curves with all defaults, on rows of training parts that are kept aside: where `curves="auto"` takes them.

Labels: error; numbers: R^2. A few minutes a table.

    DPLR_DATA=<folder> python -m bench.studies.curves bench/results/curves.csv [table ...]
"""

import csv
import os
import sys
import warnings

import numpy as np

import dplr
from bench.data.tables import Table, tables

LEVELS = (0.1, 0.5, 1.0, 3.0)
DELTAS = (0.0, 1e-6)
FITS, FITS_OF_MANY_ROWS, MANY = 12, 5, 100_000
COLUMNS = ("table", "model", "rows", "delta", "eps", "curves", "fits", "mean", "standard_error")


def scores(table: Table, curves: int | None, eps: float, delta: float) -> np.ndarray:
    """Errors, or R^2, of fits with all other defaults."""
    fits = dplr.fit_many(
        table.X, table.y, model=table.model, eps=[eps], delta=delta, bounds=table.bounds, curves=curves,
        repeats=FITS if len(table.X) < MANY else FITS_OF_MANY_ROWS,
    )  # fmt: skip
    right = np.array([est.score(table.held_X, table.held_y) for est in fits])
    return right if table.model == "linear" else 1 - right


def main(path: str, *names: str) -> None:
    warnings.simplefilter("ignore")  # clipped shares of public data
    with open(path, "w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(COLUMNS)
        for table in tables(os.environ["DPLR_DATA"], official=False):
            if names and table.name not in names:
                continue
            for delta in DELTAS:
                for eps in LEVELS:
                    for curves in (None, 8, "auto"):
                        values = scores(table, curves, eps, delta)
                        spread = values.std(ddof=1) / len(values) ** 0.5
                        cell = (table.name, table.model, len(table.X), delta, eps, curves or "", len(values))
                        writer.writerow((*cell, f"{values.mean():.5f}", f"{spread:.5f}"))
                        file.flush()


if __name__ == "__main__":
    main(*sys.argv[1:])
