"""Which defaults of the functional mechanism are best? Ridge, floor, coef_norm and the intercept, by simulation.

Data: each state of the ACS file that DPLR_DATA names is a data set of its own (first 80 % train, last 20 % test), and
synthetic data sets of several sizes and dimensions. Score: misclassification (logistic) and mean squared error over the
variance of the target (linear), averaged over data sets and 20 repetitions. Writes one row a setting.

    DPLR_DATA=<folder> python -m bench.studies.defaults bench/results/defaults.csv
"""

import csv
import itertools
import os
import pathlib
import sys

import numpy as np
import pandas as pd

from dplr.bounds import Geometry
from dplr.mechanisms.functional.moments import best_weight
from dplr.privacy import Neighbouring
from dplr.solvers import solve_quadratic

FEATURES = {
    "Age": (18, 99), "Male": (0, 1), "IsSingle": (0, 1), "IsMarried": (0, 1), "Education": (1, 24),
    "Disability": (0, 1), "Native": (0, 1), "WorkHours": (0, 99), "YearsResiding": (0, 40), "OwnsDwelling": (0, 1),
    "FamilySize": (1, 20), "NumChildren": (0, 19), "NumBedrooms": (0, 10),
}  # fmt: skip
INTERCEPTS = (0.25, 0.5, 1.0)
COEF_NORMS = (1.0, 2.0, 4.0, 8.0)
TRIMS = ((4, 0.01), (4, 1), (4, 2), (4, 3), (4, 4), (4, 6), (2, 2), (2, 3), (2, 4), (1, 2), (1, 4), (0, 2), (0, 4))
EPSILONS = (0.1, 0.8, 3.2)


def cube(X, pairs):
    low, high = np.array(pairs, dtype=float).T
    return np.clip((2 * X - low - high) / (high - low), -1, 1) / np.sqrt(X.shape[1])


def acs_by_state(folder):
    frame = pd.read_parquet(pathlib.Path(folder) / "acs2024_fm_370k.parquet")
    for state, rows in frame.groupby("State"):
        X = cube(rows[list(FEATURES)].to_numpy(float), list(FEATURES.values()))
        income = rows["AnnualIncome"].to_numpy(float)
        yield f"acs-{state}", X, np.where(income > 50_000, 1.0, -1.0), np.clip(income, 0, 200_000) / 100_000 - 1


def synthetic():
    rng = np.random.default_rng(7)
    for d, n in itertools.product((2, 5, 10, 20), (2000, 20_000, 200_000)):
        X = rng.beta(rng.uniform(0.5, 3, d), rng.uniform(0.5, 3, d), (n, d)) * 2 - 1
        X[:, : d // 2] = np.sign(X[:, : d // 2])
        X /= np.sqrt(d)
        coef = rng.normal(size=d) * 3
        score = X @ coef + rng.normal() / 2
        label = np.where(score + rng.logistic(size=n) > 0, 1.0, -1.0)
        yield f"synthetic-{d}-{n}", X, label, np.clip(score / 5 + rng.normal(0, 0.2, n), -1, 1)


def moments(X, targets, iota):
    A = np.column_stack([X, np.full(len(X), iota)])
    return A.T @ A, [A.T @ target for target in targets]


def summary(values, iota, coef_norm, eps, ridge, floor):
    """One row for the ACS and one for the synthetic sets; `worst_over_median` is the largest over the data sets."""
    frame = pd.DataFrame(values, columns=["name", "error", "mse"])
    for label, group in frame.groupby(frame["name"].str.split("-").str[0]):
        by_set = group.groupby("name")["mse"]
        yield {
            "data": label, "intercept": iota, "coef_norm": coef_norm, "eps": eps, "ridge_deviations": ridge,
            "floor_deviations": floor, "misclassification": round(group["error"].mean(), 5),
            "relative_mse": round(group["mse"].mean(), 5),
            "worst_over_median": round((by_set.max() / by_set.median()).max(), 2),
        }  # fmt: skip


def main(path):
    sets = [*acs_by_state(os.environ["DPLR_DATA"]), *synthetic()]
    rows = []
    for iota in INTERCEPTS:
        prepared = []
        for name, X, label, target in sets:
            cut = int(0.8 * len(X))
            test = np.column_stack([X[cut:], np.full(len(X) - cut, iota)])[:4000]
            prepared.append((name, *moments(X[:cut], (label[:cut], target[:cut]), iota), test,
                             label[cut:][:4000], target[cut:][:4000]))  # fmt: skip
        for coef_norm, eps in itertools.product(COEF_NORMS, EPSILONS):
            scores = {trim: [] for trim in TRIMS}
            rng = np.random.default_rng(1)
            for (name, S, vectors, test, label, target), _ in itertools.product(prepared, range(20)):
                d = S.shape[0] - 1
                geometry = Geometry(d, half_width=1 / np.sqrt(d), intercept=iota)
                weight, joint = best_weight(geometry, Neighbouring.REPLACE_ONE, coef_norm)
                scale = joint / eps
                noise = np.triu(rng.laplace(0, scale / weight, S.shape))
                noise[-1, -1] = 0
                noisy = S + noise + np.triu(noise, 1).T
                deviation = np.sqrt(2) * scale / weight
                shifted = [vector + rng.laplace(0, scale, d + 1) for vector in vectors]
                for ridge, floor in TRIMS:
                    coefs = [solve_quadratic(noisy, v, ridge * deviation, floor * deviation) for v in shifted]
                    error = np.mean((test @ coefs[0] > 0) != (label > 0))
                    mse = np.mean((test @ coefs[1] - target) ** 2) / target.var()
                    scores[ridge, floor].append((name, error, mse))
            for (ridge, floor), values in scores.items():
                rows += summary(values, iota, coef_norm, eps, ridge, floor)
            print(iota, coef_norm, eps, flush=True)
    with open(path, "w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)


if __name__ == "__main__":
    main(sys.argv[1])
