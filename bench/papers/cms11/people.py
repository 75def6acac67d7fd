"""What the figures of CMS11 share: Adult and KDD Cup 99 as unit rows, ten folds, the methods, and their test errors."""

from __future__ import annotations

import functools
import itertools
import math
import os
import pathlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure as Picture
from numpy.typing import NDArray

import dplr
from bench.data import connections
from bench.data.adult import LEVELS, LOGARITHMIC, NUMBERS
from bench.papers import drawing, pages
from bench.papers.figure import Row
from dplr import fit_many

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Array = NDArray[np.float64]

TABLES = {"Adult": "income_gt_50k", "KDD Cup 99": "is_dos"}
MODELS = {"logistic": "logistic regression", "svm": "Huber SVM"}
FILES = ("adult.parquet", "kddcup99_70k.parquet")
FOLDS, WIDTH, L2 = 10, 0.5, 0.001
KDD_TICKS = (0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5)

OUTPUT, OBJECTIVE = "output perturbation, printed", "objective perturbation, printed"
SAME_ROWS, OWN = "dplr, same rows", "dplr, defaults"
PLAIN, MAJORITY = "not private", "always the majority"
PRINTED: dict[str, dict[str, Any]] = {
    OUTPUT: {"mechanism": "output"},
    OBJECTIVE: {"mechanism": dplr.ObjectivePerturbation(calibration="cms11")},
}
METHODS = (PLAIN, OUTPUT, OBJECTIVE, SAME_ROWS, OWN, MAJORITY)


@dataclass(frozen=True)
class People:
    """A table: the paper's unit rows, the columns as they are, what is public about them, and the labels."""

    unit: Array
    frame: pd.DataFrame
    bounds: dplr.Bounds
    y: NDArray[np.bool_]


@functools.cache
def people(name: str) -> People:
    """Complete rows in an order that is always the same."""
    folder = pathlib.Path(os.environ["DPLR_DATA"])
    if name == "Adult":
        frame, numbers, levels, tails = _adult(folder)
    else:
        frame, numbers, levels, tails = _connections(folder)
    frame = frame.iloc[np.random.default_rng(0).permutation(len(frame))].reset_index(drop=True)
    known: dict[str, Any] = {
        column: {"lower": low, "upper": high, "transform": "log1p" if column in tails else "clip"}
        for column, (low, high) in numbers.items()
    }
    bounds = dplr.Bounds(known | {column: {"levels": values} for column, values in levels.items()})
    y = (frame[TABLES[name]] > 0).to_numpy()
    return People(_unit_rows(frame, numbers, levels), frame[[*numbers, *levels]], bounds, y)


def _adult(folder: pathlib.Path) -> tuple[pd.DataFrame, dict[str, Any], dict[str, Any], Sequence[str]]:
    frame = pd.read_parquet(folder / "adult.parquet").dropna()
    return frame, NUMBERS, {name: levels.split() for name, levels in LEVELS.items()}, LOGARITHMIC


def _connections(folder: pathlib.Path) -> tuple[pd.DataFrame, dict[str, Any], dict[str, Any], Sequence[str]]:
    frame = pd.read_parquet(folder / "kddcup99_70k.parquet")
    return frame, connections.NUMBERS, connections.LEVELS, connections.LONG_TAILS


def _unit_rows(frame: pd.DataFrame, numbers: dict[str, Any], levels: dict[str, Any]) -> Array:
    """As the paper: numbers over their largest (public) value, a column per level, rows of norm at most 1."""
    parts = [np.minimum(frame[name].to_numpy(float) / high, 1) for name, (_, high) in numbers.items()]
    parts += [(frame[name] == level).to_numpy(float) for name, values in levels.items() for level in values]
    rows = np.column_stack(parts)
    return rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1)


def split(table: People, fold: int, n_rows: int | None = None) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Positions of the first rows of the other folds, and of the fold that is kept aside."""
    held = np.arange(len(table.y)) % FOLDS == fold
    return np.flatnonzero(~held)[:n_rows], np.flatnonzero(held)


def measured(cell: Any, seed: int, levels: Sequence[float], repeats: int) -> Iterator[Row]:
    """The test error of every method at every eps, a mean over repeats, on one fold."""
    table, model = people(cell["table"]), cell["model"]
    train, held = split(table, cell["repeat"], cell.get("n_rows"))
    shape = {"model": model} | ({"width": WIDTH} if model == "svm" else {})
    y, truth = table.y[train], table.y[held]
    unit: dict[str, Any] = {"fit_intercept": False, "rng": seed, **shape}
    settings: dict[str, tuple[Any, Any, dict[str, Any]]] = {
        name: (table.unit[train], table.unit[held], unit | options | {"l2": L2}) for name, options in PRINTED.items()
    }
    settings[SAME_ROWS] = table.unit[train], table.unit[held], unit
    settings[OWN] = table.frame.iloc[train], table.frame.iloc[held], {"bounds": table.bounds, "rng": seed, **shape}
    for method, (X, rest, options) in settings.items():
        fits = fit_many(X, y, eps=levels, repeats=repeats, **options)
        errors = [float(np.mean(est.predict(rest) != truth)) for est in fits]
        for eps, found in zip(levels, np.reshape(errors, (-1, repeats)).mean(axis=1), strict=True):
            yield {"eps": eps, "method": method, "value": found}
    (exact,) = fit_many(table.unit[train], y, eps=[math.inf], mechanism="none", l2=L2, **unit)
    most = y.mean() > 0.5
    for eps in levels:
        yield {"eps": eps, "method": PLAIN, "value": float(np.mean(exact.predict(table.unit[held]) != truth))}
        yield {"eps": eps, "method": MAJORITY, "value": float(np.mean(truth != most))}


def cells_of(folds: int = FOLDS, **labels: Sequence[Any]) -> list[dict[str, Any]]:
    """Every combination of table, model, labels and fold; `folds` of the ten."""
    known = {"table": TABLES, "model": MODELS, **labels, "repeat": range(folds)}
    return [dict(zip(known, each, strict=True)) for each in itertools.product(*known.values())]


def shown(numbers: pd.DataFrame, x: str, methods: Sequence[str], series: str = "method") -> str:
    """A line for every table, model and x: mean errors of all methods."""
    means = numbers.set_index(["table", "model", x, series])["mean"]
    rows = []
    for table, model in itertools.product(TABLES, MODELS):
        part = numbers[(numbers["table"] == table) & (numbers["model"] == model)]
        for at in sorted(set(part[x])):
            found = {method: f"{means[table, model, at, method]:.4f}" for method in methods}
            rows.append({"data": table, "model": MODELS[model], x.replace("n_rows", "rows"): f"{at:,}", **found})
    return pages.markdown(pd.DataFrame(rows))


def panels(
    numbers: pd.DataFrame, x: str, called: str, methods: Sequence[str], quiet: Sequence[str] = (),
    series: str = "method", behind: Callable[[Axes, pd.DataFrame], None] = lambda ax, part: None,
) -> Picture:  # fmt: skip
    """A panel for each table and model; `behind` draws what lies behind its curves."""
    picture, axes = drawing.panels(4, height=2.8)
    for ax, (table, model) in zip(axes, itertools.product(TABLES, MODELS), strict=True):
        part = numbers[(numbers["table"] == table) & (numbers["model"] == model)]
        behind(ax, part)
        drawing.curves(ax, part, x, series, methods, quiet=quiet)
        ax.set(title=f"{table}, {MODELS[model]}", xlabel=called, ylabel="test error (share wrong)", xscale="log")
        marks = sorted(set(part[x]))
        ax.set_xticks(marks, [f"{at:,}" for at in marks], fontsize=8)
        if table == "Adult":
            ax.set_ylim(0, 0.55)
        else:  # errors from half a per cent to a half
            ax.set(yscale="log", ylim=(0.004, 0.7), yticks=KDD_TICKS, yticklabels=map(str, KDD_TICKS))
        ax.minorticks_off()
    return drawing.finish(picture, axes)
