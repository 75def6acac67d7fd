"""The squared loss with a bounded slope."""

from __future__ import annotations

from dplr.problem.losses.loss import Loss


def huber_residual(width: float) -> Loss:
    """(z - y)^2 / 2 for |z - y| <= width, linear beyond: a regression loss with a bounded gradient."""
    return Loss("huber_residual", classification=False, lipschitz=width, smoothness=1.0, width=width)
