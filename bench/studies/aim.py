"""How biased are coefficients, with options for prediction and for coefficients? Training parts alone.

The truth is the fit without noise, ridge or cut. Effects over the declared bounds are compared, those of a block of
levels less their mean. bias: norm of the median error of FITS fits; error: the median norm of their errors; both over
the norm of the truth. slope: of the effects on the true ones, through zero. score: R^2, or the share of wrong answers.

    DPLR_DATA=<folder> python -m bench.studies.aim bench/results/aim.csv
"""

import csv
import math
import os
import sys
import warnings

import numpy as np

import dplr
from bench.data.tables import Table, tables

FITS = 12
LEVELS = (0.5, 1.0, 3.0)
NAMES = ("ACS 20k", "RAND", "blocks", "ACS income 20k", "ACS income 200k", "few numbers", "many numbers")
SETTINGS = (("fm", "prediction"), ("fm", "coefficients"), ("objective", "prediction"))
COLUMNS = ("table", "mechanism", "aim", "eps", "bias", "error", "slope", "score")


def effects(coef: np.ndarray, layout: object) -> np.ndarray:
    """Of each column from its lower to its upper bound; of levels, less their mean."""
    low, high = np.array(layout.pairs, float).T
    found = np.atleast_2d(coef) * (high - low)
    for first, size in layout.blocks:
        block = slice(first, first + size)
        found[:, block] -= found[:, block].mean(axis=1, keepdims=True)
    return found


def truth(table: Table, options: dict) -> np.ndarray:
    """Effects without noise, ridge, cut and ranges."""
    if table.model == "linear":
        est = dplr.fit(table.X, table.y, eps=math.inf, mechanism="fm", ranges="off", **options)
    else:
        est = dplr.fit(table.X, table.y, eps=math.inf, mechanism="none", l2=1e-7, **options)
    return effects(est.coef_, table.bounds.layout)[0]


def compared(fits: list, table: Table, true: np.ndarray) -> tuple[float, ...]:
    """Bias, error, slope and score of fits."""
    found = effects(np.array([np.ravel(est.coef_) for est in fits]), table.bounds.layout)
    score = np.median([est.score(table.held_X, table.held_y) for est in fits])
    length = np.linalg.norm(true)
    return (
        np.linalg.norm(np.median(found, axis=0) - true) / length,
        np.median(np.linalg.norm(found - true, axis=1)) / length,
        np.median(found @ true) / length**2,
        score if table.model == "linear" else 1 - score,
    )


def main(path: str) -> None:
    warnings.simplefilter("ignore")
    with open(path, "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(COLUMNS)
        for table in (each for each in tables(os.environ["DPLR_DATA"], official=False) if each.name in NAMES):
            options = {"model": table.model, "bounds": table.bounds}
            if table.model != "linear":
                options["classes"] = [False, True]
            true = truth(table, options)
            for mechanism, aim in SETTINGS:
                for eps in LEVELS:
                    given = {"mechanism": mechanism, "aim": aim, "repeats": FITS, **options}
                    fits = dplr.fit_many(table.X, table.y, eps=[eps], **given)
                    cells = compared(fits, table, true)
                    writer.writerow((table.name, mechanism, aim, eps, *(f"{cell:.3f}" for cell in cells)))
                    file.flush()


if __name__ == "__main__":
    main(sys.argv[1])
