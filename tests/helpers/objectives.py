"""Objectives and tolerances for the tests of the solver."""

import numpy as np

from dplr.solvers.certificate import Objective, gradient_rounding_bound, residual_bound


def plain_objective(loss, ridge, q):
    """Centered at zero, without a linear term."""
    return Objective(loss, ridge, np.zeros(q), np.zeros(q))


def coef_bound(loss, n, radius, ridge, center_norm, linear_norm):
    """Bound on the norm of the minimum: ||w - center|| <= ||gradient at center|| / ridge."""
    residual = residual_bound(loss, radius, center_norm)
    return center_norm + (n * radius * residual + linear_norm) / ridge


def smallest_tau(loss, n, d, radius, ridge, linear_norm=0.0, center_norm=0.0):
    """Eight times the rounding bound at the largest possible minimum: a public tolerance that is always reached."""
    coef_norm = coef_bound(loss, n, radius, ridge, center_norm, linear_norm)
    return 8 * gradient_rounding_bound(loss, n, d, radius, coef_norm, ridge, center_norm, linear_norm)
