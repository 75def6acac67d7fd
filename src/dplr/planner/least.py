"""The smallest eps, or the fewest rows, at which intervals are expected to be narrow enough: by bisection."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from dplr._kit import markup
from dplr._kit.validation import check_count, check_eps, check_positive, sentence
from dplr.fitting.curves import AUTO
from dplr.fitting.planning import PublicFacts, check_promise
from dplr.planner.assumptions import Assumptions
from dplr.planner.widths import Measure, Widths, measure_of

LEAST_EPS, MOST_EPS = 0.01, 10.0
_LEAST_ROWS = 100
_CLOSE = 1.05  # the search ends where what misses and what meets the target are within this factor


@dataclass(frozen=True, slots=True, kw_only=True)
class WidthAnswer:
    """The smallest eps or the fewest rows for a width: what `dplr.plan_intervals` returns with `target_width`.

    Attributes
    ----------
    quantity : {"eps", "n_rows"}
        What was searched for.
    value : float
        The smallest one that was found at which the median width of every named coefficient meets its target.
    missed : float
        The largest one below it that was tried, which misses the target; 0 for none.
    target : mapping of str to float
        The widths that were asked for, in the user's units.
    widths : dplr.planner.Widths
        All expected widths at `value`.

    Privacy
    -------
    A function of public facts and of assumptions: no private row was read, and nothing was spent.

    See Also
    --------
    dplr.plan_intervals : Makes one.
    dplr.plan_target : Answers for an error, or for the distance of coefficients from those without privacy.

    Examples
    --------
    >>> import dplr
    >>> options = {"model": "linear", "mechanism": "fm", "bounds": dplr.Bounds({"age": (18, 99)}, target=(0, 100))}
    >>> answer = dplr.plan_intervals(n_rows=20_000, target_width={"age": 0.05}, **options)
    >>> answer.quantity, answer.missed < answer.value
    ('eps', True)
    """

    quantity: str
    value: float
    missed: float
    target: Mapping[str, float]
    widths: Widths

    def __str__(self) -> str:
        """Return the answer, then all widths at it."""
        return f"{self._title}\n{self.widths}"

    def _repr_html_(self) -> str:
        """Return the answer for notebooks, then all widths at it."""
        return markup.piece(self._title, *self.widths.parts)

    @property
    def _title(self) -> str:
        name = "eps" if self.quantity == "eps" else "number of rows"
        goals = ", ".join(f"{coef} {width:g}" for coef, width in self.target.items())
        tried = f"{self.missed:g} misses it" if self.missed else "nothing below it was tried"
        return f"Smallest {name}: {self.value:g}, by simulation ({tried}), for widths of {goals}"


def least_of(
    facts: PublicFacts, eps: Any, n_rows: Any, target: Any, assume: Assumptions, large_delta: bool
) -> WidthAnswer:
    """The smallest eps for a number of rows, or the fewest rows for an eps."""
    if (eps is None) == (n_rows is None):
        remedy = "Give n_rows for the smallest eps, or eps for the fewest rows."
        raise ValueError(sentence("n_rows", "or eps must be given with a target, and not both", n_rows, remedy))
    if facts.curves == AUTO:
        remedy = "What auto takes depends on the answer: give a number of knots."
        raise ValueError(sentence("curves", "must be None or a number with a target", facts.curves, remedy))
    if eps is None:
        count, level = check_count("n_rows", n_rows), MOST_EPS
        measure = measure_of(facts, level, count, assume)
    else:
        level = check_eps(eps)
        measure = measure_of(facts, level, _LEAST_ROWS, assume)
        count = measure.simulated.most_rows
    goals = _checked(target, measure.names(level, count))
    first, last = (LEAST_EPS, MOST_EPS) if eps is None else (_LEAST_ROWS, count)
    search = _Search(measure, goals, level if eps is not None else None, count if eps is None else None)
    missed, value, widths = search.between(float(first), float(last))
    # A delta must be small for the number of rows that was found.
    check_promise([widths.eps], replace(facts, n_rows=widths.n_rows), large_delta)
    return WidthAnswer(quantity=search.quantity, value=value, missed=missed, target=goals, widths=widths)


@dataclass(frozen=True, slots=True)
class _Search:
    """Values of eps for a number of rows, or numbers of rows for an eps; the one that is given is not None."""

    measure: Measure
    goals: Mapping[str, float]
    eps: float | None
    n_rows: int | None

    @property
    def quantity(self) -> str:
        """The name of the quantity that the search varies."""
        return "eps" if self.eps is None else "n_rows"

    def between(self, low: float, high: float) -> tuple[float, float, Widths]:
        """The largest value tried that misses, the smallest that meets the target, and the widths there."""
        best = self._at(high)
        if not self._met(best):
            raise ValueError(self._unreached(best))
        lowest = self._meeting(low)
        if lowest is not None:
            return 0.0, low, lowest
        while high > _CLOSE * low and (value := self._rounded(math.sqrt(low * high))) not in (low, high):
            widths = self._meeting(value)
            if widths is None:
                low = value
            else:
                high, best = value, widths
        return low, high, best

    def _meeting(self, value: float) -> Widths | None:
        """The widths here where they meet the target."""
        widths = self._at(value) if self._promises(value) else None
        return widths if widths is not None and self._met(widths) else None

    def _rounded(self, value: float) -> float:
        return float(f"{value:.3g}") if self.eps is None else float(round(value))

    def _pair(self, value: float) -> tuple[float, int]:
        if self.eps is None:
            assert self.n_rows is not None
            return value, self.n_rows
        return self.eps, int(value)

    def _at(self, value: float) -> Widths:
        return self.measure.at(*self._pair(value))

    def _promises(self, value: float) -> bool:
        """Whether there is a plan here: with too few rows or too small an eps some mechanisms have none."""
        try:
            self.measure.names(*self._pair(value))
        except ValueError:
            return False
        return True

    def _met(self, widths: Widths) -> bool:
        return all(coef.width <= self.goals[coef.name] for coef in widths.coefficients if coef.name in self.goals)

    def _unreached(self, widths: Widths) -> str:
        """Why no value was enough, and what to do."""
        tried = f"an eps of up to {widths.eps:g}" if self.eps is None else f"up to {widths.n_rows:,} rows"
        missing = [
            coef for coef in widths.coefficients if coef.name in self.goals and coef.width > self.goals[coef.name]
        ]
        got = ", ".join(f"{coef.name} {coef.width:.3g} ({coef.plain:.3g} without privacy)" for coef in missing)
        lever = "rows" if self.eps is None else "eps"
        remedy = f"Ask for wider ones, or give more {lever}."
        if self.eps is not None:
            remedy += " Assumptions(rows=...) simulates more rows."
        return sentence("target_width", f"must be reached with {tried}", got, remedy)


def _checked(target: Any, names: tuple[str, ...]) -> dict[str, float]:
    """The target by names of coefficients."""
    if not isinstance(target, Mapping) or not target:
        remedy = "Such as {'age': 0.05}, in the units of that coefficient."
        rule = "must be a mapping of names of coefficients to widths"
        raise TypeError(sentence("target_width", rule, target, remedy))
    unknown = [name for name in target if name not in names]
    if unknown:
        remedy = f"There are {list(names)[:20]}."
        raise ValueError(sentence("target_width", "must name coefficients of the model", unknown, remedy))
    return {name: check_positive("target_width", value) for name, value in target.items()}
