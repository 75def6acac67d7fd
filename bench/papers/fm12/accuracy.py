"""What Figures 4 to 6 share: a cell is a method at a setting, its numbers the errors on the rows kept aside."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure as Picture

from bench.papers.drawing import curves, finish, panels
from bench.papers.figure import Cell, Row
from bench.papers.fm12.methods import (
    DEFAULT,
    DPME,
    INTERCEPT,
    METHODS,
    NO_PRIVACY,
    PRINTED,
    PRIORITY,
    TIGHT,
    TRUNCATED,
    applies,
)
from bench.papers.fm12.people import FOLDS, MODELS, ROWS, splits
from bench.papers.pages import markdown

# Order of the curves and of the columns of tables.
ORDER = (NO_PRIVACY, TRUNCATED, TIGHT, PRINTED, DPME, PRIORITY, DEFAULT, INTERCEPT)
QUIET = (NO_PRIVACY, TRUNCATED)
RIVALS = (PRINTED, DPME, PRIORITY)
# The mean squared error of printed FM has no useful mean: a few fits explode.
MEDIAN = f"{PRINTED}, median"
UNITS = {"linear": "mean squared error\n(of income in [-1, 1])", "logistic": "share misclassified"}


@dataclass(frozen=True)
class Job:
    """Methods that a cell measures, and on which repeats of which folds."""

    methods: tuple[str, ...]
    repeats: range
    folds: range = range(FOLDS)


# A cell's `repeat` is a place in this list. FM12 has 50 repeats. Without noise only the folds differ, so five are many;
# the default iterates over the rows, and the two that release a table have millions of cells.
JOBS = (
    *(Job((TIGHT, PRINTED), range(first, first + 5)) for first in range(0, 50, 5)),
    Job((NO_PRIVACY, TRUNCATED, INTERCEPT), range(5)),
    *(Job((DEFAULT,), range(repeat, repeat + 1)) for repeat in range(2)),
    *(Job((name,), range(1), range(fold, fold + 1)) for name in (PRIORITY, DPME) for fold in range(3)),
)


def cells(**varied: Sequence[Any]) -> list[Cell]:
    """All cells of a figure."""
    return [
        {"country": country, **dict(zip(varied, values, strict=True)), "repeat": repeat}
        for country, *values in itertools.product(ROWS, *varied.values())
        for repeat in range(len(JOBS))
    ]


def errors(cell: Cell, seed: int, dimensions: int, rate: float, levels: Sequence[float]) -> list[Row]:
    """The error on every fold, for each model, method and eps."""
    job, found = JOBS[cell["repeat"]], []
    for repeat in job.repeats:
        for fold, split in splits(cell["country"], dimensions, rate, repeat, job.folds):
            noise = int(np.random.default_rng([seed, repeat, fold]).integers(2**31))
            for model, name in itertools.product(MODELS, job.methods):
                if applies(name, model):
                    rows = split[model]
                    models = METHODS[name](rows.X, rows.y, model, levels, noise)
                    for eps, each in zip(levels, models, strict=True):
                        found.append({"model": model, "method": name, "eps": eps, "value": rows.error(*each)})
    return found


def draw(numbers: pd.DataFrame, x: str, label: str, log: bool = False) -> Picture:
    """A panel for each model and population."""
    picture, axes = panels(4, height=3.0)
    for ax, (model, country) in zip(axes, itertools.product(MODELS, ROWS), strict=True):
        part = numbers[(numbers["model"] == model) & (numbers["country"] == country)].copy()
        title = f"{country}, {ROWS[country]:,} rows, {model}"
        if model == "linear":
            exploding = part["method"] == PRINTED
            part.loc[exploding, "mean"], part.loc[exploding, "deviation"] = part.loc[exploding, "median"], 0.0
            title += f"\n({PRINTED}: medians)"
        curves(ax, part, x, "method", ORDER, QUIET)
        ax.set(title=title, xlabel=label, ylabel=UNITS[model])
        if log:
            ax.set_xscale("log", base=2)
        ticks = sorted(part[x].unique())
        ax.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
    return finish(picture, axes, columns=4)


def table(numbers: pd.DataFrame, x: str) -> str:
    """Mean errors, a row for each setting, and the points where tight FM loses."""
    where = ["model", "country", x]
    means = numbers.pivot(index=where, columns="method", values="mean")[list(ORDER)]
    medians = numbers[numbers["method"] == PRINTED].set_index(where)["median"]
    means.insert(ORDER.index(PRINTED) + 1, MEDIAN, medians)
    return markdown(means.reset_index().astype({x: str})) + "\n\n" + losses(numbers, x)


def losses(numbers: pd.DataFrame, x: str) -> str:
    """Every point where the mean error of tight FM is not below that of printed FM, DPME or Filter-Priority."""
    lost = []
    for (model, country, value), part in numbers.groupby(["model", "country", x], sort=False):
        row: Mapping[str, Any] = part.set_index("method").to_dict("index")
        for rival in RIVALS:
            ours, theirs = row[TIGHT], row[rival]
            if not ours["mean"] < theirs["mean"]:
                error = np.hypot(*(each["deviation"] / np.sqrt(each["repeats"]) for each in (ours, theirs)))
                lost.append({
                    "model": model, "country": country, x: str(value), "against": rival, "FM tight": ours["mean"],
                    "theirs": theirs["mean"], "standard error of the difference": error,
                })  # fmt: skip
    points = numbers.groupby(["model", "country", x]).ngroups
    if not lost:
        return f"Where tight FM loses against printed FM, DPME or Filter-Priority: at none of the {points} points."
    said = f"Where tight FM loses against printed FM, DPME or Filter-Priority ({len(lost)} of {points * len(RIVALS)}):"
    return said + "\n\n" + markdown(pd.DataFrame(lost))


def quick(cell: Cell) -> bool:
    """The first cells of each method with the smaller population."""
    earlier = {job.methods for job in JOBS[: cell["repeat"]]}
    return cell["country"] == "Brazil-like" and JOBS[cell["repeat"]].methods not in earlier
