"""Losses of models: those of a user's own, and the hinge with another rounding."""

from dplr.problem.losses import Loss
from dplr.problem.own_losses import margin_loss, residual_loss, smoothed_hinge

__all__ = ["Loss", "margin_loss", "residual_loss", "smoothed_hinge"]
