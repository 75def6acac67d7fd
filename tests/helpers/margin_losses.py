"""Losses for audits: twins in NumPy of those that the package minimises.

Nothing here uses the kernels or the solvers of the package, so that an error there cannot hide itself.
"""

import math
from dataclasses import dataclass

import numpy as np
from scipy import special


@dataclass(frozen=True, slots=True)
class HuberSVM:
    """Hinge loss of y z with a parabola on ``|1 - y z| <= width``.

    The weight is at most 1 / (2 width).
    """

    width: float = 0.5

    def residual(self, margin, y):
        return -y * np.clip((1 + self.width - y * margin) / (2 * self.width), 0, 1)

    def weight(self, margin, y):
        return np.where(np.abs(1 - y * margin) <= self.width, 1 / (2 * self.width), 0.0)


@dataclass(frozen=True, slots=True)
class SoftLogistic:
    """Logistic loss of y z whose slope ends smoothly at `cut` = C <= 1.

    The slope's size s is that of the logistic loss where s <= s1 = 1 - sqrt(1 - C); from there on, C - s decays
    exponentially in -y z. Weight min(s (1 - s), C - s), at most 1/4.
    """

    cut: float = 0.5

    def residual(self, margin, y):
        size, rest, bent = self._parts(y * margin)
        return -y * np.where(bent, self.cut - rest, size)

    def weight(self, margin, y):
        size, rest, bent = self._parts(y * margin)
        return np.where(bent, rest, size * (1 - size))

    def _parts(self, v):
        """Slope size of the logistic loss; what the slope lacks of `cut`; where the latter counts."""
        turn_size = 1 - math.sqrt(1 - self.cut)
        turn = -float(special.logit(turn_size))  # minus infinity for cut = 1
        return special.expit(-v), (self.cut - turn_size) * np.exp(np.minimum(v - turn, 0)), v < turn


@dataclass(frozen=True, slots=True)
class SoftHuber:
    """Loss of r = z - y with slope ``sign(r) C (1 - exp(-|r| / C))``, C = `width`.

    The weight is ``exp(-|r| / C)``, at most 1.
    """

    width: float = 0.5

    def residual(self, margin, y):
        r = margin - y
        return -self.width * np.sign(r) * np.expm1(-np.abs(r) / self.width)

    def weight(self, margin, y):
        return np.exp(-np.abs(margin - y) / self.width)
