"""FM12 Figure 2: the objective of a linear regression on three tuples, and noisy versions of it."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pandas as pd
from matplotlib.figure import Figure as Picture

import dplr
from bench.papers.drawing import finish, panels
from bench.papers.figure import Cell, Figure, Row, first_repeats
from bench.papers.pages import markdown
from dplr.plots._drawing import COLORS, QUIET

ROWS, TARGETS = ((1.0,), (0.9,), (-0.5,)), (0.4, 0.3, -1.0)
# Of each tuple. Noise for three records would leave nothing to see.
COPIES = 100
EPS = 0.8
EXACT, PRINTED, TIGHT = "without noise", "FM printed", "FM tight"
MECHANISMS = {PRINTED: dplr.FunctionalMechanism(calibration="paper"), TIGHT: dplr.FunctionalMechanism()}
REPEATS, DRAWN = 50, 8


def cells() -> list[Cell]:
    """The exact objective, and noisy ones."""
    noisy = [{"method": name, "repeat": repeat} for name in MECHANISMS for repeat in range(REPEATS)]
    return [{"method": EXACT, "repeat": 0}, *noisy]


def fitted(rows: Sequence[Sequence[float]], targets: Sequence[float], eps: float, mechanism: object, **options: object):
    """A model of many copies of some tuples, without intercept and ridge."""
    X, y = np.repeat(np.array(rows), COPIES, axis=0), np.repeat(np.array(targets), COPIES)
    return dplr.fit(X, y, eps=eps, mechanism=mechanism, fit_intercept=False, l2=0.0, **options)


def measure(cell: Cell, seed: int) -> list[Row]:
    """Coefficients of the objective for one copy of the tuples, and its minimiser."""
    exact = cell["method"] == EXACT
    mechanism = dplr.FunctionalMechanism() if exact else MECHANISMS[cell["method"]]
    est = fitted(ROWS, TARGETS, math.inf if exact else EPS, mechanism, model="linear", rng=seed)
    square = float(est.released_["diagonal"][0]) / COPIES
    slope = -2 * float(est.released_["linear"][0]) / COPIES
    numbers = {"w^2": square, "w": slope, "minimiser": float(np.ravel(est.coef_)[0])}
    # Drawn one by one: a mean objective is not what a release holds.
    shown = (
        []
        if exact or cell["repeat"] >= DRAWN
        else [(f"{name}, {cell['repeat']}", numbers[name]) for name in ("w^2", "w")]
    )
    return [{"quantity": name, "value": value} for name, value in (*numbers.items(), *shown)]


def draw(numbers: pd.DataFrame) -> Picture:
    """Objectives without their constant."""
    means = numbers.set_index(["method", "quantity"])["mean"]
    picture, axes = panels(2)
    w = np.linspace(-0.5, 1.5, 101)
    for number, (ax, name) in enumerate(zip(axes, MECHANISMS, strict=True)):
        for repeat in range(DRAWN):
            square, slope = means[name, f"w^2, {repeat}"], means[name, f"w, {repeat}"]
            label = {"label": f"{name}, eps = {EPS}"} if repeat == 0 else {}
            ax.plot(w, square * w**2 + slope * w, color=COLORS[number], linewidth=0.9, **label)
        ax.plot(w, means[EXACT, "w^2"] * w**2 + means[EXACT, "w"] * w, color=QUIET, linestyle="--", label=EXACT)
        ax.set(title=f"{name}, {DRAWN} releases", xlabel="w", ylabel="objective / copies - sum y^2", ylim=(-1.1, 2.1))
    return finish(picture, axes)


def table(numbers: pd.DataFrame) -> str:
    """Coefficients and minimisers beside the printed ones."""
    part = numbers[numbers["quantity"].isin(("w^2", "w", "minimiser"))]
    return markdown(part[["method", "quantity", "published", "mean", "deviation", "repeats"]])


FIGURE = Figure(
    "fm12/figure2", "a linear objective and its noisy versions", cells, measure, draw, table, first_repeats(10),
    published=[
        {"method": EXACT, "quantity": "w^2", "published": 2.06},
        {"method": EXACT, "quantity": "w", "published": -2.34},
        {"method": EXACT, "quantity": "minimiser", "published": 117 / 206},
    ],
)  # fmt: skip
