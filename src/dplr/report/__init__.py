"""Self-contained HTML pages about a release (jinja2 and matplotlib, extra `plots`)."""

from __future__ import annotations

import math
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dplr._kit.files import checked_name
from dplr._kit.validation import sentence
from dplr.mechanisms import SHORTHANDS
from dplr.plots._effects import read_effects
from dplr.plots._view import printable, read_model
from dplr.privacy.statement import PrivacyStatement
from dplr.report._evaluation import evaluation_table, evaluation_words, pictures_of_evaluation
from dplr.report._model import Table, effects_table, pictures, pictures_of_the_way, released_table, scale_of
from dplr.report._page import breakable, page_template, policy, source
from dplr.report._words import (
    alarms,
    citation,
    drowned,
    fine_print,
    headline,
    meaning,
    promise,
    reading,
    released,
    secrets,
)

if TYPE_CHECKING:
    import os

__all__ = ["report_html", "write_report"]

_SHOWN = 15  # rows of the table before it must be unfolded


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
    target = Path(checked_name("path", path))
    page = report_html(est, title=title)
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
    template, mark_safe = page_template()
    model = read_model(est)
    statement = _statement(model.statement, type(est).__name__)
    style = source("page.css")
    effects = read_effects(est, model)
    table = effects_table(model, effects)
    evaluation = getattr(est, "evaluation_", None)
    page = template.render(
        title=printable(title),
        policy=policy(style),
        style=mark_safe(style),
        headline=headline(model, statement),
        alarms=alarms(statement),
        drowned=drowned(est, statement),
        meaning=meaning(model, effects),
        pictures=_marked(pictures(est, model, effects), mark_safe),
        table=Table(table.heads, table.rows[:_SHOWN]),
        rest=Table(table.heads, table.rows[_SHOWN:]),
        reading=reading(model, effects, scale_of(est, model)),
        notes=[] if effects.table is None else [printable(note) for note in effects.table.notes],
        evaluated=evaluation_words(evaluation),
        measures=evaluation_table(evaluation),
        curves=_marked(pictures_of_evaluation(evaluation), mark_safe),
        promise=promise(statement),
        uncovered=[printable(fact) for fact in statement.uncovered],
        assumptions=[printable(fact) for fact in statement.assumptions],
        covered=math.isfinite(statement.eps),
        secrets=secrets(statement),
        fine_print=fine_print(statement),
        exact=[(label, printable(text)) for label, text in statement.lines if label not in ("released", "assumed")],
        released=released(statement),
        blocks=_blocks(statement),
        way=_marked(pictures_of_the_way(est, model), mark_safe),
        columns=len(model.names),
        coefficients=released_table(model),
        citation=citation(statement),
        version=metadata.version("dplr"),
        exact_number=repr,
        breakable=breakable,
    )
    return str(page)


def _marked(drawn: list[tuple[str, str]], mark_safe: Any) -> list[dict[str, Any]]:
    return [{"svg": mark_safe(svg), "caption": caption} for svg, caption in drawn]


def _statement(statement: Any, name: str) -> PrivacyStatement:
    """The statement that a page is about; raise ValueError where there is none, or none that a page has words for."""
    if not isinstance(statement, PrivacyStatement):
        raise ValueError(sentence("est", "must have a privacy statement, `privacy_`", name))
    if statement.mechanism not in SHORTHANDS:
        remedy = "A baseline has no report; its statement, `privacy_`, says what it promises."
        raise ValueError(sentence("est", "must be a model by a mechanism of dplr", name, remedy))
    return statement


def _blocks(statement: PrivacyStatement) -> list[str]:
    """The statement's lines on what was released, each with the sensitivity that its noise covers."""
    texts = [printable(text) for label, text in statement.lines if label == "released"]
    pairs = zip(texts, statement.released.values(), strict=True)
    return [f"{text}; the noise has {block.noise_words}" if block.scale else text for text, block in pairs]
