"""Coverage of intervals of marginal effects, standardised coefficients and variance inflation: simulated tables.

Columns: three numbers of which the first two have a correlation of 0.8 and the third is skewed, and a flag that is 1 in
5 % of the rows. Labels follow a logistic model, half of them 1 (`even`) or a tenth (`rare`); a number has residuals
with Laplace's law. The truth is that of four million rows.

    python -m bench.studies.column_statistics bench/results/column_statistics.csv [fits]
"""

import csv
import sys
import warnings

import numpy as np

import dplr

FITS, DELTA, TRUTH = 250, 1e-6, 4_000_000
SLOPES = np.array([2.0, -1.0, 1.0, 0.6])
STARTS = {"even": -0.95, "rare": -3.4}
BOUNDS = [(0, 1), (0, 1), (0, 1), (0, 1)]
PURE = dplr.ObjectivePerturbation(intervals="on")
RELEASES = [
    ("even", "score", 20_000),
    ("even", "objective", 20_000),
    ("even", "score", 200_000),
    ("rare", "score", 20_000),
]
LABELS = [(*release, eps) for release in RELEASES for eps in (1.0, 3.0)]
NUMBERS = [(delta, 20_000, eps) for delta in (0.0, DELTA) for eps in (1.0, 3.0)]


def columns(n, rng):
    first = rng.uniform(0, 1, n)
    second = np.where(rng.random(n) < 0.8, first, rng.uniform(0, 1, n))
    return np.column_stack([first, second, rng.beta(2, 5, n), rng.random(n) < 0.05])


def labels(start, n, rng):
    """Columns, labels and probabilities."""
    X = columns(n, rng)
    chances = 1 / (1 + np.exp(-(X @ SLOPES + STARTS[start])))
    return X, rng.random(n) < chances, chances


def numbers(n, rng):
    """Columns and a number."""
    X = columns(n, rng)
    return X, X @ SLOPES + rng.laplace(0, 0.5, n)


def fit(X, y, eps, delta, target, mechanism, model):
    bounds = dplr.Bounds(BOUNDS, target=target)
    return dplr.fit(X, y, model=model, mechanism=mechanism, eps=eps, delta=delta, bounds=bounds)


def summed(found, truth):
    """Coverage of what is reported, the worst column, the part that is reported, and the width over the truth."""
    low, high = np.array([[(line.low, line.high) for line in each.lines] for each in found]).transpose(2, 0, 1)
    said = np.isfinite(low)
    held = np.where(said, (low <= truth) & (truth <= high), np.nan)
    widths = np.nanmedian((high - low) / np.abs(truth)) if said.any() else np.nan
    return np.nanmean(held), np.nanmin(np.nanmean(held, axis=0)), said.mean(), widths


def effects(start, mechanism, n, eps, fits, rng):
    _, _, chances = labels(start, TRUTH, np.random.default_rng(0))
    truth = SLOPES * np.mean(chances * (1 - chances))
    delta, way = (0.0, PURE) if mechanism == "objective" else (DELTA, mechanism)
    found = []
    for _ in range(fits):
        X, y, _ = labels(start, n, rng)
        found.append(fit(X, y, eps, delta, (False, True), way, "logistic").marginal_effects())
    return {"marginal effects": summed(found, truth)}


def standards(delta, n, eps, fits, rng):
    X, y = numbers(TRUTH, np.random.default_rng(0))
    ratios = SLOPES * X.std(axis=0) / y.std()
    inflation = np.diag(np.linalg.inv(np.corrcoef(X, rowvar=False)))
    found = []
    for _ in range(fits):
        X, y = numbers(n, rng)
        est = fit(X, y, eps, delta, (-4, 6), "fm", "linear")
        found.append((est.standardised_coefficients(), est.variance_inflation()))
    first, second = zip(*found, strict=True)
    return {"standardised coefficients": summed(first, ratios), "variance inflation": summed(second, inflation)}


def main(path, fits):
    warnings.simplefilter("ignore")
    rng = np.random.default_rng(38)
    cells = [(effects, (*cell, fits, rng), (f"labels, {cell[0]}", *cell[1:])) for cell in LABELS]
    cells += [(standards, (*cell, fits, rng), ("number", f"fm, delta {cell[0]:g}", *cell[1:])) for cell in NUMBERS]
    with open(path, "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["target", "mechanism", "n", "eps", "fits", "statistic", "coverage", "worst", "said", "width"])
        for make, facts, names in cells:
            for statistic, values in make(*facts).items():
                writer.writerow([*names, fits, statistic, *(f"{value:.3f}" for value in values)])
            file.flush()


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else FITS)
