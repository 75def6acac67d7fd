"""Curves of an evaluation, with the interval of every point."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from dplr._kit.validation import check_choice, sentence
from dplr.evaluation.classes import ClassEvaluation
from dplr.evaluation.labels import LabelEvaluation
from dplr.evaluation.measures import Measure
from dplr.evaluation.numbers import NumberEvaluation
from dplr.evaluation.value import Evaluation
from dplr.plots._drawing import QUIET, axes, color_of, tidy, title

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Kind of evaluation -> its curves.
CURVES: dict[type, tuple[str, ...]] = {
    LabelEvaluation: ("roc", "calibration"),
    ClassEvaluation: ("calibration",),
    NumberEvaluation: ("within",),
}


def curves_of(evaluation: Evaluation) -> tuple[str, ...]:
    """The curves of an evaluation; none of decisions alone."""
    if isinstance(evaluation, ClassEvaluation) and not evaluation.grid.probabilities:
        return ()
    return CURVES.get(type(evaluation), ())


def plot_evaluation(evaluation: Evaluation, ax: Axes | None = None, *, what: str | None = None) -> Axes:
    """Draw a curve of an evaluation, with the interval of every point.

    Parameters
    ----------
    evaluation : dplr.evaluation.Evaluation
        Made by `dplr.evaluate`.
    ax : matplotlib.axes.Axes or None, default=None
        Where to draw; None for a new figure, which pyplot knows.
    what : {"roc", "calibration", "within"} or None, default=None
        The ROC curve or the calibration of labels, or the share of rows by the size of their error; None for the first
        that the evaluation has.

    Returns
    -------
    matplotlib.axes.Axes
        Points with their intervals.

    Raises
    ------
    ModuleNotFoundError
        matplotlib is not installed.
    ValueError
        The evaluation has no such curve.

    Privacy
    -------
    Draws what was released: free to look at and to publish.

    See Also
    --------
    dplr.evaluate : Makes what is drawn.

    Examples
    --------
    >>> import numpy as np, dplr
    >>> from dplr import plots
    >>> score = np.random.default_rng(0).uniform(0, 1, 5000)
    >>> result = dplr.evaluate(score, None, np.random.default_rng(1).uniform(0, 1, 5000) < score, eps=1.0)
    >>> plots.plot_evaluation(result).get_xlabel()
    'false positive rate'
    """
    curves = curves_of(evaluation)
    if not curves:
        raise ValueError(sentence("evaluation", "must have a curve", type(evaluation).__name__))
    what = curves[0] if what is None else check_choice("what", what, curves)
    ax = axes("plot_evaluation", ax)
    detail = f"{100 * evaluation.level:g} % intervals of sampling and noise"
    if what == "roc" and isinstance(evaluation, LabelEvaluation):
        points = evaluation.roc()
        _draw(ax, [alarms for _, alarms, _ in points], [hits for _, _, hits in points])
        ax.set(xlabel="false positive rate", ylabel="true positive rate")
        title(ax, f"Area under the curve: {_words(evaluation.auc)}", detail)
    elif what == "within" and isinstance(evaluation, NumberEvaluation):
        _draw(ax, evaluation.edges, [evaluation.within(size) for size in evaluation.edges])
        ax.set(xlabel="size of the error", ylabel="share of rows", xscale="log", ylim=(0, 1.02))
        title(ax, f"Root mean square error: {_words(evaluation.rmse)}", detail)
        return tidy(ax, "y")
    elif isinstance(evaluation, (LabelEvaluation, ClassEvaluation)):
        bins = evaluation.calibration()
        _draw(ax, [(low + high) / 2 for low, high, _ in bins], [share for *_, share in bins])
        ax.set(xlabel="predicted probability", ylabel="share that it comes true")
        title(ax, "On the dashed line probabilities come true", detail)
    ax.plot([0, 1], [0, 1], color=QUIET, linestyle="--", linewidth=1)
    ax.set(xlim=(-0.02, 1.02), ylim=(-0.02, 1.02))
    return tidy(ax, "y")


def _draw(ax: Axes, across: Sequence[float | Measure], up: Sequence[Measure]) -> None:
    """Points that the release can say, with their intervals."""
    pairs = [(x, y) for x, y in zip(across, up, strict=True) if y.says and (not isinstance(x, Measure) or x.says)]
    if not pairs:
        return
    xs = np.array([x.estimate if isinstance(x, Measure) else x for x, _ in pairs])
    ys = np.array([y.estimate for _, y in pairs])
    beside = [x for x, _ in pairs if isinstance(x, Measure)]
    across_span = _span(beside) if beside else None
    ax.errorbar(
        xs,
        ys,
        yerr=_span([y for _, y in pairs]),
        xerr=across_span,
        fmt="o",
        markersize=3.5,
        linewidth=1,
        color=color_of(0),
    )


def _span(measures: list[Measure]) -> np.ndarray:
    """(2, n) distances from estimates to the ends of their intervals."""
    return np.array([[one.estimate - one.lower for one in measures], [one.upper - one.estimate for one in measures]])


def _words(one: Measure) -> str:
    """A number with its interval."""
    return f"{one.estimate:.3g}, {one.lower:.3g} to {one.upper:.3g}" if one.says else "the release cannot say"
