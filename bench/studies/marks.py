"""What it gains that a number and the mark of its missing values are one group: before, after, and without marks.

Pure eps, the defaults of two mechanisms. Mean and standard error over fits: error on rows kept aside for heart disease
(20 fits on each of 20 splits), R^2 for a made-up table of ten numbers, each missing in a fifth of the rows (20 fits).

    DPLR_DATA=<folder> python -m bench.studies.marks bench/results/marks.csv
"""

import contextlib
import csv
import os
import pathlib
import sys
import unittest.mock
import warnings

import numpy as np
import pandas as pd

import dplr
from bench.data.tables import HEART_IMPUTED
from dplr.bounds.layout import Layout

FITS = 20
LEVELS = (0.1, 0.5, 1.0, 3.0)
HEART = {
    "age": (20, 100), "sex": (0, 1), "cp": {"levels": [1, 2, 3, 4]}, "trestbps": (60, 250), "chol": (80, 700),
    "fbs": (0, 1), "restecg": {"levels": [0, 1, 2]}, "thalach": (40, 220), "exang": (0, 1), "oldpeak": (-5, 10),
}  # fmt: skip
MARKED = ("trestbps", "chol", "thalach", "oldpeak")
WAYS = ("imputed", "two groups", "one group")


def bounds_of(known, marked, way, target=None):
    """The bounds, with a public constant or a mark for what is missing of the numbers in `marked`."""
    own = {
        name: {"lower": known[name][0], "upper": known[name][1], "missing": value if way == "imputed" else "indicator"}
        for name, value in marked.items()
    }
    return dplr.Bounds(known | own, target=target)


def heart(folder):
    """Disease or not: twenty splits into 736 rows to fit and 184 to score."""
    whole = pd.read_parquet(pathlib.Path(folder) / "heart_disease.parquet")
    whole = whole.fillna({name: value for name, value in HEART_IMPUTED.items() if name not in MARKED})
    for split in range(20):
        frame = whole.iloc[np.random.default_rng(split).permutation(len(whole))]
        y = frame["disease"].to_numpy() > 0
        yield frame[list(HEART)], y, 736


def made():
    """A number that depends on ten numbers, and on which of them are missing."""
    rng, n, d = np.random.default_rng(7), 25_000, 10
    X = rng.beta(rng.uniform(0.5, 3, d), rng.uniform(0.5, 3, d), (n, d)) * 2 - 1
    gone = rng.random((n, d)) < 0.2
    score = np.where(gone, 0.3 * rng.normal(size=d), X * rng.normal(size=d)).sum(axis=1)
    y = np.clip((score - score.mean()) / (3 * score.std()) + rng.normal(0, 0.1, n), -1, 1)
    yield pd.DataFrame(np.where(gone, np.nan, X), columns=[f"x{j}" for j in range(d)]), y, 5_000


def ten(value):
    """The same for each of the ten numbers."""
    return {f"x{j}": value for j in range(10)}


def scores(splits, model, bounds, mechanism, eps):
    """Scores of all fits of all splits, and the half-width of the rows."""
    found = []
    for X, y, n in splits:
        facts = {"model": model, "mechanism": mechanism, "bounds": bounds}
        for est in dplr.fit_many(X[:n], y[:n], eps=[eps], repeats=FITS, **facts):
            score = est.score(X[n:], y[n:])
            found.append(score if model == "linear" else 1 - score)
    return np.array(found), dplr.plan(n_rows=n, eps=eps, **facts).problem.geometry.half_width


def main(path):
    warnings.simplefilter("ignore")  # shares of missing values of public data
    tables = {
        "heart": (
            "logistic",
            list(heart(os.environ["DPLR_DATA"])),
            HEART,
            {name: HEART_IMPUTED[name] for name in MARKED},
        ),
        "ten numbers": ("linear", list(made()), ten((-1, 1)), ten(0.0)),
        "ten numbers, wide bounds": ("linear", list(made()), ten((-1, 7)), ten(0.0)),
    }
    with open(path, "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["table", "mechanism", "eps", "missing", "half_width", "mean", "standard_error"])
        for name, (model, splits, known, marked) in tables.items():
            cases = [(mechanism, eps, way) for mechanism in ("objective", "fm") for eps in LEVELS for way in WAYS]
            for mechanism, eps, way in cases:
                bounds = bounds_of(known, marked, way, target=(-1, 1) if model == "linear" else None)
                # Without what the layout knows of marks, each is a block of its own, as it was.
                before = unittest.mock.patch.object(Layout, "marked", ())
                with before if way == "two groups" else contextlib.nullcontext():
                    found, width = scores(splits, model, bounds, mechanism, eps)
                error = found.std(ddof=1) / len(found) ** 0.5
                cells = (name, mechanism, eps, way, f"{width:.4f}", f"{found.mean():.4f}", f"{error:.4f}")
                writer.writerow(cells)
                print(*cells, flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
