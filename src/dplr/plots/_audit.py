"""A picture of an audit: scores of fits of two neighbours, and what the promise allows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dplr.plots._drawing import QUIET, axes, color_of, tidy, title

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from dplr.auditor.result import Audit

_BINS = 40


def plot_audit(audit: Audit, ax: Axes | None = None) -> Axes:
    """Draw how well fits of the worst pair of neighbours are told apart.

    Parameters
    ----------
    audit : dplr.auditor.Audit
        Made by `dplr.audit`.
    ax : matplotlib.axes.Axes or None, default=None
        Where to draw; None for a new figure, which pyplot knows.

    Returns
    -------
    matplotlib.axes.Axes
        Two histograms of scores, one for each table; between the dashed lines lies what eps allows of pure noise.

    Raises
    ------
    ModuleNotFoundError
        matplotlib is not installed.

    Privacy
    -------
    Draws fits of made-up rows: free to look at and to publish.

    See Also
    --------
    dplr.audit : Makes what is drawn.

    Examples
    --------
    >>> import dplr
    >>> from dplr import plots
    >>> audit = dplr.audit(eps=1.0, bounds={"age": (18, 99)}, mechanism="fm", pairs=50, runs=100)
    >>> plots.plot_audit(audit).get_ylabel()
    'share of the fits'
    """
    ax = axes("plot_audit", ax)
    first, second = audit.scores
    edges = np.histogram_bin_edges(np.concatenate([first, second]), bins=_BINS).tolist()
    for place, (scores, table) in enumerate(((first, "of one table"), (second, "of its neighbour"))):
        shares = np.full(len(scores), 1 / max(len(scores), 1))
        ax.hist(scores, bins=edges, weights=shares, histtype="stepfilled", alpha=0.45, color=color_of(place),
                label=f"fits {table}")  # fmt: skip
    if audit.has_ratios:
        eps = audit.statement.eps
        for end in (-eps, eps):
            ax.axvline(end, color=QUIET, linestyle="--", linewidth=1)
        ax.set_xlabel("log likelihood ratio of the release")
    else:
        ax.set_xlabel("learned score of the release")
    ax.set_ylabel("share of the fits")
    ax.legend(frameon=False, fontsize=9)
    exact = "no exact loss" if audit.exact is None else f"exact loss {audit.exact:.3g}"
    head = f"eps = {audit.statement.eps:g}: {'nothing contradicts it' if audit.passed else 'WRONG'}"
    title(ax, head, f"{audit.statement.mechanism}; {exact}, {audit.runs} fits show {audit.bound:.2g}")
    return tidy(ax, "y")
