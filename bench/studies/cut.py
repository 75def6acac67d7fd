"""Linear regression with pure eps: objective perturbation with a cut slope against the functional mechanism.

Income of the American Community Survey, clipped to [0, 200,000], within public bounds. Models are fitted
to random parts of the training rows and scored on 50,000 others of them; no test split is read. R^2, mean and
standard error over fits of the defaults, for several cuts and guesses of the coefficients' norm.

    DPLR_DATA=<folder> python -m bench.studies.cut bench/results/cut.csv
"""

import csv
import os
import sys

import numpy as np

import dplr
from bench.accuracy.acs import load
from bench.studies.defaults import FEATURES

FITS = 10
HELD = 50_000
SIZES = (2_000, 20_000, 200_000)
LEVELS = (0.1, 0.5, 1.0)
COEFS = len(FEATURES) + 1
MECHANISMS = {
    "fm": dplr.FunctionalMechanism(),
    "objective": dplr.ObjectivePerturbation(),
    **{f"objective, cut {cut:g}": dplr.ObjectivePerturbation(cut=cut) for cut in (0.3, 2.0)},
    **{
        f"objective, {guess:g} a coefficient": dplr.ObjectivePerturbation(coef_norm=guess * COEFS**0.5)
        for guess in (0.35, 1.4)
    },
}


def scores(mechanism, X, y, held_X, held_y, eps):
    """R^2 on rows kept aside of FITS fits."""
    bounds = dplr.Bounds(list(FEATURES.values()), target=(0, 200_000))
    options = {"model": "linear", "bounds": bounds, "mechanism": mechanism, "ranges": "off"}
    fits = dplr.fit_many(X, y, eps=[eps], repeats=FITS, **options)
    return np.array([est.score(held_X, held_y) for est in fits])


def main(path):
    X, income, _, _ = load(os.environ["DPLR_DATA"])
    y = np.clip(income, 0, 200_000)
    order = np.random.default_rng(0).permutation(len(X))
    held, rest = order[:HELD], order[HELD:]
    rows = []
    for n in SIZES:
        part = rest[:n]
        for eps in LEVELS:
            for name, mechanism in MECHANISMS.items():
                found = scores(mechanism, X[part], y[part], X[held], y[held], eps)
                error = found.std(ddof=1) / FITS**0.5
                rows.append({"n": n, "eps": eps, "mechanism": name, "r2": f"{found.mean():.4f}", "se": f"{error:.4f}"})
                print(*rows[-1].values(), flush=True)
    with open(path, "w", newline="") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows(rows)


if __name__ == "__main__":
    main(sys.argv[1])
