"""HHA23, Figure 8 in kind: accuracy against eps, with and without pre-training."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import pandas as pd
from matplotlib.figure import Figure as Picture

from bench.papers import drawing, pages
from bench.papers.figure import Cell, Figure, Row
from bench.papers.hha23 import descents
from bench.papers.hha23.descents import DATA, EXACT, MECHANISMS, STARTS, TRUE_EPS, TWIN

LEVELS = (0.1, 0.5, 1.0, 5.0, 20.0, 150.0)


def cells() -> list[Cell]:
    """A data set."""
    return [{"data": data, "repeat": repeat} for data in DATA for repeat in range(descents.REPEATS)]


def quick(cell: Cell) -> bool:
    """One repeat of the twin."""
    return cell["repeat"] == 0 and cell["data"] == TWIN


def measure(cell: Cell, seed: int) -> Sequence[Row]:
    """Accuracy of all variants at all eps."""
    rows = []
    for variant in (*MECHANISMS, EXACT):
        for row in descents.accuracies(cell["data"], variant, LEVELS, descents.FITS, seed):
            places = range(len(LEVELS)) if variant == EXACT else [row.pop("place")]
            row.pop("place", None)
            rows += [{"eps": LEVELS[place], **row} for place in places]
    return rows


def table(numbers: pd.DataFrame) -> str:
    """Accuracy on the private rows, and true eps."""
    means = numbers.set_index(["data", "eps", "variant", "pretraining", "number"])["mean"]
    rows = []
    for data, eps in itertools.product(DATA, LEVELS):
        row = {"data": data, "eps asked for": f"{eps:g}"}
        for variant in MECHANISMS:
            both = (means[data, eps, variant, start, "accuracy"] for start in STARTS)
            row[f"{variant}: without, with pre-training"] = ", ".join(f"{value:.3f}" for value in both)
            row[f"{variant}: true eps"] = f"{means[data, eps, variant, 'without', TRUE_EPS]:.4g}"
        rows.append(row | {"not private": f"{means[data, eps, EXACT, 'without', 'accuracy']:.3f}"})
    return pages.markdown(pd.DataFrame(rows))


def draw(numbers: pd.DataFrame) -> Picture:
    """A panel for each data set and start."""
    picture, axes = drawing.panels(4)
    for ax, (data, start) in zip(axes, itertools.product(DATA, STARTS), strict=True):
        kept = (numbers["data"] == data) & (numbers["pretraining"] == start) & (numbers["number"] == "accuracy")
        drawing.curves(ax, numbers[kept], "eps", "variant", (EXACT, *MECHANISMS), quiet=(EXACT,))
        ax.set(title=f"{data}, {start} pre-training", xlabel="eps asked for", ylabel="accuracy, private rows",
               xscale="log", ylim=(0.45, 0.9))  # fmt: skip
    return drawing.finish(picture, axes, columns=4)


FIGURE = Figure("hha23/figure8", "accuracy against eps", cells, measure, draw, table, quick, descents.FILES)
