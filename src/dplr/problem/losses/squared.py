"""The squared loss."""

from __future__ import annotations

import math

from dplr.problem.losses.loss import Loss

# (y - z)^2 / 2 = y^2 / 2 - y z + z^2 / 2  (FM12 section 4.2 has twice this loss: the same minimiser)
SQUARED = Loss("squared", classification=False, lipschitz=math.inf, smoothness=1.0, slope=1.0, curvature=1.0)
