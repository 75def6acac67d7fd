"""Do intervals of log odds from the score release cover, and how wide are they?

Tables are drawn from logistic models with continuous columns (of deviation 0.45 half-ranges) or binary ones, margins of
deviation 1 and an intercept; "steep" has three binary columns and margins of deviation 2.5. delta = 1e-6. Each drawn
table is fitted at every eps with one and with two rounds. A row of the result has: replications; coverage of all slopes
together, and of the one that is covered least; median width over that of maximum likelihood, of slopes that are
bounded; share of slopes that are not; coverage of maximum likelihood.

    python -m bench.studies.score bench/results/score.csv
"""

import csv
import itertools
import sys
import warnings
from collections import defaultdict

import numpy as np
from scipy import special

import dplr
from dplr.inference.intervals import UNBOUNDED, intervals

DELTA, LEVELS, ROUNDS = 1e-6, (0.3, 1.0, 3.0), (1, 2)
Z = -special.ndtri(0.025)
# Replications by columns and rows.
TIMES = {3: (60, 60, 24), 10: (40, 40, 12), 30: (16, 16, 6)}
# Norm of the coefficients: the deviation of the margins over that of a column.
LENGTHS = {"continuous": 1 / np.sqrt(0.2), "binary": 1.0, "steep": 2.5}
SIZES = (2_000, 20_000, 200_000)


def drawn(kind, n, d, rng):
    """Columns in [-1, 1], labels, and the model's coefficients, intercept last."""
    X = 2 * rng.beta(2, 2, (n, d)) - 1 if kind == "continuous" else rng.choice([-1.0, 1.0], (n, d))
    signs = (-1.0) ** np.arange(d) * np.linspace(0.5, 1.5, d)
    theta = np.append(signs / np.linalg.norm(signs) * LENGTHS[kind], 0.5)
    y = rng.random(n) < special.expit(X @ theta[:-1] + theta[-1])
    return X, y.astype(int), theta


def likelihood(X, y):
    """Maximum likelihood and its standard errors."""
    Z1 = np.hstack([X, np.ones((len(X), 1))])
    w = np.zeros(Z1.shape[1])
    for _ in range(12):
        p = special.expit(Z1 @ w)
        inverse = np.linalg.inv((Z1.T * (p * (1 - p))) @ Z1)
        w = w + inverse @ (Z1.T @ (y - p))
    return w, np.sqrt(np.diag(inverse))


def table_of(est, eps, n, d, rounds, bounds):
    """Intervals of the slopes in user units."""
    mechanism = dplr.ScoreRelease(rounds=rounds)
    plan = dplr.plan(n_rows=n, bounds=bounds, eps=eps, delta=DELTA, mechanism=mechanism)
    (reading,) = mechanism.readings(plan, [est.released_], [])
    half = plan.problem.geometry.half_width  # columns of [-1, 1] are multiplied by it
    return intervals(reading, half * np.eye(d + 1)[:d])


def replicate(kind, n, d, rng, found):
    """One table, fitted at every eps with every number of rounds: adds covered, ratio of widths, bounded."""
    X, y, theta = drawn(kind, n, d, rng)
    bounds = dplr.Bounds([(-1, 1)] * d)
    mle, errors = likelihood(X, y)
    plain = np.abs(mle - theta)[:d] <= Z * errors[:d]
    for eps, rounds in itertools.product(LEVELS, ROUNDS):
        mechanism = dplr.ScoreRelease(rounds=rounds)
        est = dplr.fit(X, y, eps=eps, delta=DELTA, bounds=bounds, classes=[0, 1], mechanism=mechanism)
        table = table_of(est, eps, n, d, rounds, bounds)
        covered = (table.low <= theta[:d]) & (theta[:d] <= table.high)
        found[eps, rounds].append((covered, table.std_error / errors[:d], table.verdict == UNBOUNDED, plain))


def main(path):
    warnings.simplefilter("ignore")
    with open(path, "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(
            [
                "columns",
                "d",
                "n",
                "eps",
                "rounds",
                "replications",
                "coverage",
                "least",
                "width",
                "unbounded",
                "likelihood",
            ]
        )
        for (d, times), kind in itertools.product(TIMES.items(), LENGTHS):
            if kind == "steep" and d > 3:
                continue
            for n, count in zip(SIZES, times, strict=True):
                rng, found = np.random.default_rng([n, d, *kind.encode()]), defaultdict(list)
                for _ in range(count):
                    replicate(kind, n, d, rng, found)
                for (eps, rounds), rows in found.items():
                    covered, width, free, plain = (np.array(column) for column in zip(*rows, strict=True))
                    ratio = np.median(width[~free]) if (~free).any() else np.nan
                    numbers = covered.mean(), covered.mean(axis=0).min(), ratio, free.mean(), plain.mean()
                    writer.writerow([kind, d, n, eps, rounds, count, *(f"{each:.3f}" for each in numbers)])
                file.flush()


if __name__ == "__main__":
    main(sys.argv[1])
