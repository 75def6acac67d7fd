"""Rows made up for the tests of kernels and sums."""

import math

import numpy as np

from dplr.bounds.scaling import Prep, ball_prep, box_prep
from dplr.problem.geometry import INTERCEPT, Geometry


def make_prep(kind, d, *, fit_intercept=True, labels=True):
    """Ball, centred cube, or (without intercept) corner cube."""
    pair = (0.0, 1.0) if labels else None
    target = None if labels else (-3.0, 5.0)
    if kind == "ball":
        return ball_prep(d, fit_intercept, pair)
    pairs = [(0.0 if kind == "corner" else -1.0 - j, 2.0 + j) for j in range(d)]
    return box_prep(pairs, fit_intercept, pair, target)


def make_data(kind, n, d, *, labels=True, seed=0):
    """Rows of which some lie outside their bounds, and targets."""
    rng = np.random.default_rng(seed)
    if kind == "ball":
        X = rng.normal(size=(n, d)) / np.sqrt(d) * rng.choice([0.5, 1.5], size=(n, 1))
    else:
        X = rng.uniform(-1.2, 2.2, size=(n, d)) * (1 + np.arange(d))
    y = (rng.random(n) < 0.4).astype(float) if labels else rng.normal(1, 3, n)
    return X, y


def make_groups(kinds, n, *, fit_intercept=True, seed=0):
    """Prep, rows and labels of numeric columns ("n", in [-1, 1]) and one-hot blocks (a digit: how many columns).

    Some numbers lie outside their bounds, some levels are unknown. Of a number with a mark ("m") a third are missing.
    Of a block of two or three numbers ("p", "q") at most one is not 0. Of the shares of three knots ("c"), with a mark
    behind them ("d") or for each of two levels ("e"), two neighbours may be not 0.
    """
    rng = np.random.default_rng(seed)
    c, columns, bounds, blocks, marked = math.isqrt(2**40 // len(kinds)) / 2**20, [], [], [], []
    shared, hats = [], []
    for kind in kinds:
        if kind == "n":
            columns.append(rng.uniform(-1.3, 1.3, (n, 1)))
            bounds.append((-1.0, 1.0))
        elif kind == "m":
            marked.append(len(bounds))
            missing = rng.random((n, 1)) < 1 / 3
            columns += [np.where(missing, 0.0, rng.uniform(-1.3, 1.3, (n, 1))), missing.astype(float)]
            bounds += [(-1.0, 1.0), (0.0, 1.0)]
        elif kind in "pq":
            size = {"p": 2, "q": 3}[kind]
            shared.append((len(bounds), size))
            level = rng.integers(0, size + 1, (n, 1))
            columns.append(np.where(level == np.arange(size), rng.uniform(-1.3, 1.3, (n, 1)), 0.0))
            bounds += [(-1.0, 1.0)] * size
        elif kind in "cde":
            hats.append((len(bounds), {"c": 3, "d": 4, "e": 6}[kind], 3))
            columns.append(make_shares(rng, n, kind))
            bounds += [(0.0, 1.0)] * columns[-1].shape[1]
        else:
            blocks.append((len(bounds), int(kind)))
            level = rng.integers(0, int(kind) + 1, (n, 1))  # the last one is unknown
            columns.append((level == np.arange(int(kind))).astype(float))
            bounds += [(0.0, 1.0)] * int(kind)
    X = np.hstack(columns)
    d = len(bounds)
    low, high = np.array([*bounds, (-1.0 / c, 1.0 / c)]).T.copy() * c * 2**20
    intercept, groups = INTERCEPT if fit_intercept else 0.0, {"blocks": tuple(blocks), "marked": tuple(marked)}
    groups |= {"shared": tuple(shared), "hats": tuple(hats)}
    geometry = Geometry(d, half_width=c, intercept=intercept, **groups)
    scale = np.append(np.full(d, c), 1.0) * 2**20
    for first, size, _ in hats:
        scale[first : first + size] -= 1
        high[first : first + size] -= 1
    return Prep(geometry, np.zeros(d + 1), scale, low, high, (0.0, 1.0)), X, (rng.random(n) < 0.4).astype(float)


def make_shares(rng, n, kind):
    """Shares of three knots in numbers from 0 to 2: alone, beside a mark of what is missing, or for two levels."""
    shares = np.maximum(1 - np.abs(rng.uniform(0, 2, (n, 1)).round(3) - np.arange(3)), 0.0)
    if kind == "c":
        return shares
    chosen = rng.integers(0, 3, (n, 1))  # of levels the last one is unknown
    if kind == "d":
        return np.hstack([np.where(chosen > 0, shares, 0.0), (chosen == 0).astype(float)])
    return np.hstack([np.where(chosen == level, shares, 0.0) for level in (0, 1)])
