"""The weight of a block's columns in standardised descent: m^power, m the number of its columns. Decision 56.

Four splits of training parts alone, six fits each, delta = 1e-6, errors for labels and R^2 for numbers; `change` is
the mean over splits of the score less that of power 0 on the same split, with its standard error.

    DPLR_DATA=<folder> [DPLR_TABLES=<folder>] python -m bench.studies.block_weights bench/results/block_weights.csv

With names of tables behind it their lines are added to the file.
"""

import csv
import itertools
import os
import sys
import unittest.mock
import warnings

import numpy as np

import dplr
from bench.data import aside, tables
from dplr.mechanisms.noisy_gd import frame

POWERS = (0.0, 0.2, 0.35, 0.5, 0.7)
LEVELS = (0.1, 0.5, 1.0, 3.0)
SPLITS, FITS = 4, 6
COLUMNS = ("table", "model", "rows", "eps", "power", "mean", "change", "standard_error")


def with_blocks(folder):
    """The tables of the accuracy pages that have blocks and other columns, and those kept aside."""
    for table in itertools.chain(tables.tables(folder, official=False), aside.tables(folder)):
        layout = table.bounds.layout
        if layout.blocks and table.name != "blocks":  # of one size alone the weights are all the same
            yield table


def score(table, eps, power):
    """Mean of the scores of fits."""
    with unittest.mock.patch.object(frame, "_BLOCK_POWER", power):
        fits = dplr.fit_many(
            table.X, table.y, model=table.model, mechanism="ngd", bounds=table.bounds, eps=[eps], delta=1e-6,
            repeats=FITS,
        )  # fmt: skip
    found = np.mean([est.score(table.held_X, table.held_y) for est in fits])
    return found if table.model == "linear" else 1 - found


def main(path, *names):
    warnings.simplefilter("ignore")  # clipped shares of public data
    with open(path, "a" if names else "w", newline="") as file:
        writer = csv.writer(file)
        if not names:
            writer.writerow(COLUMNS)
        for table in with_blocks(os.environ["DPLR_DATA"]):
            if names and table.name not in names:
                continue
            splits = [aside.resplit(table, split) for split in range(SPLITS)]
            for eps in LEVELS:
                found = np.array([[score(split, eps, power) for split in splits] for power in POWERS])
                for power, line in zip(POWERS, found, strict=True):
                    change = line - found[0]
                    error = change.std(ddof=1) / SPLITS**0.5
                    cells = (f"{line.mean():.5f}", f"{change.mean():.5f}", f"{error:.5f}")
                    writer.writerow((table.name, table.model, len(table.X), eps, power, *cells))
                    print(table.name, eps, power, *cells, flush=True)
                file.flush()


if __name__ == "__main__":
    main(*sys.argv[1:])
