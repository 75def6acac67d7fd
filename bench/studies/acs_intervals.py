"""Do intervals hold on real data? Samples of the American Community Survey as the rows, all of it as the population.

    DPLR_DATA=<folder> python -m bench.studies.acs_intervals docs/trust/intervals/acs.csv

Every fit is a private one of a fresh sample with fresh noise. coverage: share of intervals that hold the coefficient of
the whole file (least squares, or the logistic maximum) at 95 %; worst: of the column with the fewest; width: median of
the widths over those of the same samples without privacy; unsaid: share of "cannot say".
"""

import csv
import math
import os
import sys
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from scipy import optimize, special

import dplr

COLUMNS = {
    "Age": (18, 80),
    "Male": (0, 1),
    "Education": (12, 24),
    "WorkHours": (0, 60),
    "IsMarried": (0, 1),
    "OwnsDwelling": (0, 1),
}
INCOME = (0, 150_000)
FITS = 200
WORDS = {"on": "equal", "robust": "any", "": "of the model"}
HEADS = ("model", "variances", "n", "eps", "fits", "coverage", "worst", "width", "unsaid")
SETTINGS = [
    *(
        ("linear", kind, n, eps)
        for kind in ("on", "robust")
        for n, eps in ((10_000, 1.0), (10_000, 3.0), (50_000, 1.0))
    ),
    *(("probability", kind, n, eps) for kind in ("on", "robust") for n, eps in ((10_000, 1.0), (50_000, 1.0))),
    *(("log odds", "", n, eps) for n, eps in ((10_000, 1.0), (10_000, 3.0), (50_000, 1.0))),
]


def population():
    """All rows, clipped to the bounds, with both targets."""
    table = pd.read_parquet(Path(os.environ["DPLR_DATA"]) / "acs2024_fm_370k.parquet")
    low, high = np.array(list(COLUMNS.values())).T
    X = table[list(COLUMNS)].astype(float).clip(low, high, axis=1)
    return X, table["AnnualIncome"].clip(*INCOME).astype(float), table["HealthInsured"].astype(int)


def truth(model, X, income, insured):
    """Coefficients of the population, the intercept last."""
    design = np.column_stack([X, np.ones(len(X))])
    if model != "log odds":
        y = income if model == "linear" else insured
        return np.linalg.lstsq(design, y, rcond=None)[0]
    scale = np.abs(design).max(axis=0)
    rows, signs = design / scale, 2.0 * insured.to_numpy() - 1

    def loss(w):
        margins = signs * (rows @ w)
        return np.logaddexp(0, -margins).mean(), -(rows.T @ (signs * special.expit(-margins))) / len(rows)

    return optimize.minimize(loss, np.zeros(len(scale)), jac=True, method="BFGS", options={"gtol": 1e-9}).x / scale


def fitted(model, variances, eps, X, income, insured):
    """One private fit of a sample; eps = inf for the intervals without privacy."""
    linear = model == "linear"
    bounds = dplr.Bounds(COLUMNS, target=INCOME if linear else (0, 1))
    mechanism = "score" if model == "log odds" else dplr.FunctionalMechanism(intervals=variances)
    kind = "linear" if linear else "logistic"
    return dplr.fit(
        X, income if linear else insured, model=kind, mechanism=mechanism, eps=eps, delta=1e-6, bounds=bounds
    )


def measure(model, variances, n, eps, every, fits=FITS, seed=0):
    """One line of the results."""
    rng, goal = np.random.default_rng(seed), truth(model, *every)
    held, widths, plain = [], [], []
    for _ in range(fits):
        rows = rng.integers(len(every[0]), size=n)
        sample = [each.iloc[rows] for each in every]
        ends = np.array(list(fitted(model, variances, eps, *sample).conf_int().values()))
        without = np.array(list(fitted(model, variances, math.inf, *sample).conf_int().values()))
        held.append((ends[:, 0] <= goal) & (goal <= ends[:, 1]))
        widths.append(ends[:, 1] - ends[:, 0])
        plain.append(without[:, 1] - without[:, 0])
    found, ratio = np.array(held), np.median(widths, axis=0) / np.median(plain, axis=0)
    shares = (found.mean(), found.mean(axis=0).min(), np.median(ratio), np.isinf(widths).mean())
    return (model, WORDS[variances], n, eps, fits, *(round(float(share), 3) for share in shares))


def main():
    warnings.simplefilter("ignore", dplr.DataWarning)
    every = population()
    with open(sys.argv[1], "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(HEADS)
        for setting in SETTINGS:
            writer.writerow(line := measure(*setting, every))
            print(*line, flush=True)


if __name__ == "__main__":
    main()
