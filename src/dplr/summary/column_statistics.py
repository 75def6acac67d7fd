"""A number for each column with its interval: marginal effects, standardised coefficients, variance inflation."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dplr._kit import markup
from dplr._kit.extras import pandas
from dplr._kit.markup import printable
from dplr.inference.determination import Squares, deviation_ratio, inflation
from dplr.inference.intervals import check_level
from dplr.inference.slope import average_effects, mean_slope
from dplr.privacy.estimand import Estimand
from dplr.summary.columns import INTERCEPT
from dplr.summary.render import CANNOT_SAY, decimals, filled, rounded
from dplr.summary.subject import Equation, Subject, lines_of
from dplr.summary.table import Line

EFFECTS, STANDARDISED, INFLATION = "marginal effect", "standardised coefficient", "variance inflation"
_NO_CONSTANT = "without an intercept the mean of p(1 - p) is not among the released numbers"
_NO_RATES = "the mean count is not among the released numbers; `summary().rate_ratios()` are factors of it"
_NO_COUNT = "the number of rows is not public, and the release does not tell it"
_NO_VARIANCES = "the variances of columns and target are not among the released numbers"
_WEIGHTED = "rows count differently, and the release does not tell how much"
_NO_MEANS = "without an intercept the means of the columns are not among the released numbers"
_NO_BOUNDS = "the columns have no bounds of their own, so that nobody knows how their variances scatter"
_DIGITS, _INFLATION_DIGITS = 20, 3  # decimals at most
_ABOUT = {
    Estimand.LOG_ODDS: "The derivative of the probability of {} by the column, averaged over rows: log odds times the "
    "mean of p(1 - p), also for flags and levels. Intervals are those of the delta "
    "method; what the release does not tell of the mean of p(1 - p) counts in the worst direction.",
    Estimand.PROBABILITY: "The model is linear in the probability: its coefficients are the marginal effects.",
    Estimand.MEAN: "The model is linear in the mean: its coefficients are the marginal effects.",
    Estimand.LOCATION: "The model is linear in the robust location: its coefficients are the marginal effects.",
    Estimand.LOG_RATE: "The derivative of the mean by the column, averaged over rows.",
}
_STANDARDS = (
    "The coefficient times the standard deviation of the column over that of the target, in the population. Intervals "
    "are products of those of the two: the delta method, with the correlation of their errors that is worst."
)
_INFLATIONS = "1/(1 - R^2) of each column on all others. Intervals hold for columns of any law within their bounds."
Ends = tuple[float, float, float]


@dataclass(frozen=True, slots=True)
class ColumnStatistic:
    """A number about a column, in the population.

    Attributes
    ----------
    name, label, reference : as of the line of a table.
    estimate, low, high : the number and the ends of its interval; nan where the released numbers cannot say.
    """

    name: str
    label: str
    estimate: float
    low: float
    high: float
    reference: str = ""


@dataclass(frozen=True, slots=True)
class ColumnStatistics:
    """A number for each column of a model, with its interval.

    Attributes
    ----------
    kind : {"marginal effect", "standardised coefficient", "variance inflation"}
        What the numbers are.
    lines : tuple of objects
        One for each column with `name`, `label`, `estimate`, `low`, `high` and `reference`; nan where the released
        numbers cannot say. The label is the class against all others, with more than two classes; else empty.
    level : float
        Of each interval.
    note : str
        What the numbers mean, and what the intervals count.
    obstacle : str, default=""
        Why the release has none of them; empty where it has.

    Privacy
    -------
    Post-processing of what was released: it costs nothing further.

    See Also
    --------
    dplr.LogisticRegression.marginal_effects : Makes one.
    dplr.LinearRegression.standardised_coefficients : Makes one.
    dplr.LinearRegression.variance_inflation : Makes one.

    Examples
    --------
    >>> import dplr
    >>> print(dplr.results.ColumnStatistics("variance inflation", (), 0.95, "Of no column."))
    variance inflation  estimate  95 % interval
    Of no column.
    """

    kind: str
    lines: tuple[ColumnStatistic, ...]
    level: float
    note: str
    obstacle: str = ""

    def __str__(self) -> str:
        rows = self._rows
        widths = [max(len(row[k]) for row in rows) for k in range(len(rows[0]))]
        flush = len(rows[0]) - 2
        lines = [
            "  ".join(
                cell.ljust(width) if k < flush else cell.rjust(width)
                for k, (cell, width) in enumerate(zip(row, widths, strict=True))
            ).rstrip()
            for row in rows
        ]
        return "\n".join([*lines, *(line for text in self._notes for line in filled(text))])

    def _repr_html_(self) -> str:
        """Return the numbers for notebooks, and what they mean."""
        head, *rows = self._rows
        shown = markup.excerpt(head, rows, "lines", names=len(head) - 2)
        return markup.piece("", shown, *map(markup.paragraph, self._notes))

    @property
    def _several(self) -> bool:
        return any(line.label for line in self.lines)

    @property
    def _rows(self) -> list[list[str]]:
        """Cells, the headings first."""
        head = [*(["class"] if self._several else []), self.kind, "estimate", f"{100 * self.level:g} % interval"]
        most = _INFLATION_DIGITS if self.kind == INFLATION else _DIGITS
        return [head, *([*([line.label] if self._several else []), *_cells(line, most)] for line in self.lines)]

    @property
    def _notes(self) -> list[str]:
        """The meaning of the numbers, and why there are none."""
        against = ["Each class against all others."] if self._several else []
        reason = [f"{CANNOT_SAY[0].upper()}{CANNOT_SAY[1:]}: {self.obstacle}."] if self.obstacle else []
        return [*against, *reason, self.note]

    def to_frame(self) -> Any:
        """Return a pandas data frame, one row per column of the model.

        Returns
        -------
        pandas.DataFrame
            Indexed by the names, with the columns `label`, `estimate`, `low`, `high` and `reference`.

        Raises
        ------
        ModuleNotFoundError
            pandas is not installed.

        Privacy
        -------
        Post-processing of what was released.
        """
        names = ColumnStatistic.__slots__
        records = [[getattr(line, name) for name in names] for line in self.lines]
        return pandas().DataFrame(records, columns=list(names)).set_index("name")


def marginal_effects(subject: Subject, level: float, effect_bound: float | None) -> ColumnStatistics:
    """The mean change of the mean, or of the probability, per unit of each column."""
    estimand, constant = subject.equations[0].reading.estimand, INTERCEPT in subject.names
    check_level(level)
    if estimand is not Estimand.LOG_ODDS:
        obstacle = _NO_RATES if estimand is Estimand.LOG_RATE else ""
        return _scaled(subject, EFFECTS, level, effect_bound, lambda equation, place: None, _ABOUT[estimand], obstacle)
    about = _ABOUT[estimand].format("each class" if len(subject.equations) > 1 else subject.facts["target"])
    reading = subject.equations[0].reading
    obstacle = _WEIGHTED if subject.weighted else "" if constant else _NO_CONSTANT
    obstacle = obstacle or (_NO_COUNT if reading.n_rows is None else "")
    slopes = {
        id(equation): mean_slope(equation.reading, level, equation.bounds(effect_bound))
        for equation in subject.equations
        if not obstacle
    }
    found = _scaled(
        subject, EFFECTS, level, effect_bound, lambda equation, place: slopes[id(equation)], about, obstacle
    )
    return found if obstacle else replace(found, lines=tuple(_narrower(subject, found, effect_bound)))


def _narrower(subject: Subject, products: ColumnStatistics, effect_bound: float | None) -> Iterator[ColumnStatistic]:
    """Average effects with the covariance of the release, where it bounds all coefficients; else the products."""
    places = [
        subject.names.index(line.name) for line in products.lines[: len(products.lines) // len(subject.equations)]
    ]
    lines = iter(products.lines)
    for equation in subject.equations:
        bounds = equation.bounds(effect_bound)
        effects = average_effects(equation.reading, equation.contrasts[places], products.level, bounds)
        for estimate, low, high in effects.tolist():
            line = next(lines)
            narrower = high - low < line.high - line.low  # nan is not
            yield replace(line, estimate=estimate, low=low, high=high) if narrower else line


def standardised_coefficients(subject: Subject, level: float, effect_bound: float | None) -> ColumnStatistics:
    """The coefficient of each column in standard deviations of column and target."""
    check_level(level)
    obstacle = _no_moments(subject, target=True) or ("" if subject.boxed else _NO_BOUNDS)

    def factor(equation: Equation, place: int) -> Ends:
        reading = equation.reading
        squares = Squares.of(reading, INTERCEPT in subject.names)
        unit = float(equation.contrasts[place, place]) * reading.factor  # the user's units of the coefficient
        ratio = deviation_ratio(squares, float(reading.sizes[place]), place + 1, level)
        return ratio[0] / unit, ratio[1] / unit, ratio[2] / unit

    return _scaled(subject, STANDARDISED, level, effect_bound, factor, _STANDARDS, obstacle)


def variance_inflation(subject: Subject, level: float) -> ColumnStatistics:
    """How much larger the variance of each coefficient is than with uncorrelated columns."""
    check_level(level)
    obstacle = _no_moments(subject, target=False) or ("" if subject.boxed else _NO_BOUNDS)
    lines = []
    equation = subject.equations[0]  # of all classes: they have the same columns
    reading, constant = equation.reading, INTERCEPT in subject.names
    for place, name in enumerate(subject.names):
        if name != INTERCEPT:
            ends: Ends = (math.nan, math.nan, math.nan)
            if not obstacle:
                assert reading.n_rows is not None
                parts = reading.matrix, reading.cells, reading.tied, reading.n_rows, constant, reading.laplace
                ends = inflation(Squares(*parts), reading.sizes, level, place)
            lines.append(ColumnStatistic(name, "", *ends, subject.against[place]))
    return ColumnStatistics(INFLATION, tuple(lines), level, _INFLATIONS, obstacle)


def _no_moments(subject: Subject, target: bool) -> str:
    """Why a release has no variances of the columns, or of columns and target; empty where it has."""
    reading = subject.equations[0].reading
    if subject.weighted or reading.clustered:
        return _WEIGHTED
    if reading.estimand not in (Estimand.MEAN, Estimand.PROBABILITY) or (target and reading.square is None):
        return _NO_VARIANCES
    if INTERCEPT not in subject.names:
        return _NO_MEANS
    return _NO_COUNT if reading.n_rows is None else ""


def _scaled(
    subject: Subject,
    kind: str,
    level: float,
    effect_bound: float | None,
    factor: Callable[[Equation, int], Ends | None],
    note: str,
    obstacle: str = "",
) -> ColumnStatistics:
    """Coefficients times a factor each, both with an interval; a factor of None is 1."""
    places = [k for k, name in enumerate(subject.names) if name not in {INTERCEPT, *subject.parts}]
    lines: list[ColumnStatistic] = []
    for equation in subject.equations:
        factors = [(math.nan,) * 3 if obstacle else factor(equation, place) for place in places]
        table = [] if obstacle else lines_of(replace(subject, equations=[equation]), level, False, effect_bound)
        for place, multiplier in zip(places, factors, strict=True):
            ends = (math.nan,) * 3 if obstacle else _product(table[place], multiplier or (1.0, 1.0, 1.0))
            lines.append(ColumnStatistic(subject.names[place], equation.label, *ends, subject.against[place]))
    return ColumnStatistics(kind, tuple(lines), level, note, obstacle)


def _product(line: Line, factor: Ends) -> Ends:
    """The product of a coefficient and its factor, and the ends of all products of points of the two intervals."""
    if not line.bounded or any(math.isnan(end) for end in factor):
        return math.nan, math.nan, math.nan
    corners = np.outer((line.low, line.high), factor[1:])
    return line.estimate * factor[0], float(corners.min()), float(corners.max())


def _cells(line: ColumnStatistic, most: int) -> Sequence[str]:
    name = printable(f"{line.name} vs {line.reference}" if line.reference else line.name)
    return [name, *_numbers(line, most)]


def _numbers(line: ColumnStatistic, most: int) -> Iterator[str]:
    if math.isnan(line.estimate):
        yield from ("", CANNOT_SAY)
        return
    places = min(decimals((line.high - line.low) / 4), most)
    yield rounded(line.estimate, places)
    yield f"[{rounded(line.low, places)}, {rounded(line.high, places)}]"
