"""Coverage of 95 % intervals where persons have several rows: linear `fm` on simulated persons.

A person has 1 to 8 rows. Half of a target's variance is the person's own. Three designs of three columns:

    constant    all columns stay the same in every row of a person
    mixed       the second column changes from row to row, the third is a flag of the person
    slopes      as mixed, and every person has a slope of their own of the second column

and four ways to fit, all with `aim="coefficients"` but the last:

    persons ignored    every row is a unit: protects one row
    one random row     of each person, without `person=`
    person             rows of one person depend on each other: `person=`
    not private        least squares with weights 1/m and cluster-robust errors

    python -m bench.studies.persons_intervals bench/results/persons_intervals.csv [fits]
"""

import csv
import sys
import warnings

import numpy as np

import dplr
from bench.studies.persons import some

FITS, DELTA, NORMAL = 200, 1e-6, 1.959963984540054
DESIGNS, PERSONS, LEVELS = ("constant", "mixed", "slopes"), (5_000, 20_000), (1.0, 3.0)
SLOPES, CONSTANT = np.array([1.0, -1.0, 0.5]), 0.5
BOUNDS = dplr.Bounds([(0, 1)] * 3, target=(-5, 5))


def simulated(design, persons, rng):
    """X, y and ids."""
    ids = np.repeat(np.arange(persons), rng.integers(1, 9, persons))
    X = rng.uniform(0, 1, (persons, 3))[ids]
    if design != "constant":
        X[:, 1] = rng.uniform(0, 1, len(ids))
        X[:, 2] = (rng.random(persons) < 0.3)[ids]
    own = rng.normal(0, 0.5, persons)[ids]
    if design == "slopes":
        own = own + rng.normal(0, 1, persons)[ids] * (X[:, 1] - 0.5)
    return X, X @ SLOPES + CONSTANT + own + rng.normal(0, 0.5, len(ids)), ids


def clustered(X, y, ids):
    """The estimates and the errors of slopes, each row weighing 1/m."""
    columns, weights = np.column_stack([X, np.ones(len(y))]), 1 / np.bincount(ids)[ids]
    bread = np.linalg.inv(columns.T @ (columns * weights[:, None]))
    coef = bread @ (columns.T @ (weights * y))
    parts = columns * (weights * (y - columns @ coef))[:, None]
    scores = np.array([np.bincount(ids, part) for part in parts.T]).T
    return coef[:3], np.sqrt(np.diag(bread @ (scores.T @ scores) @ bread))[:3]


def ends(method, X, y, ids, eps, rng):
    """(3, 2) ends of the intervals of the slopes."""
    options = {"model": "linear", "mechanism": "fm", "bounds": BOUNDS, "aim": "coefficients", "delta": DELTA}
    if method == "person":
        options["person"] = ids
    if method == "one random row":
        rows = some(ids, 1, rng)
        X, y = X[rows], y[rows]
    intervals = dplr.fit(X, y, eps=eps, **options).conf_int()
    return np.array([intervals[f"column {j}"] for j in range(3)])


def cell(design, persons, eps, fits, rng):
    """Method -> coverage of the intervals that are bounded, their share, and their median width over not private."""
    found = {method: [] for method in ("not private", "persons ignored", "one random row", "person")}
    for _ in range(fits):
        X, y, ids = simulated(design, persons, rng)
        coef, errors = clustered(X, y, ids)
        for method, entries in found.items():
            plain = np.column_stack([coef - NORMAL * errors, coef + NORMAL * errors])
            low, high = (plain if method == "not private" else ends(method, X, y, ids, eps, rng)).T
            entries.append(np.column_stack([(low <= SLOPES) & (high >= SLOPES), (high - low) / (2 * NORMAL * errors)]))
    result = {}
    for method, entries in found.items():
        covered, widths = np.concatenate(entries).T
        bounded = np.isfinite(widths)
        result[method] = covered[bounded].mean(), bounded.mean(), np.median(widths[bounded])
    return result


def main(path, fits):
    warnings.simplefilter("ignore")
    rng = np.random.default_rng(21)
    with open(path, "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["design", "persons", "eps", "fits", "method", "coverage", "bounded", "width"])
        for persons in PERSONS:
            for design in DESIGNS:
                for eps in LEVELS:
                    for method, numbers in cell(design, persons, eps, fits, rng).items():
                        shown = [f"{number:.3f}" for number in numbers]
                        writer.writerow([design, persons, eps, fits, method, *shown])
                    file.flush()


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else FITS)
