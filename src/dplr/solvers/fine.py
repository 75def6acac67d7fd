"""The last steps to a minimum, in pairs of float64 numbers: Newton's, and a descent that surely arrives.

Proofs: `_core/loss.md`, theorems 2 and 3.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dplr.solvers.certificate import (
    NotCertified,
    Objective,
    curvature_bound,
    descent_steps,
    fine_rounding_bound,
)

Vector = NDArray[np.float64]
# One is enough as a rule; losses with kinks may take a few.
_STEPS = 20
# Covers the rounding of a norm.
_UP = 1 + 1e-12


@dataclass(frozen=True, eq=False, slots=True)
class FineObjective:
    """An objective over rows whose gradient is known in pairs of numbers.

    Attributes
    ----------
    objective : in sum form.
    n, radius : the largest sum of the rows' weights, and the bound on a row's norm, the intercept's constant included.
    gradient : gradient(high, low), the summed loss's at high + low, as such a pair.
    hessian : of the summed loss at a point, (q, q).
    """

    objective: Objective
    n: int
    radius: float
    gradient: Callable[[Vector, Vector], tuple[Vector, Vector]]
    hessian: Callable[[Vector], Vector]

    def gradient_at(self, high: Vector, low: Vector) -> Vector:
        """The whole objective's gradient, of which rounding hides next to nothing."""
        upper, lower = self.gradient(high, low)
        ridge = self.objective.ridge
        away, away_low = exact_sum(high, -self.objective.center)
        pull, pull_low = exact_product(ridge, away)
        total, first = exact_sum(upper, pull)
        total, second = exact_sum(total, self.objective.linear)
        return np.asarray(total + (second + (first + (lower + (pull_low + ridge * (away_low + low))))))

    def bound(self, gradient: Vector, high: Vector, low: Vector) -> float:
        """Lam times the distance of `high` from the minimum is at most this."""
        o = self.objective
        norms = float(np.linalg.norm(o.center)) * _UP, float(np.linalg.norm(o.linear)) * _UP
        coef_norm = float(np.linalg.norm(high)) * _UP
        rounding = fine_rounding_bound(o.loss, self.n, len(high), self.radius, coef_norm, o.ridge, *norms)
        return (float(np.linalg.norm(gradient)) + o.ridge * float(np.linalg.norm(low))) * _UP + rounding


def refine(
    fine: FineObjective, start: Vector, tau: float, start_hessian: Vector | None = None
) -> tuple[Vector, float] | None:
    """Newton's method from a point near the minimum, to a certified distance of at most tau / Lam.

    `start_hessian` is a Hessian of the summed loss near it: it serves as long as a step cuts the gradient tenfold.

    Returns
    -------
    The point and Lam times its certified distance; None where the gradient ceased to fall.
    """
    high, low = start, np.zeros_like(start)
    identity, before = fine.objective.ridge * np.eye(len(start)), np.inf
    for _ in range(_STEPS):
        gradient = fine.gradient_at(high, low)
        bound = fine.bound(gradient, high, low)
        if bound <= tau:
            return high, bound
        size = float(np.linalg.norm(gradient))
        if start_hessian is None and not size < before:
            return None
        if size > 0.1 * before:
            start_hessian = None
        before = size
        try:
            hessian = fine.hessian(high) if start_hessian is None else start_hessian
            step = np.asarray(-np.linalg.solve(hessian + identity, gradient), np.float64)
        except np.linalg.LinAlgError:
            return None
        high, low = moved(high, low, step)
    return None


def descend(fine: FineObjective, tau: float, most: int) -> tuple[Vector, float]:
    """Steps of one public length from the center: slow, and sure to end within tau / Lam of the minimum.

    Raises
    ------
    NotCertified
        More than `most` steps may be needed.
    """
    o = fine.objective
    norms = float(np.linalg.norm(o.center)) * _UP, float(np.linalg.norm(o.linear)) * _UP
    steps = descent_steps(o.loss, fine.n, fine.radius, o.ridge, tau, *norms)
    if steps > most:
        raise NotCertified
    high, low = o.center.copy(), np.zeros_like(o.center)
    rate = 1 / curvature_bound(o.loss, fine.n, fine.radius, o.ridge)
    for _ in range(steps):
        gradient = fine.gradient_at(high, low)
        bound = fine.bound(gradient, high, low)
        if bound <= tau:
            return high, bound
        high, low = moved(high, low, -rate * gradient)
    return high, tau  # by theorem 3


def moved(high: Vector, low: Vector, step: Vector) -> tuple[Vector, Vector]:
    """high + low + step as a pair again."""
    total, error = exact_sum(high, step)
    return exact_sum(total, low + error)


def exact_sum(a: Vector, b: Vector) -> tuple[Vector, Vector]:
    """a + b without error: Knuth's sum."""
    total = a + b
    part = total - a
    return total, (a - (total - part)) + (b - part)


def exact_product(a: float, b: Vector) -> tuple[Vector, Vector]:
    """a b without error: both are split into halves."""
    product = a * b
    high_a = 134217729.0 * a - (134217729.0 * a - a)
    high_b = 134217729.0 * b - (134217729.0 * b - b)
    low_a, low_b = a - high_a, b - high_b
    return product, ((high_a * high_b - product) + high_a * low_b + low_a * high_b) + low_a * low_b
