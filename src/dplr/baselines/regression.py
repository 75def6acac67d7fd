"""Regression of weighted points without privacy: post-processing, in passes over chunks of millions of points."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import linalg
from scipy.special import expit

Vector = NDArray[np.float64]
# Chunks of (rows, targets, weights): (n, q), (n,), (n,). The step says that every so many points are enough.
Chunks = Callable[[int], Iterator[tuple[NDArray[Any], Vector, Vector]]]

_RIDGE = 1.0  # of the sum objective: that of mechanism="none"
_THINNED = 64  # the first steps see every so many points
_CLOSE = 1e-6  # of the sum objective, where noise moves it by far more than 1
_MOST_STEPS = 200


def least_squares(chunks: Chunks, q: int) -> Vector:
    """Minimise sum weight (y - x.w)^2 / 2 + ||w||^2 / 2."""
    square, right = np.eye(q) * _RIDGE, np.zeros(q)
    for rows, targets, weights in chunks(1):
        weighted = rows * weights[:, None]
        square += weighted.T @ rows
        right += weighted.T @ targets
    return np.asarray(linalg.solve(square, right, assume_a="pos"))


def logistic(chunks: Chunks, q: int) -> Vector:
    """Minimise sum weight log(1 + exp(-(2 y - 1) x.w)) + ||w||^2 / 2, y in {0, 1}, by damped Newton steps.

    The first steps see few of the points, so that two or three passes over all of them are enough.
    """
    coef = np.zeros(q)
    for step in (_THINNED, 1):
        coef = _newton(chunks, step, coef)
    return coef


def _newton(chunks: Chunks, step: int, coef: Vector) -> Vector:
    value, gradient, curvature = _derivatives(chunks, step, coef)
    for _ in range(_MOST_STEPS):
        move = linalg.solve(curvature, gradient, assume_a="pos")
        gain = float(gradient @ move)
        if gain <= _CLOSE:
            return np.asarray(coef - move)
        size = 1.0
        while True:
            other = _derivatives(chunks, step, coef - size * move)
            if other[0] <= value - size * gain / 4 or size < 1e-9:
                break
            size /= 2
        coef = coef - size * move
        value, gradient, curvature = other
    return coef


def _derivatives(chunks: Chunks, step: int, coef: Vector) -> tuple[float, Vector, NDArray[np.float64]]:
    value, gradient, curvature = float(coef @ coef) * _RIDGE / 2, coef * _RIDGE, np.eye(len(coef)) * _RIDGE
    for rows, targets, weights in chunks(step):
        margins = rows @ coef
        chances = expit(margins)
        value += float(weights @ (np.logaddexp(0.0, margins) - targets * margins))
        gradient = gradient + rows.T @ (weights * (chances - targets))
        curvature += (rows * (weights * chances * (1 - chances))[:, None]).T @ rows
    return value, gradient, curvature
