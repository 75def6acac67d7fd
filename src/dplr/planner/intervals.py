"""The expected intervals of coefficients at the points of a curve, and their printed forms."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dplr._kit import markup
from dplr.summary.columns import INTERCEPT

if TYPE_CHECKING:
    from dplr.planner.curve import Curve, Point

LEVEL = 0.95
SILENT = 0.5  # share of fits from which on a coefficient is expected to be unsaid


@dataclass(frozen=True, slots=True)
class Width:
    """The expected interval of one coefficient: an entry of `Point.intervals`.

    Attributes
    ----------
    name : str
        Name of the coefficient.
    width : float
        Median width over simulated fits, in the user's units; infinite where most of them cannot say.
    plain : float
        Median width of the same fits without privacy.
    unsaid : float
        Share of the simulated fits whose release does not bound the coefficient, in [0, 1].

    Privacy
    -------
    A function of public facts and of assumptions: no private row was read, and nothing was spent.

    See Also
    --------
    dplr.planner.Point : Holds one for each coefficient.

    Examples
    --------
    >>> import dplr
    >>> options = {"n_rows": 20_000, "eps": 1.0, "model": "linear", "mechanism": "fm", "intervals": True}
    >>> (point,) = dplr.plan_curve(bounds=dplr.Bounds({"age": (18, 99)}, target=(0, 100)), **options).points
    >>> age = point.intervals[0]
    >>> age.name, age.width > age.plain
    ('age', True)
    """

    name: str
    width: float
    plain: float
    unsaid: float


def silent_of(coefficients: Iterable[Width]) -> list[Width]:
    """Those that most fits will not bound."""
    return [coef for coef in coefficients if coef.unsaid >= SILENT]


def all_silent(coefficients: Iterable[Width]) -> bool:
    """Whether most fits will bound no coefficient of a column: the table will say nothing."""
    return all(coef.unsaid >= SILENT for coef in coefficients if coef.name != INTERCEPT)


def warning_of(coefficients: Iterable[Width]) -> str:
    """The sentence on coefficients that will be unsaid; empty where there are none."""
    silent = silent_of(coefficients)
    if not silent:
        return ""
    shares = [coef.unsaid for coef in silent]
    share = f"{shares[0]:.0%}" if min(shares) == max(shares) else f"{min(shares):.0%} to {max(shares):.0%}"
    names = ", ".join(coef.name for coef in silent)
    remedy = "Merge rare levels, leave columns out, or take a larger eps or more rows"
    return f"Cannot say in {share} of fits: {names}. {remedy}: the release is paid for either way."


def text_of(curve: Curve) -> str:
    """One line for each coefficient, with a column for each of several points; what is unsaid, and what was assumed."""
    if len(curve.points) > 1:
        heads, rows = _heads(curve.points), _rows(curve.points)
        longest = max(len(row[0]) for row in rows)
        lines = ["  ".join([" " * (longest + 2), *heads]).rstrip()]
        for name, *widths in rows:
            cells = (width.rjust(len(head)) for width, head in zip(widths, heads, strict=True))
            lines.append("  ".join([f"  {name.ljust(longest)}", *cells]))
    else:
        coefficients = curve.points[0].intervals
        longest = max(len(coef.name) for coef in coefficients)
        lines = [f"  {coef.name.ljust(longest)}  {_words(coef)}" for coef in coefficients]
    return "\n".join([_title(curve), *lines, *_warnings(curve.points), *_notes(curve)])


def html_of(curve: Curve) -> tuple[markup.Html, ...]:
    """The same as parts of a piece of HTML."""
    if len(curve.points) > 1:
        head, rows = ["", *_heads(curve.points)], _rows(curve.points)
    else:
        head = ["", "width", "times that without privacy", "of fits cannot say"]
        rows = [[coef.name, *_cells(coef)] for coef in curve.points[0].intervals]
    return (
        markup.paragraph(f"{_title(curve)}."),
        markup.alarms(_warnings(curve.points)),
        markup.excerpt(head, rows, "coefficients"),
        markup.sentences(_notes(curve)),
    )


def _title(curve: Curve) -> str:
    title = f"Expected width of {100 * LEVEL:g} % intervals, median of {curve.fits} simulated fits"
    if len(curve.points) > 1:
        return title
    (point,) = curve.points
    return f"{title} (eps = {point.eps:g}, {point.n_rows:,} rows)"


def _heads(points: Sequence[Point]) -> list[str]:
    """What each point is; its delta where there are several."""
    several = len({point.delta for point in points}) > 1
    deltas = [f", delta {point.delta:g}" if several else "" for point in points]
    return [f"{p.n_rows:,} rows, eps {p.eps:g}{delta}" for p, delta in zip(points, deltas, strict=True)]


def _rows(points: Sequence[Point]) -> list[list[str]]:
    """The name of each coefficient, and its width at each point."""
    names = dict.fromkeys(coef.name for point in points for coef in point.intervals)
    columns = [{coef.name: _cells(coef)[0] for coef in point.intervals} for point in points]
    return [[name, *(column.get(name, "") for column in columns)] for name in names]


def _warnings(points: Sequence[Point]) -> list[str]:
    heads = [f"{head}: " for head in _heads(points)] if len(points) > 1 else [""]
    texts = zip(heads, (warning_of(point.intervals) for point in points), strict=True)
    return [f"{head}{text}" for head, text in texts if text]


def _notes(curve: Curve) -> list[str]:
    """Widths of merged levels, and what was assumed."""
    merged = [f"Merged into one level, {coef.name}: {_words(coef)}." for point in curve.points for coef in point.merged]
    return [*merged, *(f"Assumed: {fact}." for fact in curve.assumptions)]


def _cells(coef: Width) -> tuple[str, str, str]:
    """The width of one coefficient, its ratio to that without privacy, and how often there is none."""
    if not math.isfinite(coef.width):
        return "cannot say", "", f"{coef.unsaid:.0%}"
    return f"{coef.width:.3g}", f"{coef.width / coef.plain:.2g}", f"{coef.unsaid:.0%}" if coef.unsaid > 0 else ""


def _words(coef: Width) -> str:
    """The width of one coefficient, and how often there is none."""
    width, ratio, unsaid = _cells(coef)
    if not ratio:
        return width
    return f"{width}, {ratio} times that without privacy" + (f"; {unsaid} of fits cannot say" if unsaid else "")
