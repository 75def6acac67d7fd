"""What Figures 7 to 9 share: the time of a fit over that of NoPrivacy, all methods in turn in one process."""

from __future__ import annotations

import itertools
import time
from collections.abc import Sequence

import numpy as np
import pandas as pd
from matplotlib.figure import Figure as Picture

from bench.papers.drawing import curves, finish, panels
from bench.papers.figure import Row
from bench.papers.fm12.accuracy import ORDER as ALL
from bench.papers.fm12.methods import DEFAULT, DPME, INTERCEPT, METHODS, NO_PRIVACY, PRIORITY, TRUNCATED, applies
from bench.papers.fm12.people import MODELS, splits
from bench.papers.pages import markdown

COUNTRY = "Brazil-like"
ROUNDS = 3
AGAIN = 5  # fits of a method in its turn, where they take milliseconds
SLOW = (DPME, PRIORITY, DEFAULT)
ORDER = tuple(name for name in ALL if name != INTERCEPT)


def measured(seed: int, dimensions: int, rate: float, eps: float) -> list[Row]:
    """Median time of each method over the median of NoPrivacy, for fits to the same rows."""
    _, split = next(splits(COUNTRY, dimensions, rate, 0))
    found: list[Row] = []
    for model in MODELS:
        rows, names = split[model], [name for name in ORDER if applies(name, model)]
        METHODS[NO_PRIVACY](rows.X[:1000], rows.y[:1000], model, (eps,), seed)  # what is imported on first use
        seconds: dict[str, list[float]] = {name: [] for name in names}
        for turn, name in itertools.product(range(ROUNDS), names):
            for _ in range(1 if name in SLOW else AGAIN):
                start = time.perf_counter()
                METHODS[name](rows.X, rows.y, model, (eps,), seed + turn)
                seconds[name].append(time.perf_counter() - start)
        usual = np.median(seconds[NO_PRIVACY])
        found += [{"model": model, "method": name, "value": np.median(seconds[name]) / usual} for name in names]
    return found


def draw(numbers: pd.DataFrame, x: str, label: str, log: bool = False) -> Picture:
    """A panel for each model; the time of NoPrivacy is 1."""
    picture, axes = panels(2, height=3.0)
    for ax, model in zip(axes, MODELS, strict=True):
        curves(ax, numbers[numbers["model"] == model], x, "method", ORDER, (NO_PRIVACY, TRUNCATED))
        ax.set(title=f"{COUNTRY}, {model}", xlabel=label, ylabel="time of a fit, NoPrivacy = 1", yscale="log")
        if log:
            ax.set_xscale("log", base=2)
        ticks = sorted(numbers[x].unique())
        ax.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
        ax.minorticks_off()
    return finish(picture, axes, columns=4)


def table(numbers: pd.DataFrame, x: str) -> str:
    """Ratios, a row for each setting."""
    names: Sequence[str] = [name for name in ORDER if name != NO_PRIVACY]
    ratios = numbers.pivot(index=["model", x], columns="method", values="mean")[list(names)]
    return markdown(ratios.reset_index().astype({x: str}), 2)
