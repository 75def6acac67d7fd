"""Loss values: what a mechanism may know of a loss, as public constants."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Loss:
    """A convex loss l(z) of the margin z = x.w and the target y in [-1, 1].

    Attributes
    ----------
    name : `"logistic"`, `"squared"`, `"huber_svm"` or `"huber_residual"`: what kernels and statements call it.
    classification : True when y is one of the labels -1 and +1.
    lipschitz, smoothness : largest |dl/dz| and d2l/dz2 over all z.
    width : where the Huber losses change from quadratic to linear; 0 where nothing changes.
    logistic_curvature : d2l/dz2 = p (1 - p) with p = |dl/dz|, the relation that objective.md's theorem 2 needs.
    one_signed : dl/dz has the sign of -y for every z (objective.md, theorem 3).
    slope, curvature : l(z) = const - slope * y * z + curvature * z^2 / 2 + higher orders at z = 0 (none for squared);
        0 where the functional mechanism has no expansion.
    """

    name: str
    classification: bool
    lipschitz: float
    smoothness: float
    width: float = 0.0
    logistic_curvature: bool = False
    one_signed: bool = False
    slope: float = 0.0
    curvature: float = 0.0

    @property
    def label(self) -> str:
        """The name with the width, for statements."""
        return f"{self.name} ({self.width:g})" if self.width else self.name

    def curvature_on(self, margin_bound: float) -> float:
        """Curvature of the even quadratic closest to the logistic loss on [-margin_bound, margin_bound].

        log(1 + exp(-z)) + z/2 = log 2 + even part; the even quadratic through its ends has the smallest largest error.
        """
        if not self.classification:
            return self.curvature
        bound = margin_bound
        return 2 * (math.log1p(math.exp(-bound)) + bound / 2 - math.log(2)) / bound**2


# log(1 + exp(-y z)) = log 2 - y z / 2 + z^2 / 8 - ...  (FM12 section 5.2, with y in {-1, 1} instead of {0, 1})
LOGISTIC = Loss(
    "logistic",
    classification=True,
    lipschitz=1.0,
    smoothness=0.25,
    logistic_curvature=True,
    one_signed=True,
    slope=0.5,
    curvature=0.25,
)

# (y - z)^2 / 2 = y^2 / 2 - y z + z^2 / 2  (FM12 section 4.2 has twice this loss: the same minimiser)
SQUARED = Loss("squared", classification=False, lipschitz=math.inf, smoothness=1.0, slope=1.0, curvature=1.0)


def huber_svm(width: float) -> Loss:
    """Hinge loss with its corner rounded on |1 - y z| <= width (CMS11 section 3.4.2).

    With v = y z: 0 for v > 1 + width, (1 + width - v)^2 / (4 width) within, 1 - v for v < 1 - width.
    """
    smoothness = 1 / (2 * width)
    return Loss("huber_svm", classification=True, lipschitz=1.0, smoothness=smoothness, width=width, one_signed=True)


def huber_residual(width: float) -> Loss:
    """(z - y)^2 / 2 for |z - y| <= width, linear beyond: a regression loss with a bounded gradient."""
    return Loss("huber_residual", classification=False, lipschitz=width, smoothness=1.0, width=width)


# The public models: name -> loss with default options. Their estimators are in `dplr.estimators.ESTIMATORS`.
LOSSES: dict[str, Loss] = {"logistic": LOGISTIC, "linear": SQUARED, "svm": huber_svm(0.5)}


def model_of(loss: Loss) -> str:
    """Name of the public model with this loss; the loss's own where there is none."""
    return next((model for model, known in LOSSES.items() if known.name == loss.name), loss.name)


def models_with(rule: Callable[[Loss], bool]) -> str:
    """The public models whose losses keep a rule, for an error message: `"logistic" or "svm"`."""
    return " or ".join(f'"{model}"' for model, loss in LOSSES.items() if rule(loss))
