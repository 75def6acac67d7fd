"""Coefficients of a model, one line for each column."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dplr._validation import check_count
from dplr.plots._drawing import QUIET, axes, color_of, legend, marker_of, short, tidy, title
from dplr.plots._view import Model, loss_words, read_model

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def plot_coefficients(est: Any, ax: Axes | None = None, *, per: str = "unit", most: int = 30) -> Axes:
    r"""Draw the released coefficients, one line for each column.

    Parameters
    ----------
    est : estimator
        A fitted model.
    ax : matplotlib.axes.Axes or None, default=None
        Where to draw; None for a new figure.
    per : {"unit", "range"}, default="unit"
        `"unit"` for the coefficients as they are, in the user's units; `"range"` for their effect from the lower to the
        upper declared bound of each column, which can be compared between columns.
    most : int, default=30
        How many columns are drawn; of more, those with the largest values. The largest is on top.

    Returns
    -------
    matplotlib.axes.Axes
        The intercept is not drawn. Grey bars are two standard deviations of the noise to either side: only for output
        perturbation, whose noise is added to the coefficients themselves. They say nothing of sampling error.

    Raises
    ------
    ModuleNotFoundError
        matplotlib is not installed.
    ValueError
        The model is not fitted, or an option breaks a rule.

    Privacy
    -------
    Draws what was released and public facts: as private as the model.

    See Also
    --------
    dplr.Summary : The coefficients as a table, with intervals.

    Examples
    --------
    >>> import numpy as np, dplr
    >>> from dplr import plots
    >>> X = np.random.default_rng(0).uniform(-0.5, 0.5, (1000, 2))
    >>> ax = plots.plot_coefficients(dplr.fit(X, X[:, 0] > 0, eps=1.0))
    >>> ax.get_xlabel()
    'change of the score for “True”\nper unit of the column'
    """
    model = read_model(est)
    widths = model.widths(per)
    values = model.coef * widths
    shown = np.argsort(-np.abs(values).max(axis=0), kind="stable")[: check_count("most", most)]
    ax = axes("plot_coefficients", ax, height=1.3 + 0.27 * len(shown) * max(1.0, len(values) / 3))
    places = np.arange(len(shown))
    ax.axvline(0, color=QUIET, linewidth=0.8, zorder=0)
    for row, effects in enumerate(values[:, shown]):
        height = places + (0.6 * (row / (len(values) - 1) - 0.5) if len(values) > 1 else 0.0)
        color, marker = color_of(row), marker_of(row)
        if model.noise is not None:
            reach = 2 * model.noise[shown] * widths[shown]
            ax.hlines(height, effects - reach, effects + reach, colors=QUIET, linewidth=5, alpha=0.5)
        ax.hlines(height, 0, effects, colors=color, linewidth=1.5)
        ax.plot(effects, height, marker, color=color, markersize=5, label=_label(model, row))
    ax.set_yticks(places, [short(model.names[column]) for column in shown], parse_math=False)
    ax.set_ylim(len(shown) - 0.5, -0.5)
    ax.set_xlabel(_effect_words(model, per), loc="right", parse_math=False)
    if len(shown) < len(model.names):
        ax.set_ylabel(f"the {len(shown)} largest of {len(model.names)} columns")
    towards = "raise the prediction" if not model.labels else f"speak for “{_label(model, 0)}”"
    towards = towards if len(values) == 1 else "speak for the label"
    title(ax, f"Positive values {towards}", loss_words(model.statement))
    if len(values) > 1:
        legend(ax)
    return tidy(ax, "x")


def _effect_words(model: Model, per: str) -> str:
    """What the horizontal axis of the coefficients measures."""
    if model.labels:
        whose = f"“{_label(model, 0)}”" if len(model.coef) == 1 else "the label"
        what = f"log-odds of {whose}" if model.log_odds else f"score for {whose}"
    else:
        what = "logarithm of the prediction" if model.kind == "poisson" else "prediction"
    step = "per unit of the column" if per == "unit" else "from the lower to the upper bound of the column"
    return f"change of the {what}\n{step}"


def _label(model: Model, row: int) -> str:
    return short(model.labels[row]) if model.labels else ""
