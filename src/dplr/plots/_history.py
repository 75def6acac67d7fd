"""The way of noisy gradient descent."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from dplr._kit.validation import check_choice, sentence
from dplr.mechanisms import SHORTHANDS
from dplr.plots._drawing import axes, color_of, legend, tidy, title
from dplr.plots._view import loss_words, read_model

if TYPE_CHECKING:
    from matplotlib.axes import Axes

HISTORY_HEIGHT = 3.2  # inches of a new figure


def plot_history(est: Any, ax: Axes | None = None, *, what: str = "gradients") -> Axes:
    """Draw where noisy gradient descent went.

    Parameters
    ----------
    est : estimator
        A model fitted with ``mechanism="ngd"``.
    ax : matplotlib.axes.Axes or None, default=None
        Where to draw; None for a new figure, which pyplot knows.
    what : {"gradients", "public_loss"}, default="gradients"
        `"gradients"` for the norm of each released sum of clipped gradients, beside the norm that the noise alone has
        (root mean square); `"public_loss"` for the mean loss on the public data that the fit started from.

    Returns
    -------
    matplotlib.axes.Axes
        One line, and for gradients one of the noise.

    Raises
    ------
    ModuleNotFoundError
        matplotlib is not installed.
    ValueError
        The model has no history, one for each class, or no public rows.

    Privacy
    -------
    Draws released gradients and losses on public data: free to look at and to publish. The loss on private rows is
    neither computed nor drawn.

    See Also
    --------
    dplr.results.History : What is drawn.

    Examples
    --------
    >>> import numpy as np, dplr
    >>> from dplr import plots
    >>> X = np.random.default_rng(0).uniform(-0.5, 0.5, (1000, 2))
    >>> est = dplr.fit(X, X[:, 0] > 0, mechanism="ngd", eps=1.0, delta=1e-6)
    >>> plots.plot_history(est).get_xlabel()
    'step'
    """
    model = read_model(est)
    check_choice("what", what, ("gradients", "public_loss"))
    if isinstance(history := getattr(est, "history_", None), dict):
        raise ValueError(sentence("est", "must have one history, and not one for each class", list(history)))
    if model.history is None or model.statement is None:
        those = " or ".join(f'mechanism="{name}"' for name, about in SHORTHANDS.items() if about.steps_in)
        raise ValueError(sentence("est", f"must be fitted with {those} to have a history", type(est).__name__))
    losses = model.history.public_loss
    if what == "public_loss" and losses is None:
        raise ValueError(sentence("what", "needs a fit with public rows, `public=(X, y)`", what))
    ax = axes("plot_history", ax, height=HISTORY_HEIGHT)
    if what == "public_loss" and losses is not None:
        ax.plot(np.arange(len(losses)), losses, color=color_of(0), linewidth=1.5)
        ax.set_ylabel("mean loss on the public data")
        title(ax, "The loss on public data, step by step", loss_words(model.statement))
    else:
        norms = np.linalg.norm(model.history.gradients, axis=1)
        block = model.statement.released[SHORTHANDS[model.statement.mechanism].steps_in]
        noise = block.deviation * math.sqrt(model.history.gradients.shape[1])
        ax.plot(np.arange(1, len(norms) + 1), norms, color=color_of(0), linewidth=1.5, label="released gradient")
        if noise:
            ax.axhline(noise, color=color_of(1), linestyle="--", linewidth=1.5, label="noise alone")
        ax.set_yscale("log", subs=[2, 5])
        ax.yaxis.set_major_formatter("{x:g}")
        ax.yaxis.set_minor_formatter("{x:g}")
        ax.set_ylabel("norm of the sum of clipped gradients")
        title(ax, "At the dashed line, a step is mostly noise" if noise else "The gradient, step by step",
               loss_words(model.statement))  # fmt: skip
        legend(ax)
    ax.set_xlabel("step")
    return tidy(ax, "y")
