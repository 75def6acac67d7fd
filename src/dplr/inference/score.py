"""The score's statistic AR(phi) = r'V^-1 r, r = vector - matrix phi, and where it reaches a threshold.

phi is the distance of the coefficients from the reading's center. All points of a batch move at once. See intervals.md,
sections 2 to 4.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import special

from dplr.inference.noise import covariance, fourth, turned
from dplr.inference.reading import Reading

Array = NDArray[np.float64]
Flags = NDArray[np.bool_]

# Points of a batch hold at most this many numbers in one array.
_MOST = 2**21
# Steps that a batch may take; after `_CALM` they are shortened by `_SHORT`, so that no cycle of two goes on.
_STEPS, _CALM, _SHORT = 60, 15, 0.6
# A step ends the search below this part of the half-width, and below that one in the metric of the curvature.
_ALONG, _ACROSS = 1e-4, 1e-2
_JITTER = 1e-13


@dataclass(frozen=True, eq=False, slots=True)
class Model:
    """The statistic plus ``penalty ||center + phi||^2``, locally: value, half the negative gradient, curvature.

    `turn` is V^-1 D (..., q, q), D = matrix + turned noise; `weights` is V^-1 r.
    """

    value: Array
    slope: Array
    curvature: Array
    turn: Array
    weights: Array


@np.errstate(over="ignore", invalid="ignore")
def statistic(reading: Reading, phi: Array, penalty: float = 0.0) -> Model:
    """The model of the statistic at points (m, q); nan where numbers are too large to compute with."""
    v = covariance(reading.cells, reading.tied, phi) + (reading.vector_noise + reading.sampling)
    r = reading.vector - phi @ reading.matrix
    z = _solve(v, r[..., None])[..., 0]
    d = reading.matrix + turned(reading.cells, reading.tied, z, phi)
    turn = _solve(v, d)
    theta = reading.center + phi
    curvature = d @ turn
    curvature = (curvature + np.swapaxes(curvature, -1, -2)) / 2
    np.einsum("...ii->...i", curvature)[...] += penalty
    value = np.sum(r * z, axis=-1) + penalty * np.sum(theta**2, axis=-1)
    slope = np.einsum("...ij,...j->...i", d, z) - penalty * theta
    return Model(value, slope, curvature, turn, z)


def quantile(z: float | Array, kurtosis: Array) -> Array:
    """Two-sided quantile at the normal one `z` of a sum of Laplace noise: Cornish-Fisher, at most Laplace's own."""
    z = np.asarray(z, np.float64)
    raised = z + np.maximum(0.0, z**3 - 3 * z) / 24 * kurtosis
    laplace = -(math.log(2) + special.log_ndtr(-z)) / math.sqrt(2)
    return np.asarray(np.minimum(raised, np.maximum(z, laplace)))


def kurtosis(reading: Reading, x: Array, phi: Array) -> Array:
    """Excess kurtosis of x'(vector - matrix phi); 0 for Gaussian noise."""
    if not reading.laplace:
        return np.zeros(x.shape[:-1])
    total, _ = variances(reading, x, phi)
    tails = fourth(reading.cells, reading.tied, reading.vector_noise, x, phi)
    return np.asarray(np.divide(tails, total**2, out=np.zeros_like(total), where=total > 0))


def variances(reading: Reading, x: Array, phi: Array) -> tuple[Array, Array]:
    """Variance of x'(vector - matrix phi), and the part of it that is noise."""
    noise = covariance(reading.cells, reading.tied, phi) + reading.vector_noise
    private = np.einsum("...i,...ij,...j->...", x, noise, x)
    return private + np.einsum("...i,ij,...j->...", x, reading.sampling, x), private


def correlation(reading: Reading, x: Array, phi: Array) -> Array:
    """Correlation, in [0, 1], of x'(vector - matrix phi) and the noise on the matrix in it."""
    total, _ = variances(reading, x, phi)
    part = np.einsum("...i,...ij,...j->...", x, covariance(reading.cells, reading.tied, phi), x)
    share = np.divide(part, total, out=np.zeros_like(total), where=total > 0)
    return np.asarray(np.sqrt(np.clip(share, 0.0, 1.0)))


@np.errstate(over="ignore", invalid="ignore", divide="ignore")
def lowest(reading: Reading, penalty: float, start: Array, fixed: Array | None = None) -> tuple[Array, bool]:
    """The point (q,) nearest `start` with the smallest penalised statistic, and whether it was found.

    With `fixed` (m, q) only directions that leave ``fixed @ phi`` as it is are taken.
    """
    free = None if fixed is None else _null_space(fixed)

    def step(phi: Array, which: NDArray[np.intp]) -> tuple[Array, Flags]:
        model = statistic(reading, phi, penalty)
        if free is None:
            move = _solve(model.curvature, model.slope[..., None])[..., 0]
        elif not free.shape[1]:
            return np.zeros(phi.shape), np.ones(len(phi), bool)
        else:
            inner = _solve(free.T @ model.curvature @ free, (model.slope @ free)[..., None])[..., 0]
            move = inner @ free.T
        gain = np.sum(move * model.slope, axis=-1)  # what the local model promises
        return move, gain <= 1e-7 * (1.0 + np.abs(model.value))

    points, success = _iterate(step, start[None], _bound(reading, penalty))
    return points[0], bool(success[0])


@np.errstate(over="ignore", invalid="ignore", divide="ignore")
def ends(
    reading: Reading, contrasts: Array, signs: Array, start: Array, penalty: float, slack: float, z: float,
    widening: float = 0.0,
) -> tuple[Array, Flags]:  # fmt: skip
    """Points where signs * contrasts'phi is largest on {penalised statistic <= quantile^2 + slack}; which were found.

    contrasts (m, q), signs (m,), start (q,) or (m, q). The quantile is that of `z`, and of z + `widening` where all of
    the score is noise on the matrix.
    """
    c = contrasts * signs[:, None]

    def step(phi: Array, which: NDArray[np.intp]) -> tuple[Array, Flags]:
        model = statistic(reading, phi, penalty)
        pair = np.stack([model.slope, c[which]], axis=-1)
        solved = _solve(model.curvature, pair)
        inward, along = solved[..., 0], solved[..., 1]
        x = np.einsum("...ij,...j->...i", model.turn, along)
        normal = z + widening * correlation(reading, x, phi) if widening else z
        level = quantile(normal, kurtosis(reading, x, phi)) ** 2 + slack
        room = level - (model.value - np.sum(model.slope * inward, axis=-1))
        length = np.sum(c[which] * along, axis=-1)
        half = np.sqrt(np.maximum(room, 0.0) * length)
        move = inward + np.where(length > 0, half / length, 0.0)[:, None] * along
        ahead = np.abs(np.sum(c[which] * move, axis=-1)) <= _ALONG * half
        size = np.einsum("...i,...ij,...j->...", move, model.curvature, move)
        return move, ahead & (size <= _ACROSS**2 * room) & (room > 0)

    return _iterate(step, np.broadcast_to(start, c.shape).copy(), _bound(reading, penalty))


def _iterate(
    step: Callable[[Array, NDArray[np.intp]], tuple[Array, Flags]], points: Array, bound: float
) -> tuple[Array, Flags]:
    """Move every point until its step says that it is there, and no point further than `bound`."""
    success = np.zeros(len(points), bool)
    moving = np.arange(len(points))
    size = max(1, _MOST // points.shape[1] ** 2)
    for count in range(_STEPS):
        still = []
        for first in range(0, len(moving), size):
            which = moving[first : first + size]
            move, there = step(points[which], which)
            sound = np.all(np.isfinite(move), axis=1)
            there &= sound
            move = np.where(sound[:, None], move, 0.0)
            moved = points[which] + (1.0 if count < _CALM else _SHORT) * move
            norm = np.linalg.norm(moved, axis=1)
            moved *= np.minimum(1.0, bound / np.maximum(norm, 1e-300))[:, None]
            points[which] = np.where(there[:, None], points[which], moved)
            success[which] = there
            still.append(which[sound & ~there])
        moving = np.concatenate(still) if still else moving[:0]
        if not len(moving):
            break
    return points, success


def _bound(reading: Reading, penalty: float) -> float:
    """No point of interest is further from the center: far outside the penalised set."""
    if penalty <= 0:
        return math.inf
    return float(np.linalg.norm(reading.center)) + 20.0 / math.sqrt(penalty)


def _null_space(fixed: Array) -> Array:
    _, values, rows = np.linalg.svd(fixed)
    rank = int(np.sum(values > max(fixed.shape) * np.finfo(np.float64).eps * values[0])) if len(values) else 0
    return np.asarray(rows[rank:].T)


def _solve(matrix: Array, right: Array) -> Array:
    """Solve many systems with positive semidefinite matrices; nan where a matrix is not finite or has no inverse."""
    diagonal = np.einsum("...ii->...i", matrix)
    lift = _JITTER * (diagonal + 1e-3 * np.max(diagonal, axis=-1, keepdims=True, initial=0.0))
    matrix = matrix + lift[..., None] * np.eye(matrix.shape[-1])
    bad = ~np.all(np.isfinite(matrix), axis=(-2, -1))
    if np.any(bad):
        matrix = np.where(bad[..., None, None], np.eye(matrix.shape[-1]), matrix)
    try:
        out = np.linalg.solve(matrix, right)
    except np.linalg.LinAlgError:
        out = np.stack([_one(m, b) for m, b in zip(matrix, right, strict=True)])
    if np.any(bad):
        out[bad] = np.nan
    return np.asarray(out, np.float64)


def _one(matrix: Array, right: Array) -> Array:
    try:
        return np.asarray(np.linalg.solve(matrix, right))
    except np.linalg.LinAlgError:
        return np.full_like(right, np.nan)
