"""Public constants of a loss, which mechanisms may know."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dplr._kit.validation import sentence
from dplr.privacy.estimand import Estimand

if TYPE_CHECKING:
    from dplr.problem.losses.knots import Knotted

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
    dplr.margin_loss : A loss of a margin, for labels.
    dplr.residual_loss : A loss of a residual, for numbers.
    dplr.smoothed_hinge : The hinge with a rounded corner.

    Examples
    --------
    >>> import dplr
    >>> dplr.smoothed_hinge(0.25).smoothness
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
        """A loss with knots has the constants that they say, and claims nothing else."""
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
