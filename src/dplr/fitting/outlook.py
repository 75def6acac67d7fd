"""The expected effect of noise on a fit, before eps is spent: a function of public facts."""

from __future__ import annotations

import math
from collections.abc import Iterable

from dplr._kit.warnings import UtilityWarning, warn
from dplr.mechanisms.protocol import Mechanism
from dplr.problem.outlook import Outlook, outlook_of
from dplr.problem.plan import Plan


def expected(mechanism: Mechanism, plan: Plan, eps: float) -> Outlook | None:
    """The expected effect of noise on a model with this plan; None where public facts do not tell it.

    `eps` is the cost of the release. Where ranges or other classes have a share of it, the statement of the plan has
    less.
    """
    if math.isinf(eps):
        return None
    return outlook_of(plan.problem, mechanism.gradient_noise(plan), eps)


def warn_of_noise(outlooks: Iterable[Outlook | None]) -> None:
    """Warn once, about the fit that noise affects most, if noise drowns any of these fits."""
    drowned = [outlook for outlook in outlooks if outlook is not None and outlook.drowned]
    if drowned:
        warn(str(max(drowned, key=lambda outlook: outlook.ratio)), UtilityWarning)
