"""Noisy gradient descent."""

from __future__ import annotations

from dplr.mechanisms.protocol import Description

ABOUT = Description(
    name="ngd",
    module="dplr.mechanisms.noisy_gd.spec",
    spec="NoisyGradientDescent",
    words="noisy gradient descent: noise on every step's sum of clipped gradients",
    laws=(("discrete Gaussian",), ("discrete Gaussian",)),
    arithmetic="integer",
    noise_in="sums",
    steps_in="gradients",
    hint="ngd needs delta > 0",
)
