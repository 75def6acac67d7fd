"""HHA23, Table 1 in kind: what pre-training adds to the accuracy."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import pandas as pd

from bench.papers import pages
from bench.papers.figure import Cell, Figure, Row
from bench.papers.hha23 import descents
from bench.papers.hha23.descents import DATA, MECHANISMS, TRUE_EPS, TWIN

LEVELS = (0.1, 0.5, 150.0)
# Gains in points, as printed. Differences of the printed accuracies are 1.00, 6.75 and 10.50.
GAINS = {0.1: 1.25, 0.5: 7.25, 150.0: 11.50}
FITS, REPEATS = 20, 3


def cells() -> list[Cell]:
    """A data set."""
    return [{"data": data, "repeat": repeat} for data in DATA for repeat in range(REPEATS)]


def quick(cell: Cell) -> bool:
    """One repeat of the twin."""
    return cell["repeat"] == 0 and cell["data"] == TWIN


def measure(cell: Cell, seed: int) -> Sequence[Row]:
    """Accuracies in per cent."""
    rows = []
    for variant in MECHANISMS:
        for row in descents.accuracies(cell["data"], variant, LEVELS, FITS, seed):
            percent = 1.0 if row["number"] == TRUE_EPS else 100.0
            rows.append({"eps": LEVELS[row.pop("place")], **row, "value": percent * row["value"]})
    return rows


def table(numbers: pd.DataFrame) -> str:
    """Accuracy without and with pre-training, and the gain beside the printed one."""
    means = numbers.set_index(["data", "eps", "variant", "pretraining", "number"])["mean"]
    rows = []
    for data, eps, variant in itertools.product(DATA, LEVELS, MECHANISMS):
        at = (data, eps, variant)
        row = {"data": data, "eps asked for": f"{eps:g}", "variant": variant}
        row["true eps"] = f"{means[(*at, 'without', TRUE_EPS)]:.4g}"
        without, trained = (means[(*at, start, "accuracy")] for start in descents.STARTS)
        row |= {"without, %": f"{without:.2f}", "with, %": f"{trained:.2f}", "gain": f"{trained - without:+.2f}"}
        row["published gain"] = f"+{GAINS[eps]:.2f}" if data == TWIN else ""
        row["difference"] = f"{trained - without - GAINS[eps]:+.2f}" if data == TWIN else ""
        if data == TWIN:
            fresh = (means[(*at, start, "accuracy on fresh rows")] for start in descents.STARTS)
            row["on fresh rows: without, with, %"] = ", ".join(f"{value:.2f}" for value in fresh)
        rows.append(row)
    return pages.markdown(pd.DataFrame(rows).fillna(""))


FIGURE = Figure(
    "hha23/table1", "what pre-training adds", cells, measure, table=table, quick=quick, needs=descents.FILES
)
