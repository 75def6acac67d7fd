"""Robust losses and AdaSSP for numbers, against `fm`, `objective` and `ngd`: R2 on rows kept aside from training parts.

    DPLR_DATA=<folder> python -m bench.studies.numbers bench/results/numbers.csv

`huber` is `HuberRegressor` (objective perturbation of the Huber loss of fixed width), `output` is `LinearRegression`
under output perturbation, which minimises a Huber loss of automatic width. `adassp` is `fm` with the ridge of AdaSSP on
one Gaussian release. Predictions are clipped to the bounds of the target.
"""

import csv
import os
import sys
import warnings

import numpy as np

import dplr
from bench.data.tables import tables

FITS = 12
LEVELS = (0.1, 0.5, 1.0, 3.0)
DELTA = 1e-6
ADASSP = dplr.FunctionalMechanism(unbounded="adassp", noise="gaussian")
# What is fitted: name, delta, model, mechanism.
CASES = (
    ("fm", 0.0, "linear", "fm"),
    ("objective", 0.0, "linear", "objective"),
    ("huber 0.2", 0.0, dplr.HuberRegressor(width=0.2), "objective"),
    ("huber 0.5", 0.0, dplr.HuberRegressor(width=0.5), "objective"),
    ("output", 0.0, "linear", "output"),
    ("fm", DELTA, "linear", "fm"),
    ("adassp", DELTA, "linear", ADASSP),
    ("objective", DELTA, "linear", "objective"),
    ("ngd", DELTA, "linear", "ngd"),
    ("huber 0.5", DELTA, dplr.HuberRegressor(width=0.5), "ngd"),
)
COLUMNS = ("table", "n", "mechanism", "delta", "eps", "fits", "mean", "standard_error")


def fits(table, model, mechanism, eps, delta):
    """Fitted estimators with all other defaults."""
    facts = {"bounds": table.bounds, "delta": delta, "mechanism": mechanism}
    if isinstance(model, str):
        return dplr.fit_many(table.X, table.y, model=model, eps=[eps], repeats=FITS, **facts)
    model.set_params(eps=eps, **facts)
    return model._fit_many(table.X, table.y, [eps] * FITS)


def main(path: str, folder: str) -> None:
    warnings.simplefilter("ignore")
    with open(path, "w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(COLUMNS)
        for table in tables(folder, official=False):
            if table.model != "linear":
                continue
            for name, delta, model, mechanism in CASES:
                for eps in LEVELS:
                    found = [est.score(table.held_X, table.held_y) for est in fits(table, model, mechanism, eps, delta)]
                    error = np.std(found, ddof=1) / FITS**0.5
                    writer.writerow(
                        (table.name, len(table.y), name, delta, eps, FITS, f"{np.mean(found):.4f}", f"{error:.4f}")
                    )
                    file.flush()


if __name__ == "__main__":
    main(sys.argv[-1], os.environ["DPLR_DATA"])
