"""Noisy gradient descent."""

from __future__ import annotations

from dplr.mechanisms.protocol import Description
from dplr.privacy.law import Law

ABOUT = Description(
    name="ngd",
    module="dplr.mechanisms.noisy_gd.spec",
    spec="NoisyGradientDescent",
    words="noisy gradient descent: noise on every step's sum of clipped gradients",
    laws=((Law.DISCRETE_GAUSSIAN,), (Law.DISCRETE_GAUSSIAN,)),
    arithmetic="integer",
    noise_in="sums",
    steps_in="gradients",
    hint="ngd needs delta > 0",
)
