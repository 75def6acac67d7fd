"""Pictures of fitted models (matplotlib, extra `plots`): coefficients, error against eps, history, boundary; of plans.

Every function draws on the Axes that it is given, or on a new figure of pyplot's, and returns the Axes: see it with
``pyplot.show()``, or save it with ``ax.figure.savefig("picture.svg")``.
"""

from __future__ import annotations

from dplr.plots._audit import plot_audit
from dplr.plots._boundary import plot_decision_boundary
from dplr.plots._coefficients import plot_coefficients
from dplr.plots._curve import plot_curve
from dplr.plots._curves import plot_curves
from dplr.plots._error import plot_error_against_eps
from dplr.plots._evaluation import plot_evaluation
from dplr.plots._history import plot_history

__all__ = [
    "plot_audit", "plot_coefficients", "plot_curve", "plot_curves", "plot_decision_boundary",
    "plot_error_against_eps", "plot_evaluation", "plot_history",
]  # fmt: skip
