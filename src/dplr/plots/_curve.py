"""Expected error against eps, before any fit."""

from __future__ import annotations

from numbers import Real
from typing import TYPE_CHECKING, Any

import numpy as np

from dplr._kit.validation import sentence
from dplr.plots._drawing import QUIET, axes, color_of, legend, marker_of, tidy, title
from dplr.plots._view import printable

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def plot_curve(curve: Any, ax: Axes | None = None, *, delta: float | None = None, n_rows: int | None = None) -> Axes:
    """Draw the expected error of planned fits against eps, one line for each mechanism.

    Parameters
    ----------
    curve : dplr.planner.Curve
        What `dplr.plan_curve` returns.
    ax : matplotlib.axes.Axes or None, default=None
        Where to draw; None for a new figure, which pyplot knows.
    delta : float or None, default=None
        Which delta of the curve; None for the largest.
    n_rows : int or None, default=None
        Which number of rows of the curve; None for the one in the middle.

    Returns
    -------
    matplotlib.axes.Axes
        Bars are two standard errors of the simulation to either side.

    Raises
    ------
    ModuleNotFoundError
        matplotlib is not installed.
    ValueError
        The curve has no such delta or number of rows.

    Privacy
    -------
    Draws a simulation and public facts: no private row was read for it.

    Examples
    --------
    >>> import dplr
    >>> from dplr import plots
    >>> curve = dplr.plan_curve(n_rows=[500], n_features=1, eps=[0.5, 1.0], delta=[0.0], mechanism="fm")
    >>> ax = plots.plot_curve(curve)
    >>> ax.get_xscale()
    'log'
    """
    if not hasattr(curve, "points"):
        raise TypeError(sentence("curve", "must be a curve of plan_curve", curve))
    deltas = sorted({point.delta for point in curve.points})
    counts = sorted({point.n_rows for point in curve.points})
    delta = deltas[-1] if delta is None else _one_of("delta", delta, deltas)
    n_rows = counts[len(counts) // 2] if n_rows is None else _one_of("n_rows", n_rows, counts)
    shown = [point for point in curve.points if (point.delta, point.n_rows) == (delta, n_rows)]
    ax = axes("plot_curve", ax)
    every = sorted({point.mechanism for point in curve.points})  # a mechanism has one colour in all pictures
    for number, mechanism in enumerate(every):
        points = [point for point in shown if point.mechanism == mechanism]
        if not points:
            continue
        levels, errors = [point.eps for point in points], np.array([point.error for point in points])
        reach, color = 2 * np.array([point.standard_error for point in points]), color_of(number)
        ax.vlines(levels, errors - reach, errors + reach, colors=color, linewidth=3, alpha=0.3)
        ax.plot(levels, errors, marker=marker_of(number), markersize=5, color=color, label=mechanism)
    ax.axhline(shown[0].non_private, color=QUIET, linestyle=":", linewidth=1.3, label="without privacy")
    ax.axhline(shown[0].baseline, color=QUIET, linestyle="--", linewidth=1.3, label="without a model")
    levels = sorted({point.eps for point in shown})
    ax.set_xscale("log")
    ax.set_xticks(levels, [f"{eps:g}" for eps in levels])
    ax.set_xticks([], minor=True)
    ax.set_xlabel("eps (privacy loss: smaller is more private)")
    ax.set_ylabel(printable(curve.quantity), parse_math=False)
    title(ax, "Expected error on simulated rows", f"{n_rows:,} records, delta = {delta:g}")
    legend(ax)
    return tidy(ax, "y")


def _one_of(name: str, value: float, values: list[Any]) -> Any:
    if not isinstance(value, Real) or value not in values:
        raise ValueError(sentence(name, f"must be one of the curve's, {values}", value))
    return value
