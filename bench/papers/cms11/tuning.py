"""CMS11: their private tuning, all of its cost counted, against ridges that are fixed and against dplr's default."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure as Picture

import dplr
from bench.papers import pages
from bench.papers.cms11 import people
from bench.papers.cms11.people import MODELS, OBJECTIVE, PRINTED, TABLES, WIDTH
from bench.papers.figure import Cell, Figure, Row

if TYPE_CHECKING:
    from matplotlib.axes import Axes

RIDGES = (1e-4, 3e-4, 1e-3, 3e-3, 1e-2)
LEVELS = (0.05, 0.2, 1.0)
MEASURED = 5
TUNED, OWN, TRUE_EPS = "tuned by partition", "dplr, same rows", "true eps of the search"
SERIES = (*(f"l2 = {ridge:g}" for ridge in RIDGES), TUNED, OWN)


def cells() -> list[Cell]:
    """A fold of a table for a model at one eps; `repeat` is the fold that is kept aside, one of five."""
    return people.cells_of(MEASURED, eps=LEVELS)


def measure(cell: Cell, seed: int) -> Sequence[Row]:
    """Errors of objective perturbation as printed, at each ridge and tuned; and with dplr's calibration and ridge."""
    table, model, eps = people.people(cell["table"]), cell["model"], cell["eps"]
    train, held = people.split(table, cell["repeat"])
    X, y, rest, truth = table.unit[train], table.y[train], table.unit[held], table.y[held]
    options: dict[str, Any] = {"eps": eps, "fit_intercept": False, "rng": seed}
    kind: Any = functools.partial(dplr.HuberSVC, width=WIDTH) if model == "svm" else dplr.LogisticRegression
    printed = options | PRINTED[OBJECTIVE]
    fits = {f"l2 = {ridge:g}": kind(l2=ridge, **printed).fit(X, y) for ridge in RIDGES}
    fits[TUNED] = dplr.PrivateSearch(kind(**printed), {"l2": list(RIDGES)}).fit(X, y).best_estimator_
    fits[OWN] = kind(mechanism="objective", **options).fit(X, y)
    rows = [{"series": name, "value": float(np.mean(est.predict(rest) != truth))} for name, est in fits.items()]
    return [*rows, {"series": TRUE_EPS, "value": fits[TUNED].privacy_.eps}]


def quick(cell: Cell) -> bool:
    """One fold of Adult at one eps."""
    return cell["repeat"] == 0 and cell["table"] == "Adult" and (cell["model"], cell["eps"]) == ("logistic", 0.2)


def table(numbers: pd.DataFrame) -> str:
    """Mean errors; the best of the fixed ridges is known only in hindsight."""
    means = numbers.set_index(["table", "model", "eps", "series"])["mean"]
    rows: list[dict[str, Any]] = []
    for name, model, eps in itertools.product(TABLES, MODELS, LEVELS):
        fixed = [means[name, model, eps, series] for series in SERIES[: len(RIDGES)]]
        best = int(np.argmin(fixed))
        found = {"data": name, "model": MODELS[model], "eps": f"{eps:g}"}
        found["best fixed l2, in hindsight"] = f"{fixed[best]:.4f} ({RIDGES[best]:g})"
        found["worst fixed l2"] = f"{max(fixed):.4f} ({RIDGES[int(np.argmax(fixed))]:g})"
        rows.append(found | {each: f"{means[name, model, eps, each]:.4f}" for each in (TUNED, OWN)})
        rows[-1][TRUE_EPS] = f"{means[name, model, eps, TRUE_EPS]:g}"
    return pages.markdown(pd.DataFrame(rows))


def draw(numbers: pd.DataFrame) -> Picture:
    """A panel for each table and model; fixed ridges are a band, from the best to the worst."""

    def band(ax: Axes, part: pd.DataFrame) -> None:
        fixed = part[part["series"].isin(SERIES[: len(RIDGES)])].groupby("eps")["mean"]
        ax.fill_between(*fixed.min().reset_index().T.to_numpy(), fixed.max(), color="0.85",
                        label="five fixed l2, best to worst")  # fmt: skip

    return people.panels(numbers, "eps", "eps, of the whole search", (TUNED, OWN), series="series", behind=band)


FIGURE = Figure("cms11/tuning", "private tuning of l2", cells, measure, draw, table, quick, people.FILES)
