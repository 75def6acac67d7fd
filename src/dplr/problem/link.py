"""From the margin of a released model to the log odds of its label: link.md."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float64]
MOST_TURN = 40.0  # no cut is below 2^-20 of a row's norm, nor so near 1 that 1 - cut is below 2^-53
_MOST_SOFT_TURN = 8.0  # no soft cut is below 2^-10, whose margin is 7.6


@dataclass(frozen=True, slots=True)
class Link:
    """Odd and increasing map from margins z to log odds: (1 - share) z + share (S(-z) - S(z)).

    S(v) is the logarithm of the slope, without its sign, of a loss f(y z) of a margin v, up to a constant. From the
    margin `turn` on the loss is the logistic loss; below, the slope is as large as 1 - bend exp(v - turn), times a
    constant.

    Attributes
    ----------
    share : how much of the loss's own link there is, in [0, 1]; the rest is the logistic link.
    turn : margin from which on the loss is the logistic loss, in [-40, 40].
    bend : in [0, 0.5]; 0 for a slope that stays as it is below `turn`.
    """

    share: float = 0.0
    turn: float = 0.0
    bend: float = 0.0

    @property
    def cut(self) -> bool:
        """Whether a loss has it that is cut softly or clipped: the bend of a soft cut follows from its turn."""
        after = 1 / (1 + math.exp(-self.turn))
        soft = self.turn <= _MOST_SOFT_TURN and math.isclose(self.bend, after / (1 + after), abs_tol=1e-9)
        return self.bend == 0 or soft

    def log_odds(self, margins: Vector) -> Vector:
        """Log odds of the label +1, of the shape of the margins; 0 at 0, and never of another sign than the margin."""
        if not self.share:
            return margins
        loss_log_odds = self._log_slope(-margins) - self._log_slope(margins)
        return np.asarray((1 - self.share) * margins + self.share * loss_log_odds, np.float64)

    def _log_slope(self, margins: Vector) -> Vector:
        cut = np.log1p(-self.bend * np.exp(np.minimum(margins - self.turn, 0.0)))
        return np.asarray(cut - np.logaddexp(0.0, np.maximum(margins, self.turn)), np.float64)


LOGIT = Link()
"""The logistic link: margins are log odds."""


def link_share(total: float | None, eps: float, halfway: float) -> float:
    """How much of a loss's own link to take: a half where rows times eps is `halfway`, and nearly all far above it.

    With few rows, ridge and noise shorten margins, which the logistic link is nearer to.
    """
    if total is None:
        return 0.0
    return 1.0 if math.isinf(eps) else total * eps / (total * eps + halfway)


def soft_link(cut: float, share: float) -> Link:
    """The link of `soft_logistic`: its slope is as large as C - (C - s1) exp(v - v1) below v1."""
    if cut >= 1 or share <= 0:
        return LOGIT
    turn = cut / (1 + math.sqrt(1 - cut))  # the size of the slope at v1, as in `soft_logistic`
    return Link(share, math.log((1 - turn) / turn), 1 - turn / cut)


def clipped_link(cut: float, share: float) -> Link:
    """The link of the logistic loss with slopes that are clipped to this size."""
    if cut >= 1 or share <= 0:
        return LOGIT
    return Link(share, math.log((1 - cut) / cut), 0.0)
