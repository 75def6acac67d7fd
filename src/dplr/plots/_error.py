"""Error against eps."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from dplr._kit.validation import check_eps, sentence
from dplr.plots._drawing import QUIET, axes, color_of, legend, marker_of, named_lines, short, tidy, title
from dplr.plots._view import printable

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_DASHES = ("--", ":", "-.", (0, (5, 1)), (0, (3, 1, 1, 1, 1, 1)))
_MOST_TICKS = 9  # labels of single values of eps; more of them would overlap


def plot_error_against_eps(
    results: Any,
    ax: Axes | None = None,
    *,
    X: Any = None,
    y: Any = None,
    label: str | None = None,
    references: Mapping[str, float] | None = None,
    quantity: str | None = None,
) -> Axes:
    """Draw mean error and its spread over repeated fits against eps.

    Parameters
    ----------
    results : iterable of pairs, table or estimators
        Pairs ``(eps, error)``, one for each fit, or a data frame with these two columns; or fitted estimators, for
        example from `fit_many`, whose error on X and y is measured here. Fits with infinite eps become a horizontal
        line at their mean.
    ax : matplotlib.axes.Axes or None, default=None
        Where to draw; None for a new figure, which pyplot knows. Call again on the same Axes for another series.
    X : array-like, table or None, default=None
        Rows to measure estimators on.
    y : array-like of shape (n,) or None, default=None
        Targets of the rows.
    label : str or None, default=None
        Name of this series.
    references : mapping of str to float, default=None
        Name and error of horizontal lines, such as a majority vote or the non-private fit.
    quantity : str or None, default=None
        Name of the error; None for the share of rows misclassified, or mean squared error.

    Returns
    -------
    matplotlib.axes.Axes
        Bars reach from the 10th to the 90th percentile of the fits at one eps.

    Raises
    ------
    ModuleNotFoundError
        matplotlib is not installed.
    ValueError
        There is nothing to draw, or estimators came without X and y.

    Privacy
    -------
    **Errors measured on private data are not private**: they are computed from the rows without noise. Publish this
    picture only when X and y are public or synthetic. Many fits of the same rows also spend the sum of their eps.

    See Also
    --------
    dplr.plan_curve : Expected errors before any row is read.

    Examples
    --------
    >>> from dplr import plots
    >>> ax = plots.plot_error_against_eps([(0.1, 0.4), (0.1, 0.3), (1, 0.2)], references={"majority": 0.45})
    >>> ax.get_xscale()
    'log'
    """
    pairs, measured = _errors(results, X, y)
    groups: dict[float, list[float]] = defaultdict(list)
    for eps, error in pairs:
        groups[eps].append(error)
    without_noise = groups.pop(math.inf, None)
    if not groups:
        raise ValueError(sentence("results", "must hold at least one finite eps", results))
    ax = axes("plot_error_against_eps", ax)
    levels = sorted(groups)
    dashed = [line.get_linestyle() != "-" for line in named_lines(ax)]
    series = dashed.count(False)
    low, high = np.array([np.percentile(groups[eps], (10, 90)) for eps in levels]).T
    counts = [len(groups[eps]) for eps in levels]
    if max(counts) > 1:
        ax.vlines(levels, low, high, colors=color_of(series), linewidth=3, alpha=0.4)
    means = [float(np.mean(groups[eps])) for eps in levels]
    name = short("mean of fits" if label is None else label)
    ax.plot(levels, means, marker=marker_of(series), markersize=5, color=color_of(series), label=name)
    lines = {} if without_noise is None else {f"{name}, no noise": float(np.mean(without_noise))}
    for number, (reference, value) in enumerate({**lines, **(references or {})}.items(), start=dashed.count(True)):
        style = _DASHES[number % len(_DASHES)]
        ax.axhline(value, color=QUIET, linestyle=style, linewidth=1.3, label=short(reference))
    ax.set_xscale("log")
    if len(levels) <= _MOST_TICKS:
        ax.set_xticks(levels, [f"{eps:g}" for eps in levels])
        ax.set_xticks([], minor=True)
    ax.xaxis.set_major_formatter("{x:g}")
    ax.set_xlabel("eps (privacy loss: smaller is more private)")
    ax.set_ylabel(measured if quantity is None else printable(quantity), parse_math=False)
    title(ax, *_counted(min(counts), max(counts)))
    legend(ax)
    return tidy(ax, "y")


def _errors(results: Any, X: Any, y: Any) -> tuple[list[tuple[float, float]], str]:
    """(eps, error) of every fit, and what kind of error it is."""
    if hasattr(results, "columns"):  # a data frame would give the names of its columns
        results = results[["eps", "error"]].to_numpy()
    items = list(results.items()) if isinstance(results, Mapping) else list(results)
    if not items:
        raise ValueError(sentence("results", "must hold at least one fit", results))
    if hasattr(items[0], "predict"):
        return _measure(items, X, y)
    # A table may hold one error, or a list of them, at each eps.
    pairs = [(check_eps(eps), float(error)) for eps, errors in items for error in np.ravel(errors)]
    if not all(math.isfinite(error) for _, error in pairs):
        raise ValueError(sentence("results", "must hold finite errors", results))
    return pairs, "error"


def _measure(fits: list[Any], X: Any, y: Any) -> tuple[list[tuple[float, float]], str]:
    """Misclassified share of classifiers, mean squared error of regressions."""
    if X is None or y is None:
        raise ValueError("`X` and `y` must be given to measure the error of estimators; got None. Or give pairs.")
    targets = np.asarray(y)
    if hasattr(fits[0], "classes_"):
        shares = [(float(est.privacy_.eps), float(np.mean(est.predict(X) != targets))) for est in fits]
        return shares, "share of rows misclassified"
    squares = [(float(est.privacy_.eps), float(np.mean((est.predict(X) - targets) ** 2))) for est in fits]
    return squares, "mean squared error"


def _counted(fewest: int, largest: int) -> tuple[str, str]:
    """How many fits a point stands for."""
    if largest == 1:
        return "Each point is the error of one fit", "no repeats, no spread"
    many = f"{fewest}" if fewest == largest else f"{fewest} to {largest}"
    return f"Each point is the mean error of {many} fits", "bars hold the middle 80 % of the fits"
