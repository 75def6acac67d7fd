"""The Huber loss, without its kinks."""

from __future__ import annotations

from dplr.problem.losses.loss import LARGEST_WIDTH, Loss, check_width


def soft_huber(width: float) -> Loss:
    """(z - y)^2 / 2 near y, linear with slope `width` = C far from it, and twice continuously differentiable.

    With r = z - y: C (|r| + C (exp(-|r| / C) - 1)), so dl/dr = sign(r) C (1 - exp(-|r| / C)), below C in size, and
    d2l/dr2 = exp(-|r| / C) = 1 - |dl/dr| / C, in (0, 1].
    """
    check_width("width", width, LARGEST_WIDTH)
    return Loss("soft_huber", classification=False, lipschitz=width, smoothness=1.0, width=width, fading="linear")
