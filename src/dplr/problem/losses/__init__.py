"""Losses, one in a file: what a mechanism may know of each, as public constants.

A `Loss` has its largest slope and curvature, and a name that kernels know. A user's own is sampled at knots once
(`own.py`), so that its constants are exact. `link.py` leads from the margin of a released model to log odds.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from dplr._kit.validation import check_choice, sentence
from dplr.problem.losses.huber_residual import huber_residual
from dplr.problem.losses.huber_svm import huber_svm
from dplr.problem.losses.logistic import LOGISTIC
from dplr.problem.losses.loss import Loss
from dplr.problem.losses.poisson import POISSON, check_counts, from_zero, log_offset, poisson
from dplr.problem.losses.scored import has_score
from dplr.problem.losses.soft_huber import smooth_huber, soft_huber
from dplr.problem.losses.soft_logistic import soft_logistic
from dplr.problem.losses.squared import SQUARED

if TYPE_CHECKING:
    from dplr.problem.losses.own import margin_loss, residual_loss
    from dplr.problem.losses.rounded_hinge import smoothed_hinge

__all__ = [
    "LOGISTIC", "LOSSES", "POISSON", "SQUARED", "Loss", "check_counts", "from_zero", "has_score", "huber_residual",
    "huber_svm", "known_loss",
    "log_offset",
    "margin_loss", "model_of", "models_with", "own_form", "poisson", "residual_loss", "smooth_huber", "smoothed_hinge",
    "soft_huber",
    "soft_logistic",
]  # fmt: skip

# The public models: name -> loss with default options. Their estimators are in `dplr.estimators.ESTIMATORS`.
LOSSES: dict[str, Loss] = {
    "logistic": LOGISTIC,
    "linear": SQUARED,
    "svm": huber_svm(0.5),
    "huber": huber_residual(0.5),
    "poisson": POISSON,
}

# They need NumPy, which the help of the command line does not wait for.
_LATER = {"margin_loss": "own", "residual_loss": "own", "smoothed_hinge": "rounded_hinge"}


def __getattr__(name: str) -> Any:
    if name not in _LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_LATER[name]}"), name)


def own_form(loss: Loss) -> str:
    """The form of a loss of a user's own; ValueError for any other loss."""
    form = None if loss.knots is None else loss.knots.form
    if form not in ("margin", "residual"):
        remedy = "Make one with dplr.margin_loss, dplr.residual_loss or dplr.smoothed_hinge."
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
