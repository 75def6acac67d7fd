"""The path of a descent in the user's units."""

from __future__ import annotations

import numpy as np

from dplr.bounds.scaling import Prep
from dplr.fitting.pretraining import Public, PublicData
from dplr.mechanisms import SHORTHANDS
from dplr.problem.fit import Fit, History
from dplr.problem.problem import Problem
from dplr.rows import Labels


def read_history(
    fit: Fit, public: Public | None, problem: Problem, prep: Prep, labels: Labels | None
) -> History | None:
    """Gradients and iterates of a fit that has them, and the loss on public data where there are any."""
    if fit.iterates is None:
        return None
    models = [prep.to_user_units(coef) for coef in fit.iterates]
    losses = None
    if isinstance(public, PublicData):
        classes = labels.classes.tolist() if labels else None
        losses = public.mean_losses(problem, prep, classes, fit.iterates)
    coefs, intercepts = np.array([coef for coef, _ in models]), np.array([intercept for _, intercept in models])
    return History(fit.released[SHORTHANDS[fit.statement.mechanism].steps_in], coefs, intercepts, losses)
