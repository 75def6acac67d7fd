"""Noisy gradient descent.

Each step sums clipped gradients of all rows or of a random part, adds noise and moves. `defaults.py` chooses steps,
rate and clip from public facts, `noise.py` computes the noise for a number of steps, `columns.py` releases sums of
columns before them, by which `frame.py` centres and rescales rows, and `descent.py` is the loop. Proofs: noisy_gd.md,
and privacy/accounting.md.
"""

from __future__ import annotations

from dplr.mechanisms.protocol import Description
from dplr.privacy.law import Law

ABOUT = Description(
    name="ngd",
    module="dplr.mechanisms.noisy_gd.spec",
    spec="NoisyGradientDescent",
    title="noisy gradient descent",
    words="noise on every step's sum of clipped gradients",
    laws=((Law.DISCRETE_GAUSSIAN,), (Law.DISCRETE_GAUSSIAN,)),
    arithmetic="integer",
    noise_in="sums",
    steps_in="gradients",
    hint="ngd needs delta > 0",
)
