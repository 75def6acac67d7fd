"""What certifies a minimum: the objective, a rigorous bound on the gradient's rounding error, and a proved step limit.

Proofs: `_core/loss.md`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dplr.problem.losses import Loss

_UNIT = 2.0**-53
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
    n, d : rows and features.
    radius : norm of a row, the intercept's constant included.
    coef_norm, center_norm, linear_norm : upper bounds on the norms.

    Source: `_core/loss.md`, theorem 1.
    """
    residual = residual_bound(loss, radius, coef_norm)
    rows = n * radius * ((2.5 * d + 18) * loss.smoothness * radius * coef_norm + (1.5 * d + 98) * residual)
    return 1.01 * _UNIT * (rows + 4 * ridge * (coef_norm + center_norm) + 2 * linear_norm) + 1e-280


def rounding_line(objective: Objective, n: int, d: int, radius: float) -> tuple[float, float]:
    """(at zero, slope) of `gradient_rounding_bound` as a line in the norm of the coefficients, rounded up."""
    norms = float(np.linalg.norm(objective.center)), float(np.linalg.norm(objective.linear))
    at_zero, at_one = (
        gradient_rounding_bound(objective.loss, n, d, radius, norm, objective.ridge, *norms) for norm in (0.0, 1.0)
    )
    return at_zero, (at_one - at_zero) + 1e-12 * at_one


def pass_limit(loss: Loss, n: int, radius: float, ridge: float, tau: float, linear_norm: float = 0.0,
               center_norm: float = 0.0) -> int:  # fmt: skip
    """How many passes over the rows surely suffice for a gradient below tau: a function of public numbers.

    Source: `_core/loss.md`, theorem 2.
    """
    curvature = ridge + n * loss.smoothness * radius**2
    condition = curvature / ridge  # infinite for the smallest ridges
    first = n * radius * residual_bound(loss, radius, center_norm) + linear_norm
    halvings = max(1.0, math.ceil(math.log2(max(2.0, 2 * first / tau))))
    between = 1 + 20 * condition * condition * math.log(4 * condition)
    trials = 2 + math.log2(20 * condition)
    return 64 + int(min(halvings * between * trials, _MOST_PASSES))
