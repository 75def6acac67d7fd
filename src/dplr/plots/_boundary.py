"""Which label a classifier of two features gives where."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dplr._kit.validation import sentence
from dplr.bounds.layout import Layout
from dplr.plots._drawing import axes, color_of, marker_of, short, title
from dplr.plots._view import Model, loss_words, read_model
from dplr.rows import as_table, predictors

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Grid = NDArray[np.float64]
BOUNDARY_HEIGHT = 4.2  # inches of a new figure


def plot_decision_boundary(est: Any, X: Any = None, y: Any = None, ax: Axes | None = None) -> Axes:
    """Draw which label a classifier of two features gives where.

    Parameters
    ----------
    est : estimator
        A fitted classifier with two features.
    X : array-like of shape (n, 2), table or None, default=None
        Rows, as the model was fitted on such, drawn as points; None for none. See Privacy. A row is drawn where the
        model has it: encoded, transformed and clipped as declared. Without bounds, and for numbers that are only
        clipped, a row is drawn as it is.
    y : array-like of shape (n,) or None, default=None
        Labels of the rows.
    ax : matplotlib.axes.Axes or None, default=None
        Where to draw; None for a new figure, which pyplot knows.

    Returns
    -------
    matplotlib.axes.Axes
        Spans the declared bounds; without bounds the points, or [-1, 1] where there are none.

    Raises
    ------
    ModuleNotFoundError
        matplotlib is not installed.
    ValueError
        The model is not a classifier of two features, or X and y do not fit.

    Privacy
    -------
    Without X the picture is as private as the model. **Points are the rows themselves**: with private rows, keep the
    picture to yourself.

    See Also
    --------
    dplr.plots.plot_coefficients : Draws models of more features.

    Examples
    --------
    >>> import numpy as np, dplr
    >>> from dplr import plots
    >>> X = np.random.default_rng(0).uniform(-0.5, 0.5, (1000, 2))
    >>> ax = plots.plot_decision_boundary(dplr.fit(X, X[:, 0] > 0, eps=1.0))
    >>> ax.get_ylabel()
    'x1'
    """
    model = read_model(est)
    if not model.labels or model.coef.shape[1] != 2:
        got = f"{type(est).__name__} of {model.coef.shape[1]} features"
        raise ValueError(sentence("est", "must be a classifier of two features", got))
    points, targets = _points(model, X, y)
    ax = axes("plot_decision_boundary", ax, height=BOUNDARY_HEIGHT)
    spans = _spans(model, points)
    first, second = np.meshgrid(*(np.linspace(low, high, 201) for low, high in spans))
    counted = model.counted(np.stack([first.ravel(), second.ravel()], axis=1))
    scores = (model.coef @ counted.T + model.intercept[:, None]).reshape(-1, *first.shape)
    if len(scores) == 1:
        scores = np.concatenate([-scores, scores])
    for number, (label, score) in enumerate(zip(est.classes_, scores, strict=True)):
        lead = score - np.delete(scores, number, axis=0).max(axis=0)
        _draw_region(ax, first, second, lead, short(label), number)
        if points is not None:
            mine = points[targets == label]
            ax.scatter(mine[:, 0], mine[:, 1], s=14, color=color_of(number), marker=marker_of(number),
                       edgecolors="white", linewidths=0.4, zorder=3)  # fmt: skip
    ax.set(xlim=spans[0], ylim=spans[1])
    ax.set_xlabel(short(model.names[0]), parse_math=False)
    ax.set_ylabel(short(model.names[1]), parse_math=False)
    title(ax, "The model gives each label on its side of the line", loss_words(model.statement))
    ax.spines[["top", "right"]].set_visible(False)
    return ax


def _draw_region(ax: Axes, first: Grid, second: Grid, lead: Grid, label: str, number: int) -> None:
    """Where one label is ahead of all others; these regions are convex, so their middle is inside."""
    inside = lead > 0
    if not inside.any():
        return
    ax.contourf(first, second, lead, levels=[0, lead.max() * 1.01], colors=[color_of(number)], alpha=0.18)
    if not inside.all():
        ax.contour(first, second, lead, levels=[0], colors=["black"], linewidths=1.2)
    paper = {"facecolor": "white", "alpha": 0.7, "linewidth": 0}
    middle = float(first[inside].mean()), float(second[inside].mean())
    ax.text(*middle, label, ha="center", va="center", fontweight="bold", parse_math=False, zorder=4, bbox=paper)


def _points(model: Model, X: Any, y: Any) -> tuple[NDArray[np.float64] | None, NDArray[Any]]:
    if X is None:
        return None, np.empty(0)
    prep_layout, targets = None if model.prep is None else model.prep.layout, np.asarray(y)
    layout = None if prep_layout is None or prep_layout.plain else prep_layout
    points = np.asarray(X, dtype=np.float64) if layout is None else model.counted(_encoded(layout, X))
    if points.ndim != 2 or points.shape[1] != 2 or targets.shape != points.shape[:1]:
        raise ValueError(
            sentence("X", "must be (n, 2), with a label in `y` for each row", (points.shape, targets.shape))
        )
    return points, targets


def _encoded(layout: Layout, X: Any) -> NDArray[np.float64]:
    """The columns of the model, from a table or, where they have no names, an array."""
    table = as_table(X)
    rows = np.asarray(X, dtype=np.float64) if table is None else table
    by_position = not layout.named and len(rows.shape) == 2 and rows.shape[1] == len(layout.columns)
    if not (by_position or (layout.named and table is not None)):
        features = ", ".join(layout.features)
        raise ValueError(sentence("X", f"must be rows as the model was fitted on, with {features}", rows.shape))
    return predictors(rows, layout)


def _spans(model: Model, points: NDArray[np.float64] | None) -> list[tuple[float, float]]:
    """From where to where the two axes go."""
    if model.ranges is not None:
        return [(float(low), float(high)) for low, high in model.ranges]
    if points is None or not len(points):
        return [(-1.0, 1.0)] * 2
    return [(float(column.min()) - 0.05, float(column.max()) + 0.05) for column in points.T]
