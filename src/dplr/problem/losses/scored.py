"""The losses whose scores and Hessians may be released: those that a lemma of score.md is about."""

from __future__ import annotations

from dplr.problem.losses.logistic import LOGISTIC
from dplr.problem.losses.loss import Loss
from dplr.problem.losses.poisson import POISSON
from dplr.problem.losses.soft_huber import smooth_huber


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
