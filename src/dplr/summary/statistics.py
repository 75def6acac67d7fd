"""Statistics of a whole model below its table: explained variance, residual deviation, and tests of several slopes."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from scipy import special

from dplr.inference.determination import Squares
from dplr.inference.drowned import deviation_within, drowned, explained_within
from dplr.inference.reading import Reading
from dplr.privacy.estimand import Estimand
from dplr.summary.columns import INTERCEPT
from dplr.summary.render import CANNOT_SAY, decimals, p_text, rounded
from dplr.summary.subject import Subject, joint_test
from dplr.summary.table import Line

R_SQUARED, ADJUSTED, DEVIATION = "R-squared", "adjusted R-squared", "residual std. deviation"
ALL_SLOPES = "all slopes"
# Beyond such a difference a p-value is not the tail of its statistic.
_ROUNDED, _SMALLEST = 0.01, 1e-12


@dataclass(frozen=True, slots=True)
class FitStatistic:
    """A number about the whole model, in the population.

    Attributes
    ----------
    name : of the statistic.
    estimate, low, high : the number and the ends of its interval; nan where the released numbers cannot say.
    """

    name: str
    estimate: float
    low: float
    high: float

    @property
    def record(self) -> dict[str, Any]:
        """The fields of its row in a table of numbers."""
        return {"name": self.name, "estimate": self.estimate, "low": self.low, "high": self.high}

    def __str__(self) -> str:
        if math.isnan(self.estimate):
            return f"{self.name} {CANNOT_SAY}"
        places = decimals((self.high - self.low) / 4)
        low, high = rounded(self.low, places), rounded(self.high, places)
        return f"{self.name} {rounded(self.estimate, places)} [{low}, {high}]"


@dataclass(frozen=True, slots=True)
class TermTest:
    """A test that all coefficients of a column, or all slopes, are 0.

    Attributes
    ----------
    name : of the column, or `ALL_SLOPES`.
    label : the class that the model is about, with more than two classes; else empty.
    statistic, dof, p_value, verdict : as in `ScoreTest`.
    """

    name: str
    label: str
    statistic: float
    dof: int
    p_value: float
    verdict: str

    @property
    def record(self) -> dict[str, Any]:
        """The fields of its row in a table of numbers; the statistic where its tail is the p-value."""
        fields = {name: getattr(self, name) for name in ("name", "label", "p_value", "verdict", "dof")}
        return fields | {"statistic": self.statistic if _is_tail(self) else math.nan}

    def __str__(self) -> str:
        of = f"{self.label}: " if self.label else ""
        subject = "All slopes" if self.name == ALL_SLOPES else f"All coefficients of {self.name}"
        return f"{of}{subject} are 0: {_words_of(self)}"


def _words_of(test: TermTest) -> str:
    """The statistic, where its tail is the p-value, and the p-value."""
    if math.isnan(test.p_value):
        return f"{test.dof} df, {CANNOT_SAY}"
    shown = p_text(test.p_value)
    p = f"p {shown}" if shown.startswith("<") else f"p = {test.p_value:.3g}"
    if not _is_tail(test):
        return f"{test.dof} df, {p} (with room for how the noise was distributed)"
    return f"chi-square {test.statistic:.4g}, {test.dof} df, {p}"


def _is_tail(test: TermTest) -> bool:
    """Whether the p-value is the tail of the statistic."""
    tail = float(special.chdtrc(test.dof, test.statistic))
    return math.isclose(tail, test.p_value, rel_tol=_ROUNDED, abs_tol=_SMALLEST)


def fit_statistics(subject: Subject, level: float, effect_bound: float | None = None) -> tuple[FitStatistic, ...]:
    """R^2, that adjusted for the number of columns, and the residual deviation in the units of the target.

    Of linear models from moments alone; empty for others, and where rows count differently. Columns that noise drowns
    count with any effect up to its bound.
    """
    squares = _squares(subject)
    if squares is None:
        return ()
    equation = subject.equations[0]
    bounds = np.array(equation.bounds(effect_bound)) / equation.reading.sizes
    adjusted = explained_within(squares, bounds, level)
    n, q, fixed = squares.n_rows, len(bounds), int(squares.constant)
    factor = (n - q) / (n - fixed) if n > q else math.nan  # what R^2 is less for so many columns
    plain = [1 - factor * (1 - value) for value in adjusted]
    deviation = [subject.unit * value for value in deviation_within(squares, bounds, level)]
    about_zero = "" if squares.constant else " (uncentered)"
    return (
        FitStatistic(R_SQUARED + about_zero, *plain),
        FitStatistic(ADJUSTED + about_zero, *adjusted),
        FitStatistic(DEVIATION, *deviation),
    )


def drowned_words(subject: Subject, statistics: tuple[FitStatistic, ...], effect_bound: float | None) -> list[str]:
    """The columns that noise drowns, and what the statistics of the model count of them."""
    squares = _squares(subject)
    places = np.zeros(0, np.intp) if squares is None else drowned(squares) - 1
    if not len(places):
        return []
    names = ", ".join(subject.names[j] for j in places.tolist())
    bounded = effect_bound is not None or np.all(subject.equations[0].indicators[places])
    if all(math.isnan(statistic.estimate) for statistic in statistics):
        return [f"Noise drowns {names}: R-squared and the residual deviation need a model without it (columns=)."]
    return [
        f"R-squared and the residual deviation are estimated without {names}, which noise drowns: their intervals "
        f"count any effect of it{' up to effect_bound=' if bounded else ''}. They are shorter for a model without it "
        "(columns=)."
    ]


def _squares(subject: Subject) -> Squares | None:
    """The second moments of a linear model; None where it was not fitted from them, or rows count differently."""
    reading = subject.equations[0].reading
    moments = reading.square is not None and reading.n_rows is not None
    if len(subject.equations) > 1 or reading.estimand is not Estimand.MEAN or not moments or math.isnan(subject.unit):
        return None
    return _moments(reading, INTERCEPT in subject.names)


@lru_cache(maxsize=4)
def _moments(reading: Reading, constant: bool) -> Squares:
    """The moments of a reading: what noise drowns of them is then looked for once."""
    return Squares.of(reading, constant)


def term_tests(
    subject: Subject, level: float, effect_bound: float | None, lines: Sequence[Line]
) -> tuple[TermTest, ...]:
    """The test of all slopes, where there are several, and of each column with several coefficients.

    They read the verdicts of the lines of the table, which have this level.
    """
    return tuple(_term_tests(subject, level, effect_bound, lines))


def _term_tests(
    subject: Subject, level: float, effect_bound: float | None, lines: Sequence[Line]
) -> Iterator[TermTest]:
    slopes = [k for k, name in enumerate(subject.names) if name != INTERCEPT]
    groups = {ALL_SLOPES: slopes} if len(slopes) > 1 else {}
    for name, members in subject.groups.items():
        if 1 < len(members) < len(slopes):
            groups[name] = [subject.names.index(member) for member in members]
    known = np.array([line.verdict for line in lines]).reshape(len(subject.equations), -1)
    for verdicts, equation in zip(known, subject.equations, strict=True):
        for name, places in groups.items():
            test = joint_test(equation, places, np.zeros(len(places)), effect_bound, verdicts[places], level)
            yield TermTest(name, equation.label, test.statistic, test.dof, test.p_value, test.verdict)
