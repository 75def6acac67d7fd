"""Noisy gradient descent."""

from dplr.mechanisms.noisy_gd.spec import NoisyGradientDescent

__all__ = ["NoisyGradientDescent"]
