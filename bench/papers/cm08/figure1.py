"""CM08, Figure 1: the test errors of the two private methods and of standard logistic regression."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from matplotlib.figure import Figure as Picture

from bench.papers import drawing, pages
from bench.papers.cm08 import spheres
from bench.papers.cm08.spheres import DATA, DEVIATION, ERROR, NEW, SENSITIVITY, STANDARD, TRUE_EPS
from bench.papers.figure import Cell, Figure, Row, first_repeats

TRAINED = {"four folds": spheres.FOUR_FOLDS, "one fold": spheres.ONE_FOLD}
# Mean and deviation, as printed; the last deviation is printed twice, here and one line above.
PRINTED = {
    ("uniform", SENSITIVITY): (0.2962, 0.0617),
    ("uniform", NEW): (0.1426, 0.1284),
    ("uniform", STANDARD): (0.0, 0.0016),
    ("unseparable", SENSITIVITY): (0.3257, 0.0536),
    ("unseparable", NEW): (0.1903, 0.1105),
    ("unseparable", STANDARD): (0.0530, 0.1105),
}


def cells() -> list[Cell]:
    """A fold of a data set; `repeat` is the fold that is kept aside."""
    return [
        {"data": data, "trained_on": trained, "repeat": fold}
        for data in DATA
        for trained in TRAINED
        for fold in range(spheres.FOLDS)
    ]


def measure(cell: Cell, seed: int) -> Sequence[Row]:
    """Errors of all methods, each of 200 restarts."""
    return list(spheres.measured(cell["data"], cell["repeat"], TRAINED[cell["trained_on"]], seed))


def published() -> list[Row]:
    """What the paper printed, beside the fits to four folds: those are the printed settings."""
    rows = []
    for (data, method), values in PRINTED.items():
        for number, value in zip((ERROR, DEVIATION), values, strict=True):
            if (method, number) != (STANDARD, DEVIATION):
                rows.append({"data": data, "trained_on": "four folds", "method": method, "number": number,
                             "published": value})  # fmt: skip
    return rows


def table(numbers: pd.DataFrame) -> str:
    """Published beside ours: mean and deviation of one fit over restarts."""
    found = numbers.set_index(["data", "trained_on", "method", "number"])["mean"]
    rows = []
    for data in DATA:
        for method in spheres.METHODS:
            row = {"data": data, "method": method}
            printed = PRINTED.get((data, method))
            row["published"] = "{:.3f} ± {:.3f}".format(*printed) if printed else ""
            for trained, size in TRAINED.items():
                at = (data, trained, method)
                mean, spread = found[(*at, ERROR)], found.get((*at, DEVIATION), np.nan)
                row[f"ours, {trained} ({size:,})"] = f"{mean:.3f}" + (f" ± {spread:.3f}" if spread == spread else "")
            if printed:
                row["four folds - published"] = f"{found[data, 'four folds', method, ERROR] - printed[0]:+.3f}"
                row["one fold - published"] = f"{found[data, 'one fold', method, ERROR] - printed[0]:+.3f}"
            losses = [found.get((data, trained, method, TRUE_EPS), np.inf) for trained in TRAINED]
            row["true eps"] = ", ".join(dict.fromkeys(f"{eps:.3g}" for eps in losses))
            rows.append(row)
    return pages.markdown(pd.DataFrame(rows).fillna(""))


def draw(numbers: pd.DataFrame) -> Picture:
    """Bars of the mean error; published ones are hollow diamonds; whiskers are a deviation of one fit."""
    picture, axes = drawing.panels(2, height=3.0)
    found = numbers.set_index(["data", "trained_on", "method", "number"])["mean"]
    for ax, data in zip(axes, DATA, strict=True):
        for place, trained in enumerate(TRAINED):
            means = [found[data, trained, method, ERROR] for method in spheres.METHODS]
            spreads = [found.get((data, trained, method, DEVIATION), 0.0) for method in spheres.METHODS]
            at = np.arange(len(means)) - 0.18 + 0.36 * place
            ax.bar(at, means, 0.34, yerr=spreads, capsize=2, color=drawing.COLORS[place], label=f"ours, {trained}")
        for place, method in enumerate(spheres.METHODS):
            if (data, method) in PRINTED:
                ax.errorbar(place, *PRINTED[data, method], marker="D", markerfacecolor="none", color="black",
                            linestyle="none", capsize=3, label="published")  # fmt: skip
        labels = [method.replace(" method", "\nmethod").replace(", ", ",\n").replace("standard logistic ", "standard\n")
                  for method in spheres.METHODS]  # fmt: skip
        ax.set_xticks(range(len(labels)), labels, fontsize=7)
        ax.set(title=data, ylabel="test error (share of wrong labels)", ylim=(0, None))
    return drawing.finish(picture, axes)


FIGURE = Figure(
    "cm08/figure1",
    "test errors at eps = 0.1, lambda = 0.01, five folds, 200 restarts",
    cells,
    measure,
    draw,
    table,
    first_repeats(1),
    published=published(),
)
