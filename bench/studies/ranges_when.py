"""When private ranges pay for predictions: of labels and of numbers, with few rows and many, in bounds of all sizes.

R^2 for numbers, error for labels: mean and standard error over fits on training parts, without ranges and with them,
whatever the rule of `ranges="auto"` says. `noise` is that of a mean, in half-widths, were all of eps spent on it; the
rule has ranges where it is at most 0.15 / 9. Decision 45.

    DPLR_DATA=<folder> python -m bench.studies.ranges_when bench/results/ranges_when.csv [labels | numbers | descent]
    DPLR_DATA=<folder> python -m bench.studies.ranges_when bench/results/ranges_added.csv added

`added` has both kinds of questions under add_remove, with the right number of rows declared. Decision 54.
"""

import contextlib
import csv
import math
import os
import sys
import unittest.mock
import warnings
from dataclasses import replace

import numpy as np

import dplr
from bench.data.tables import Table, tables
from dplr.fitting import planning, ranges

LEVELS = (0.1, 0.5, 1.0, 3.0)
SIZES = (1_000, 2_000, 5_000, 20_000, 200_000)
HELD = 20_000
PARTS = {"ACS 20k": (1_000, 5_000), "RAND": (3_000,), "Adult": (8_000,)}
WIDER = ("ACS 2k", "ACS 20k", "ACS income 20k")
# What is fitted of each kind of question: mechanism, delta, and the choices of ranges.
RUNS = {
    "labels": [("objective", 0.0, ("off", "on"))],
    "numbers": [("objective", 0.0, ("off", "on")), ("fm", 0.0, ("off", "on")), ("fm", 1e-6, ("off", "on"))],
    "descent": [("auto", 1e-6, ("off", "own sums"))],
    "added": [("objective", 0.0, ("off", "on"))],
}


def wide(table, times=4):
    """Every bound that is not a flag's reaches that many times as far."""
    pairs = [(c.lower, c.upper) for c in table.bounds.layout.columns]
    pairs = [pair if pair == (0, 1) else (pair[0], pair[0] + times * (pair[1] - pair[0])) for pair in pairs]
    bounds = dplr.Bounds(pairs, target=table.bounds.target_pair() if table.model == "linear" else None)
    return replace(table, name=f"{table.name} wide", bounds=bounds)


def tails(n, model):
    """Six lognormal numbers of median 1, in (0, 100), and a target that is linear in their logarithms."""
    rng = np.random.default_rng(3)
    z = rng.normal(size=(n + HELD, 6)) + 0.5 * rng.normal(size=(n + HELD, 1))
    X = np.exp(0.8 * z)
    score = np.log1p(X) @ [1.2, -0.9, 0.8, 0.0, 0.5, -0.6]
    score -= np.median(score)
    if model == "logistic":
        y, target = 2.5 * score + rng.logistic(size=len(X)) > 0, None
    else:
        y, target = np.clip(score / 3 + rng.normal(0, 0.2, len(X)), -1, 1), (-1, 1)
    bounds = dplr.Bounds([(0, 100)] * 6, target=target)
    return Table(f"tails {n // 1000}k", model, bounds, X[:n], y[:n], X[n:], y[n:])


def every(folder):
    """All tables with a number, parts of some, wide bounds of some, and tails."""
    for table in tables(folder, official=False):
        for n in PARTS.get(table.name, ()):
            yield replace(table, name=f"{table.name.removesuffix(' 20k')} {n}", X=table.X[:n], y=table.y[:n])
        if table.name in WIDER:
            yield wide(table)
        if table.name != "blocks":
            yield table
    for n in SIZES:
        yield tails(n, "logistic")
        yield tails(n, "linear")


@contextlib.contextmanager
def ranges_of(choice):
    """Fits with ranges of that kind: of the sums of a descent, which `"auto"` makes for numbers alone."""
    if choice != "own sums":
        yield choice
        return
    with unittest.mock.patch.object(planning, "clippable", lambda choice, problem, prep: ranges.columns_of(prep)):
        yield "auto"


def scores(table, eps, mechanism, delta, choice, fits, added=False):
    """Scores of that many fits, and the number of columns that have ranges."""
    options = {"model": table.model, "mechanism": mechanism, "bounds": table.bounds, "delta": delta}
    if added:
        options |= {"neighbouring": "add_remove", "n_rows": len(table.X)}
    with ranges_of(choice) as setting:
        models = dplr.fit_many(table.X, table.y, eps=[eps], repeats=fits, ranges=setting, **options)
    test = table.held_X[:HELD], table.held_y[:HELD]
    values = np.array([est.score(*test) for est in models])
    return (values if table.model == "linear" else 1 - values), len(ranges.columns_of(models[0]._record.prep))


def main(path, kind):
    warnings.simplefilter("ignore")  # clipped shares of public data
    with open(path, "a", newline="") as file:
        writer = csv.writer(file)
        for table in sorted(every(os.environ["DPLR_DATA"]), key=lambda table: len(table.X)):
            if kind != "added" and (table.model == "linear") is not (kind == "numbers"):
                continue
            fits = (24 if kind == "labels" else 10) if len(table.X) < 50_000 else 8 if kind == "labels" else 5
            for eps in LEVELS:
                for mechanism, delta, choices in RUNS[kind]:
                    for choice in choices:
                        values, columns = scores(table, eps, mechanism, delta, choice, fits, kind == "added")
                        moved = 2 * columns + 1 if kind == "added" else 2.25 * columns
                        noise = math.sqrt(2) * moved / eps / len(table.X)
                        cells = (table.name, len(table.X), columns, eps, delta, mechanism, choice, f"{noise:.5f}")
                        writer.writerow((*cells, f"{values.mean():.4f}", f"{values.std(ddof=1) / fits**0.5:.4f}", fits))
                        file.flush()
                        print(*cells, f"{values.mean():.4f}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
