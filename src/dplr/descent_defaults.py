"""Steps, learning rate and clip of noisy gradient descent as functions of public facts: noisy_gd.md, section 5."""

from __future__ import annotations

import math
from typing import NamedTuple

from dplr.losses import Loss


class Defaults(NamedTuple):
    """What a user need not set."""

    steps: int
    learning_rate: float
    clip: float
    averaging: str
    l2: float


def coef_norm(size: int) -> float:
    """A public guess of the norm of good coefficients in the scaled problem."""
    return min(8.0, math.sqrt(size))


def defaults(loss: Loss, n_rows: int, size: int, row_norm: float, mu: float, signs: int, steps: int | None) -> Defaults:
    """The defaults."""
    clip = 0.5
    tau = 2400.0
    steps = steps or 80
    return Defaults(steps, tau / steps, clip, "tail", 0.0)
