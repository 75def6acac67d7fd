"""The points of a curve with the expected intervals of their coefficients, and the printed forms of these."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from dplr._kit import markup
from dplr.planner.laws import NARROW
from dplr.summary.columns import INTERCEPT

LEVEL = 0.95
SILENT = 0.5  # share of fits from which on a coefficient is expected to be unsaid
# The largest share of fits of narrow columns in which a coefficient that is announced to be told is not.
PROMISED = 0.1
_NAMED = 8  # coefficients in a sentence
_COMPARED = 0.5  # least ratio to the width without privacy that is shown
_REMEDY = "Merge rare levels, leave columns out, or take tighter bounds, a larger eps or more rows."


@dataclass(frozen=True, slots=True)
class Width:
    """The expected interval of one coefficient: an entry of `Point.intervals`.

    Attributes
    ----------
    name : str
        Name of the coefficient.
    width : float
        Median width over simulated fits of narrow columns, in the user's units; infinite where most of them cannot say.
    plain : float
        Median width of the same fits without privacy.
    unsaid : float
        Share of the simulated fits whose release does not bound the coefficient, in [0, 1].
    best : float
        Median width where columns fill their bounds.
    best_unsaid : float
        Share of these fits whose release does not bound the coefficient.

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
    best: float = math.nan
    best_unsaid: float = math.nan


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """One mechanism at one eps, delta and number of rows.

    Attributes
    ----------
    mechanism : str
        Shorthand of the mechanism.
    eps, delta : float
        The privacy loss that was asked for.
    n_rows : int
        The number of rows that was asked for.
    auto : bool
        Whether `mechanism="auto"` takes this mechanism there.
    error : float
        Expected error by simulation, on rows that were not fitted.
    standard_error : float
        Standard error of `error`, over simulated tables.
    non_private : float
        Error of the same tables without privacy.
    baseline : float
        Error of always giving the most frequent label, or the mean.
    kept : float
        Share of what a model without privacy gains over the baseline that is left; below 0 for none.
    coef_noise : tuple of float
        Standard deviation of the noise on each coefficient, in the user's units, (n_columns,).
    coef_distance : tuple of float
        Root mean squared distance of each coefficient from that without privacy, in the user's units, (n_columns,):
        noise and shrinkage together.
    noise : dict of str to float
        Standard deviation of what the mechanism itself perturbs, by the name of the block; exact, not simulated.
    excess_risk : float or None
        What the objective ends above its minimum at most, with probability 0.95; None where no theorem covers the fit.
    simulated_rows : int
        Rows of the simulated tables; below `n_rows` where tables would be too large, and `error` is then an upper
        estimate.
    intervals : tuple of dplr.planner.Width
        The expected interval of each coefficient, the intercept last; empty without ``intervals=True``.
    merged : tuple of dplr.planner.Width
        One for the silent levels of each column, if there are several, as if they were merged into one. Only where
        their shares are declared and the curve has one point.

    Privacy
    -------
    A function of public facts and of assumptions: no private row was read, and nothing was spent.

    See Also
    --------
    dplr.planner.Curve : Holds all points.

    Examples
    --------
    >>> import dplr
    >>> options = {"eps": [0.5], "delta": [0.0], "n_rows": [1000], "n_features": 2, "mechanism": "fm"}
    >>> (point,) = dplr.plan_curve(**options).points
    >>> point.mechanism, point.eps, sorted(point.noise)
    ('fm', 0.5, ['diagonal', 'linear', 'off_diagonal'])
    """

    mechanism: str
    eps: float
    delta: float
    n_rows: int
    auto: bool
    error: float
    standard_error: float
    non_private: float
    baseline: float
    kept: float
    coef_noise: tuple[float, ...]
    coef_distance: tuple[float, ...]
    noise: dict[str, float]
    excess_risk: float | None
    simulated_rows: int
    intervals: tuple[Width, ...] = ()
    merged: tuple[Width, ...] = ()

    @property
    def silent(self) -> tuple[str, ...]:
        """Coefficients that most fits of narrow columns will not bound, a tuple of str."""
        return tuple(coef.name for coef in silent_of(self.intervals))

    @property
    def all_silent(self) -> bool:
        """Whether most fits will bound no coefficient of a column, even where columns fill their bounds."""
        return bool(self.intervals) and all_silent(self.intervals)


def silent_of(coefficients: Iterable[Width]) -> list[Width]:
    """Those that most fits of narrow columns will not bound."""
    return [coef for coef in coefficients if coef.unsaid >= SILENT]


def all_silent(coefficients: Iterable[Width]) -> bool:
    """Whether most fits will bound no coefficient of a column, even where columns fill their bounds."""
    return all(coef.best_unsaid >= SILENT for coef in coefficients if coef.name != INTERCEPT)


def announced(coefficients: Iterable[Width]) -> tuple[list[str], list[str]]:
    """Names of coefficients that will be unsaid whatever columns are like, and of those that may be."""
    unsure = [coef for coef in coefficients if coef.unsaid > PROMISED]
    silent = [coef.name for coef in unsure if coef.best_unsaid >= SILENT]
    return silent, [coef.name for coef in unsure if not coef.best_unsaid >= SILENT]


def warning_of(coefficients: Iterable[Width], advice: str = "") -> str:
    """The sentences on lines that will or may say nothing, and an advice; empty where all are expected to speak."""
    silent, doubtful = announced(coefficients)
    words = []
    if silent:
        words.append(f"Expected to say nothing in any case: {listed(silent)}.")
    if doubtful:
        words.append(
            f"May say nothing: {listed(doubtful)}. Such lines speak if columns fill their bounds, and not if these are "
            f"narrow: numbers with a deviation of {NARROW:.0%} of their bounds, rare flags and levels."
        )
    if words:
        words += [advice or _REMEDY, "The release is paid for either way."]
    return " ".join(words)


def listed(names: Sequence[str]) -> str:
    """Names in a sentence, the first of many."""
    more = len(names) - _NAMED
    *first, last = names if more <= 1 else [*names[:_NAMED], f"{more} more"]
    return f"{', '.join(first)} and {last}" if first else last


def text_of(points: Sequence[Point], fits: int, assumptions: Iterable[str]) -> str:
    """One line for each coefficient, with a column for each of several points; what is unsaid, and what was assumed."""
    if len(points) > 1:
        heads, rows = _heads(points), _rows(points)
        longest = max(len(row[0]) for row in rows)
        lines = ["  ".join([" " * (longest + 2), *heads]).rstrip()]
        for name, *widths in rows:
            cells = (width.rjust(len(head)) for width, head in zip(widths, heads, strict=True))
            lines.append("  ".join([f"  {name.ljust(longest)}", *cells]))
    else:
        coefficients = points[0].intervals
        longest = max(len(coef.name) for coef in coefficients)
        lines = [f"  {coef.name.ljust(longest)}  {_words(coef)}" for coef in coefficients]
    return "\n".join([_title(points, fits), *lines, *_warnings(points), *_notes(points, assumptions)])


def html_of(points: Sequence[Point], fits: int, assumptions: Iterable[str]) -> tuple[markup.Html, ...]:
    """The same as parts of a piece of HTML."""
    if len(points) > 1:
        head, rows = ["", *_heads(points)], _rows(points)
    else:
        head = ["", "width", "times that without privacy", "of fits cannot say", "where columns fill their bounds"]
        rows = [[coef.name, *_cells(coef)] for coef in points[0].intervals]
    return (
        markup.paragraph(f"{_title(points, fits)}."),
        markup.alarms(_warnings(points)),
        markup.excerpt(head, rows, "coefficients"),
        markup.sentences(_notes(points, assumptions)),
    )


def _title(points: Sequence[Point], fits: int) -> str:
    title = f"Expected width of {100 * LEVEL:g} % intervals, median of {fits} simulated fits"
    if len(points) > 1:
        return f"{title} (in brackets: where columns fill their bounds)"
    (point,) = points
    return f"{title} (eps = {point.eps:g}, {point.n_rows:,} rows)"


def _heads(points: Sequence[Point]) -> list[str]:
    """What each point is; its delta where there are several."""
    several = len({point.delta for point in points}) > 1
    deltas = [f", delta {point.delta:g}" if several else "" for point in points]
    return [f"{p.n_rows:,} rows, eps {p.eps:g}{delta}" for p, delta in zip(points, deltas, strict=True)]


def _rows(points: Sequence[Point]) -> list[list[str]]:
    """The name of each coefficient, and its width at each point; in brackets that where columns fill their bounds."""
    names = dict.fromkeys(coef.name for point in points for coef in point.intervals)
    columns = [{coef.name: _both(coef) for coef in point.intervals} for point in points]
    return [[name, *(column.get(name, "") for column in columns)] for name in names]


def _warnings(points: Sequence[Point]) -> list[str]:
    heads = [f"{head}: " for head in _heads(points)] if len(points) > 1 else [""]
    texts = zip(heads, (warning_of(point.intervals) for point in points), strict=True)
    return [f"{head}{text}" for head, text in texts if text]


def _notes(points: Sequence[Point], assumptions: Iterable[str]) -> list[str]:
    """Widths of merged levels, and what was assumed."""
    merged = [f"Merged into one level, {coef.name}: {_words(coef)}." for point in points for coef in point.merged]
    return [*merged, *(f"Assumed: {fact}." for fact in assumptions)]


def _cells(coef: Width) -> tuple[str, str, str, str]:
    """The width of one coefficient, its ratio to that without privacy, how often there is none, and the best width."""
    unsaid = f"{coef.unsaid:.0%}" if coef.unsaid > 0 else ""
    best = "cannot say" if coef.best_unsaid >= SILENT else f"{coef.best:.3g}"
    best = "" if math.isnan(coef.best_unsaid) or coef.best == coef.width else best
    if not math.isfinite(coef.width):
        return "cannot say", "", unsaid, best
    ratio = coef.width / coef.plain if coef.plain > 0 else math.nan
    # Far below 1 it says nothing: the rows without noise do not tell the coefficient either.
    return f"{coef.width:.3g}", f"{ratio:.2g}" if ratio > _COMPARED else "", unsaid, best


def _both(coef: Width) -> str:
    """The width of one coefficient, and in brackets what it is where columns fill their bounds."""
    width, *_, best = _cells(coef)
    return f"{width} ({best})" if best else width


def _words(coef: Width) -> str:
    """The width of one coefficient, how often there is none, and what it is where columns fill their bounds."""
    width, ratio, unsaid, best = _cells(coef)
    words = [f"{width}, {ratio} times that without privacy" if ratio else width]
    words += [f"{unsaid} of fits cannot say"] if unsaid and math.isfinite(coef.width) else []
    words += [f"{best} where columns fill their bounds"] if best else []
    return "; ".join(words)
