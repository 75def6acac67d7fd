"""Losses: what a mechanism may know of each, as public constants, and the public models.

The help of the command line reads this file: NumPy is imported where slopes at knots are made. A user's own losses are
in `own_losses.py`, and `link.py` leads from the margin of a released model to log odds.
"""

from __future__ import annotations

import functools
import math
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from dplr._kit.validation import check_choice, sentence
from dplr.privacy.estimand import Estimand

if TYPE_CHECKING:
    from dplr.problem.knots import Knotted

# Widths of the soft losses: their kernels refuse others.
_LEAST_WIDTH = 2.0**-100
LARGEST_WIDTH = 2.0**100
_NAME = re.compile(r"[A-Za-z]([A-Za-z0-9_ -]{0,38}[A-Za-z0-9_-])?")
# Of a loss with knots, curvature over slope: with far sharper corners Newton's method was seen to end nowhere.
STEEPEST = 512.0
# Losses with kernels of their own, for some of which theorems are sharper: no loss with knots may have such a name.
KERNELS = ("logistic", "squared", "huber_svm", "huber_residual", "soft_logistic", "soft_huber")
_ESTIMANDS = {"logistic": Estimand.LOG_ODDS, "squared": Estimand.MEAN}


@dataclass(frozen=True, slots=True)
class Loss:
    """A convex loss l(z) of the margin z = x.w and the target y in [-1, 1]: public constants.

    Losses of a user's own come from `margin_loss`, `residual_loss` and `smoothed_hinge`.

    Parameters
    ----------
    name : str
        What statements call it, and kernels where it has no knots: `"logistic"`, `"squared"`, `"huber_svm"`,
        `"huber_residual"`, `"soft_logistic"` or `"soft_huber"`.
    classification : bool
        True where y is one of the labels -1 and +1.
    lipschitz, smoothness : float
        Largest ``|dl/dz|`` and ``d2l/dz2`` over all z.
    width : float, default=0.0
        Where the Huber losses change from quadratic to linear; the largest slope of the soft losses; else 0.
    fading : {"logistic", "linear", ""}, default=""
        What d2l/dz2 is for a slope of size s = ``|dl/dz|``, with C = `lipschitz`: `"logistic"` for
        min(s (1 - s), C - s), `"linear"` for 1 - s / C, `""` where nothing is known. With C = 1 the first is
        s (1 - s), the relation that objective.md's theorem 2 needs.
    one_signed : bool, default=False
        Whether dl/dz has the sign of -y for every z (objective.md, theorem 3).
    slope, curvature : float, default=0.0
        Constants of l(z) = const - slope * y * z + curvature * z^2 / 2 + higher orders at z = 0 (none for squared); 0
        where the functional mechanism has no expansion.
    knots : object or None, default=None
        What kernels know of it instead of its name, as `margin_loss` makes it; None for those above.
    link : {"identity", "log"}, default="identity"
        `"identity"` where z predicts y in the same units, `"log"` where exp(z) predicts the user's y.
    fall : float, default=0.0
        With knots, how far a loss at z = 0 may be above its smallest value.

    Raises
    ------
    ValueError
        Constants are smaller than the knots say, or a loss with knots has the name of another.

    Privacy
    -------
    Public: nothing of any data is in it. A loss that was chosen by a look at the private data is not covered.

    See Also
    --------
    dplr.losses.margin_loss : A loss of a margin, for labels.
    dplr.losses.residual_loss : A loss of a residual, for numbers.
    dplr.losses.smoothed_hinge : The hinge with a rounded corner.

    Examples
    --------
    >>> import dplr
    >>> dplr.losses.smoothed_hinge(0.25).smoothness
    4.0
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
    knots: Knotted | None = None
    link: str = "identity"
    fall: float = 0.0

    def __post_init__(self) -> None:
        if self.knots is not None:
            _check_knotted(self, self.knots)

    @property
    def estimand(self) -> Estimand:
        """The meaning of coefficients at the minimum of the loss, as in `PrivacyStatement.estimand`."""
        if self.name in _ESTIMANDS:
            return _ESTIMANDS[self.name]
        if self.link == "log":
            return Estimand.LOG_RATE
        return Estimand.MARGIN if self.classification else Estimand.LOCATION

    @property
    def most_at_zero(self) -> float:
        """How far a loss at z = 0 is above its smallest value at most, whatever y is."""
        return 1 + self.width if self.knots is None else self.fall

    @property
    def label(self) -> str:
        """The name with the width, for statements."""
        return f"{self.name} ({self.width:g})" if self.width else self.name

    def curvature_on(self, margin_bound: float) -> float:
        """Curvature of the even quadratic closest to the logistic loss on [-margin_bound, margin_bound].

        log(1 + exp(-z)) + z/2 = log 2 + even part; the even quadratic through its ends has the smallest largest error.

        Parameters
        ----------
        margin_bound : float
            Largest ``|z|``, above 0.

        Returns
        -------
        float
            The curvature; that at 0 for a loss of numbers.

        Privacy
        -------
        Reads public facts alone.
        """
        if not self.classification:
            return self.curvature
        bound = margin_bound
        return 2 * (math.log1p(math.exp(-bound)) + bound / 2 - math.log(2)) / bound**2


def _check_knotted(loss: Loss, knots: Knotted) -> None:
    """Refuse constants that the knots break, and what would claim the theorem of another loss."""
    if not (isinstance(loss.name, str) and _NAME.fullmatch(loss.name)):
        rule = 'must be up to 40 letters, digits, spaces, "_" and "-", a letter first and no space last'
        raise ValueError(sentence("name", rule, loss.name))
    if loss.name in KERNELS:
        raise ValueError(sentence("name", f"must be none of {', '.join(KERNELS)}", loss.name))
    links = loss.classification == (knots.form == "margin") and (loss.link == "log") == (knots.form == "family")
    if not links or loss.fading or loss.slope or loss.curvature or (loss.one_signed and not knots.one_signed):
        raise ValueError(sentence("knots", "must be those of a loss without further claims", loss.name))
    for key in ("lipschitz", "smoothness", "fall"):
        least = getattr(knots, key)
        if not least <= getattr(loss, key) < math.inf:
            raise ValueError(
                sentence(key, f"must be finite and at least {least:g}, as the knots say", getattr(loss, key))
            )
    if not _LEAST_WIDTH <= loss.lipschitz <= LARGEST_WIDTH:
        rule = f"must be between 2^-100 and {LARGEST_WIDTH:.3g}"
        raise ValueError(sentence("lipschitz", rule, loss.lipschitz, "Express the loss in other units."))
    if not 0 < loss.smoothness <= STEEPEST * loss.lipschitz:
        rule = f"must be positive and at most {STEEPEST:g} times the largest slope"
        raise ValueError(sentence("smoothness", rule, loss.smoothness, "Round the corners of the loss."))


def loss_of(name: str, knots: Knotted, link: str = "identity", width: float = 0.0, *,
            lipschitz: float = 0.0, smoothness: float = 0.0) -> Loss:  # fmt: skip
    """The loss with these knots; `lipschitz` and `smoothness` only raise its constants, which are exact."""
    return Loss(
        name,
        classification=knots.form == "margin",
        lipschitz=max(lipschitz, knots.lipschitz),
        smoothness=max(smoothness, knots.smoothness),
        width=width,
        one_signed=knots.one_signed,
        knots=knots,
        link=link,
        fall=knots.fall,
    )


def check_width(name: str, width: float, largest: float) -> None:
    """Refuse a width for which no proof of the kernels holds."""
    if not _LEAST_WIDTH <= width <= largest:
        raise ValueError(sentence(name, f"must be between 2^-100 and {largest:.3g}", width))


# (y - z)^2 / 2 = y^2 / 2 - y z + z^2 / 2  (FM12 section 4.2 has twice this loss: the same minimiser)
SQUARED = Loss("squared", classification=False, lipschitz=math.inf, smoothness=1.0, slope=1.0, curvature=1.0)

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
    import numpy as np

    from dplr.problem.knots import knotted

    check_width("width", width, LARGEST_WIDTH)
    per_unit = 2.0 ** math.ceil(math.log2(_KNOTS / width))
    last = math.ceil(_LONGEST * width * per_unit)
    residuals = np.arange(-last, last + 1) / per_unit
    slopes = np.sign(residuals) * width * -np.expm1(-np.abs(residuals) / width)
    slopes[0], slopes[-1] = -width, width
    return replace(loss_of("smooth_huber", knotted("residual", -last, per_unit, slopes)), width=width)


# That of counts from 0 on, whatever their largest is: public facts replace it by that of the declared target.
POISSON = Loss("poisson", classification=False, lipschitz=2.0, smoothness=2.0, link="log")

_RATE_KNOTS = 128.0
# Rates below this share of the largest count are told apart no more.
_LEAST_RATE = 2.0**-40


def from_zero(low: float, high: float) -> tuple[float, float]:
    """A declared range of counts, which are never below 0."""
    return (max(low, 0.0) if high > 0 else low), high


def check_counts(low: float, high: float) -> None:
    """Refuse what is no range of counts."""
    if not (0 <= low < high and 2.0**-100 <= high <= 2.0**100 and high / (high - low) <= 2**20):
        remedy = "Declare the smallest and the largest count from public knowledge: Bounds(..., target=(0, 50))."
        raise ValueError(sentence("bounds", "must have a target with 0 <= lower < upper", (low, high), remedy))


def log_offset(low: float, high: float) -> float:
    """The log-rate that coefficients of 0 have beside an intercept: of an eighth of the way from low to high.

    The ridge pulls towards it, so a model does not depend on the unit of the counts.
    """
    check_counts(low, high)
    return math.log(low + (high - low) / 8)


def poisson(low: float, high: float, offset: float = 0.0) -> Loss:
    """exp(z + offset) - y z for log-rates up to log(high), linear beyond: counts in [low, high], over half their range.

    With m and h the middle and half the length of [low, high] and u = (y - m) / h in [-1, 1], the target as it is
    scaled, the loss divided by h is f(z) - u z with f'(z) = (min(exp(z + offset), high) - m) / h. So dl/dz =
    (rate - y) / h lies in [-high / h, high / h], and d2l/dz2 is at most high / h: 2 and 2 where low is 0. Between knots
    a 128th apart the rate is linear, off by at most 8e-6 of itself.
    """
    import numpy as np

    from dplr.problem.knots import knotted

    check_counts(low, high)
    middle, half = (low + high) / 2, (high - low) / 2
    first = math.floor((math.log(high * _LEAST_RATE) - offset) * _RATE_KNOTS)
    last = math.ceil((math.log(high) - offset) * _RATE_KNOTS)
    rates = np.minimum(np.exp(np.arange(first, last + 1) / _RATE_KNOTS + offset), high)
    rates[0], rates[-1] = 0.0, high
    return loss_of("poisson", knotted("family", first, _RATE_KNOTS, (rates - middle) / half), link="log")


# The public models: name -> loss with default options. Their estimators are in `dplr.estimators._models.ESTIMATORS`.
LOSSES: dict[str, Loss] = {
    "logistic": LOGISTIC,
    "linear": SQUARED,
    "svm": huber_svm(0.5),
    "huber": huber_residual(0.5),
    "poisson": POISSON,
}


def own_form(loss: Loss) -> str:
    """The form of a loss of a user's own; ValueError for any other loss."""
    form = None if loss.knots is None else loss.knots.form
    if form not in ("margin", "residual"):
        remedy = "Make one with dplr.losses.margin_loss, dplr.losses.residual_loss or dplr.losses.smoothed_hinge."
        raise ValueError(sentence("model", "must be the name of a model, or a loss of a user's own", loss.name, remedy))
    return form


def known_loss(model: str | Loss) -> Loss:
    """The loss of a public model, by its name, or a user's own."""
    if not isinstance(model, Loss):
        return LOSSES[check_choice("model", model, LOSSES)]
    own_form(model)
    return model


def model_of(loss: Loss) -> str:
    """Name of the public model with this loss; the loss's own where there is none."""
    return next((model for model, public_loss in LOSSES.items() if public_loss.name == loss.name), loss.name)


def models_with(rule: Callable[[Loss], bool]) -> str:
    """The public models whose losses keep a rule, for an error message: `"logistic" or "svm"`."""
    return " or ".join(f'"{model}"' for model, loss in LOSSES.items() if rule(loss))


def has_score(loss: Loss) -> bool:
    """Whether score.md has a lemma for this loss, by what it is made of: a name or a constant alone says nothing."""
    if loss.link == "log":
        return loss == POISSON or _is_rate(loss)
    if loss.name == "smooth_huber":
        return loss.width > 0 and loss == smooth_huber(loss.width)
    return loss == LOGISTIC or (loss.name == "huber_residual" and loss.knots is None and loss.lipschitz == loss.width)


def _is_rate(loss: Loss) -> bool:
    """Whether slopes are rates up to the largest target, less the middle of the targets."""
    knots = loss.knots
    if knots is None or knots.form != "family" or loss.classification:
        return False
    return bool(knots.values[-1] <= 1 and loss.lipschitz == 1 - knots.values[0] and loss.lipschitz >= 2)
