"""What the figures of CM08 share: points on the sphere, five folds, the methods, and the errors of many fits."""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure as Picture
from numpy.typing import NDArray

import dplr
from bench.papers import drawing, pages
from bench.papers.figure import Row
from dplr import fit_many

Array = NDArray[np.float64]

DATA = ("uniform", "unseparable")
POINTS, DIMENSIONS, FOLDS = 17_500, 10, 5
FOUR_FOLDS, ONE_FOLD = 14_000, 3_500
# As printed: no mass nearer to the separator than this; or labels flipped with this probability inside a band.
MARGIN, BAND, FLIPPED = 0.03, 0.1, 0.2
L2, EPS, RESTARTS = 0.01, 0.1, 200

SENSITIVITY, NEW, STANDARD = "sensitivity method", "new method", "standard logistic regression"
OWN_NOISE, OWN = "dplr, l2 = 0.01", "dplr, defaults"
_OPTIONS: dict[str, dict[str, Any]] = {
    SENSITIVITY: {"mechanism": "output", "l2": L2},
    NEW: {"mechanism": dplr.ObjectivePerturbation(calibration="cm08"), "l2": L2},
    OWN_NOISE: {"mechanism": "objective", "l2": L2},
    OWN: {"mechanism": "objective"},
    STANDARD: {"mechanism": "none", "l2": L2},
}
METHODS = tuple(_OPTIONS)
ERROR, DEVIATION, TRUE_EPS = "error", "deviation over restarts", "true eps"


@functools.cache
def points(data: str) -> tuple[Array, NDArray[np.bool_]]:
    """Points of one data set and their labels, always the same."""
    rng = np.random.default_rng(DATA.index(data))
    separator = rng.normal(size=DIMENSIONS)
    separator /= np.linalg.norm(separator)
    X = rng.normal(size=(2 * POINTS, DIMENSIONS))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    distance = X @ separator
    if data == "uniform":
        X, distance = X[np.abs(distance) >= MARGIN], distance[np.abs(distance) >= MARGIN]
    y = distance > 0
    if data == "unseparable":
        y ^= (np.abs(distance) <= BAND) & (rng.random(len(y)) < FLIPPED)
    return X[:POINTS], y[:POINTS]


def split(data: str, fold: int, n_rows: int) -> tuple[tuple[Array, Any], tuple[Array, Any]]:
    """The first rows of the other folds, and the fold that is kept aside."""
    X, y = points(data)
    held = np.arange(POINTS) % FOLDS == fold
    return (X[~held][:n_rows], y[~held][:n_rows]), (X[held], y[held])


def measured(data: str, fold: int, n_rows: int, seed: int, eps: float = EPS) -> Iterator[Row]:
    """For every method: the mean test error over the restarts, its deviation, and the true privacy loss."""
    train, (held, truth) = split(data, fold, n_rows)
    for method, options in _OPTIONS.items():
        private = method != STANDARD
        fits = fit_many(
            *train, eps=[eps if private else math.inf], repeats=RESTARTS if private else 1, fit_intercept=False,
            rng=seed, **options,
        )  # fmt: skip
        coefs = np.stack([est.coef_[0] for est in fits])
        errors = ((held @ coefs.T > 0) != truth[:, None]).mean(axis=0)
        yield {"method": method, "number": ERROR, "value": errors.mean()}
        if private:
            yield {"method": method, "number": DEVIATION, "value": errors.std(ddof=1)}
            yield {"method": method, "number": TRUE_EPS, "value": fits[0].privacy_.eps}


def shown(numbers: pd.DataFrame, x: str, called: str) -> str:
    """A line for every data set and x: the errors of all methods, and the new method's true privacy loss."""
    means = numbers.set_index(["data", x, "method", "number"])["mean"]
    rows = []
    for data, at in itertools.product(DATA, sorted(set(numbers[x]))):
        row = {"data": data, called: f"{at:,}"}
        row |= {method: f"{means[data, at, method, ERROR]:.3f}" for method in METHODS}
        rows.append(row | {f"true eps of the {NEW}": f"{means[data, at, NEW, TRUE_EPS]:.3g}"})
    return pages.markdown(pd.DataFrame(rows))


def panels(numbers: pd.DataFrame, x: str, called: str) -> Picture:
    """A panel for each data set: error against x."""
    picture, axes = drawing.panels(2, height=3.0)
    for ax, data in zip(axes, DATA, strict=True):
        part = numbers[(numbers["data"] == data) & (numbers["number"] == ERROR)]
        order = (STANDARD, *(method for method in METHODS if method != STANDARD))
        drawing.curves(ax, part, x, "method", order, quiet=(STANDARD,))
        ax.set(title=data, xlabel=called, ylabel="test error (share of wrong labels)", ylim=(-0.015, 0.52))
    return drawing.finish(picture, axes)
