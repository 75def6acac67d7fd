"""Noisy gradient descent with and without private standardisation: test errors, and what chose the constants.

Income of the American Community Survey above 50,000 (misclassification) or clipped to [0, 200,000] (mean squared error
on the scale [-1, 1]), and Adult (misclassification), within the bounds of docs/examples. All defaults, 20 fits.

    training  fits to random training rows, scored on other training rows: what the constants were checked on
    test      fits to the first n training rows, scored on the test split

The last column says what standardise="auto" does there.

    DPLR_DATA=<folder> python -m bench.studies.standardise bench/results/standardise.csv [training test]
"""

import csv
import itertools
import os
import pathlib
import sys

import numpy as np
import pandas as pd

import dplr
from bench.accuracy.acs import load
from bench.studies.defaults import FEATURES

FITS = 20
HELD = {"acs": 50_000, "adult": 10_000}
LEVELS = (0.1, 0.5, 1.0, 3.0)
DELTAS = {"training": (1e-5,), "test": (1e-5, 1e-6)}
SETTINGS = ("off", "on")
ADULT = pathlib.Path(__file__).parents[2] / "docs/examples/adult.toml"


def acs(scored_on):
    """Name, model, bounds and rows of every size, with the rows to score."""
    X, income, test_X, test_income = load(os.environ["DPLR_DATA"])
    if scored_on == "training":
        order = np.random.default_rng(20).permutation(len(X))
        X, income = X[order], income[order]
        test_X, test_income = X[-HELD["acs"] :], income[-HELD["acs"] :]
    for n in (2_000, 20_000) if scored_on == "training" else (2_000, 20_000, 200_000):
        for model, target in (("logistic", None), ("linear", (0, 200_000))):
            bounds = dplr.Bounds(list(FEATURES.values()), target=target)
            y, test_y = (
                part > 50_000 if model == "logistic" else np.clip(part, 0, 200_000) for part in (income, test_income)
            )
            yield f"acs {n}", model, bounds, X[:n], y[:n], test_X, test_y


def adult(scored_on):
    """The official split, or the training rows split again."""
    frame = pd.read_parquet(pathlib.Path(os.environ["DPLR_DATA"]) / "adult.parquet")
    rows, test = (frame[frame["split"] == part] for part in ("train", "test"))
    if scored_on == "training":
        rows = rows.sample(frac=1, random_state=20)
        rows, test = rows[: -HELD["adult"]], rows[-HELD["adult"] :]
    bounds = dplr.Bounds.from_toml(ADULT)
    target = "income_gt_50k"
    for n in (2_000, len(rows)):
        part = rows[:n]
        yield f"adult {n}", "logistic", bounds, part, part[target].to_numpy(int), test, test[target].to_numpy(int)


def errors(est, X, y):
    """Misclassification, or the mean squared error where 100,000 is 1."""
    if not hasattr(est, "classes_"):
        return np.mean(((est.predict(X) - y) / 100_000) ** 2)
    return np.mean(est.predict(X) != y)


def tables(scored_on):
    """One row for each data set, eps and delta."""
    for source in (acs, adult):
        for name, model, bounds, X, y, test_X, test_y in source(scored_on):
            for delta, eps in itertools.product(DELTAS[scored_on], LEVELS):
                row = [scored_on, name, model, eps, delta]
                for setting in SETTINGS:
                    mechanism = dplr.NoisyGradientDescent(standardise=setting)
                    options = {"model": model, "bounds": bounds, "mechanism": mechanism, "delta": delta}
                    fits = dplr.fit_many(X, y, eps=[eps], repeats=FITS, **options)
                    found = np.array([errors(est, test_X, test_y) for est in fits])
                    row += [f"{found.mean():.4f}", f"{found.std(ddof=1) / FITS**0.5:.4f}"]
                planned = dplr.plan(n_rows=len(X), eps=eps, delta=delta, model=model, bounds=bounds, mechanism="ngd")
                yield [*row, "on" if planned.settings.standardised else "off"]


def main(path, *which):
    with open(path, "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["scored_on", "data", "model", "eps", "delta", "off", "off_se", "on", "on_se", "auto"])
        for scored_on in which or ("training", "test"):
            for row in tables(scored_on):
                writer.writerow(row)
                file.flush()
                print(*row, flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
