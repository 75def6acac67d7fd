"""The Huber loss, without its kinks."""

from __future__ import annotations

import functools
import math
from dataclasses import replace

from dplr.problem.losses.loss import LARGEST_WIDTH, Loss, check_width, loss_of

# Knots in one width, and widths after which the slope counts as the largest: 3e-7 of it are then missing.
_KNOTS, _LONGEST = 64.0, 15.0


def soft_huber(width: float) -> Loss:
    """(z - y)^2 / 2 near y, linear with slope `width` = C far from it, and twice continuously differentiable.

    With r = z - y: C (|r| + C (exp(-|r| / C) - 1)), so dl/dr = sign(r) C (1 - exp(-|r| / C)), below C in size, and
    d2l/dr2 = exp(-|r| / C) = 1 - |dl/dr| / C, in (0, 1].
    """
    check_width("width", width, LARGEST_WIDTH)
    return Loss("soft_huber", classification=False, lipschitz=width, smoothness=1.0, width=width, fading="linear")


@functools.lru_cache(maxsize=16)
def smooth_huber(width: float) -> Loss:
    """The soft Huber loss of this width as kernels of clipped gradients take it: its slope is linear between knots."""
    import numpy as np  # the help of the command line does not wait for it

    from dplr.problem.losses.knots import knotted

    check_width("width", width, LARGEST_WIDTH)
    per_unit = 2.0 ** math.ceil(math.log2(_KNOTS / width))
    last = math.ceil(_LONGEST * width * per_unit)
    residuals = np.arange(-last, last + 1) / per_unit
    slopes = np.sign(residuals) * width * -np.expm1(-np.abs(residuals) / width)
    slopes[0], slopes[-1] = -width, width
    return replace(loss_of("smooth_huber", knotted("residual", -last, per_unit, slopes)), width=width)
