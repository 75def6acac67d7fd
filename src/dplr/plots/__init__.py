"""Pictures of fitted models (matplotlib, extra `plots`): coefficients, curves, history, evaluation; of plans.

Every function draws on the Axes that it is given, or on a new figure of pyplot's, and returns the Axes: see it with
``pyplot.show()``, or save it with ``ax.figure.savefig("picture.svg")``.
"""

from __future__ import annotations

from dplr.plots._coefficients import plot_coefficients
from dplr.plots._curve import plot_curve
from dplr.plots._curves import plot_curves
from dplr.plots._evaluation import plot_evaluation
from dplr.plots._history import plot_history

__all__ = ["plot_coefficients", "plot_curve", "plot_curves", "plot_evaluation", "plot_history"]
