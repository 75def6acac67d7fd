"""Coverage of the intervals of `ReleasedMoments.describe`: simulated tables, whose truth is that of four million rows.

Columns: a uniform number; a normal one that is correlated with it; a lognormal one, clipped to its bounds, that is
correlated with both; a number that is 0 or 1 and depends on the uniform one; a flag that is 1 in 2 % of the rows; and
three levels, of which one has 5 %. `normal` is the coverage where fourth moments are taken as those of normal columns.

    python -m bench.studies.moments_table bench/results/moments_table.csv [releases]
"""

import csv
import sys
import warnings
from unittest import mock

import numpy as np
import pandas as pd

import dplr
from dplr.inference import description

RELEASES, TRUTH = 500, 4_000_000
BOUNDS = {
    "uniform": (0, 1),
    "normal": (0, 100),
    "lognormal": (0, 20),
    "zero or one": (0, 1),
    "rare": {"levels": ["no", "yes"], "binary": True},
    "town": {"levels": ["a", "b", "c"], "reference": "a"},
}
CELLS = [
    (n, eps, delta) for n in (2_000, 20_000) for eps, delta in ((0.5, 1e-6), (3.0, 1e-6), (3.0, 0.0), (np.inf, 0.0))
]


def table(n, rng):
    uniform = rng.uniform(0, 1, n)
    shared = rng.normal(0, 1, n)
    return pd.DataFrame(
        {
            "uniform": uniform,
            "normal": 50 + 30 * (uniform - 0.5) + 12 * shared,
            "lognormal": np.exp(0.6 * shared + 0.8 * rng.normal(0, 1, n)),
            "zero or one": (rng.random(n) < 0.3 + 0.4 * uniform).astype(float),
            "rare": np.where(rng.random(n) < 0.02, "yes", "no"),
            "town": rng.choice(["a", "b", "c"], n, p=[0.6, 0.35, 0.05]),
        }
    )


def truths():
    """By part, name and second name: of all rows, without noise."""
    rows = table(TRUTH, np.random.default_rng(1))
    released = dplr.release_moments(rows, bounds=BOUNDS, eps=np.inf)
    return {key: ends[0] for key, ends in numbers(released).items()}


def numbers(released):
    """Estimates with the ends of their intervals, by part, name and second name."""
    frame = released.describe().to_frame()
    values = frame[["estimate", "low", "high"]].to_numpy()
    return dict(zip(zip(frame["part"], frame["name"], frame["second"], strict=True), values, strict=True))


def cell(n, eps, delta, releases, truth, rng):
    """For each number: the part of releases that print it, coverage, width over the truth, coverage as of normal."""
    bounded, normal = {key: [] for key in truth}, {key: [] for key in truth}
    for _ in range(releases):
        released = dplr.release_moments(table(n, rng), bounds=BOUNDS, eps=eps, delta=delta)
        with mock.patch.object(description, "fourth", lambda variance, span: 3 * variance**2):
            for key, ends in numbers(released).items():
                normal[key].append(ends)
        for key, ends in numbers(released).items():
            bounded[key].append(ends)
    for key, value in truth.items():
        ends, others = np.array(bounded[key]), np.array(normal[key])
        said = ~np.isnan(ends[:, 1])
        held, beside = (
            np.mean((part[:, 1] <= value) & (value <= part[:, 2])) if len(part) else np.nan
            for part in (ends[said], others[~np.isnan(others[:, 1])])
        )
        width = np.median(ends[said, 2] - ends[said, 1]) if said.any() else np.nan
        yield key, said.mean(), held, width / max(abs(value), 1e-9) if key[0] != "correlation" else width, beside


def main(path, releases):
    warnings.simplefilter("ignore")
    truth, rng = truths(), np.random.default_rng(68)
    with open(path, "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(
            ["n", "eps", "delta", "releases", "part", "name", "second", "truth", "said", "coverage", "width", "normal"]
        )
        for n, eps, delta in CELLS:
            for key, *values in cell(n, eps, delta, releases, truth, rng):
                writer.writerow(
                    [n, eps, delta, releases, *key, f"{truth[key]:.4g}", *(f"{value:.3f}" for value in values)]
                )
            file.flush()


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else RELEASES)
