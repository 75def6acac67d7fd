"""What sample weights cost, by their public cap: Adult with the weights of the census, a linear `fm`.

The error is the root mean square, over rows with their weights, of the difference between the predictions of a private
fit and those of weighted least squares, in half-widths of the target's range, without private ranges. The cap is a
multiple of the mean weight, which a survey knows: population over sample.

    DPLR_DATA=<folder> python -m bench.studies.weights bench/results/weights.csv
"""

import csv
import os
import pathlib
import sys
import warnings

import numpy as np
import pandas as pd

import dplr
from dplr.bounds.declared import with_numbers

FITS = 40
LEVELS = ((1.0, 0.0), (1.0, 1e-6), (3.0, 1e-6))
BOUNDS = {"age": (17, 90), "education_num": (1, 16), "hours_per_week": (1, 99)}
# The weights' largest code, 1.5 million, is 7.9 times their mean.
LARGEST = 1_500_000
MULTIPLES = (3.0, 2.5, 2.0, 1.5, 1.0)


def load():
    """Columns, target and weights of the training part, rows without missing values."""
    frame = pd.read_parquet(pathlib.Path(os.environ["DPLR_DATA"]) / "adult.parquet")
    frame = frame[frame["split"] == "train"].dropna() if "split" in frame else frame.dropna()
    X = frame[list(BOUNDS)].astype(np.float64)
    X["female"] = (frame["sex"] == "Female").astype(float)
    X["married"] = (frame["marital_status"] == "Married-civ-spouse").astype(float)
    target = next(name for name in frame if name.startswith("income"))
    return X, 2.0 * frame[target].to_numpy(float) - 1, frame["fnlwgt"].to_numpy(float)


def main(path):
    warnings.simplefilter("ignore")
    X, y, weights = load()
    bounds = dplr.Bounds({**BOUNDS, "female": (0, 1), "married": (0, 1)}, target=(-1, 1))
    columns, roots = np.column_stack([X.to_numpy(), np.ones(len(y))]), np.sqrt(weights)
    exact = columns @ np.linalg.lstsq(columns * roots[:, None], y * roots, rcond=None)[0]

    def error(**options):
        options = {
            "model": "linear",
            "mechanism": dplr.FunctionalMechanism(ranges="off"),
            "bounds": bounds,
            "delta": delta,
        } | options
        fits = dplr.fit_many(X, y, eps=[eps], repeats=FITS, **options)
        away = [X.to_numpy() @ est.coef_ + est.intercept_ - exact for est in fits]  # predictions would be clipped
        return np.sqrt(np.average(np.square(away), axis=1, weights=weights).mean())

    caps = {"largest code": LARGEST, **{f"{each:g} x mean": each * weights.mean() for each in MULTIPLES}}
    with open(path, "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["delta", "eps", "cap", "cap / mean", "error"])
        for eps, delta in LEVELS:
            for words, cap in caps.items():
                found = error(sample_weight=weights, bounds=with_numbers(bounds, 1, cap))
                writer.writerow([delta, eps, words, f"{cap / weights.mean():.1f}", f"{found:.4f}"])
                file.flush()
            writer.writerow([delta, eps, "unweighted", "", f"{error():.4f}"])


if __name__ == "__main__":
    main(sys.argv[1])
