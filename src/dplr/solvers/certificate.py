"""Certificates of a minimum: the objective, a rigorous bound on the gradient's rounding error, and a proved step limit.

Proofs: `_core/loss.md`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dplr.problem.losses import Loss

_UNIT = 2.0**-53
# Newton's method has taken 5 to 40; after that many the slow descent begins.
NEWTON_PASSES = 1000
# Fits in a C integer, and nobody lives to see it.
_MOST_PASSES = 2.0**60


class NotCertified(RuntimeError):
    """The minimum was not certified within the public limit of passes; nothing may be released."""

    def __init__(self) -> None:
        super().__init__("the minimum could not be certified within the limit of passes; nothing was released.")


@dataclass(frozen=True, eq=False, slots=True)
class Objective:
    """sum of loss(row, w) + ridge ||w - center||^2 / 2 + linear.w, to be minimised over w.

    Attributes
    ----------
    loss : the loss of one row.
    ridge : Lam > 0, not divided by the number of rows.
    center, linear : (q,) with q = d + (1 with an intercept).
    """

    loss: Loss
    ridge: float
    center: NDArray[np.float64]
    linear: NDArray[np.float64]


def residual_bound(loss: Loss, radius: float, coef_norm: float, target: float = 1.0) -> float:
    """Largest |dl/dm| over rows of norm `radius`; for the squared loss it grows with the coefficients."""
    return loss.lipschitz if math.isfinite(loss.lipschitz) else radius * coef_norm + target


def gradient_rounding_bound(
    loss: Loss,
    n: int,
    d: int,
    radius: float,
    coef_norm: float,
    ridge: float,
    center_norm: float,
    linear_norm: float,
) -> float:
    """Bound on the L2 error of the computed gradient of an `Objective`, in sum form, at a point of norm `coef_norm`.

    Parameters
    ----------
    n, d : the largest sum of the rows' weights, which is their number where all count whole; and features.
    radius : norm of a row, the intercept's constant included.
    coef_norm, center_norm, linear_norm : upper bounds on the norms.

    Source: `_core/loss.md`, theorem 1.
    """
    residual = residual_bound(loss, radius, coef_norm)
    rows = (2.5 * d + 18) * loss.smoothness * radius * coef_norm + (1.5 * d + 98) * residual
    if loss.knots is not None:
        rows += loss.smoothness * (radius * coef_norm + 1) + 2 * residual
    return 1.01 * _UNIT * (n * radius * rows + 4 * ridge * (coef_norm + center_norm) + 2 * linear_norm) + 1e-280


def rounding_line(objective: Objective, n: int, d: int, radius: float) -> tuple[float, float]:
    """(at zero, slope) of `gradient_rounding_bound` as a line in the norm of the coefficients, rounded up."""
    norms = float(np.linalg.norm(objective.center)), float(np.linalg.norm(objective.linear))
    at_zero, at_one = (
        gradient_rounding_bound(objective.loss, n, d, radius, norm, objective.ridge, *norms) for norm in (0.0, 1.0)
    )
    return at_zero, (at_one - at_zero) + 1e-12 * at_one


def fine_rounding_bound(
    loss: Loss,
    n: int,
    d: int,
    radius: float,
    coef_norm: float,
    ridge: float,
    center_norm: float,
    linear_norm: float,
) -> float:
    """A bound for the gradient in pairs of numbers, of at most 2^35 rows with at most 4096 features.

    Source: `_core/loss.md`, theorem 2.
    """
    residual = residual_bound(loss, radius, coef_norm)
    rows = n * radius * (loss.smoothness * radius * coef_norm + residual)
    unit = 2.0**-81 + 8 * (d + 2) ** 2 * _UNIT**2
    return 1.01 * unit * (rows + ridge * (coef_norm + center_norm) + linear_norm) + 1e-280


def largest_norm(
    loss: Loss, n: int, radius: float, ridge: float, center_norm: float, linear_norm: float
) -> tuple[float, float]:
    """(how far the minimum may be from the center, largest norm of a point no farther from it than the center).

    Source: `_core/loss.md`, lemma 2.
    """
    at_center = loss.most_at_zero + loss.lipschitz * radius * center_norm
    if math.isinf(loss.lipschitz):
        at_center = (1 + radius * center_norm) ** 2
    pull = linear_norm / ridge
    far = (pull + math.sqrt(pull * pull + 4 * (n / ridge) * at_center)) / 2
    return far, center_norm + 2 * far


def least_tolerance(
    loss: Loss, n: int, d: int, radius: float, ridge: float, center_norm: float, linear_norm: float, fine: bool = True
) -> float:
    """The least tolerance that surely is kept: eight times the rounding of gradients, in pairs of numbers if `fine`.

    There, twice the rounding of the point to float64 is added.
    """
    _, coef_norm = largest_norm(loss, n, radius, ridge, center_norm, linear_norm)
    if fine:
        rounding = fine_rounding_bound(loss, n, d, radius, coef_norm, ridge, center_norm, linear_norm)
        return 8 * rounding + 2 * _UNIT * ridge * coef_norm
    return 8 * gradient_rounding_bound(loss, n, d, radius, coef_norm, ridge, center_norm, linear_norm)


def curvature_bound(loss: Loss, n: int, radius: float, ridge: float) -> float:
    """The largest eigenvalue that the objective's Hessian can have, rounded up."""
    return (ridge + n * loss.smoothness * radius**2) * (1 + 2.0**-20)


def descent_steps(
    loss: Loss, n: int, radius: float, ridge: float, tau: float, center_norm: float = 0.0, linear_norm: float = 0.0
) -> int:
    """How many steps of length 1 / `curvature_bound` surely suffice: a function of public numbers.

    Source: `_core/loss.md`, theorem 3.
    """
    far, _ = largest_norm(loss, n, radius, ridge, center_norm, linear_norm)
    condition = curvature_bound(loss, n, radius, ridge) / ridge  # infinite for the smallest ridges
    halvings = max(1.0, math.log(max(1.0, 4 * ridge * far / tau)))
    return 1 + int(min(2 * condition * halvings, _MOST_PASSES))


def pass_limit(loss: Loss, n: int, radius: float, ridge: float, tau: float, linear_norm: float = 0.0,
               center_norm: float = 0.0) -> int:  # fmt: skip
    """How many passes over the rows are surely enough for a distance of tau / Lam: a function of public numbers."""
    return NEWTON_PASSES + descent_steps(loss, n, radius, ridge, tau, center_norm, linear_norm)
