"""Coverage of 95 % intervals beside a rare flag, and of labels and numbers whose variances differ between rows.

Two numbers in [0, 1] and a flag with a share of .1 to 5 %, eps 1, delta 1e-6, `aim="coefficients"`:

    linear        numbers with normal errors of .5, bounds -4 to 4
    log odds      labels of a logistic model
    unequal       numbers whose errors have a deviation from .1 to 2, by the first column
    probability   labels of probabilities from .02 to .98, moments with intervals="robust": slopes of the best line

    python -m bench.studies.flags bench/results/flags.csv [fits]
"""

import csv
import sys
import warnings

import numpy as np
from scipy import special

import dplr

FITS, EPS, DELTA = 200, 1.0, 1e-6
SHARES, ROWS = (0.001, 0.005, 0.01, 0.05), (20_000, 50_000)
DESIGNS = ("linear", "log odds", "unequal", "probability")
SLOPES, CONSTANT = np.array([1.0, -1.0, 0.5]), -0.2
STEEP, MANY = np.array([8.0, 0.0, 0.0]), 4_000_000


def columns(n, share, rng):
    """X of n rows."""
    X = rng.uniform(0, 1, (n, 3))
    X[:, 2] = rng.random(n) < share
    return X


def targets(design, X, rng):
    """The target of each row."""
    if design == "log odds":
        return (rng.random(len(X)) < special.expit(X @ SLOPES + CONSTANT)).astype(int)
    if design == "probability":
        return (rng.random(len(X)) < special.expit(X @ STEEP - 4)).astype(int)
    spread = 0.5 if design == "linear" else 0.1 + 1.9 * X[:, 0]
    return X @ SLOPES + CONSTANT + spread * rng.normal(size=len(X))


def truth(design, share, rng):
    """The slopes that intervals are of."""
    if design != "probability":
        return SLOPES
    X = columns(MANY, share, rng)
    Z = np.column_stack([X, np.ones(MANY)])
    return np.linalg.lstsq(Z, special.expit(X @ STEEP - 4), rcond=None)[0][:3]


def cell(design, n, share, fits, rng):
    """Coverage and share of bounded intervals of the numbers, and of the flag."""
    slopes, numeric = truth(design, share, rng), design in ("linear", "unequal")
    flag = {"levels": [0, 1], "reference": 0}
    bounds = dplr.Bounds([(0, 1), (0, 1), flag], target=(-4, 4) if numeric else None)
    options = {"model": "linear" if numeric else "logistic", "aim": "coefficients", "eps": EPS, "delta": DELTA}
    if design == "probability":
        options["mechanism"] = "fm"
    held = []
    for _ in range(fits):
        X = columns(n, share, rng)
        ends = dplr.fit(X, targets(design, X, rng), bounds=bounds, **options).conf_int()
        low, high = np.array([pair for name, pair in ends.items() if name != "(intercept)"]).T
        held.append(np.column_stack([(low <= slopes) & (slopes <= high), np.isfinite(high - low)]))
    covered, bounded = np.moveaxis(np.array(held), 2, 0)
    found = []
    for lines in (slice(0, 2), slice(2, 3)):
        some, right = bounded[:, lines], covered[:, lines]
        found += [right[some].mean() if some.any() else np.nan, some.mean()]
    return found


def main(path, fits):
    warnings.simplefilter("ignore")
    rng = np.random.default_rng(11)
    with open(path, "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["design", "rows", "share", "fits", "numbers", "numbers_bounded", "flag", "flag_bounded"])
        for design in DESIGNS:
            for n in ROWS:
                for share in SHARES:
                    shown = [f"{number:.3f}" for number in cell(design, n, share, fits, rng)]
                    writer.writerow([design, n, share, fits, *shown])
                    file.flush()


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else FITS)
