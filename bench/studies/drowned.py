"""When does noise drown a fit? Fits of every mechanism on made-up rows, from 3 rows to 20,000, beside what was foreseen.

Two designs: `even` has triangular numbers, a signal of half the variance and balanced labels; `skewed` has numbers that
fill a small part of their bounds, a signal of a third, and one label in five.

    python -m bench.studies.drowned bench/results/drowned.csv
"""

import csv
import itertools
import sys
import warnings
from collections.abc import Iterator

import numpy as np

import dplr

SIZES, COLUMNS = (3, 20, 80, 200, 500, 2_000, 20_000), (1, 3, 13, 40)
LEVELS, DELTAS = (0.05, 0.1, 0.5, 1.0, 3.0), (0.0, 1e-6)
MECHANISMS = {0.0: ("objective", "output", "fm"), 1e-6: ("ngd", "score", "objective", "output", "fm")}
DESIGNS = {"even": (0.5, 0.5), "skewed": (0.33, 0.2)}  # signal, and share of the second label
TABLES, FITS, HELD = 4, 3, 4_000
FIELDS = ("design", "model", "mechanism", "delta", "n", "d", "eps", "error", "baseline", "best", "kept")


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
    score = score * (np.pi / 3**0.5) / (1 - signal) ** 0.5 + rng.logistic(size=n)
    reach = np.pi / 3**0.5 / (1 - signal) ** 0.5  # deviation of the score
    cut = 0.0 if share == 0.5 else 0.88 * reach  # a quantile that is the same for all tables
    return X, (score > cut).astype(int)


def error(model: str, predicted: np.ndarray, y: np.ndarray) -> float:
    """Mean squared error, or share of wrong answers."""
    return float(np.mean((predicted - y) ** 2) if model == "linear" else np.mean(predicted != y))


def cells(design: str, model: str, n: int, d: int) -> Iterator[dict[str, object]]:
    """Every mechanism, delta and eps on the same tables."""
    target = (-1, 1) if model == "linear" else (0, 1)
    bounds = dplr.Bounds([(-1, 1)] * d, target=target)
    tables = [(rows(design, model, n, d, 1000 * k + k), rows(design, model, HELD, d, 10**6 + k)) for k in range(TABLES)]
    plain = {"mechanism": "fm", "ranges": "off"} if model == "linear" else {"mechanism": "none"}
    bests = []
    for k, (_, held) in enumerate(tables):
        est = dplr.fit(*rows(design, model, 20_000, d, 10**7 * 10 + k), model=model, eps=np.inf, bounds=bounds, **plain)
        bests.append(error(model, est.predict(held[0]), held[1]))
    guess = [np.mean(held[1]) if model == "linear" else float(np.mean(held[1]) > 0.5) for _, held in tables]
    baseline = np.mean([error(model, g, held[1]) for g, (_, held) in zip(guess, tables, strict=True)])
    for delta in DELTAS:
        for mechanism in MECHANISMS[delta]:
            if mechanism == "score" and model == "linear":
                continue
            for eps in LEVELS:
                errors = []
                try:
                    for (X, y), held in tables:
                        options = {"model": model, "bounds": bounds, "mechanism": mechanism, "delta": delta}
                        done = dplr.fit_many(X, y, eps=[eps], repeats=FITS, **options)
                        errors += [error(model, est.predict(held[0]), held[1]) for est in done]
                except ValueError as fault:
                    print("no plan:", mechanism, delta, n, d, eps, str(fault)[:80], flush=True)
                    continue
                best, mean = np.mean(bests), np.mean(errors)
                kept = (baseline - mean) / (baseline - best)
                yield dict(
                    zip(FIELDS, (design, model, mechanism, delta, n, d, eps, mean, baseline, best, kept), strict=True)
                )


def main(path: str) -> None:
    warnings.simplefilter("ignore")
    with open(path, "w", newline="") as file:
        writer = csv.DictWriter(file, FIELDS)
        writer.writeheader()
        for n, d, model, design in itertools.product(SIZES, COLUMNS, ("linear", "logistic"), DESIGNS):
            for cell in cells(design, model, n, d):
                writer.writerow({key: f"{v:.5g}" if isinstance(v, float) else v for key, v in cell.items()})
                file.flush()


if __name__ == "__main__":
    main(sys.argv[-1])
