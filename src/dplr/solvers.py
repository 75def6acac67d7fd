"""Linear algebra on released numbers, and Newton's method on sums: knows no rows and no privacy."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dplr._core import CalledSums, minimise
from dplr.certificate import NotCertified, Objective, gradient_rounding_bound

# Fewer rows than this, or than this many a coefficient, and Newton on all rows is quicker than a sample of them.
_SAMPLED_ROWS = 5000
_SAMPLED_ROWS_A_COEFFICIENT = 100
_SAMPLE_ROWS = 2048
SAMPLE_STEP = 32


def sample_step(n: int, q: int) -> int:
    """Newton begins on every `sample_step`-th row; 1 for no sample."""
    small = n < max(_SAMPLED_ROWS, _SAMPLED_ROWS_A_COEFFICIENT * q)
    return 1 if small else min(SAMPLE_STEP, n // max(_SAMPLE_ROWS, 20 * q))


def newton(
    total: Callable[[NDArray[np.float64], bool, int], Any],
    objective: Objective,
    n: int,
    d: int,
    radius: float,
    tau: float,
    cap: int,
) -> tuple[NDArray[np.float64], float]:
    """Minimise an objective to a certified gradient norm.

    Parameters
    ----------
    total : total(coef, with_hessian, step), the `RealTotal` over every step-th row.
    objective : in sum form.
    n, d, radius : rows, features, and the bound on a row's norm, the intercept's constant included.
    tau : the norm of the gradient, computed and rounding error together, ends at most there.
    cap : most passes over all rows.

    Returns
    -------
    coef : (q,)
    bound : certified bound on the gradient's norm, at most tau. Depends on the data: never release it.

    Raises
    ------
    NotCertified
        The cap was not enough.
    """
    q = len(objective.center)
    step = sample_step(n, q)

    def sums(step: int) -> CalledSums:
        def call(coef: NDArray[np.float64], with_hessian: bool) -> tuple[Any, Any]:
            value = total(coef, with_hessian, step)
            return value.gradient, value.upper

        return CalledSums((n + step - 1) // step, q, call)

    return certified(sums(1), sums(step) if step > 1 else None, objective, n, d, radius, tau, cap)


def certified(
    sums: Any, sample: Any, objective: Objective, n: int, d: int, radius: float, tau: float, cap: int
) -> tuple[NDArray[np.float64], float]:
    """Run the compiled loop on two sources of sums; see `newton`."""
    center, linear = objective.center, objective.linear
    norms = float(np.linalg.norm(center)), float(np.linalg.norm(linear))
    at_zero, at_one = (
        gradient_rounding_bound(objective.loss, n, d, radius, norm, objective.ridge, *norms) for norm in (0.0, 1.0)
    )
    slope = (at_one - at_zero) + 1e-12 * at_one  # the bound is affine in the norm
    coef, bound = minimise(sums, sample, objective.ridge, center, linear, tau, at_zero, slope, cap)
    if coef is None:
        raise NotCertified
    return coef, bound


def solve_quadratic(
    matrix: NDArray[np.float64], vector: NDArray[np.float64], ridge: float, floor: float
) -> NDArray[np.float64]:
    """Minimal-norm minimiser of w'(matrix + ridge I)w / 2 - vector.w over the eigenvectors above the floor.

    Spectral trimming (FM12 section 6.2): eigenvalues of ``matrix + ridge I`` at most `floor` are dropped with their
    eigenvectors. The minimiser on the rest is not unique in the whole space; the one of least norm has no component
    along the dropped directions. A floor of 0 becomes the usual rank tolerance.

    Parameters
    ----------
    matrix : (q, q) symmetric, possibly indefinite.
    vector : (q,).
    ridge, floor : at least 0.
    """
    values, vectors = np.linalg.eigh(matrix)
    values = values + ridge
    tolerance = len(values) * np.finfo(np.float64).eps * max(float(np.abs(values).max()), 0.0)
    kept = values > max(floor, tolerance)
    basis = vectors[:, kept]
    return np.asarray(basis @ ((basis.T @ vector) / values[kept]))


def is_positive_definite(matrix: NDArray[np.float64]) -> bool:
    """Whether all eigenvalues are positive."""
    return bool(np.linalg.eigvalsh(matrix)[0] > 0)


# Gauss-Hermite nodes and weights for the mean of a function of N(0, 1).
_NODES, _WEIGHTS = np.polynomial.hermite_e.hermegauss(61)
_WEIGHTS = _WEIGHTS / _WEIGHTS.sum()
# Binary features and noise can ask for endless coefficients: margins never get a larger standard deviation than this.
_LARGEST_MARGIN_DEVIATION = 2.5


def stein_coef(
    coef: NDArray[np.float64], second_moments: NDArray[np.float64], iota: float, mean_label: float
) -> NDArray[np.float64]:
    """The logistic coefficients whose linear-probability solution is `coef`, for margins with a Gaussian law.

    Stein's lemma: for Gaussian x and P(y = 1 | x) = sigma(z), z = x.w + w0 iota, the slopes of the least-squares fit of
    the probability are E[sigma'(z)] w. `coef` is Taylor's solution: four times those slopes. So w = coef / (4 k), where
    k in (0, 1/4] solves k = E sigma'(N(m, v / (4 k)^2)), v the variance of x.coef, and with an intercept the mean m of
    the margins solves E sigma(N(m, .)) = (1 + mean_label) / 2.

    Parameters
    ----------
    coef : (q,) Taylor's solution, the intercept's coordinate last where iota > 0.
    second_moments : (q, q) mean of (x, iota)(x, iota)'; noisy, possibly indefinite.
    iota : the intercept's constant, 0 for none.
    mean_label : mean of y in {-1, 1}; used with an intercept.
    """
    d = len(coef) - (iota > 0)
    slopes = coef[:d]
    mean = second_moments[:d, d] / iota if iota else np.zeros(d)
    variance = float(slopes @ second_moments[:d, :d] @ slopes) - float(slopes @ mean) ** 2
    if not variance > 0:
        return coef
    share = min(max((1 + mean_label) / 2, 1e-6), 1 - 1e-6)

    def center(deviation: float) -> float:
        """Mean of the margins at which positives have their share."""
        if not iota:
            return 0.0
        low, high = -100.0 - 10 * deviation, 100.0 + 10 * deviation
        for _ in range(100):
            middle = (low + high) / 2
            low, high = (middle, high) if _mean_sigmoid(middle, deviation) < share else (low, middle)
        return (low + high) / 2

    # 4 length E sigma' grows with the length 1 / (4 k), so bisection finds where it is 1.
    low, high = 1.0, _LARGEST_MARGIN_DEVIATION / float(np.sqrt(variance))
    if high <= low:
        return coef
    for _ in range(60):
        length = (low + high) / 2
        deviation = length * float(np.sqrt(variance))
        gain = length * 4 * _mean_slope(center(deviation), deviation)
        low, high = (length, high) if gain < 1 else (low, length)
    result = coef * low
    if iota:
        result[d] = (center(low * float(np.sqrt(variance))) - float(result[:d] @ mean)) / iota
    return result


def _mean_sigmoid(center: float, deviation: float) -> float:
    z = center + deviation * _NODES
    return float(_WEIGHTS @ (0.5 * (1 + np.tanh(z / 2))))


def _mean_slope(center: float, deviation: float) -> float:
    z = center + deviation * _NODES
    return float(_WEIGHTS @ (0.25 / np.cosh(np.clip(z / 2, -300, 300)) ** 2))


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
    bounds : (k,) certified bounds on the gradients' norms; infinite for those that must be solved alone.
    """
    common = Common(objectives, n, d, radius)
    values, vectors = np.linalg.eigh(hessian)
    values = np.maximum(values, 0.0)
    coefs = np.tile(start, (len(objectives), 1))
    bounds = np.full(len(objectives), np.inf)
    active = np.arange(len(objectives))
    before = np.full(len(objectives), np.inf)
    gradient = common.gradients(active, coefs, np.tile(gradients(start[np.newaxis]), (len(objectives), 1)))
    history: list[tuple[NDArray[np.float64], NDArray[np.float64]]] = []
    for _ in range(_SHARED_PASSES):
        length = np.linalg.norm(gradient, axis=1) * (1 + 1e-12)
        bound = length + common.rounding(active, coefs[active])
        done = bound <= tau
        bounds[active[done]] = bound[done]
        going = ~done & (length < before)
        active, gradient, before = active[going], gradient[going], length[going]
        history = [(step[going], change[going]) for step, change in history]
        if not len(active):
            break
        curvature = values + common.ridges[active, np.newaxis]
        step = -_two_loops(gradient, history, lambda g, c=curvature: ((g @ vectors) / c) @ vectors.T)
        coefs[active] += step
        after = common.gradients(active, coefs[active], gradients(np.ascontiguousarray(coefs[active])))
        history.append((step, after - gradient))
        gradient = after
    return coefs, bounds


class Common:
    """What several objectives of one loss differ in, side by side."""

    def __init__(self, objectives: Sequence[Objective], n: int, d: int, radius: float) -> None:
        self.ridges = np.array([objective.ridge for objective in objectives])
        self._centers = np.array([objective.center for objective in objectives])
        self._linear = np.array([objective.linear for objective in objectives])
        self._objectives = objectives
        self._public = n, d, radius

    def gradients(
        self, which: NDArray[np.intp], points: NDArray[np.float64], losses: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Gradients of these objectives at their points, from those of the summed losses."""
        return (losses + self.ridges[which, np.newaxis] * (points - self._centers[which])) + self._linear[which]

    def rounding(self, which: NDArray[np.intp], points: NDArray[np.float64]) -> NDArray[np.float64]:
        """Their rounding bounds."""
        return np.array([self._rounding(self._objectives[k], point) for k, point in zip(which, points, strict=True)])

    def _rounding(self, objective: Objective, point: NDArray[np.float64]) -> float:
        norms = (float(np.linalg.norm(vector)) for vector in (objective.center, objective.linear))
        coef_norm = float(np.linalg.norm(point)) * (1 + 1e-12)
        return gradient_rounding_bound(objective.loss, *self._public, coef_norm, objective.ridge, *norms)


def _two_loops(
    gradient: NDArray[np.float64],
    history: Sequence[tuple[NDArray[np.float64], NDArray[np.float64]]],
    solve: Callable[[NDArray[np.float64]], NDArray[np.float64]],
) -> NDArray[np.float64]:
    """L-BFGS's product with the gradient, for each row (k, q) its own; `solve` is the preconditioner."""

    def dots(a: NDArray[np.float64], b: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.asarray((a * b).sum(axis=1, keepdims=True))

    curved = [(step, change, dots(step, change)) for step, change in history]
    weights = []
    for step, change, product in reversed(curved):
        weight = np.where(product > 0, dots(step, gradient) / np.where(product > 0, product, 1.0), 0.0)
        gradient = gradient - weight * change
        weights.append(weight)
    result = solve(gradient)
    for (step, change, product), weight in zip(curved, reversed(weights), strict=True):
        back = np.where(product > 0, dots(change, result) / np.where(product > 0, product, 1.0), 0.0)
        result = result + (weight - back) * step
    return result
