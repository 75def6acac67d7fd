"""Self-contained HTML pages about a release, and about a plan (jinja2 and matplotlib, extra `plots`)."""

from __future__ import annotations

import functools
import math
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dplr import plots
from dplr._validation import sentence
from dplr.mechanisms import SHORTHANDS
from dplr.plots._view import Model, printable, read_model
from dplr.privacy.estimand import Estimand
from dplr.privacy.guarantees import Neighbouring
from dplr.privacy.statement import PrivacyStatement
from dplr.report._page import breakable, number, page_template, policy, source
from dplr.report._svg import inline_svg
from dplr.report._words import MODELS, alarms, citation, promise, reading, released, secrets
from dplr.report.curve import curve_html, write_curve
from dplr.summary.render import CANNOT_SAY, decimals, rounded
from dplr.summary.table import OddsRatio, Summary

if TYPE_CHECKING:
    import os

__all__ = ["curve_html", "report_html", "write_curve", "write_report"]

_LONGEST = 80  # characters of a name in the table
_TABULATED = 100  # columns in the table of intervals
_PICTURED = 30  # columns in the picture of the coefficients; the table has all of them


def write_report(est: Any, path: str | os.PathLike[str], *, title: str = "A private model") -> Path:
    """Write a page about a fitted model: what was released, what that promises, and how to read it.

    Parameters
    ----------
    est : estimator
        A fitted dplr model.
    path : str or path-like
        The HTML file; an older one is replaced.
    title : str, default="A private model"
        Heading of the page. It is published with it.

    Returns
    -------
    pathlib.Path
        The file: one page without scripts, network or anything outside itself.

    Raises
    ------
    ModuleNotFoundError
        jinja2 or matplotlib is not installed.
    ValueError
        The model is not fitted, has no privacy statement, or is a baseline.
    OSError
        The file cannot be written.

    Privacy
    -------
    The page holds what was released and public facts, nothing else of the data: it may be published with the model.
    A model whose noise came from a seed, or that has none, is marked as not private.

    See Also
    --------
    dplr.report.report_html : The page as text.
    dplr.save_model : The model as a file.

    Examples
    --------
    >>> import numpy as np, dplr, os, tempfile
    >>> from dplr.report import write_report
    >>> X = np.random.default_rng(0).uniform(-0.5, 0.5, (1000, 2))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = write_report(dplr.fit(X, X[:, 0] > 0, eps=1.0), os.path.join(folder, "model.html"))
    ...     "What is promised to one person" in path.read_text(encoding="utf-8")
    True
    """
    page = report_html(est, title=title)
    target = Path(path)
    target.write_text(page, encoding="utf-8")
    return target


def report_html(est: Any, *, title: str = "A private model") -> str:
    """Make the page of `write_report`, as text.

    Parameters
    ----------
    est : estimator
        A fitted dplr model.
    title : str, default="A private model"
        Heading of the page.

    Returns
    -------
    str
        The page as HTML.

    Raises
    ------
    ModuleNotFoundError
        jinja2 or matplotlib is not installed.
    ValueError
        The model is not fitted, has no privacy statement, or is a baseline.

    Privacy
    -------
    The page holds what was released and public facts, nothing else of the data: it may be published with the model.

    See Also
    --------
    dplr.report.write_report : Writes it to a file.

    Examples
    --------
    >>> import numpy as np, dplr
    >>> from dplr.report import report_html
    >>> X = np.random.default_rng(0).uniform(-0.5, 0.5, (1000, 2))
    >>> "<script" in report_html(dplr.fit(X, X[:, 0] > 0, eps=1.0))
    False
    """
    template, mark_safe = page_template("page.html")
    model = read_model(est)
    statement = _statement(model.statement, type(est).__name__)
    style = source("page.css")
    summary, lacking = _summary(est, model)
    odds = summary is not None and summary.estimand is Estimand.LOG_ODDS
    heads, rows = _table(model, summary)
    pictures = [{"svg": mark_safe(svg), "caption": caption} for svg, caption in _pictures(est, model)]
    page = template.render(
        title=printable(title),
        policy=policy(style),
        style=mark_safe(style),
        kind_words=MODELS[model.kind],
        mechanism_words=SHORTHANDS[statement.mechanism].words,
        alarms=alarms(statement),
        facts=_facts(statement),
        promise=promise(statement),
        exact=[(label, printable(text)) for label, text in statement.lines if label not in ("released", "assumed")],
        blocks=_blocks(statement),
        assumptions=[printable(fact) for fact in statement.assumptions],
        pictures=pictures,
        released=released(statement),
        columns=len(model.names),
        heads=heads,
        rows=rows,
        reading=reading(model, odds),
        intervals=(None if summary is None else mark_safe(summary.to_html()), lacking),
        covered=math.isfinite(statement.eps),
        secrets=secrets(statement),
        citation=citation(statement),
        version=metadata.version("dplr"),
        number=number,
        exact_number=repr,
        breakable=breakable,
    )
    return str(page)


def _summary(est: Any, model: Model) -> tuple[Summary | None, str]:
    """The regression table of a model whose release allows one, and else why there is none."""
    if not hasattr(est, "summary"):
        return None, "This model has no confidence intervals."
    if len(model.names) > _TABULATED:
        return None, f"The table of intervals is left out: the model has more than {_TABULATED} columns."
    try:
        return est.summary(), ""
    except ValueError as error:
        return None, printable(f"There are no confidence intervals: {error}")


def _statement(found: Any, name: str) -> PrivacyStatement:
    """The statement that a page is about; raise ValueError where there is none, or none that a page has words for."""
    if not isinstance(found, PrivacyStatement):
        raise ValueError(sentence("est", "must have a privacy statement, `privacy_`", name))
    if found.mechanism not in SHORTHANDS:
        remedy = "A baseline has no report; its statement, `privacy_`, says what it promises."
        raise ValueError(sentence("est", "must be a model by a mechanism of dplr", name, remedy))
    return found


def _facts(statement: PrivacyStatement) -> list[tuple[str, str]]:
    replaced = statement.neighbouring is Neighbouring.REPLACE_ONE
    one, there = "one record", "it is"
    if statement.unit.person is not None:
        one, there = printable(f"one person with all their records ({statement.unit.person})"), "they are"
    return [
        ("privacy loss eps", "unlimited" if math.isinf(statement.eps) else f"{statement.eps:g}"),
        ("delta", f"{statement.delta:g}"),
        ("what is protected", one if replaced else f"{one}, and that {there} there"),
        ("mechanism", statement.mechanism),
    ]


def _blocks(statement: PrivacyStatement) -> list[str]:
    """The statement's lines on what was released, each with the sensitivity that its noise covers."""
    texts = [printable(text) for label, text in statement.lines if label == "released"]
    found = zip(texts, statement.released.values(), strict=True)
    return [f"{text}; the noise has {block.noise_words}" if block.scale else text for text, block in found]


def _table(model: Model, summary: Summary | None) -> tuple[list[str], list[tuple[str, list[Any]]]]:
    """Heads and rows: coefficients, odds ratios of a table of log odds, and effects over the declared bounds."""
    if len(model.coef) > 1:
        heads = [printable(label) for label in model.labels]
        cells: list[list[Any]] = [[float(value) for value in column] for column in model.coef.T]
        return heads, _rows(model, cells, [float(value) for value in model.intercept])
    heads = ["coefficient"]
    cells = [[float(value)] for value in model.coef[0]]
    last: list[Any] = [float(model.intercept[0])]
    if summary is not None and summary.estimand is Estimand.LOG_ODDS:
        heads.append("odds ratio per unit, and its interval")
        ratios = {ratio.name: _ratio_text(ratio) for ratio in summary.odds_ratios()}
        cells = [[*row, ratios.get(name, "")] for name, row in zip(model.names, cells, strict=True)]
        last.append("")
    if model.reach is not None:
        heads += ["bounds", "effect across them"]
        across = (model.coef[0] * model.widths("range")).tolist()
        bounds = [f"{number(low)} to {number(high)}" for low, high in model.reach]
        cells = [[*row, pair, value] for row, pair, value in zip(cells, bounds, across, strict=True)]
        last += ["", ""]
    if model.noise is not None:
        heads.append("deviation of the noise")
        cells = [[*row, float(noise)] for row, noise in zip(cells, model.noise, strict=True)]
        last.append("")
    return heads, _rows(model, cells, last)


def _ratio_text(ratio: OddsRatio) -> str:
    """An odds ratio with its interval, to two digits of the interval."""
    if not math.isfinite(ratio.high):
        return CANNOT_SAY
    places = decimals((ratio.high - ratio.low) / 4)
    low, high = (rounded(end, places) for end in (ratio.low, ratio.high))
    return f"{rounded(ratio.estimate, places)} [{low}, {high}]"


def _rows(model: Model, cells: list[list[Any]], last: list[Any]) -> list[tuple[str, list[Any]]]:
    """The largest effect first, over the bounds where there are any; then the intercept."""
    widths = model.widths("unit" if model.reach is None else "range")
    order = np.argsort(-np.abs(model.coef * widths).max(axis=0), kind="stable").tolist()
    names = [printable(name, _LONGEST) for name in model.names]
    return [*((names[j], cells[j]) for j in order), ("(intercept)", last)]


def _pictures(est: Any, model: Model) -> list[tuple[str, str]]:
    """SVG and caption of every picture that the model has."""
    per = "unit" if model.ranges is None else "range"
    step = "of one unit more of each column" if per == "unit" else "of each column from its lower to its upper bound"
    caption = f"The effect {step}, the others unchanged."
    if model.noise is not None:
        caption += " Grey bars: two standard deviations of the noise to either side; sampling error comes on top."
    draw = functools.partial(plots.plot_coefficients, est, per=per, most=_PICTURED)
    drawn = [(inline_svg(draw, "coefficients", caption), caption)]
    if model.labels and len(model.names) == 2:
        caption = "Which label the model gives where. No record is drawn."
        draw = functools.partial(plots.plot_decision_boundary, est)
        drawn.append((inline_svg(draw, "boundary", caption), caption))
    if model.history is not None:
        caption = "Noisy gradient descent: the norm of each released gradient beside that of its noise."
        draw = functools.partial(plots.plot_history, est)
        drawn.append((inline_svg(draw, "gradients", caption), caption))
        if model.history.public_loss is not None:
            caption = "The loss on the public data that the fit started from; private rows are not part of it."
            draw = functools.partial(plots.plot_history, est, what="public_loss")
            drawn.append((inline_svg(draw, "loss", caption), caption))
    return drawn
