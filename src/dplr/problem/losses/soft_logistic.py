"""The logistic loss, cut softly."""

from __future__ import annotations

import math

from dplr.problem.losses.logistic import LOGISTIC
from dplr.problem.losses.loss import Loss, check_width


def soft_logistic(cut: float) -> Loss:
    """Logistic loss whose slope ends at `cut` = C <= 1 instead of at 1, smoothly.

    With v = y z and slope size s = -dl/dv: the logistic loss where s <= s1, s1 = 1 - sqrt(1 - C), that is from
    v1 = log((1 - s1) / s1) on; below, s = C - (C - s1) exp(v - v1). C = 1 is the logistic loss itself.

    There d2l/dv2 is s (1 - s) from v1 on and C - s below. s1 solves s (1 - s) = C - s, (1 - s1)^2 = 1 - C, and
    C - s - s (1 - s) = (1 - s)^2 - (1 - C) is positive below s1 and negative above: so d2l/dv2 = min(s (1 - s), C - s),
    continuous, and not negative because 0 < s < C. Above s1 it is at most C - s1 = s1 (1 - s1); on (0, s1] it is at
    most s1 (1 - s1), or 1/4 where s1 >= 1/2.
    """
    check_width("cut", cut, 1.0)
    if cut == 1:
        return LOGISTIC
    turn = cut / (1 + math.sqrt(1 - cut))  # 1 - sqrt(1 - cut) without cancellation
    smoothness = 0.25 if turn >= 0.5 else turn * (1 - turn)
    return Loss(
        "soft_logistic",
        classification=True,
        lipschitz=cut,
        smoothness=smoothness,
        width=cut,
        fading="logistic",
        one_signed=True,
    )
