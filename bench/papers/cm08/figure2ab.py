"""CM08, Figures 2a and 2b: learning curves of both data sets."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from matplotlib.figure import Figure as Picture

from bench.papers import pages
from bench.papers.cm08 import spheres
from bench.papers.cm08.figure1 import PRINTED
from bench.papers.cm08.spheres import DATA, ERROR, STANDARD
from bench.papers.figure import Cell, Figure, Row

SIZES = tuple(range(1_000, spheres.FOUR_FOLDS + 1, 1_000))
SHOWN = (1_000, 2_000, 4_000, 8_000, 14_000)


def cells() -> list[Cell]:
    """A fold of a data set at one number of points; `repeat` is the fold that is kept aside."""
    return [
        {"data": data, "n_rows": n, "repeat": fold} for data in DATA for n in SIZES for fold in range(spheres.FOLDS)
    ]


def measure(cell: Cell, seed: int) -> Sequence[Row]:
    """Errors of all methods, each of 200 restarts."""
    return list(spheres.measured(cell["data"], cell["repeat"], cell["n_rows"], seed))


def quick(cell: Cell) -> bool:
    """One fold at two sizes."""
    return cell["repeat"] == 0 and cell["n_rows"] in SHOWN[:2]


def table(numbers: pd.DataFrame) -> str:
    """Mean errors at some sizes, and what the new method really costs there; where ours meets Figure 1."""
    curves = spheres.shown(numbers[numbers["n_rows"].isin(SHOWN)], "n_rows", "training points")
    return f"{curves}\n\nWhere our curves pass the errors that Figure 1 prints:\n\n{met(numbers)}"


def met(numbers: pd.DataFrame) -> str:
    """The number of training points at which our curve has the error that Figure 1 prints, between two sizes a line."""
    rows = []
    for (data, method), (printed, _) in PRINTED.items():
        curve = numbers[(numbers["data"] == data) & (numbers["method"] == method) & (numbers["number"] == ERROR)]
        curve = curve.sort_values("mean")
        if curve["mean"].min() < printed < curve["mean"].max() and method != STANDARD:
            points = float(np.interp(printed, curve["mean"], curve["n_rows"]))
            rows.append({"data": data, "method": method, "published": printed, "our training points": f"{points:,.0f}"})
    return pages.markdown(pd.DataFrame(rows))


def draw(numbers: pd.DataFrame) -> Picture:
    """A panel for each data set."""
    picture = spheres.panels(numbers, "n_rows", "number of training points")
    for ax in picture.axes:
        ax.set_xticks(SHOWN[1:], [f"{n:,}" for n in SHOWN[1:]])
    return picture


FIGURE = Figure("cm08/figure2ab", "test error against training points, eps = 0.1", cells, measure, draw, table, quick)
