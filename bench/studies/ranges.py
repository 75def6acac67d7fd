"""What private ranges gain, and how much of eps to spend on them. Rows of training parts alone, pure eps.

R^2 for numbers, error for labels: mean and standard error over fits of the defaults without ranges, and with them at
several noises of a mean (in half-widths) beyond which no more of eps is spent.

    DPLR_DATA=<folder> python -m bench.studies.ranges bench/results/ranges.csv
"""

import csv
import os
import sys
import unittest.mock
import warnings

import numpy as np

import dplr
from bench.data.tables import tables
from dplr.fitting import ranges

FITS = 8
LEVELS = (0.1, 0.5, 1.0, 3.0)
NAMES = (
    "ACS income 2k",
    "ACS income 20k",
    "ACS income 200k",
    "few numbers",
    "many numbers",
    "Adult",
    "ACS 20k",
    "RAND",
)
WANTED = (0.02, 0.005, 0.002)


def scores(table, eps, choice):
    """Scores of FITS fits by objective perturbation."""
    options = {"model": table.model, "mechanism": "objective", "bounds": table.bounds, "ranges": choice}
    fits = dplr.fit_many(table.X, table.y, eps=[eps], repeats=FITS, **options)
    found = np.array([est.score(table.held_X, table.held_y) for est in fits])
    return found if table.model == "linear" else 1 - found


def main(path):
    warnings.simplefilter("ignore")  # clipped shares of public data
    with open(path, "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["table", "eps", "ranges", "mean", "standard_error"])
        for table in (each for each in tables(os.environ["DPLR_DATA"], official=False) if each.name in NAMES):
            for eps in LEVELS:
                for wanted in (None, *WANTED):
                    with unittest.mock.patch.object(ranges, "_WANTED", wanted or 1.0):
                        found = scores(table, eps, "on" if wanted else "off")
                    error = found.std(ddof=1) / FITS**0.5
                    cells = (table.name, eps, wanted or "off", f"{found.mean():.4f}", f"{error:.4f}")
                    writer.writerow(cells)
                    print(*cells, flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
