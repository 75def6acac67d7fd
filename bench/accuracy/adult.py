"""Test error on Adult (official split, complete rows) within declared bounds, defaults throughout, 20 fits a setting.

DPLR_DATA=<folder> python -m bench.accuracy.adult bench/results/adult_accuracy.csv
"""

import csv
import math
import os
import sys

import numpy as np

import dplr
from bench.data.tables import Table, tables

FITS = 20
DELTA = 1e-5


def errors(mechanism, eps, delta, table: Table, fits=FITS, model="logistic"):
    """Test errors of `fits` fits."""
    done = dplr.fit_many(
        table.X, table.y, mechanism=mechanism, model=model, eps=[eps], delta=delta, repeats=fits, bounds=table.bounds
    )
    return 1 - np.array([est.score(table.held_X, table.held_y) for est in done])


def main(path):
    data = next(tables(os.environ["DPLR_DATA"], official=True))
    settings = [("logistic", "none", math.inf, 0.0)]
    for model, mechanism in (("logistic", "objective"), ("logistic", "output"), ("svm", "objective")):
        settings += [(model, mechanism, eps, delta) for delta in (0.0, DELTA) for eps in (0.1, 0.5, 1.0, 2.0)]
    settings += [(model, "ngd", eps, DELTA) for model in ("logistic", "svm") for eps in (0.1, 0.5, 1.0, 2.0)]
    with open(path, "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["model", "mechanism", "eps", "delta", "fits", "mean_error", "worst_error"])
        for model, mechanism, eps, delta in settings:
            found = errors(mechanism, eps, delta, data, 1 if math.isinf(eps) else FITS, model)
            row = [model, mechanism, eps, delta, len(found), f"{found.mean():.5f}", f"{found.max():.5f}"]
            writer.writerow(row)
            print(*row, flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
