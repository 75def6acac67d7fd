"""The logistic loss."""

from __future__ import annotations

from dplr.problem.losses.loss import Loss

# log(1 + exp(-y z)) = log 2 - y z / 2 + z^2 / 8 - ...  (FM12 section 5.2, with y in {-1, 1} instead of {0, 1})
LOGISTIC = Loss(
    "logistic",
    classification=True,
    lipschitz=1.0,
    smoothness=0.25,
    fading="logistic",
    one_signed=True,
    slope=0.5,
    curvature=0.25,
)
