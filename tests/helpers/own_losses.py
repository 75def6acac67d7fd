"""Losses with knots, one of each form and two of a user's own."""

import numpy as np

from dplr.problem.losses import poisson
from dplr.problem.own_losses import margin_loss, residual_loss, smoothed_hinge


def own_logistic(**constants):
    """The logistic loss as a user would write it."""

    def slope(v):
        return -1 / (1 + np.exp(v))

    def curvature(v):
        return 1 / (2 + np.exp(v) + np.exp(-v))

    return margin_loss(lambda v: np.logaddexp(0, -v), slope, curvature, name="own logistic", **constants)


def own_log_cosh(width=0.2, **constants):
    """width^2 log cosh(r / width)."""

    def value(r):
        return width**2 * (np.logaddexp(r / width, -r / width) - np.log(2))

    def curvature(r):
        return 1 - np.tanh(r / width) ** 2

    return residual_loss(value, lambda r: width * np.tanh(r / width), curvature, name="log cosh", **constants)


MARGIN = [smoothed_hinge(0.3), smoothed_hinge(0.5), own_logistic()]
NUMERIC = [own_log_cosh(), poisson(0.0, 8.0), poisson(3.0, 90.0)]
KNOTTED = MARGIN + NUMERIC
FORMS = [MARGIN[0], *NUMERIC[:2]]
