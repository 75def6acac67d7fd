"""FM12 Figure 3: a logistic objective, its expansion at 0, and the approximation that dplr takes by default."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
from matplotlib.figure import Figure as Picture
from scipy.optimize import minimize_scalar

import dplr
from bench.papers.drawing import finish, panels
from bench.papers.figure import Cell, Figure, Row
from bench.papers.fm12.figure2 import COPIES, fitted
from bench.papers.pages import markdown
from dplr.plots._drawing import COLORS, QUIET

# Tuples of our own: labels that no line separates, so that the logistic loss has a minimum.
ROWS, LABELS = ((-0.5,), (0.0,), (1.0,), (0.6,)), (0, 1, 1, 0)
LOSS, TAYLOR, MINIMAX = "logistic loss", "expansion at 0 (FM12)", "minimax (dplr)"
APPROXIMATIONS = {TAYLOR: "taylor", MINIMAX: "minimax"}


def loss(w: float) -> float:
    """The logistic objective itself."""
    margins = np.array(ROWS)[:, 0] * w
    return float(np.sum(np.logaddexp(0, margins) - np.array(LABELS) * margins))


def cells() -> list[Cell]:
    """One for each curve."""
    return [{"method": name, "repeat": 0} for name in (LOSS, *APPROXIMATIONS)]


def measure(cell: Cell, seed: int) -> list[Row]:
    """The minimiser, and for a quadratic a number c2 of its second degree: sum of v/2 and c2 v^2 over the margins v."""
    name = cell["method"]
    if name == LOSS:
        return [{"quantity": "minimiser", "value": minimize_scalar(loss).x}]
    mechanism = dplr.FunctionalMechanism(approximation=APPROXIMATIONS[name])
    est = fitted(ROWS, LABELS, math.inf, mechanism, rng=seed)
    minimiser = float(np.ravel(est.coef_)[0])
    # The same slope at 0 for every approximation: their second degree follows from their minimiser.
    slope = float(np.sum((0.5 - np.array(LABELS)) * np.array(ROWS)[:, 0]))
    c2 = -slope / (2 * minimiser * float(np.sum(np.square(ROWS))))
    return [{"quantity": "minimiser", "value": minimiser}, {"quantity": "c2", "value": c2}]


def draw(numbers: pd.DataFrame) -> Picture:
    """The three objectives, equal at 0."""
    means = numbers.set_index(["method", "quantity"])["mean"]
    picture, (ax,) = panels(1, columns=1, height=3.2)
    w = np.linspace(-6, 6, 121)
    X, y = np.array(ROWS)[:, 0], np.array(LABELS)
    ax.plot(w, [loss(each) for each in w], color=QUIET, linestyle="--", label=LOSS)
    for number, name in enumerate(APPROXIMATIONS):
        values = [np.sum(math.log(2) + (0.5 - y) * X * each + means[name, "c2"] * (X * each) ** 2) for each in w]
        ax.plot(w, values, color=COLORS[number], label=name)
    ax.set(xlabel="w", ylabel="objective", title=f"four tuples, {COPIES} times each")
    return finish(picture, [ax], columns=2)


def table(numbers: pd.DataFrame) -> str:
    """Minimisers and second degrees."""
    wide = numbers.pivot(index="method", columns="quantity", values="mean").loc[[LOSS, *APPROXIMATIONS]]
    return markdown(wide.reset_index()[["method", "minimiser", "c2"]])


FIGURE = Figure("fm12/figure3", "a logistic objective and its approximations", cells, measure, draw, table)
