"""Coefficients of a model, one line for each column."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dplr._kit.validation import check_count
from dplr.plots._drawing import QUIET, axes, color_of, legend, marker_of, short, tidy, title
from dplr.plots._effects import Effects, read_effects
from dplr.plots._view import Model, loss_words, read_model
from dplr.privacy.estimand import Estimand
from dplr.summary.render import CANNOT_SAY

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def plot_coefficients(est: Any, ax: Axes | None = None, *, per: str = "unit", most: int = 30) -> Axes:
    r"""Draw what the model says of each column, one line for each: contrasts, with intervals where there are some.

    Parameters
    ----------
    est : estimator
        A fitted model.
    ax : matplotlib.axes.Axes or None, default=None
        Where to draw; None for a new figure, which pyplot knows.
    per : {"unit", "range"}, default="unit"
        `"unit"` for changes per unit of the user's columns; `"range"` for their effect from the lower to the upper
        declared bound of each column, which can be compared between columns.
    most : int, default=30
        How many columns are drawn; of more, those with the largest values beside their bars, or without bars with the
        largest values. They are on top.

    Returns
    -------
    matplotlib.axes.Axes
        The intercept is not drawn, nor are reference levels (the declared one, else the first), to which the others
        are differences. Where the release has confidence intervals, points are the estimates of `summary()` and grey
        bars its 95 % intervals. Else points are the coefficients, which predict; where noise was added to them
        alone (output perturbation), grey bars are two of its standard deviations to either side, which do not count
        sampling error. Where nobody knows how far off they may be there are points alone, without a stem from zero.

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
    dplr.results.Summary : The coefficients as a table, with intervals.

    Examples
    --------
    >>> import numpy as np, dplr
    >>> from dplr import plots
    >>> X = np.random.default_rng(0).uniform(-0.5, 0.5, (1000, 2))
    >>> ax = plots.plot_coefficients(dplr.fit(X, X[:, 0] > 0, eps=1.0))
    >>> ax.get_xlabel()
    'change of the score for “True”\nper unit of the column'
    """
    model, most = read_model(est), check_count("most", most)
    model.widths(per)  # raises before a figure is opened
    effects = read_effects(est, model)
    ax = axes("plot_coefficients", ax, height=height_of(effects, most))
    return draw_coefficients(ax, model, effects, per, most)


def height_of(effects: Effects, most: int) -> float:
    """Inches of a figure with one line for each column."""
    return 1.3 + 0.27 * min(most, len(effects.names)) * max(1.0, len(effects.values) / 3)


def draw_coefficients(ax: Axes, model: Model, effects: Effects, per: str, most: int) -> Axes:
    """Points, and a stem from zero to each with a bar of how far off it may be."""
    widths = model.widths(per)
    shown = effects.order(widths)[:most]
    scale = widths[list(effects.places)][shown]
    places = np.arange(len(shown))
    several = len(effects.values) > 1
    ax.axvline(0, color=QUIET, linewidth=0.8, zorder=0)
    for row, values in enumerate(effects.values[:, shown] * scale):
        height = places + (0.6 * (row / (len(effects.values) - 1) - 0.5) if several else 0.0)
        color, marker = color_of(row), marker_of(row)
        if effects.reach is not None:
            ends = effects.reach[row, shown] * scale[:, None]
            bounded = np.isfinite(ends).all(axis=1)
            low, high = ends[bounded].T
            ax.hlines(height[bounded], low, high, colors=QUIET, linewidth=5, alpha=0.5)
            for place in height[~bounded]:
                ax.text(0, place, f" {CANNOT_SAY}", va="center", fontsize="small", fontstyle="italic")
            ax.hlines(height, 0, values, colors=color, linewidth=1.5)
        ax.plot(values, height, marker, color=color, markersize=5, label=_label(model, row))
    ax.set_yticks(places, [short(effects.names[column]) for column in shown], parse_math=False)
    ax.set_ylim(len(shown) - 0.5, -0.5)
    ax.set_xlabel(effect_words(model, effects, per), loc="right", parse_math=False)
    if len(shown) < len(effects.names):
        which = "largest" if effects.reach is None else "strongest"
        ax.set_ylabel(f"the {len(shown)} {which} of {len(effects.names)} columns")
    if several:
        legend(ax)
    ax.locator_params(axis="x", nbins=5)
    ax.xaxis.set_major_formatter("{x:,g}")
    towards = "raise the prediction" if not model.labels else f"speak for “{_label(model, 0)}”"
    title(ax, f"Positive values {'speak for the label' if several else towards}", loss_words(model.statement))
    return tidy(ax, "x")


def effect_words(model: Model, effects: Effects, per: str) -> str:
    """The label of the horizontal axis of the coefficients."""
    step = "per unit of the column" if per == "unit" else "from the lower to the upper bound of the column"
    return f"change of the {changed_words(model, effects)}\n{step}"


def changed_words(model: Model, effects: Effects) -> str:
    """The name of the quantity that a coefficient changes."""
    if not model.labels:
        return "logarithm of the prediction" if effects.estimand is Estimand.LOG_RATE else "prediction"
    whose = f"“{_label(model, 0)}”" if len(effects.values) == 1 else "the label"
    if effects.estimand in (Estimand.LOG_ODDS, Estimand.PROBABILITY):
        return f"{'log odds' if effects.estimand is Estimand.LOG_ODDS else 'probability'} of {whose}"
    return f"score for {whose}"


def _label(model: Model, row: int) -> str:
    return short(model.labels[row]) if model.labels else ""
