"""When does noise drown a fit? Fits of every mechanism to 3 to 20,000 made-up rows, beside what a plan foresees.

Two designs: `even` has triangular numbers, a signal of half the variance and balanced labels; `skewed` has numbers that
fill a small part of their bounds, a signal of a third, and one label in five.

    python -m bench.studies.drowned bench/results/drowned.csv

`kept` is the share of what a model gains over the mean, or over the most frequent label, that is left; without privacy,
with 20,000 rows, it is 1.
"""

import csv
import itertools
import sys
import warnings
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

import dplr
from dplr.mechanisms import as_mechanism

SIZES, COLUMNS = (3, 20, 80, 200, 500, 2_000, 20_000), (1, 3, 13, 40)
LEVELS, DELTAS = (0.05, 0.1, 0.5, 1.0, 3.0), (0.0, 1e-6)
MECHANISMS = {0.0: ("objective", "output", "fm"), 1e-6: ("ngd", "score", "objective", "output", "fm")}
DESIGNS = {"even": (0.5, 0.5), "skewed": (0.33, 0.2)}  # signal, and share of the second label
TABLES, FITS, HELD, MOST = 4, 3, 4_000, 20_000
FIELDS = ("design", "model", "mechanism", "delta", "n", "d", "eps", "error", "baseline", "best", "kept", "ratio")


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
    outlook = dplr.plan(**facts | {"mechanism": replace(as_mechanism(facts["mechanism"]), ranges="off")}).outlook
    assert outlook is not None
    return outlook.ratio


def cells(design: str, model: str, n: int, d: int) -> Iterator[dict[str, Any]]:
    """Every mechanism, delta and eps on the same tables."""
    bounds = dplr.Bounds([(-1, 1)] * d, target=(-1, 1) if model == "linear" else (0, 1))
    samples = [(rows(design, model, n, d, 1001 * k), rows(design, model, HELD, d, 10**6 + k)) for k in range(TABLES)]
    plain = {"mechanism": dplr.FunctionalMechanism(ranges="off")} if model == "linear" else {"mechanism": "none"}
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


def main(path: str) -> None:
    warnings.simplefilter("ignore")
    with open(path, "w", newline="") as file:
        writer = csv.DictWriter(file, FIELDS)
        writer.writeheader()
        for n, d, model, design in itertools.product(SIZES, COLUMNS, ("linear", "logistic"), DESIGNS):
            for record in cells(design, model, n, d):
                writer.writerow({key: f"{v:.4g}" if isinstance(v, float) else v for key, v in record.items()})
                file.flush()


if __name__ == "__main__":
    main(sys.argv[1])
