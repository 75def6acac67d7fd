"""Populations of rows whose coefficients are known: the grid of the study, and designs that are hard."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

import dplr

IOTA = 0.5
# Errors are uniform on [-0.4, 0.4], and no linear predictor is larger than 0.6: no target is ever clipped.
ERROR, LARGEST = 0.4, 0.6


@dataclass(frozen=True)
class Design:
    """Rows in scaled units, whose target is linear.

    Attributes
    ----------
    name : what the results call it.
    bounds : what a plan is made of.
    draw : (generator, n) to rows (n, q), the constant last.
    coef : (q,) the truth.
    watched : the coefficients whose intervals are counted.
    """

    name: str
    bounds: dplr.Bounds
    draw: Callable[[np.random.Generator, int], np.ndarray]
    coef: np.ndarray
    watched: np.ndarray

    def sums(self, rng: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray, float]:
        """Sums of vv', y v and y^2 over n fresh rows."""
        V = self.draw(rng, n)
        y = V @ self.coef + rng.uniform(-ERROR, ERROR, n)
        return V.T @ V, V.T @ y, float(y @ y)


def of_numbers(name: str, d: int, columns: Callable, coef: np.ndarray | None = None) -> Design:
    """A design of d numbers in [-1, 1], which `columns` draws; all slopes are watched, but no more than six."""
    width = 1 / math.sqrt(d)

    def draw(rng, n):
        return np.hstack([columns(rng, n) * width, np.full((n, 1), IOTA)])

    bounds = dplr.Bounds([(-1, 1)] * d, target=(-1, 1))
    coef = modest(d, width) if coef is None else coef
    return Design(name, bounds, draw, coef, np.arange(min(d, 6)))


def modest(d: int, width: float) -> np.ndarray:
    """Coefficients of random size, an intercept among them, whose predictor is never too large."""
    coef = np.random.default_rng(d).normal(size=d + 1)
    return coef * LARGEST / (width * np.abs(coef[:-1]).sum() + IOTA * abs(coef[-1]))


def continuous(d: int) -> Design:
    """Deviations of 0.4 of the half-range, correlations of one half."""

    def columns(rng, n):
        common = rng.normal(size=(n, 1))
        return np.clip(0.4 * (common + rng.normal(size=(n, d))) / math.sqrt(2), -1, 1)

    return of_numbers("continuous", d, columns)


def binary(d: int) -> Design:
    """Yes in 20 to 80 % of the rows, correlated."""
    cuts = np.random.default_rng(d).uniform(-0.84, 0.84, d)

    def columns(rng, n):
        latent = 0.5 * rng.normal(size=(n, 1)) + math.sqrt(0.75) * rng.normal(size=(n, d))
        return np.where(latent > cuts, 1.0, -1.0)

    return of_numbers("binary", d, columns)


def collinear() -> Design:
    """Eleven columns of three factors, as chemical measurements of wines: a column is 95 % what the others say."""
    d, factors = 11, np.random.default_rng(11).normal(size=(3, 11))
    factors /= np.linalg.norm(factors, axis=0)

    def columns(rng, n):
        mixed = math.sqrt(0.95) * rng.normal(size=(n, 3)) @ factors + math.sqrt(0.05) * rng.normal(size=(n, d))
        return np.clip(0.4 * mixed, -1, 1)

    return of_numbers("collinear", d, columns)


def one_hot() -> Design:
    """Three numbers and two blocks of four levels: the diagonal cells of levels are not released."""
    blocks, levels, numbers = 2, 4, 3
    width, d = 1 / math.sqrt(numbers + blocks), numbers + blocks * levels

    def draw(rng, n):
        X = np.clip(0.4 * rng.normal(size=(n, numbers)), -1, 1)
        # Some rows show no level: else the levels and the constant would be collinear.
        shown = [rng.choice(levels + 1, n, p=[0.15, 0.2, 0.15, 0.25, 0.25])[:, None] == np.arange(levels)]
        shown += [rng.choice(levels + 1, n, p=[0.2, 0.2, 0.2, 0.2, 0.2])[:, None] == np.arange(levels)]
        return np.hstack([X * width, *(block * width for block in shown), np.full((n, 1), IOTA)])

    known = [(-1, 1)] * numbers + [{"levels": list("abcd")}] * blocks
    bounds = dplr.Bounds(known, target=(-1, 1))
    return Design("one-hot", bounds, draw, modest(d, width), np.array([0, 1, 3, 4, 7, 8]))


def weak() -> Design:
    """Two columns that hardly differ, with a large coefficient on their difference: norm 8, the reach is 4."""
    size = 8 / math.sqrt(2)

    def columns(rng, n):
        first = rng.uniform(-0.9, 0.9, (n, 1))
        return np.hstack([first, first + rng.uniform(-0.1, 0.1, (n, 1)), rng.uniform(-1, 1, (n, 1))])

    return of_numbers("weak direction", 3, columns, np.array([size, -size, 0.2, 0.1]))
