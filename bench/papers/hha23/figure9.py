"""HHA23, Figure 9 in kind: accuracy against the noise of a step, at which both variants have the same true eps."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

import pandas as pd
from matplotlib.figure import Figure as Picture

from bench.papers import drawing, pages
from bench.papers.figure import Cell, Figure, Row
from bench.papers.hha23 import descents
from bench.papers.hha23.descents import CORRECT, DATA, DELTA, PRINTED, STARTS, STEPS, TRUE_EPS, TWIN
from dplr.auditor.sampled import gaussian_eps

# Deviation of the noise of one step, over the clip.
SIGMAS = (1.0, 3.0, 10.0, 30.0, 100.0, 300.0)


def asked(variant: str, sigma: float, n_rows: int) -> float:
    """The eps at which a variant has that noise."""
    if variant == PRINTED:  # the classical formula for 2C/n, in each step
        return 2 / n_rows * math.sqrt(2 * math.log(1.25 / DELTA)) / sigma
    return gaussian_eps(2 * math.sqrt(STEPS) / sigma, DELTA)


def cells() -> list[Cell]:
    """A data set."""
    return [{"data": data, "repeat": repeat} for data in DATA for repeat in range(descents.REPEATS)]


def quick(cell: Cell) -> bool:
    """One repeat of the twin."""
    return cell["repeat"] == 0 and cell["data"] == TWIN


def measure(cell: Cell, seed: int) -> Sequence[Row]:
    """Accuracy of both variants at all sigmas."""
    n_rows, rows = len(descents.populations(cell["data"]).private[1]), []
    for variant in (PRINTED, CORRECT):
        levels = [asked(variant, sigma, n_rows) for sigma in SIGMAS]
        found = descents.accuracies(cell["data"], variant, levels, descents.FITS, seed)
        rows += [{"sigma": SIGMAS[row.pop("place")], **row} for row in found]
        rows += [
            {"sigma": sigma, "variant": variant, "pretraining": "", "number": "eps asked for", "value": eps}
            for sigma, eps in zip(SIGMAS, levels, strict=True)
        ]
    return rows


def table(numbers: pd.DataFrame) -> str:
    """Accuracy, what each variant says, and what both cost."""
    means = numbers.fillna({"pretraining": ""}).set_index(["data", "sigma", "variant", "pretraining", "number"])["mean"]
    rows = []
    for data, sigma in itertools.product(DATA, SIGMAS):
        row = {"data": data, "sigma / C": f"{sigma:g}"}
        for variant in (PRINTED, CORRECT):
            both = (means[data, sigma, variant, start, "accuracy"] for start in STARTS)
            row[f"{variant}: without, with pre-training"] = ", ".join(f"{value:.3f}" for value in both)
            row[f"{variant}: eps claimed"] = f"{means[data, sigma, variant, '', 'eps asked for']:.3g}"
            row[f"{variant}: true eps"] = f"{means[data, sigma, variant, 'without', TRUE_EPS]:.4g}"
        rows.append(row)
    return pages.markdown(pd.DataFrame(rows))


def draw(numbers: pd.DataFrame) -> Picture:
    """A panel for each data set and start."""
    picture, axes = drawing.panels(4)
    for ax, (data, start) in zip(axes, itertools.product(DATA, STARTS), strict=True):
        kept = (numbers["data"] == data) & (numbers["pretraining"] == start) & (numbers["number"] == "accuracy")
        drawing.curves(ax, numbers[kept], "sigma", "variant", (descents.EXACT, PRINTED, CORRECT))
        ax.set(title=f"{data}, {start} pre-training", xlabel="noise of a step, deviation / clip",
               ylabel="accuracy, private rows", xscale="log", ylim=(0.45, 0.9))  # fmt: skip
    return drawing.finish(picture, axes, columns=2)


FIGURE = Figure("hha23/figure9", "accuracy against sigma", cells, measure, draw, table, quick, descents.FILES)
