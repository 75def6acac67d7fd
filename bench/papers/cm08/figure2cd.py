"""CM08, Figures 2c and 2d: test error against eps for both data sets."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd
from matplotlib.figure import Figure as Picture

from bench.papers.cm08 import spheres
from bench.papers.figure import Cell, Figure, Row

LEVELS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0)


def cells() -> list[Cell]:
    """A fold of a data set at one eps; `repeat` is the fold that is kept aside."""
    return [
        {"data": data, "asked": eps, "repeat": fold}
        for data in spheres.DATA
        for eps in LEVELS
        for fold in range(spheres.FOLDS)
    ]


def measure(cell: Cell, seed: int) -> Sequence[Row]:
    """Errors of all methods, each of 200 restarts."""
    return list(spheres.measured(cell["data"], cell["repeat"], spheres.FOUR_FOLDS, seed, cell["asked"]))


def quick(cell: Cell) -> bool:
    """One fold at the largest eps."""
    return cell["repeat"] == 0 and cell["asked"] == LEVELS[-1]


def table(numbers: pd.DataFrame) -> str:
    """Mean errors, and what the new method really costs."""
    return spheres.shown(numbers, "asked", "eps")


def draw(numbers: pd.DataFrame) -> Picture:
    """A panel for each data set."""
    picture = spheres.panels(numbers, "asked", "eps asked for")
    for ax in picture.axes:
        ax.set_xscale("log")
        ax.set_xticks(LEVELS, [f"{eps:g}" for eps in LEVELS])
        ax.minorticks_off()
    return picture


FIGURE = Figure("cm08/figure2cd", "test error against eps, 14,000 points", cells, measure, draw, table, quick)
