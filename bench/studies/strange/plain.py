"""Fits without privacy, and the coefficients that intervals are of."""

from __future__ import annotations

import functools
import math

import numpy as np
from scipy import special

from bench.studies.strange.designs import DESIGNS, Columns, Design
from bench.studies.strange.tables import Bounds, clipped, matrix

POPULATION = 1_000_000
Beside = dict[str, np.ndarray]
Rows = tuple[Columns, np.ndarray, Beside]


def rows_of(design: Design, n: int, rng: np.random.Generator) -> Rows:
    """Columns, targets, and the ids or weights of the rows."""
    if "person" not in design.options:
        columns, u = design.table.rows(rng, n), rng.random(n)
        beside = {"sample_weight": rng.random(n)} if "sample_weight" in design.options else {}
        return columns, design.targets(columns, u, rng), beside
    ids = np.repeat(np.arange(n), rng.integers(1, 9, n))
    columns = {name: each[ids] for name, each in design.table.rows(rng, n).items()}
    columns["b"] = design.table.rows(rng, len(ids))["b"]
    u = special.ndtr(math.sqrt(0.5) * (rng.normal(size=n)[ids] + rng.normal(size=len(ids))))
    return columns, design.targets(columns, u, rng), {"person": ids}


def fitted(design: Design, Z: np.ndarray, y: np.ndarray, beside: Beside) -> tuple[np.ndarray, np.ndarray]:
    """Coefficients and their standard errors, by the sandwich, person by person."""
    ids = beside.get("person", np.arange(len(y)))
    weights = 1 / np.bincount(ids)[ids] if "person" in beside else beside.get("sample_weight", np.ones(len(y)))
    middle, size = Z.mean(axis=0), Z.std(axis=0)
    middle[-1], size[-1] = 0.0, 1.0
    size[size == 0] = math.inf
    A = (Z - middle) / size
    w = minimum(design, A, y, weights)
    slopes, bends = derivatives(design, A @ w, y)
    scores = A * (weights * slopes)[:, None]
    if "person" in beside:
        scores = np.array([np.bincount(ids, part) for part in scores.T]).T
    bread = np.linalg.pinv(A.T @ (A * (weights * bends)[:, None]))
    units = np.diag(1 / size)
    units[-1, :-1] = -middle[:-1] / size[:-1]
    return units @ w, np.sqrt(np.diag(units @ bread @ (scores.T @ scores) @ bread @ units.T))


def minimum(design: Design, A: np.ndarray, y: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Weights of the least loss: of squares at once, of others by steps that are at most 2 long."""
    if design.model in ("linear", "huber"):
        root = np.sqrt(weights)
        w = np.linalg.lstsq(A * root[:, None], y * root, rcond=None)[0]
    else:
        w = np.zeros(A.shape[1])
    for _ in range(0 if design.model == "linear" else 25):
        slopes, bends = derivatives(design, A @ w, y)
        step = np.linalg.lstsq(A.T @ (A * (weights * bends)[:, None]), A.T @ (weights * slopes), rcond=None)[0]
        w = w - step * min(1.0, 2 / max(np.abs(step).max(), 1e-9))
        if np.abs(step).max() < 1e-8:
            break
    return w


def derivatives(design: Design, margins: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """First and second derivatives of the loss by the margin."""
    if design.model == "logistic":
        p = special.expit(margins)
        return p - y, p * (1 - p)
    if design.model == "poisson":
        rates = np.exp(np.minimum(margins, 20))
        return rates - y, rates
    if design.model == "huber":
        low, high = design.target or (-1, 1)
        width, residuals = (high - low) / 4, margins - y
        bends = np.exp(-np.abs(residuals) / width)
        return np.sign(residuals) * width * (1 - bends), bends
    return margins - y, np.ones(len(y))


@functools.lru_cache(maxsize=1)
def population(place: int) -> Rows:
    """Many rows of a design."""
    return rows_of(DESIGNS[place], POPULATION, np.random.default_rng(place))


@functools.lru_cache(maxsize=64)
def best(place: int, bounds: tuple[tuple[str, Bounds], ...], ends: tuple[float, float] | None) -> dict[str, float]:
    """Coefficients of the best model of many rows within bounds, of which there are several where they are learned."""
    columns, y, beside = population(place)
    names, Z = matrix(clipped(columns, dict(bounds)), dict(bounds))
    coef, _ = fitted(DESIGNS[place], Z, y if ends is None else np.clip(y, *ends), beside)
    return dict(zip(names, coef.tolist(), strict=True))
