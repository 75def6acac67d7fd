"""Which lines of a table of coefficients may say nothing, before anything is paid: from public facts alone.

A line is promised where simulated fits of narrow columns tell it. Of others the words say whether they are told where
columns fill their bounds, and one change that would make lines speak.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property

from dplr._kit.warnings import UtilityWarning, warn
from dplr.bounds.columns import Numeric
from dplr.fitting.aims import COEFFICIENTS
from dplr.fitting.planning import PublicFacts
from dplr.mechanisms.protocol import chosen_columns
from dplr.planner.assumptions import Assumptions
from dplr.planner.laws import NARROW
from dplr.planner.points import LEVEL, Width, all_silent, announced, listed, warning_of
from dplr.planner.simulation import simulator
from dplr.problem.plan import Plan
from dplr.summary.columns import choose

BASIS = "This is simulated from the bounds and other public facts: no row was read."
# Rows of a simulated table. More of them make noise count for less, as a larger eps does, up to one of hardly any.
_ROWS, _HARDLY = 20_000, 50.0
# What is tried until lines speak: numbers whose bounds are so many times as narrow, and a larger eps.
_NARROWER = 2, 4, 6
_LARGER, _MOST_EPS = (2.0, 5.0, 10.0), 10.0
_KEPT = 64
# Coefficients, over all classes, up to which a preview takes seconds.
_MOST = 30
_NOT_FORESEEN = (
    f"Of a table with more than {_MOST} coefficients it is not foreseen which lines may say nothing, as that takes "
    "minutes: `dplr.plan_curve(..., intervals=True)` or `dplr plan --intervals` does."
)
_LAST: dict[tuple[object, ...], Preview] = {}


@dataclass(frozen=True, eq=False)
class Preview:
    """What the table of a fit is expected to say.

    Attributes
    ----------
    facts : of the fit, with a public number of records or persons.
    eps : of the fit.
    planned : its plan, which has intervals.
    """

    facts: PublicFacts
    eps: float
    planned: Plan

    @cached_property
    def lines(self) -> tuple[Width, ...]:
        """The coefficients, and how often short simulations do not tell them; without widths."""
        narrow = self._unsaid(self.eps, 0)
        if not all(narrow.values()):  # what one fit tells, another one may not
            narrow = {name: (narrow[name] + again) / 2 for name, again in self._unsaid(self.eps, 1).items()}
        filled = self._unsaid(self.eps, 0, narrow=False) if any(narrow.values()) else narrow
        if any(filled.values()) and not all(filled.values()):  # what is silent once may speak
            filled = {name: min(filled[name], again) for name, again in self._unsaid(self.eps, 1, narrow=False).items()}
        return tuple(Width(name, math.nan, math.nan, narrow[name], math.nan, filled[name]) for name in narrow)

    @property
    def silent(self) -> bool:
        """Whether no line of a column is expected to speak, even where columns fill their bounds."""
        return self.foreseen and all_silent(self.lines)

    @property
    def foreseen(self) -> bool:
        """Whether there are few enough coefficients."""
        layout, classes = self.facts.layout, len(self.facts.classes or ())
        columns = self.facts.n_features if layout is None else len(layout.names)
        return columns * (classes if classes > 2 else 1) <= _MOST

    @cached_property
    def warning(self) -> str:
        """The sentences on lines that may say nothing, with one advice; empty where all are expected to speak."""
        if not self.foreseen:
            return _NOT_FORESEEN
        silent, doubtful = announced(self.lines)
        if not silent and not doubtful:
            return ""
        advice = self._of_bounds(doubtful) or self._of_eps([*silent, *doubtful])
        return f"{warning_of(self.lines, advice)} {BASIS}"

    def _of_bounds(self, doubtful: list[str]) -> str:
        """How narrow the bounds of numbers must be for lines of some to be told."""
        layout = self.facts.layout
        pairs = [] if layout is None else zip(layout.features, layout.columns, strict=True)
        numbers = {name: column for name, column in pairs if isinstance(column, Numeric) and not column.flag}
        own = [name for name in doubtful if name in numbers and numbers[name].transform == "clip"]
        for times in _NARROWER if own else ():
            spread = dict.fromkeys(numbers, (0.5, times * NARROW))
            unsaid = self._unsaid(self.eps, 0, spread=spread)
            if told := [name for name in own if not unsaid[name]]:
                width = numbers[told[0]].upper - numbers[told[0]].lower
                others = ", and other numbers likewise," if len(numbers) > 1 else ","
                lines = "its line" if len(told) == 1 else _lines(told)
                wider = f"at {width / times:.3g} wide, or with a deviation of {times * NARROW:.0%} of them{others}"
                return f"`{told[0]}` has bounds {width:g} wide; {wider} {lines} would speak."
        return ""

    def _of_eps(self, unsure: list[str]) -> str:
        """At which eps all lines would be told, or else the first of them."""
        best: tuple[float, list[str]] = (math.inf, [])
        for eps in [self.eps * times for times in _LARGER if self.eps * times <= _MOST_EPS]:
            unsaid = self._unsaid(eps, 0)
            told = [name for name in unsure if not unsaid[name]]
            if len(told) > len(best[1]):
                best = eps, told
            if len(told) == len(unsure):
                break
        return f"At eps = {best[0]:g} {_lines(best[1])} would speak." if best[1] else ""

    def _unsaid(
        self, eps: float, number: int, narrow: bool = True, spread: Mapping[str, object] | None = None
    ) -> dict[str, float]:
        """Coefficients that one simulated fit does not tell."""
        assert self.facts.n_rows is not None
        rows, mechanism = min(self.facts.n_rows, _ROWS), self.planned.mechanism
        simulated = simulator(self.facts, Assumptions(fits=1, rows=_ROWS, spread=spread), narrow)
        kept = chosen_columns(mechanism)
        chosen = choose(simulated.names, self.facts.layout, self.facts.fit_intercept, kept)
        level = max(eps, min(eps * self.facts.n_rows / rows, _HARDLY))
        plan = mechanism, level, self.facts.delta, rows, LEVEL, chosen.coordinates
        (widths,) = simulated.table_widths(number, *plan)
        return dict(zip(chosen.names, (~(widths < math.inf)).astype(float).tolist(), strict=True))


def _lines(names: list[str]) -> str:
    return f"the {'line' if len(names) == 1 else 'lines'} of {listed(names)}"


def preview(facts: PublicFacts, eps: float, planned: Plan | None = None) -> Preview | None:
    """The preview of a fit with these facts; previews of the last ones are kept.

    None where the release has no intervals, and where public facts do not tell: without a number of rows, with a
    public start, and for rows that a map made.
    """
    if facts.n_rows is None or facts.public is not None or facts.features is not None or math.isinf(eps):
        return None
    facts = facts.at(eps)
    if (layout := facts.layout) is not None:  # without columns that the bounds do not name
        facts = replace(facts, n_features=len(layout.columns), columns=layout.features if layout.named else None)
    names = facts.n_features if layout is None else layout.names
    classes = None if facts.classes is None else len(facts.classes)
    key = (
        facts.loss,
        facts.mechanism,
        facts.delta,
        facts.bounds,
        names,
        facts.fit_intercept,
        facts.l2,
        facts.aim,
        str(facts.neighbouring),
        facts.n_rows,
        classes,
        facts.unit,
        eps,
    )
    if key not in _LAST:
        planned = facts.planned(eps) if planned is None else planned
        if planned.mechanism.lacks_intervals(planned.model):
            return None
        while len(_LAST) >= _KEPT:
            _LAST.pop(next(iter(_LAST)), None)
        _LAST[key] = Preview(replace(facts, assumptions=(), uncovered=()), eps, planned)
    return _LAST[key]


def warn_of_silence(facts: PublicFacts, planned: Mapping[float, Plan]) -> None:
    """Warn where lines of the table may say nothing, of the smallest eps, before anything is reserved."""
    if facts.aim == COEFFICIENTS:
        eps = min(planned)
        table = preview(facts, eps, planned[eps])
        if table is not None and table.warning:
            warn(table.warning, UtilityWarning)
