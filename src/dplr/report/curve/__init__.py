"""One self-contained HTML page about fits that are planned, on which eps, delta and the number of rows are sliders.

The tables and pictures hold everything. The one script shows the part that the sliders point to; it computes nothing
but that, and without it all of the page is there. The sliders stop where fits were simulated, so nothing is
interpolated.
"""

from __future__ import annotations

import functools
import json
import math
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dplr.mechanisms import SHORTHANDS
from dplr.plots import plot_curve
from dplr.plots._view import printable
from dplr.report._page import breakable, number, page_template, policy, source
from dplr.report._svg import inline_svg
from dplr.report.curve._words import OWN, PROTECTED, headline, promise_row, setting_words, warnings_of

if TYPE_CHECKING:
    import os

_LONGEST = 80  # characters of a name
_COLUMNS = 40  # coefficients in the table: those with the largest distance across their bounds


def write_curve(curve: Any, path: str | os.PathLike[str], *, title: str = "A private model, planned") -> Path:
    """Write a page about planned fits, for the people who decide about eps: what is promised, and what it costs.

    Parameters
    ----------
    curve : dplr.planner.Curve
        What `dplr.plan_curve` returns.
    path : str or path-like
        The HTML file; an older one is replaced.
    title : str, default="A private model, planned"
        Heading of the page.

    Returns
    -------
    pathlib.Path
        The file: one page that loads nothing, with one script, which moves what the sliders show.

    Raises
    ------
    ModuleNotFoundError
        jinja2 or matplotlib is not installed.
    OSError
        The file cannot be written.

    Privacy
    -------
    The page holds public facts and a simulation. No private row was read for it, and it may be published.

    See Also
    --------
    dplr.plots.plot_curve : The picture alone.

    Examples
    --------
    >>> import dplr, os, tempfile
    >>> from dplr.report import write_curve
    >>> options = {"n_rows": [500], "n_features": 1, "eps": [0.5, 1.0], "delta": [0.0], "mechanism": "fm"}
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = write_curve(dplr.plan_curve(**options), os.path.join(folder, "plan.html"))
    ...     "What is promised to one person" in path.read_text(encoding="utf-8")
    True
    """
    target = Path(path)
    target.write_text(curve_html(curve, title=title), encoding="utf-8")
    return target


def curve_html(curve: Any, *, title: str = "A private model, planned") -> str:
    """Make the page of `write_curve`, as text.

    Parameters
    ----------
    curve : dplr.planner.Curve
        What `dplr.plan_curve` returns.
    title : str, default="A private model, planned"
        Heading of the page.

    Returns
    -------
    str
        The page as HTML.

    Raises
    ------
    ModuleNotFoundError
        jinja2 or matplotlib is not installed.

    Privacy
    -------
    The page holds public facts and a simulation. No private row was read for it, and it may be published.

    See Also
    --------
    dplr.report.write_curve : Writes it to a file.

    Examples
    --------
    >>> import dplr
    >>> from dplr.report import curve_html
    >>> options = {"n_rows": [500], "n_features": 1, "eps": [0.5, 1.0], "delta": [0.0], "mechanism": "fm"}
    >>> "https:" in curve_html(dplr.plan_curve(**options))
    False
    """
    template, mark_safe = page_template("curve/page.html")
    style, script = source("page.css") + source("curve/page.css"), source("curve/page.js")
    levels, deltas, counts = (sorted({getattr(point, name) for point in curve.points}) for name in _AXES)
    first = (_near(levels, 1.0), len(deltas) - 1, len(counts) // 2)
    used = sorted({point.mechanism for point in curve.points})
    columns = _columns(curve)
    coefs = _coefficients(curve, levels, deltas, counts, columns)
    at_first = {name: coefs.get(f"{first[0]} {first[1]} {first[2]} {name}") for name in used}
    page = template.render(
        title=printable(title),
        policy=policy(style, script),
        style=mark_safe(style),
        script=mark_safe(script),
        headline=headline(curve),
        protected=PROTECTED[curve.neighbouring],
        sliders=_sliders(levels, deltas, counts, first),
        setting=setting_words(levels[first[0]], deltas[first[1]], counts[first[2]]),
        promises=[
            {"place": (i, j), "cells": promise_row(eps, delta)}
            for i, eps in enumerate(levels)
            for j, delta in enumerate(deltas)
        ],
        quantity=curve.quantity,
        rows=_rows(curve, levels, deltas, counts),
        pictures=_pictures(curve, levels, deltas, counts, mark_safe),
        mechanisms=[(name, SHORTHANDS[name].summary) for name in used],
        columns=[
            (
                {name: " / ".join(texts[row]) if texts else "" for name, texts in at_first.items()},
                printable(curve.columns[place], _LONGEST),
            )
            for row, place in enumerate(columns)
        ],
        left_out=len(curve.columns) - len(columns),
        own=[(name, OWN[SHORTHANDS[name].noise_in]) for name in used],
        coefs=mark_safe(_as_json(coefs)),
        cautions=warnings_of(curve),
        assumptions=[printable(fact) for fact in curve.assumptions],
        declared=[printable(fact) for fact in curve.declared],
        version=metadata.version("dplr"),
        breakable=breakable,
    )
    return str(page)


_AXES = ("eps", "delta", "n_rows")


def _near(values: list[float], target: float) -> int:
    """The place of the value that is nearest on a scale of ratios."""
    return min(range(len(values)), key=lambda place: abs(math.log(values[place] / target)))


def _sliders(
    levels: list[float], deltas: list[float], counts: list[int], first: tuple[int, int, int]
) -> list[dict[str, Any]]:
    """Name, label, words of every stop, and where each slider begins."""
    texts = [[f"{eps:g}" for eps in levels], [f"{delta:g}" for delta in deltas], [f"{count:,}" for count in counts]]
    labels = ["eps, the privacy loss", "delta, the room for rare events", "number of records"]
    together = zip(_AXES, labels, texts, first, strict=True)
    return [{"name": name, "label": label, "texts": stops, "at": at} for name, label, stops, at in together]


def _rows(curve: Any, levels: list[float], deltas: list[float], counts: list[int]) -> list[dict[str, Any]]:
    """The table: one row for each point, with the place of its setting."""
    rows = []
    for point in curve.points:
        place = (levels.index(point.eps), deltas.index(point.delta), counts.index(point.n_rows))
        noise = ", ".join(f"{name} {number(value)}" for name, value in point.noise.items())
        error = f"{number(point.error)} ± {number(float(f'{2 * point.standard_error:.2g}'))}"
        least = "at most " if point.simulated_rows < point.n_rows else ""
        cells = [
            f"{point.eps:g}", f"{point.delta:g}", f"{point.n_rows:,}",
            f"{least}{error}", number(point.non_private),
            number(point.baseline), f"{max(point.kept, 0):.0%}", number(curve.typical(point)),
            "" if point.excess_risk is None else number(point.excess_risk), noise,
        ]  # fmt: skip
        rows.append({"place": place, "name": point.mechanism, "auto": point.auto, "cells": cells})
    return rows


def _pictures(
    curve: Any, levels: list[float], deltas: list[float], counts: list[int], mark_safe: Any
) -> list[dict[str, Any]]:
    """One picture for each delta and number of rows, and where in it each eps lies."""
    settings = {(point.delta, point.n_rows) for point in curve.points}
    pictures = []
    for j, delta in enumerate(deltas):
        for k, count in enumerate(counts):
            if (delta, count) not in settings:
                continue
            drawn: list[Any] = []
            draw = functools.partial(_kept, drawn, functools.partial(plot_curve, curve, delta=delta, n_rows=count))
            caption = f"Expected error against eps for {count:,} records and delta = {delta:g}."
            svg = inline_svg(draw, f"curve-{j}-{k}", caption)
            (ax,) = drawn  # places are known once it was drawn
            across = ax.transData + ax.get_figure(root=True).transSubfigure.inverted()
            places = " ".join(f"{across.transform((eps, 0))[0]:.4f}" for eps in levels)
            box = ax.get_position()
            ends = f"{1 - box.y1:.4f} {1 - box.y0:.4f}"
            pictures.append({"place": (j, k), "svg": mark_safe(svg), "caption": caption, "at": places, "ends": ends})
    return pictures


def _kept(drawn: list[Any], draw: Any, ax: Any) -> None:
    drawn.append(draw(ax=ax))


def _columns(curve: Any) -> list[int]:
    """The coefficients that are shown: those that move most across their bounds, in the order of the bounds."""
    farthest = [
        max(point.coef_distance[place] for point in curve.points) * reach for place, reach in enumerate(curve.reach)
    ]
    return sorted(sorted(range(len(farthest)), key=lambda place: -farthest[place])[:_COLUMNS])


def _coefficients(
    curve: Any, levels: list[float], deltas: list[float], counts: list[int], columns: list[int]
) -> dict[str, list[list[str]]]:
    """Setting and mechanism -> noise and distance of each shown coefficient, as text."""
    texts = {}
    for point in curve.points:
        place = f"{levels.index(point.eps)} {deltas.index(point.delta)} {counts.index(point.n_rows)}"
        values = [[number(point.coef_noise[j]), number(point.coef_distance[j])] for j in columns]
        texts[f"{place} {point.mechanism}"] = values
    return texts


def _as_json(value: Any) -> str:
    """JSON that can end no element of a page: it stands in a block of data."""
    text = json.dumps(value, ensure_ascii=True, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
