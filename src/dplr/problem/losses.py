"""Loss values: what a mechanism may know of a loss, as public constants."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from dplr._validation import sentence

# Widths of the soft losses: their kernels refuse others.
_LEAST_WIDTH, _LARGEST_WIDTH = 2.0**-100, 2.0**100


@dataclass(frozen=True, slots=True)
class Loss:
    """A convex loss l(z) of the margin z = x.w and the target y in [-1, 1].

    Attributes
    ----------
    name : `"logistic"`, `"squared"`, `"huber_svm"`, `"huber_residual"`, `"soft_logistic"` or `"soft_huber"`: what
        kernels and statements call it.
    classification : True when y is one of the labels -1 and +1.
    lipschitz, smoothness : largest |dl/dz| and d2l/dz2 over all z.
    width : where the Huber losses change from quadratic to linear; the largest slope of the soft losses; else 0.
    fading : what d2l/dz2 is for a slope of size s = |dl/dz|, with C = `lipschitz`: `"logistic"` for
        min(s (1 - s), C - s), `"linear"` for 1 - s / C, `""` where nothing is known. With C = 1 the first is s (1 - s),
        the relation that objective.md's theorem 2 needs.
    one_signed : dl/dz has the sign of -y for every z (objective.md, theorem 3).
    slope, curvature : l(z) = const - slope * y * z + curvature * z^2 / 2 + higher orders at z = 0 (none for squared);
        0 where the functional mechanism has no expansion.
    """

    name: str
    classification: bool
    lipschitz: float
    smoothness: float
    width: float = 0.0
    fading: str = ""
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
    fading="logistic",
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


def soft_logistic(cut: float) -> Loss:
    """Logistic loss whose slope ends at `cut` = C <= 1 instead of at 1, smoothly.

    With v = y z and slope size s = -dl/dv: the logistic loss where s <= s1, s1 = 1 - sqrt(1 - C), that is from
    v1 = log((1 - s1) / s1) on; below, s = C - (C - s1) exp(v - v1). C = 1 is the logistic loss itself.

    There d2l/dv2 is s (1 - s) from v1 on and C - s below. s1 solves s (1 - s) = C - s, (1 - s1)^2 = 1 - C, and
    C - s - s (1 - s) = (1 - s)^2 - (1 - C) is positive below s1 and negative above: so d2l/dv2 = min(s (1 - s), C - s),
    continuous, and not negative because 0 < s < C. Above s1 it is at most C - s1 = s1 (1 - s1); on (0, s1] it is at
    most s1 (1 - s1), or 1/4 where s1 >= 1/2.
    """
    _check_width("cut", cut, 1.0)
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


def soft_huber(width: float) -> Loss:
    """(z - y)^2 / 2 near y, linear with slope `width` = C far from it, and twice continuously differentiable.

    With r = z - y: C (|r| + C (exp(-|r| / C) - 1)), so dl/dr = sign(r) C (1 - exp(-|r| / C)), below C in size, and
    d2l/dr2 = exp(-|r| / C) = 1 - |dl/dr| / C, in (0, 1].
    """
    _check_width("width", width, _LARGEST_WIDTH)
    return Loss("soft_huber", classification=False, lipschitz=width, smoothness=1.0, width=width, fading="linear")


def _check_width(name: str, width: float, largest: float) -> None:
    if not _LEAST_WIDTH <= width <= largest:
        raise ValueError(sentence(name, f"must be between 2^-100 and {largest:.3g}", width))


# The public models: name -> loss with default options. Their estimators are in `dplr.estimators.ESTIMATORS`.
LOSSES: dict[str, Loss] = {"logistic": LOGISTIC, "linear": SQUARED, "svm": huber_svm(0.5)}


def model_of(loss: Loss) -> str:
    """Name of the public model with this loss; the loss's own where there is none."""
    return next((model for model, known in LOSSES.items() if known.name == loss.name), loss.name)


def models_with(rule: Callable[[Loss], bool]) -> str:
    """The public models whose losses keep a rule, for an error message: `"logistic" or "svm"`."""
    return " or ".join(f'"{model}"' for model, loss in LOSSES.items() if rule(loss))
