"""Widths of intervals beside two others of the same release: plain ones, and AdaSSP with a parametric bootstrap.

The functional mechanism, linear, targets in [-1, 1]. *Plain*: the solution of the released equation, and normal errors
with the variance of the noise there added to that of the rows. *AdaSSP*: the ridge of Wang 2018, and the interval of a
bootstrap that draws rows and noise around its solution. Told, coverage of what is told, and the median width over that
of the same rows without privacy, and over the plain one.

    python -m bench.studies.widths bench/results/widths.csv [fits [cell ...]]
"""

import csv
import pathlib
import sys
import warnings

import numpy as np
import pandas as pd

import dplr
from dplr.inference.noise import covariance
from dplr.solvers import adassp_ridge
from dplr.summary.columns import user_units

FITS, DRAWS, MANY, Z = 100, 200, 400_000, 1.959964
# Name: deviation of the number, share of the flag (None: another number), effects of both, correlation.
DESIGNS = {
    "narrow number, flag of 2 %": (0.05, 0.02, (1.0, 0.4), 0.0),
    "steep narrow number, flag of 2 %": (0.05, 0.02, (6.0, 0.4), 0.0),
    "flag of 0.3 %": (None, 0.003, (0.3, 0.5), 0.0),
    "strong flag of 0.3 %": (None, 0.003, (0.3, 1.4), 0.0),
    "flag of 1 %": (None, 0.01, (0.3, 0.3), 0.0),
    "flag of 2 %": (None, 0.02, (0.3, 0.3), 0.0),
    "two numbers, correlation .8": (None, None, (0.5, -0.3), 0.8),
    "two numbers": (None, None, (0.5, -0.3), 0.0),
}
# Design, rows, eps, delta, effect_bound; with delta "gaussian" that noise at 1e-6, else what the mechanism takes.
CELLS = [
    ("narrow number, flag of 2 %", 4_000, 1.0, 1e-6, None),
    ("narrow number, flag of 2 %", 4_000, 1.0, 1e-6, 2.0),
    ("steep narrow number, flag of 2 %", 4_000, 1.0, 1e-6, 4.0),
    ("steep narrow number, flag of 2 %", 20_000, 1.0, 1e-6, None),
    ("flag of 0.3 %", 20_000, 1.0, 1e-6, None),
    ("strong flag of 0.3 %", 20_000, 1.0, 1e-6, None),
    ("strong flag of 0.3 %", 10_000, 1.0, 1e-6, None),
    ("flag of 0.3 %", 100_000, 0.3, 0.0, None),
    ("flag of 1 %", 5_000, 1.0, 1e-6, None),
    ("flag of 2 %", 1_000, 3.0, 0.0, None),
    ("two numbers, correlation .8", 10_000, 1.0, 1e-6, None),
    ("two numbers, correlation .8", 10_000, 1.0, "gaussian", None),
    ("strong flag of 0.3 %", 20_000, 1.0, "gaussian", None),
    ("two numbers", 1_000, 3.0, 1e-6, None),
    ("two numbers", 100_000, 0.3, 0.0, None),
]
HEAD = ["design", "rows", "eps", "delta", "bound", "column", "fits", "method", "told", "coverage", "width", "ratio"]


def drawn(design, n, rng):
    """X and y of n rows."""
    deviation, share, effects, correlation = DESIGNS[design]
    first = rng.random(n) if deviation is None else np.clip(rng.normal(0.5, deviation, n), 0, 1)
    if share is None:
        second = np.clip(0.5 + correlation * (first - 0.5) + (1 - correlation) * (rng.random(n) - 0.5), 0, 1)
    else:
        second = rng.random(n) < share
    X = np.column_stack([first, second.astype(float)])
    middles = np.array([0.5, 0.5 if share is None else 0.0])
    return X, np.clip((X - middles) @ effects + 0.2 * rng.normal(size=n), -1, 1)


def least_squares(X, y):
    """Slopes and their errors."""
    Z = np.column_stack([X, np.ones(len(X))])
    coef, (square,), _, _ = np.linalg.lstsq(Z, y, rcond=None)
    return coef[:-1], np.sqrt(square / (len(X) - 3) * np.diag(np.linalg.inv(Z.T @ Z)))[:-1]


def plain(reading, units):
    """Ends of slopes: normal, at the solution of the released equation."""
    at, inverse = np.linalg.solve(reading.matrix, reading.vector), np.linalg.inv(reading.matrix)
    noise = covariance(reading.cells, reading.tied, at) + reading.vector_noise + reading.sampling
    half = Z * np.sqrt(np.diag(units @ inverse @ noise @ inverse @ units.T))
    return np.column_stack([units @ at - half, units @ at + half])


def adassp(reading, units, rng):
    """Ends of slopes: AdaSSP, and a bootstrap around it."""
    q, deviation = len(reading.vector), float(np.sqrt(reading.cells.max()))
    law = (lambda size: rng.laplace(size=size) / np.sqrt(2)) if reading.laplace else rng.standard_normal

    def solved(matrix, vector):
        return np.linalg.solve(matrix + adassp_ridge(matrix, deviation) * np.eye(q), vector)

    at = solved(reading.matrix, reading.vector)
    least = max(0.0, -float(np.linalg.eigvalsh(reading.matrix)[0]))
    matrix = reading.matrix + least * np.eye(q)
    root, noise = np.linalg.cholesky(reading.sampling + 1e-9 * np.eye(q)), np.sqrt(np.diag(reading.vector_noise))
    found = []
    for _ in range(DRAWS):
        moved = np.triu(law((q, q)) * np.sqrt(reading.cells))
        moved += np.triu(moved, 1).T
        hot = np.flatnonzero(reading.tied)
        moved[hot, hot] = reading.tied[hot] * moved[hot, -1]
        vector = matrix @ at + root @ rng.standard_normal(q) + noise * law(q)
        found.append(units @ (solved(matrix + moved, vector) - at))
    low, high = np.quantile(found, [0.025, 0.975], axis=0)
    return np.column_stack([units @ at - high, units @ at - low])


def cell(design, n, eps, delta, bound, fits):
    """Rows of the result."""
    truth, _ = least_squares(*drawn(design, MANY, np.random.default_rng(2**20)))
    names = ("number", "number" if DESIGNS[design][1] is None else "flag")
    bounds = dplr.Bounds({"a": (0.0, 1.0), "b": (0.0, 1.0) if names[1] == "number" else (0, 1)}, target=(-1, 1))
    ends, errors = {"dplr": [], "plain": [], "AdaSSP": []}, []
    mechanism, spent = ("fm", delta) if delta != "gaussian" else (dplr.FunctionalMechanism(noise="gaussian"), 1e-6)
    for seed in range(fits):
        rng = np.random.default_rng(seed)
        X, y = drawn(design, n, rng)
        errors.append(least_squares(X, y)[1])
        table = pd.DataFrame(X, columns=["a", "b"])
        options = {"bounds": bounds, "model": "linear", "mechanism": mechanism, "eps": eps, "delta": spent}
        est = dplr.fit(table, y, **options, rng=seed)
        told = est.conf_int() if bound is None else est.conf_int(effect_bound=bound)
        ends["dplr"].append([told["a"], told["b"]])
        record = est._record
        (reading,) = record.mechanism.readings(record.plan, record.parts, [])
        units = reading.factor * user_units(record.prep, reading)[0][:2]
        ends["plain"].append(plain(reading, units))
        ends["AdaSSP"].append(adassp(reading, units, rng))
    usual = np.array(errors) * 2 * Z
    widths = {method: np.ptp(np.array(found), axis=2) for method, found in ends.items()}
    for k, name in enumerate(names):
        for method, found in ends.items():
            low, high = np.array(found)[:, k].T
            some = np.isfinite(high - low)
            right = ((low <= truth[k]) & (truth[k] <= high))[some]
            ratio = np.median((widths[method] / widths["plain"])[some, k]) if some.any() else np.nan
            width = np.median((widths[method] / usual)[some, k]) if some.any() else np.nan
            yield [design, n, eps, delta, bound or "", f"{name} {k + 1}", fits, method, f"{some.mean():.2f}",
                   f"{right.mean() if some.any() else np.nan:.3f}", f"{width:.2f}", f"{ratio:.2f}"]  # fmt: skip


def main(path, fits=FITS, *chosen):
    warnings.simplefilter("ignore")
    fresh = not pathlib.Path(path).exists()
    with open(path, "a", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        if fresh:
            writer.writerow(HEAD)
        for number in map(int, chosen or range(len(CELLS))):
            writer.writerows(cell(*CELLS[number], int(fits)))
            file.flush()


if __name__ == "__main__":
    main(*sys.argv[1:])
