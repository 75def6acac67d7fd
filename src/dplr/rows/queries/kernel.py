"""Losses as kernels take them: the name of a loss that they implement, or its knots."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from dplr._core import Knots
from dplr.problem.losses import Loss


@lru_cache(maxsize=64)
def kernel_of(loss: Loss) -> str | Knots:
    """The first argument of every kernel; its second is the loss's width."""
    knots = loss.knots
    if knots is None:
        return loss.name
    return Knots(knots.form, knots.first, knots.per_unit, knots.values.astype(np.float64))
