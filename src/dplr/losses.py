"""Loss values: what a mechanism may know of a loss, as public constants."""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Loss:
    """A loss of the margin z = x.w and the target y in [-1, 1], with its quadratic expansion at z = 0.

    Attributes
    ----------
    name : `"logistic"` or `"squared"`.
    classification : True when y is one of the labels -1 and +1.
    slope, curvature : loss(z, y) = const - slope * y * z + curvature * z^2 / 2 + higher orders (none for squared).
    """

    name: str
    classification: bool
    slope: float
    curvature: float

    def curvature_on(self, margin_bound: float) -> float:
        """Curvature of the even quadratic closest to the logistic loss on [-margin_bound, margin_bound].

        log(1 + exp(-z)) + z/2 = log 2 + even part; the even quadratic through its ends has the smallest largest error.
        """
        if not self.classification:
            return self.curvature
        bound = margin_bound
        return 2 * (math.log1p(math.exp(-bound)) + bound / 2 - math.log(2)) / bound**2


# log(1 + exp(-y z)) = log 2 - y z / 2 + z^2 / 8 - ...  (FM12 section 5.2, with y in {-1, 1} instead of {0, 1})
LOGISTIC = Loss("logistic", classification=True, slope=0.5, curvature=0.25)

# (y - z)^2 / 2 = y^2 / 2 - y z + z^2 / 2  (FM12 section 4.2 has twice this loss: the same minimiser)
SQUARED = Loss("squared", classification=False, slope=1.0, curvature=1.0)
