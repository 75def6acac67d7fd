"""Which mechanism is the best default? Every mechanism on every table, at small and large n, scored on training rows.

    DPLR_DATA=<folder> python -m bench.studies.auto bench/results/auto.csv
    DPLR_DATA=<folder> python -m bench.studies.auto --classes OUT.csv

With --classes the questions have 3 to 10 answers: quantiles of income, and clusters of 8 numbers.
"""

import csv
import dataclasses
import os
import sys
import warnings
from collections.abc import Iterator

import numpy as np

import dplr
from bench.data.tables import Table, tables

FITS = 12
LEVELS = (0.1, 0.5, 1.0, 3.0)
SIZES = (500, 1_000, 2_000, 5_000, 20_000)
MECHANISMS = {0.0: ("objective", "fm"), 1e-6: ("ngd", "objective", "fm")}
KEPT = ("Adult", "ACS 200k", "ACS income 200k", "KDD Cup 99", "RAND", "few numbers", "many numbers", "blocks")
CLASSES, HELD = (3, 5, 7, 8, 10), 10_000
COLUMNS = ("table", "model", "n", "mechanism", "delta", "eps", "fits", "mean", "standard_error")


def parts(folder: str) -> Iterator[Table]:
    """Tables of several sizes: rows drawn at random from the training part."""
    for table in tables(folder, official=False):
        if table.name not in KEPT:
            continue
        order = np.random.default_rng(3).permutation(len(table.y))
        for n in SIZES:
            if n <= len(order):
                rows = np.sort(order[:n])
                X = table.X[rows] if isinstance(table.X, np.ndarray) else table.X.iloc[rows]
                yield dataclasses.replace(table, X=X, y=np.asarray(table.y)[rows])


def several(folder: str) -> Iterator[Table]:
    """Questions of several classes."""
    incomes = [t for t in tables(folder, official=False) if t.name in ("ACS income 2k", "ACS income 20k")]
    for table in incomes:
        for k in CLASSES:
            ends = np.quantile(table.y, np.arange(1, k) / k)
            bounds = dplr.Bounds(table.bounds.layout.pairs, target=list(range(k)))
            y, held = np.digitize(table.y, ends), np.digitize(table.held_y[:HELD], ends)
            yield Table(f"income, {k} classes", "logistic", bounds, table.X, y, table.held_X[:HELD], held)
    rng = np.random.default_rng(0)
    for k in CLASSES:
        centers = rng.normal(size=(k, 8))
        bounds = dplr.Bounds([(-4, 4)] * 8, target=list(range(k)))
        for n in (3_000, 30_000):
            y = rng.integers(k, size=n + HELD)
            X = np.clip(centers[y] + rng.normal(size=(n + HELD, 8)), -4, 4)
            yield Table(f"clusters, {k} classes", "logistic", bounds, X[:n], y[:n], X[n:], y[n:])


def scores(table: Table, mechanism: str, eps: float, delta: float) -> np.ndarray:
    """Errors, or R^2, of fits with all defaults."""
    facts = {"bounds": table.bounds, "eps": [eps], "delta": delta, "repeats": FITS}
    if table.model != "linear" and table.bounds.target is None:
        facts["classes"] = [False, True]
    done = dplr.fit_many(table.X, table.y, model=table.model, mechanism=mechanism, **facts)
    found = np.array([est.score(table.held_X, table.held_y) for est in done])
    return found if table.model == "linear" else 1 - found


def main(path: str, questions: Iterator[Table]) -> None:
    warnings.simplefilter("ignore")
    with open(path, "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(COLUMNS)
        for table in questions:
            for delta, mechanisms in MECHANISMS.items():
                for mechanism in mechanisms:
                    for eps in LEVELS:
                        found = scores(table, mechanism, eps, delta)
                        error = found.std(ddof=1) / len(found) ** 0.5
                        row = (table.name, table.model, len(table.y), mechanism, delta, eps, len(found))
                        writer.writerow((*row, f"{found.mean():.5f}", f"{error:.5f}"))
                        file.flush()


if __name__ == "__main__":
    asked = several if "--classes" in sys.argv else parts
    main(sys.argv[-1], asked(os.environ["DPLR_DATA"]))
