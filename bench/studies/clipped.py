"""What noisy gradient descent gains where its own sums of the columns clip numbers too. Rows of training parts alone.

R^2: mean and standard error over fits of the defaults without ranges, and with them.

    DPLR_DATA=<folder> python -m bench.studies.clipped bench/results/clipped.csv
"""

import csv
import os
import sys
import warnings

import numpy as np

import dplr
from bench.data.tables import tables

FITS, DELTA = 12, 1e-6
LEVELS = (0.1, 0.5, 1.0, 3.0)
NAMES = ("ACS income 2k", "ACS income 20k", "ACS income 200k", "few numbers", "many numbers")


def scores(table, eps, choice):
    """R^2 of FITS fits."""
    options = {"model": table.model, "mechanism": "ngd", "bounds": table.bounds, "ranges": choice, "delta": DELTA}
    fits = dplr.fit_many(table.X, table.y, eps=[eps], repeats=FITS, **options)
    return np.array([est.score(table.held_X, table.held_y) for est in fits])


def main(path):
    warnings.simplefilter("ignore")  # clipped shares of public data
    with open(path, "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["table", "eps", "ranges", "mean", "standard_error"])
        for table in (each for each in tables(os.environ["DPLR_DATA"], official=False) if each.name in NAMES):
            for eps in LEVELS:
                for choice in ("off", "auto"):
                    found = scores(table, eps, choice)
                    error = found.std(ddof=1) / FITS**0.5
                    cells = (table.name, eps, choice, f"{found.mean():.4f}", f"{error:.4f}")
                    writer.writerow(cells)
                    print(*cells, flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
