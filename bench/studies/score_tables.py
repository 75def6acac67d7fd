"""Does the score release predict worse than noisy gradient descent? Classifiers on official test splits.

Test error and mean log loss of both with all defaults, delta = 1e-6: mean and standard error over fits.

    DPLR_DATA=<folder> python -m bench.studies.score_tables bench/results/score_tables.csv
"""

import csv
import os
import sys
import warnings

import numpy as np

import dplr
from bench.data.tables import Table, tables

FITS, DELTA = 5, 1e-6
LEVELS = (0.1, 0.5, 1.0, 3.0)
NAMES = ("heart", "ACS 2k", "ACS 20k", "Adult")


def losses(table: Table, mechanism: str, eps: float) -> np.ndarray:
    """Test error and log loss of every fit, (FITS, 2)."""
    fits = dplr.fit_many(
        table.X, table.y, eps=[eps], repeats=FITS, delta=DELTA, mechanism=mechanism, bounds=table.bounds,
        classes=[False, True],
    )  # fmt: skip
    found = []
    for est in fits:
        right = est.predict_proba(table.held_X)[np.arange(len(table.held_y)), np.asarray(table.held_y, int)]
        found.append((1 - est.score(table.held_X, table.held_y), -np.log(np.maximum(right, 1e-12)).mean()))
    return np.array(found)


def main(path: str) -> None:
    warnings.simplefilter("ignore")
    with open(path, "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["table", "rows", "columns", "eps", "mechanism", "error", "se", "log_loss", "se"])
        for table in (each for each in tables(os.environ["DPLR_DATA"], official=True) if each.name in NAMES):
            for eps in LEVELS:
                for mechanism in ("ngd", "score"):
                    found = losses(table, mechanism, eps)
                    mean, error = found.mean(axis=0), found.std(axis=0, ddof=1) / np.sqrt(FITS)
                    numbers = [f"{each:.4f}" for pair in zip(mean, error, strict=True) for each in pair]
                    columns = len(dplr.plan(n_rows=len(table.y), bounds=table.bounds, eps=1.0).problem.geometry.groups)
                    writer.writerow([table.name, len(table.y), columns, eps, mechanism, *numbers])
                    file.flush()


if __name__ == "__main__":
    main(sys.argv[1])
