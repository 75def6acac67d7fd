"""How far is the default ridge of objective and output perturbation from the best ridge in hindsight?

Data: each state of the ACS file that DPLR_DATA names (first 80 % train), the same file with one-hot columns (102
features, several sizes), and synthetic rows (three designs, several sizes, dimensions and signals). Each is fitted at
the default ridge and at multiples of it; the best multiple is chosen after looking at the test rows, once for a whole
group of data sets. Prints one CSV row a group and budget: test misclassification and log loss at the default and at the
best multiple, and the excess.

    OMP_NUM_THREADS=1 DPLR_DATA=<folder> python -m bench.studies.ridge > bench/results/ridge.csv
"""

import collections
import csv
import itertools
import math
import os
import pathlib
import sys
import zlib

import numpy as np
import pandas as pd
from scipy import linalg, special

from dplr.mechanisms.perturbation.noise import gaussian_sigma, largest_noise_eps, logistic_loss
from dplr.mechanisms.perturbation.ridge import noise_norm, objective_ridge, output_ridge
from dplr.problem.losses import LOGISTIC

IOTA = 0.5
RADIUS = math.sqrt(1 + IOTA**2)
BUDGETS = [(0.01, 0), (0.1, 0), (0.5, 0), (2, 0), (10, 0), (0.1, 1e-5), (1, 1e-5), (5, 1e-5)]
MULTIPLES = [2.0**k for k in range(-4, 4)]
TEST_ROWS = 10_000
FEATURES = {
    "Age": (18, 99), "Male": (0, 1), "IsSingle": (0, 1), "IsMarried": (0, 1), "Education": (1, 24),
    "Disability": (0, 1), "Native": (0, 1), "WorkHours": (0, 99), "YearsResiding": (0, 40), "OwnsDwelling": (0, 1),
    "FamilySize": (1, 20), "NumChildren": (0, 19), "NumBedrooms": (0, 10),
}  # fmt: skip
NUMERIC = ("Age", "WorkHours", "YearsResiding", "FamilySize", "NumChildren", "NumBedrooms",
           "Male", "IsSingle", "IsMarried", "OwnsDwelling")  # fmt: skip


# ---- data: yields (group, rows, labels, number of train rows), rows in the unit ball ----


def cube(X, pairs):
    low, high = np.array(pairs, dtype=float).T
    return np.clip((2 * X - low - high) / (high - low), -1, 1)


def acs_by_state(frame):
    for _, rows in frame.groupby("State"):
        X = cube(rows[list(FEATURES)].to_numpy(float), list(FEATURES.values())) / math.sqrt(len(FEATURES))
        n = int(0.8 * len(X))
        size = next(name for name, most in (("<1500", 1500), ("<6000", 6000), ("<25000", 25_000)) if n < most)
        yield f"acs {size}", X, np.where(rows["AnnualIncome"] > 50_000, 1.0, -1.0), n


def acs_one_hot(frame):
    """Ten numeric columns and four one-hot blocks, rows divided by the square root of the 14 blocks."""
    categories = {"Education": range(1, 25), "Race": range(1, 10), "ClassOfWorker": range(10),
                  "State": sorted(frame["State"].unique())}  # fmt: skip
    rows = frame.iloc[100_000:200_000]
    blocks = [cube(rows[list(NUMERIC)].to_numpy(float), [FEATURES[name] for name in NUMERIC])]
    blocks += [rows[name].to_numpy()[:, None] == np.array(values) for name, values in categories.items()]
    X = np.hstack(blocks) / math.sqrt(len(NUMERIC) + len(categories))
    y = np.where(rows["AnnualIncome"] > 50_000, 1.0, -1.0)
    for start, n in ((0, 1000), (1000, 3000), (4000, 10_000), (14_000, 30_000)):
        yield f"acs one-hot {n}", X[start:], y[start:], n


def synthetic():
    sizes = [*itertools.product((2, 5, 15, 50), (200, 2000, 20_000)), (150, 2000), (150, 20_000), (500, 2000)]
    for (d, n), signal in itertools.product(sizes, (1.0, 4.0)):
        rng = np.random.default_rng(zlib.crc32(f"{d} {n} {signal}".encode()))
        shape = (n + TEST_ROWS, d)
        for design in ("independent", "factors", "sphere"):
            if design == "independent":
                X = rng.beta(rng.uniform(0.5, 3, d), rng.uniform(0.5, 3, d), shape) * 2 - 1
                X[:, : d // 2] = np.sign(X[:, : d // 2])
                X /= math.sqrt(d)
            elif design == "factors":
                rank = max(1, d // 4)
                common = rng.normal(size=(shape[0], rank)) @ rng.normal(size=(rank, d)) / math.sqrt(rank)
                X = np.tanh(common + rng.normal(size=shape) / 2 + rng.normal(size=d) / 2) / math.sqrt(d)
            else:
                X = rng.normal(size=shape)
                X /= np.linalg.norm(X, axis=1)[:, None]
            margin = X @ rng.normal(size=d)
            margin = signal * ((margin - margin.mean()) / margin.std() + rng.normal() / 2)
            yield f"synthetic d={d} n={n}", X, np.where(margin + rng.logistic(size=len(X)) > 0, 1.0, -1.0), n


def objective_scale(ridge, eps, delta):
    """Gamma scale or standard deviation of b, inf where the ridge is too small for eps."""
    kappa = RADIUS**2 / ridge
    if delta > 0:
        return gaussian_sigma(eps, delta, RADIUS, lambda e: logistic_loss(e, kappa, 1), 2, one_signed=True) or math.inf
    part = largest_noise_eps(lambda e: logistic_loss(e, kappa, 2), eps)
    return 2 * RADIUS / part if part else math.inf


def noise(rng, q, repetitions, pure):
    """Columns of noise of Gamma scale 1 (pure eps) or of standard deviation 1."""
    draws = rng.normal(size=(q, repetitions))
    return draws / np.linalg.norm(draws, axis=0) * rng.gamma(q, size=repetitions) if pure else draws


# ---- fits ----


def minimise(V, ridge, b, coef):
    """Damped Newton for sum log(1 + exp(-V w)) + ridge ||w||^2 / 2 + b.w; the Hessian is kept while it serves well."""
    margins, factor, last = V @ coef, None, math.inf

    def objective(margins, coef):
        return np.logaddexp(0, -margins).sum() + ridge / 2 * (coef @ coef) + b @ coef

    value = objective(margins, coef)
    for _ in range(200):
        p = special.expit(-margins)
        gradient = ridge * coef + b - V.T @ p
        norm = np.linalg.norm(gradient)
        if norm <= 1e-6 * ridge * max(1e-3, np.linalg.norm(coef)):
            break
        if factor is None or norm > 0.3 * last:
            weighted = V * np.sqrt(p * (1 - p))[:, None]
            factor = linalg.cho_factor(weighted.T @ weighted + ridge * np.eye(len(coef)))
        last, step = norm, -linalg.cho_solve(factor, gradient)
        along, length = V @ step, 1.0
        while (new := objective(margins + length * along, coef + length * step)) > value + 1e-10 * abs(value):
            length /= 2
            if length < 1e-9:
                return coef
        factor = factor if length == 1 else None
        coef, margins, value = coef + length * step, margins + length * along, new
    return coef


def scores(test, labels, coefs):
    margins = (test @ coefs) * labels[:, None]
    return np.mean(margins <= 0), np.mean(np.logaddexp(0, -margins))


def study(X, y, n, seed):
    """Misclassification and log loss at every multiple of the default ridge, by mechanism and budget."""
    rng = np.random.default_rng(seed)
    A = np.column_stack([X, np.full(len(X), IOTA)])
    V, test, labels = A[:n] * y[:n, None], A[n : n + TEST_ROWS], y[n : n + TEST_ROWS]
    q = A.shape[1]
    repetitions = 6 if n * q < 300_000 else 3
    for eps, delta in BUDGETS:
        b = noise(rng, q, repetitions, delta == 0)
        eta = noise(rng, q, 40, delta == 0)
        unit = noise_norm(q, eps, delta, RADIUS, 2) / (math.sqrt(q) if delta else math.sqrt(q * (q + 1)))
        mean, starts = np.zeros(q), np.zeros((repetitions, q))
        for multiple in reversed(MULTIPLES):
            ridge = multiple * objective_ridge(LOGISTIC, n, q, eps, delta, RADIUS, 2, None)
            scale = objective_scale(ridge, eps, delta)
            if math.isfinite(scale):
                starts = np.array([minimise(V, ridge, scale * b[:, r], starts[r]) for r in range(repetitions)])
                yield ("objective", eps, delta, multiple), scores(test, labels, starts.T)
            ridge = multiple * output_ridge(LOGISTIC, n, q, eps, delta, RADIUS, 2, None)
            mean = minimise(V, ridge, np.zeros(q), mean)
            yield ("output", eps, delta, multiple), scores(test, labels, mean[:, None] + unit / ridge * eta)


def main():
    frame = pd.read_parquet(pathlib.Path(os.environ["DPLR_DATA"]) / "acs2024_fm_370k.parquet")
    found = collections.defaultdict(list)
    sets = itertools.chain(acs_by_state(frame), acs_one_hot(frame), synthetic())
    for seed, (group, X, y, n) in enumerate(sets):
        for (mechanism, eps, delta, multiple), pair in study(X, y, n, seed):
            found[group, mechanism, eps, delta, multiple].append(pair)
        print(group, len(X), file=sys.stderr, flush=True)
    table = csv.writer(sys.stdout)
    table.writerow(["data", "mechanism", "eps", "delta", "score", "default", "best", "best_multiple", "excess_percent"])
    for group, mechanism, eps, delta in dict.fromkeys(key[:4] for key in found):
        complete = len(found[group, mechanism, eps, delta, 1.0])
        curves = {m: np.mean(found[group, mechanism, eps, delta, m], axis=0) for m in MULTIPLES
                  if len(found[group, mechanism, eps, delta, m]) == complete}  # fmt: skip
        for index, score in enumerate(("misclassification", "log_loss")):
            best = min(curves, key=lambda m: curves[m][index])
            at_default, at_best = curves[1.0][index], curves[best][index]
            excess = round(100 * (at_default / at_best - 1), 2)
            numbers = [round(float(at_default), 5), round(float(at_best), 5), best, excess]
            table.writerow([group, mechanism, eps, delta, score, *numbers])


if __name__ == "__main__":
    main()
