"""When does noise drown a fit? Fits of every mechanism to 3 to 20,000 made-up rows, beside what a plan foresees.

Two designs: `even` has triangular numbers, a signal of half the variance and balanced labels; `skewed` has numbers that
fill a small part of their bounds, a signal of a third, and one label in five.

    python -m bench.studies.drowned bench/results/drowned.csv

    DPLR_DATA=<folder> python -m bench.studies.drowned --tables bench/results/drowned_tables.csv

With --tables the errors are those of bench/results/auto.csv: parts of the project's tables.

`kept` is the share of what a model gains over the mean, or over the most frequent label, that is left; without privacy,
with 20,000 rows, it is 1. On tables 1 is the best private fit of the file.
"""

import csv
import itertools
import os
import sys
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np

import dplr
from bench.data.tables import tables

SIZES, COLUMNS = (3, 20, 80, 200, 500, 2_000, 20_000), (1, 3, 13, 40)
LEVELS, DELTAS = (0.05, 0.1, 0.5, 1.0, 3.0), (0.0, 1e-6)
MECHANISMS = {0.0: ("objective", "output", "fm"), 1e-6: ("ngd", "score", "objective", "output", "fm")}
DESIGNS = {"even": (0.5, 0.5), "skewed": (0.33, 0.2)}  # signal, and share of the second label
TABLES, FITS, HELD, MOST = 4, 3, 4_000, 20_000
FIELDS = ("design", "model", "mechanism", "delta", "n", "d", "eps", "error", "baseline", "best", "kept", "ratio")
OF_TABLES = ("table", "model", "mechanism", "delta", "n", "d", "eps", "kept", "ratio")


def rows(design: str, model: str, n: int, d: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows in [-1, 1]^d, and targets in [-1, 1] or labels."""
    rng = np.random.default_rng(seed)
    signal, share = DESIGNS[design]
    if design == "even":
        X, center, scale = rng.triangular(-1, 0, 1, (n, d)), 0.0, 6**-0.5
    else:
        X, center, scale = rng.beta(2, 6, (n, d)) * 2 - 1, -0.5, 0.288675
    direction = np.random.default_rng(seed % 1000).normal(size=d)
    score = (X - center) / scale @ (direction / np.linalg.norm(direction)) * signal**0.5
    if model == "linear":
        return X, np.clip((score + (1 - signal) ** 0.5 * rng.normal(size=n)) * 0.3, -1, 1)
    reach = np.pi / 3**0.5 / (1 - signal) ** 0.5  # deviation of the score with its error
    score = score * reach + rng.logistic(size=n)
    return X, (score > (0.0 if share == 0.5 else 0.88 * reach)).astype(int)


def error(model: str, predicted: Any, y: np.ndarray) -> float:
    """Mean squared error, or share of wrong answers."""
    return float(np.mean((predicted - y) ** 2) if model == "linear" else np.mean(predicted != y))


def ratio(facts: dict[str, Any]) -> float:
    """The ratio that a plan foresees without ranges, as those follow a rule of their own."""
    outlook = dplr.plan(large_delta=True, ranges="off", **facts).outlook
    assert outlook is not None
    return outlook.ratio


def cells(design: str, model: str, n: int, d: int) -> Iterator[dict[str, Any]]:
    """Every mechanism, delta and eps on the same tables."""
    bounds = dplr.Bounds([(-1, 1)] * d, target=(-1, 1) if model == "linear" else (0, 1))
    samples = [(rows(design, model, n, d, 1001 * k), rows(design, model, HELD, d, 10**6 + k)) for k in range(TABLES)]
    plain = {"mechanism": "fm", "ranges": "off"} if model == "linear" else {"mechanism": "none"}
    bests, guesses = [], []
    for k, (_, (X, y)) in enumerate(samples):
        est = dplr.fit(*rows(design, model, MOST, d, 10**8 + k), model=model, eps=np.inf, bounds=bounds, **plain)
        bests.append(error(model, est.predict(X), y))
        guesses.append(error(model, y.mean() if model == "linear" else float(y.mean() > 0.5), y))
    best, baseline = float(np.mean(bests)), float(np.mean(guesses))
    for delta, eps in itertools.product(DELTAS, LEVELS):
        for mechanism in MECHANISMS[delta]:
            facts = {"model": model, "bounds": bounds, "mechanism": mechanism, "delta": delta}
            errors = []
            try:
                for (X, y), (test_X, test_y) in samples:
                    models = dplr.fit_many(X, y, eps=[eps], repeats=FITS, **facts)
                    errors += [error(model, est.predict(test_X), test_y) for est in models]
            except ValueError:  # no plan: `score` knows labels alone, and some noise cannot be drawn
                continue
            mean = float(np.mean(errors))
            scores = (
                mean,
                baseline,
                best,
                (baseline - mean) / (baseline - best),
                ratio({**facts, "eps": eps, "n_rows": n}),
            )
            yield dict(zip(FIELDS, (design, model, mechanism, delta, n, d, eps, *scores), strict=True))


def of_tables(folder: str) -> Iterator[dict[str, Any]]:
    """The errors of auto.csv, beside what a plan foresees."""
    with open("bench/results/auto.csv", newline="") as file:
        results = list(csv.DictReader(file))
    for table in tables(folder, official=False):
        lines = [line for line in results if line["table"] == table.name]
        means, linear = [float(line["mean"]) for line in lines], table.model == "linear"
        test_y = np.asarray(table.held_y, float)
        baseline = 0.0 if linear else min(test_y.mean(), 1 - test_y.mean())
        for line, mean in zip(lines, means, strict=True):
            best = max(means) if linear else min(means)
            facts: dict[str, Any] = {"model": table.model, "bounds": table.bounds, "mechanism": line["mechanism"]}
            facts |= {"delta": float(line["delta"]), "eps": float(line["eps"]), "n_rows": int(line["n"])}
            share = (mean - baseline) / (best - baseline)
            key = (table.name, table.model, *(line[name] for name in ("mechanism", "delta", "n")))
            yield dict(
                zip(OF_TABLES, (*key, len(table.bounds.layout.names), line["eps"], share, ratio(facts)), strict=True)
            )


def rates(path: str, column: str, limit: float = 2.0) -> list[tuple[Any, ...]]:
    """Of each value of a column: missed among fits no better than none, and warned among those that keep half."""
    with open(path, newline="") as file:
        lines = list(csv.DictReader(file))
    counts = []
    for name in dict.fromkeys((line[column], line["model"]) for line in lines):
        scores = [
            (float(line["kept"]), float(line["ratio"])) for line in lines if (line[column], line["model"]) == name
        ]
        bad, good = [r for share, r in scores if share <= 0], [r for share, r in scores if share >= 0.5]
        counts.append((*name, sum(r <= limit for r in bad), len(bad), sum(r > limit for r in good), len(good)))
    return counts


def main(path: str) -> None:
    warnings.simplefilter("ignore")
    real = "--tables" in sys.argv
    designs = itertools.product(SIZES, COLUMNS, ("linear", "logistic"), DESIGNS)
    records = of_tables(os.environ["DPLR_DATA"]) if real else (
        record for n, d, model, design in designs for record in cells(design, model, n, d)
    )  # fmt: skip
    with open(path, "w", newline="") as file:
        writer = csv.DictWriter(file, OF_TABLES if real else FIELDS)
        writer.writeheader()
        for record in records:
            writer.writerow({key: f"{v:.4g}" if isinstance(v, float) else v for key, v in record.items()})
            file.flush()


if __name__ == "__main__":
    main(sys.argv[-1])
