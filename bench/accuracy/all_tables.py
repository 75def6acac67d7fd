"""Every table at once: all defaults, official test splits, 20 fits a cell. Labels: test error; numbers: R^2.

With --training, rows of training parts that are kept aside are scored instead, for the choice of constants.

    DPLR_DATA=<folder> python -m bench.accuracy.all_tables bench/results/all_tables.csv
"""

import csv
import os
import sys
import warnings

import numpy as np

import dplr
from bench.data.tables import Table, tables

FITS = 20
LEVELS = (0.1, 0.5, 1.0, 3.0)
# With a delta the functional mechanism and the objective are not the answer; they must not become worse.
MECHANISMS = {0.0: ("objective", "fm"), 1e-6: ("ngd", "objective", "fm")}
COLUMNS = ("table", "model", "mechanism", "delta", "eps", "fits", "mean", "standard_error", "worst")


def scores(table: Table, mechanism: str, eps: float, delta: float, fits: int) -> np.ndarray:
    """Test errors, or R^2, of fits with all defaults."""
    done = dplr.fit_many(
        table.X, table.y, model=table.model, mechanism=mechanism, eps=[eps], delta=delta, repeats=fits,
        bounds=table.bounds,
    )  # fmt: skip
    found = np.array([est.score(table.held_X, table.held_y) for est in done])
    return found if table.model == "linear" else 1 - found


def row_of(table: Table, mechanism: str, eps: float, delta: float) -> dict[str, object]:
    """One line of the result."""
    found = scores(table, mechanism, eps, delta, FITS)
    worst = found.min() if table.model == "linear" else found.max()
    numbers = (found.mean(), found.std(ddof=1) / len(found) ** 0.5, worst)
    cell = (table.name, table.model, mechanism, delta, eps, len(found), *(f"{number:.5f}" for number in numbers))
    return dict(zip(COLUMNS, cell, strict=True))


def main(path: str, official: bool = True) -> None:
    warnings.simplefilter("ignore")  # clipped shares of public data
    with open(path, "w", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS)
        writer.writeheader()
        for table in tables(os.environ["DPLR_DATA"], official):
            for delta, mechanisms in MECHANISMS.items():
                for mechanism in mechanisms:
                    for eps in LEVELS:
                        row = row_of(table, mechanism, eps, delta)
                        writer.writerow(row)
                        file.flush()
                        print(*row.values(), flush=True)


if __name__ == "__main__":
    main(sys.argv[-1], official="--training" not in sys.argv)
