"""Do intervals of log odds from objective perturbation with a Hessian cover, and how wide are they? delta = 0.

The tables of `bench.studies.score`, fitted by ``ObjectivePerturbation(intervals="on")``; the same columns.

    python -m bench.studies.score_pure bench/results/score_pure.csv
"""

import csv
import itertools
import sys
import warnings

import numpy as np

import dplr
from bench.studies.score import LENGTHS, LEVELS, SIZES, Z, drawn, likelihood

TIMES = {3: (100, 100, 24), 10: (40, 40, 12), 30: (16, 16, 6)}
HEADS = ("columns", "d", "n", "eps", "replications", "coverage", "least", "width", "unbounded", "likelihood")


def measure(kind, n, d, times):
    """One line for each eps: all of them see the same tables."""
    rng, found = np.random.default_rng([n, d, *kind.encode()]), {eps: [] for eps in LEVELS}
    mechanism, bounds = dplr.ObjectivePerturbation(intervals="on"), dplr.Bounds([(-1, 1)] * d)
    for _ in range(times):
        X, y, theta = drawn(kind, n, d, rng)
        mle, errors = likelihood(X, y)
        plain = np.abs(mle - theta)[:d] <= Z * errors[:d]
        for eps in LEVELS:
            est = dplr.fit(X, y, eps=eps, bounds=bounds, classes=[0, 1], mechanism=mechanism)
            low, high = np.array(list(est.conf_int().values()))[:d].T
            found[eps].append(((low <= theta[:d]) & (theta[:d] <= high), (high - low) / (2 * Z * errors[:d]), plain))
    for eps, rows in found.items():
        covered, width, plain = (np.array(column) for column in zip(*rows, strict=True))
        free = np.isinf(width)
        ratio = np.median(width[~free]) if (~free).any() else np.nan
        numbers = covered.mean(), covered.mean(axis=0).min(), ratio, free.mean(), plain.mean()
        yield [kind, d, n, eps, times, *(f"{each:.3f}" for each in numbers)]


def main(path):
    warnings.simplefilter("ignore")
    with open(path, "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(HEADS)
        for (d, times), kind in itertools.product(TIMES.items(), LENGTHS):
            for n, count in zip(SIZES, times, strict=True) if d == 3 or kind != "steep" else ():
                for line in measure(kind, n, d, count):
                    writer.writerow(line)
                    print(*line, flush=True)
                file.flush()


if __name__ == "__main__":
    main(sys.argv[1])
