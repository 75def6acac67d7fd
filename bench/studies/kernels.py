"""Where do random Fourier features beat the model of the columns themselves, at the same eps?

Both are fitted with every option at its default. Kernel, bandwidth and number of pairs are chosen at eps = 1 and
delta = 1e-6 on rows of training parts that no fit has; on the moons, on another draw. Then both models are scored on
official test rows (on the moons, on new ones) at every size, eps and delta. error: 1 - score, so the share of wrong
answers, or 1 - R^2; mean of the fits, and the standard error of that mean.

    DPLR_DATA=<folder> python -m bench.studies.kernels bench/results/kernels_chosen.csv bench/results/kernels.csv
"""

import csv
import os
import sys
import warnings
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from sklearn.datasets import make_moons

import dplr
from bench.data.tables import Table, tables

# A chosen map, and the sizes of the table that it serves.
NAMES = {
    "heart": ("heart",),
    "ACS 20k": ("ACS 2k", "ACS 20k", "ACS 200k"),
    "ACS income 20k": ("ACS income 20k",),
    "Adult": ("Adult",),
    "KDD Cup 99": ("KDD Cup 99",),
}
MOONS = (500, 2_000, 8_000, 32_000)
MAPS = [("gaussian", bandwidth) for bandwidth in (0.25, 0.5, 1.0)] + [
    ("laplacian", bandwidth) for bandwidth in (1.5, 3.0, 6.0)
]
PAIRS = (25, 50, 100)
LEVELS = (0.1, 0.3, 1.0, 3.0)
DELTAS = (0.0, 1e-6)
MOST_HELD = 20_000  # rows to score: their own error is below 0.003


class Setting(NamedTuple):
    """A map of rows."""

    kernel: str
    bandwidth: float
    pairs: int

    def of(self, bounds: dplr.Bounds) -> dplr.preprocessing.RandomFourierFeatures:
        return dplr.preprocessing.RandomFourierFeatures(
            self.pairs, kernel=self.kernel, bandwidth=self.bandwidth, bounds=bounds
        )


def moons(official: bool) -> Iterator[Table]:
    """Two half circles that no line tells apart, with noise; their bounds are known."""
    for n in MOONS:
        X, y = make_moons(n + MOST_HELD, noise=0.25, random_state=n + official)
        bounds = dplr.Bounds([(-2, 3), (-1.5, 2)])
        yield Table(f"moons {n}", "logistic", bounds, X[:n], y[:n] > 0, X[n:], y[n:] > 0)


def errors(table: Table, setting: Setting | None, eps: float, delta: float, fits: int) -> tuple[float, float]:
    """Mean error of fits, and its standard error; without a map, of the columns themselves."""
    options = {"model": table.model, "delta": delta, "repeats": fits}
    if table.model != "linear":
        options["classes"] = [False, True]
    X, held = table.X, table.held_X[:MOST_HELD]
    if setting is None:
        options["bounds"] = table.bounds
    else:
        features = setting.of(table.bounds)
        X, held = features.transform(X), features.transform(held)
    found = dplr.fit_many(X, table.y, eps=[eps], **options)
    of_each = 1 - np.array([est.score(held, table.held_y[:MOST_HELD]) for est in found])
    return of_each.mean(), of_each.std(ddof=1) / np.sqrt(fits)


def chosen(table: Table, writer: object) -> Setting:
    """The map with the smallest error on rows that are kept aside."""
    found = {}
    for kernel, bandwidth in MAPS:
        for pairs in PAIRS:
            setting = Setting(kernel, bandwidth, pairs)
            found[setting], _ = errors(table, setting, 1.0, DELTAS[1], 3)
            writer.writerow((table.name, *setting, f"{found[setting]:.4f}"))
    return min(found, key=found.get)


def compare(table: Table, setting: Setting, writer: object) -> None:
    """Both models at every eps and delta."""
    fits = 4 if len(table.y) > 100_000 else 10
    for delta in DELTAS:
        for eps in LEVELS:
            for each in (None, setting):
                mean, error = errors(table, each, eps, delta, fits)
                map_of = ("columns", "", "") if each is None else each
                row = (table.name, len(table.y), eps, delta, *map_of, fits, f"{mean:.4f}", f"{error:.4f}")
                writer.writerow(row)


def main(choices: str, results: str) -> None:
    warnings.simplefilter("ignore")
    folder = os.environ["DPLR_DATA"]
    with open(choices, "w", newline="", buffering=1) as first, open(results, "w", newline="", buffering=1) as second:
        writers = csv.writer(first), csv.writer(second)
        writers[0].writerow(("table", "kernel", "bandwidth", "pairs", "error"))
        head = ("table", "rows", "eps", "delta", "kernel", "bandwidth", "pairs", "fits", "error", "standard_error")
        writers[1].writerow(head)
        settings = {"moons": chosen(next(t for t in moons(False) if t.name == "moons 2000"), writers[0])}
        for table in moons(True):
            compare(table, settings["moons"], writers[1])
        for table in tables(folder, official=False):
            if table.name in NAMES:
                setting = chosen(table, writers[0])
                settings |= dict.fromkeys(NAMES[table.name], setting)
        for table in tables(folder, official=True):
            if table.name in settings:
                compare(table, settings[table.name], writers[1])


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
