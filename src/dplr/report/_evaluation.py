"""The section of a report on how good the model is: its measures, and pictures of their curves."""

from __future__ import annotations

import functools
from typing import Any

from dplr import plots
from dplr.evaluation.value import Evaluation
from dplr.plots._evaluation import curves_of
from dplr.plots._view import printable
from dplr.report._model import Cell, Table
from dplr.report._svg import inline_svg

_CAPTIONS = {
    "roc": "True and false positive rates at every edge between released cells of the score.",
    "calibration": "How often a probability comes true, in bins that hold as many rows as each other.",
    "within": "The share of rows by the size of their error.",
}


def evaluation_table(evaluation: Evaluation | None) -> Table | None:
    """Each measure with its interval; None without an evaluation."""
    if evaluation is None:
        return None
    interval = f"{100 * evaluation.level:g} % interval"
    rows = []
    for name, one in evaluation.measures.items():
        cells = [Cell(f"{one.estimate:.3g}", one.estimate), Cell(f"{one.lower:.3g} to {one.upper:.3g}")]
        rows.append((printable(name.replace("_", " ")), cells if one.says else [Cell("cannot say"), Cell("")]))
    return Table(["estimate", interval], rows)


def pictures_of_evaluation(evaluation: Evaluation | None) -> list[tuple[str, str]]:
    """SVG and caption of each curve."""
    drawn: list[tuple[str, str]] = []
    if evaluation is None:
        return drawn
    for what in curves_of(evaluation):
        draw: Any = functools.partial(plots.plot_evaluation, evaluation, what=what)
        drawn.append((inline_svg(draw, f"evaluation-{what}", _CAPTIONS[what]), _CAPTIONS[what]))
    return drawn


def evaluation_words(evaluation: Evaluation | None) -> list[str]:
    """Paragraphs on what was evaluated, and on what its promise is."""
    if evaluation is None:
        return []
    if evaluation.in_sample:
        where = "These rows are among those that the model was fitted to, so every number flatters the model."
    else:
        where = "These rows were not used for the fit, as whoever published this page declares."
    rows = "" if evaluation.n_rows is None else f" on {evaluation.n_rows:,} {evaluation.privacy_.unit.many}"
    measured = f"The model was evaluated{rows}, in a release with noise: {evaluation.privacy_.guarantee}. {where}"
    positive = f"“{printable(evaluation.classes[1], 60)}” counts as positive. " if len(evaluation.classes) == 2 else ""
    return [measured, f"{positive}Every interval counts both the sample and the noise."]
