"""The effect of each number on a prediction, one small picture for each column."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dplr._kit.validation import check_count, sentence
from dplr.plots._drawing import QUIET, WIDTH, color_of, figure, legend, marker_of, short, tidy
from dplr.plots._view import loss_words, read_model
from dplr.summary.curves import ColumnCurve, Curves

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_ACROSS = 3  # pictures side by side
_HEIGHT = 2.1  # inches of one


def plot_curves(est: Any, *, level: float | None = 0.95, most: int = 12) -> NDArray[Any]:
    """Draw the effect of each number as a curve, with a band where the release has intervals.

    Parameters
    ----------
    est : estimator
        A fitted model with declared columns.
    level : float or None, default=0.95
        Of the intervals, as in `LogisticRegression.effects`; None draws no bands.
    most : int, default=12
        How many columns are drawn; of more, those whose curves are largest beside their bands, or without bands those
        that vary most.

    Returns
    -------
    ndarray of matplotlib.axes.Axes, of shape (n_drawn,)
        One picture for each column on a new figure of pyplot's, the strongest first, all with the same vertical scale.
        Curves are less their mean over the bounds. Where the release has no intervals they are dotted.

    Raises
    ------
    ModuleNotFoundError
        matplotlib is not installed.
    ValueError
        The model is not fitted, has no declared numbers, or an option breaks a rule.

    Privacy
    -------
    Draws what was released and public facts: as private as the model.

    See Also
    --------
    dplr.LogisticRegression.effects : The curves in numbers.

    Examples
    --------
    >>> import numpy as np, dplr
    >>> from dplr import plots
    >>> X = np.random.default_rng(0).uniform(0, 10, (20_000, 2))
    >>> bounds = dplr.Bounds([(0, 10), (0, 10)], target=(0, 5))
    >>> est = dplr.fit(X, abs(X[:, 0] - 5), model="linear", bounds=bounds, curves=8, eps=1.0)
    >>> [ax.get_title() for ax in plots.plot_curves(est)]
    ['column 0', 'column 1']
    """
    model, most = read_model(est), check_count("most", most)
    curves = est.effects(level=level)
    names = strongest(curves)[:most]
    if not names:
        raise ValueError(sentence("est", "must have columns of numbers", "none", "Levels have no curves."))
    across = min(_ACROSS, len(names))
    down = math.ceil(len(names) / across)
    drawing = figure("plot_curves", WIDTH, 0.6 + _HEIGHT * down)
    every = draw_curves(drawing, curves, names)
    drawing.suptitle(f"{curves.estimand} ({loss_words(model.statement)})", fontsize="medium")
    return every  # a figure would be shown twice in a notebook: as a result, and by pyplot


def strongest(curves: Curves) -> list[str]:
    """Columns, those with the largest effect over half of its band first; without bands those that vary most."""
    largest = dict.fromkeys((curve.column for curve in curves), -1.0)
    for curve in curves:
        largest[curve.column] = max(largest[curve.column], curve.strength)
    return sorted(largest, key=lambda name: -largest[name])


def draw_curves(drawing: Figure, curves: Curves, names: list[str]) -> NDArray[Any]:
    """One picture for each of these columns."""
    across = min(_ACROSS, len(names))
    every = drawing.subplots(math.ceil(len(names) / across), across, sharey=True, squeeze=False).ravel()
    for ax, name in zip(every, names, strict=False):
        draw_column(ax, [curve for curve in curves if curve.column == name])
        ax.set_title(short(name), loc="center", fontsize="small", parse_math=False)
    for ax in every[len(names) :]:
        ax.remove()
    return every[: len(names)]


def draw_column(ax: Axes, curves: Sequence[ColumnCurve]) -> None:
    """The curves of one column, with their bands."""
    ax.axhline(0, color=QUIET, linewidth=0.8, zorder=0)
    for row, curve in enumerate(curves):
        knots, color = np.array(curve.knots), color_of(row)
        if curve.low:
            ax.fill_between(knots, curve.low, curve.high, color=color, alpha=0.2, linewidth=0)
        name = ", ".join(filter(None, (curve.group, curve.label))) or "all rows"
        line = marker_of(row) + ("-" if curve.low else ":")
        ax.plot(knots, curve.values, line, color=color, markersize=3, linewidth=1.5, label=short(name))
    if len(curves) > 1:
        legend(ax)
    ax.locator_params(axis="x", nbins=4)
    ax.tick_params(labelsize="small")
    tidy(ax, "y")
