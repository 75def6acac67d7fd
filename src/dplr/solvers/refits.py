"""Many objectives of one loss, minimised together pass by pass."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from dplr.solvers.certificate import Objective, rounding_line

# Passes for all refits together; what is not done then, or whose gradient grows, is solved alone.
_SHARED_PASSES = 15


def newton_many(
    gradients: Callable[[NDArray[np.float64]], NDArray[np.float64]],
    hessian: NDArray[np.float64],
    start: NDArray[np.float64],
    objectives: Sequence[Objective],
    n: int,
    d: int,
    radius: float,
    tau: float,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Minimise objectives that differ in ridge, center and linear term: L-BFGS for all of them, pass by pass.

    Every objective has its own steps; their preconditioner is one Hessian of the common losses, plus its own ridge.

    Parameters
    ----------
    gradients : of the summed losses at (k, q) points, for any k.
    hessian, start : (q, q) of the summed losses at (q,), the minimum of one such objective.
    objectives : of one loss, in sum form.
    tau : tolerance.

    Returns
    -------
    coefs : (k, q)
    bounds : (k,) certified bounds on the gradients' norms, above tau where rounding hides more; infinite for those that
        must be solved alone.
    """
    common = Common(objectives, n, d, radius)
    try:
        values, vectors = np.linalg.eigh(hessian)
    except np.linalg.LinAlgError:  # any preconditioner will do, and whether this happens must not end a fit
        values, vectors = np.zeros(len(hessian)), np.eye(len(hessian))
    values = np.maximum(values, 0.0)
    coefs = np.tile(start, (len(objectives), 1))
    bounds = np.full(len(objectives), np.inf)
    active = np.arange(len(objectives))
    before = np.full(len(objectives), np.inf)
    gradient = common.gradients(active, coefs, np.tile(gradients(start[np.newaxis]), (len(objectives), 1)))
    history: list[tuple[NDArray[np.float64], NDArray[np.float64]]] = []
    for _ in range(_SHARED_PASSES):
        length = np.linalg.norm(gradient, axis=1) * (1 + 1e-12)
        hidden = common.rounding(active, coefs[active])
        bound = length + hidden
        blurred = (tau <= 2 * hidden) & (length <= 8 * hidden)
        done = (bound <= tau) | (blurred & ((length <= 0.25 * tau) | (length > 0.5 * before)))
        bounds[active[done]] = bound[done]
        going = ~done & (length < before)
        active, gradient, before = active[going], gradient[going], length[going]
        history = [(step[going], change[going]) for step, change in history]
        if not len(active):
            break
        curvature = values + common.ridges[active, np.newaxis]
        step = -_two_loops(gradient, history, curvature, vectors)
        coefs[active] += step
        after = common.gradients(active, coefs[active], gradients(np.ascontiguousarray(coefs[active])))
        history.append((step, after - gradient))
        gradient = after
    return coefs, bounds


class Common:
    """The differences of several objectives of one loss, side by side."""

    def __init__(self, objectives: Sequence[Objective], n: int, d: int, radius: float) -> None:
        self.ridges: NDArray[np.float64] = np.array([objective.ridge for objective in objectives])
        self._centers = np.array([objective.center for objective in objectives])
        self._linear = np.array([objective.linear for objective in objectives])
        lines = np.array([rounding_line(objective, n, d, radius) for objective in objectives])
        self._at_zero, self._slopes = lines.T

    def gradients(
        self, which: NDArray[np.intp], points: NDArray[np.float64], losses: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Gradients of these objectives at their points, from those of the summed losses."""
        result: NDArray[np.float64] = losses + self.ridges[which, np.newaxis] * (points - self._centers[which])
        result += self._linear[which]
        return result

    def rounding(self, which: NDArray[np.intp], points: NDArray[np.float64]) -> NDArray[np.float64]:
        """Their rounding bounds."""
        norms = np.linalg.norm(points, axis=1) * (1 + 1e-12)
        return np.asarray(self._at_zero[which] + self._slopes[which] * norms)


def _two_loops(
    gradient: NDArray[np.float64],
    history: Sequence[tuple[NDArray[np.float64], NDArray[np.float64]]],
    curvature: NDArray[np.float64],
    vectors: NDArray[np.float64],
) -> NDArray[np.float64]:
    """L-BFGS's product with the gradient, each row its own; preconditioned by vectors diag(curvature) vectors'."""

    def dots(a: NDArray[np.float64], b: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.asarray((a * b).sum(axis=1, keepdims=True))

    curved = [(step, change, dots(step, change)) for step, change in history]
    weights = []
    for step, change, product in reversed(curved):
        weight = np.where(product > 0, dots(step, gradient) / np.where(product > 0, product, 1.0), 0.0)
        gradient = gradient - weight * change
        weights.append(weight)
    result: NDArray[np.float64] = ((gradient @ vectors) / curvature) @ vectors.T
    for (step, change, product), weight in zip(curved, reversed(weights), strict=True):
        back = np.where(product > 0, dots(change, result) / np.where(product > 0, product, 1.0), 0.0)
        result = result + (weight - back) * step
    return result
