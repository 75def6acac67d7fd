"""The smallest eps, or the fewest rows, at which simulated fits reach a target: an error, a distance or intervals."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dplr._kit import markup
from dplr._kit.validation import check_positive, sentence
from dplr.fitting.curves import AUTO
from dplr.fitting.planning import PublicFacts, check_promise
from dplr.planner.assumptions import Assumptions
from dplr.planner.curve import ROOT_SQUARES, WRONG, Curve
from dplr.planner.points import html_of
from dplr.planner.simulation import Reference, Simulator, TableResult, simulator
from dplr.planner.sweep import curve_of
from dplr.planner.widths import Measure, Widths, measure_of

_LEAST_EPS, _MOST_EPS = 0.01, 10.0
_LEVELS = tuple(float(f"{level:.3g}") for level in np.geomspace(_LEAST_EPS, _MOST_EPS, 7))
_LEAST_ROWS, _FACTOR = 100, 4
_BETWEEN = 5  # steps between two levels in the second round
_SURE = 2.0  # standard errors
_CLOSE = 1.05  # a search for intervals ends where what misses and what meets the target are within this factor

Criterion = Callable[[TableResult, Reference], float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """The smallest eps or the fewest rows for a target: what `dplr.plan_target` returns.

    Attributes
    ----------
    quantity : {"eps", "n_rows"}
        What was searched for.
    value : float
        The smallest simulated one from which on the expectation meets the target.
    low : float
        The largest one at which it is missed by more than two standard errors, or for intervals at which their median
        width misses it; 0 for none.
    high : float
        The smallest one from which on it is met by two standard errors, or for intervals `value`; infinity for none.
    target : float
        What was asked for; 1 where several widths were.
    expected, standard_error : float
        What is expected at `value`, by simulation, and its standard error (nan for intervals, which have medians).
    what : str
        What the target is about, in words.
    assumptions : tuple of str
        Sentences: what the simulation assumed.
    curve : dplr.planner.Curve or None
        For intervals, all expected widths at `value`.

    Privacy
    -------
    A function of public facts and of assumptions: no private row was read, and nothing was spent.

    See Also
    --------
    dplr.plan_target : Makes one.

    Examples
    --------
    >>> import dplr
    >>> bounds = dplr.Bounds({"age": (18, 99), "hours": (0, 80)}, target=("no", "yes"))
    >>> answer = dplr.plan_target(error=0.4, n_rows=2000, bounds=bounds, mechanism="fm")
    >>> answer.quantity, answer.expected <= 0.4
    ('eps', True)
    """

    quantity: str
    value: float
    low: float
    high: float
    target: float
    expected: float
    standard_error: float
    what: str
    assumptions: tuple[str, ...]
    curve: Curve | None = None

    def __str__(self) -> str:
        if self.curve is not None:
            return f"{self._title}\n{self.curve}"
        lines = [self._title, *(f"  {name:10}{text}" for name, text in self._lines)]
        return "\n".join([*lines, *(f"Assumed: {fact}." for fact in self.assumptions)])

    def _repr_html_(self) -> str:
        """Return the answer for notebooks, how sure it is, and what was assumed."""
        if self.curve is not None:
            return markup.piece(self._title, *html_of(self.curve.points, self.curve.fits, self.curve.assumptions))
        assumed = [f"Assumed: {fact}." for fact in self.assumptions]
        return markup.piece(self._title, markup.facts(self._lines), markup.sentences(assumed))

    @property
    def _title(self) -> str:
        name = "eps" if self.quantity == "eps" else "number of rows"
        if self.curve is not None:
            tried = f"{self.low:g} misses it" if self.low else "nothing below it was tried"
            return f"Smallest {name}: {self.value:g}, by simulation ({tried}), for {self.what}"
        sure = f"surely more than {self.low:g}" if self.low else "perhaps less"
        enough = f"{self.high:g} is surely enough" if math.isfinite(self.high) else "perhaps more is needed"
        return f"Smallest {name}: {self.value:g}, by simulation ({sure}; {enough}, as far as two standard errors tell)"

    @property
    def _lines(self) -> list[tuple[str, str]]:
        return [
            ("target", f"{self.what} of at most {self.target:.4g}"),
            ("expected", f"{self.expected:.4g}, standard error {self.standard_error:.2g}"),
        ]


@dataclass(frozen=True, slots=True)
class Probe:
    """One value that was tried: the measure of the target there, by simulation."""

    value: float
    mean: float
    standard_error: float


@dataclass(frozen=True, eq=False)
class Question:
    """Values of eps for a number of rows, or numbers of rows for an eps.

    Attributes
    ----------
    eps, n_rows : the one that is given; the other is None.
    """

    eps: float | None
    n_rows: int | None

    @property
    def quantity(self) -> str:
        """The name of the quantity that the search varies."""
        return "eps" if self.eps is None else "n_rows"

    @property
    def lever(self) -> str:
        """The other one."""
        return "rows" if self.eps is None else "eps"

    def rounded(self, value: float) -> float:
        """A value that is tried."""
        return float(f"{value:.3g}") if self.eps is None else float(round(value))

    def pair(self, value: float) -> tuple[float, int]:
        """The eps and the number of rows."""
        if self.eps is not None:
            return self.eps, int(value)
        assert self.n_rows is not None
        return value, self.n_rows


@dataclass(frozen=True, eq=False)
class Search(Question):
    """Two rounds of values, for what is a mean over tables.

    Attributes
    ----------
    simulated : where fits come from.
    criterion : the measure of the target on one table.
    """

    simulated: Simulator
    criterion: Criterion

    def references(self, value: float) -> list[Reference]:
        """The errors without privacy on the tables of this value."""
        return self.simulated.references(self.pair(value)[1])

    def tried(self, values: Sequence[float]) -> list[Probe]:
        """Simulate fits at these values."""
        facts, simulated = self.simulated.facts, self.simulated
        if self.n_rows is not None:
            results = simulated.fits(facts.mechanism, values, facts.delta, self.n_rows)
            return [self._probe(*pair) for pair in zip(values, results, strict=True)]
        assert self.eps is not None
        return [
            self._probe(count, simulated.fits(facts.mechanism, [self.eps], facts.delta, int(count))[0])
            for count in values
        ]

    def first(self) -> list[float]:
        """Values far apart."""
        if self.eps is None:
            return list(_LEVELS)
        most = self.simulated.most_rows
        least = min(max(_LEAST_ROWS, 2 * self.simulated.width), most)
        steps = max(math.ceil(math.log(most / least, _FACTOR)), 1)
        return [float(round(count)) for count in np.geomspace(least, most, steps + 1)]

    def between(self, low: float, high: float) -> list[float]:
        """Values between two that were tried."""
        values = np.geomspace(low, high, _BETWEEN + 2)[1:-1]
        candidates = {self.rounded(value) for value in values}
        return sorted(candidates - {low, high})

    def _probe(self, value: float, tables: Sequence[TableResult]) -> Probe:
        pairs = zip(tables, self.references(value), strict=True)
        measures = np.array([self.criterion(*pair) for pair in pairs])
        return Probe(value, float(measures.mean()), float(measures.std(ddof=1) / math.sqrt(len(measures))))


@dataclass(frozen=True, eq=False)
class Bisection(Question):
    """Values between what misses and what meets the goals of intervals, whose medians have no standard errors.

    Attributes
    ----------
    measure : the expected widths.
    goals : the width of each coefficient.
    """

    measure: Measure
    goals: Mapping[str, float]

    def between(self, low: float, high: float) -> tuple[float, float, Widths]:
        """The largest value tried that misses, the smallest that meets the target, and the widths there."""
        best = self._at(high)
        if not self._met(best):
            raise ValueError(self._unreached(high, best))
        lowest = self._meeting(low)
        if lowest is not None:
            return 0.0, low, lowest
        while high > _CLOSE * low and (value := self.rounded(math.sqrt(low * high))) not in (low, high):
            widths = self._meeting(value)
            if widths is None:
                low = value
            else:
                high, best = value, widths
        return low, high, best

    def ratio(self, widths: Widths) -> float:
        """The largest ratio of a width to its goal."""
        return max(coef.width / self.goals[coef.name] for coef in widths if coef.name in self.goals)

    def _at(self, value: float) -> Widths:
        return self.measure.at(*self.pair(value), best=False)

    def _meeting(self, value: float) -> Widths | None:
        """The widths here where they meet the target; with too few rows or too small an eps there may be no plan."""
        try:
            self.measure.names(*self.pair(value))
        except ValueError:
            return None
        widths = self._at(value)
        return widths if self._met(widths) else None

    def _met(self, widths: Widths) -> bool:
        return all(coef.width <= self.goals[coef.name] for coef in widths if coef.name in self.goals)

    def _unreached(self, value: float, reached: Widths) -> str:
        """Why no value was enough, and what to do."""
        tried = f"an eps of up to {value:g}" if self.eps is None else f"up to {int(value):,} rows"
        missing = [coef for coef in reached if coef.name in self.goals and coef.width > self.goals[coef.name]]
        widths = [f"{coef.width:.3g}" if math.isfinite(coef.width) else "cannot say" for coef in missing]
        pairs = zip(missing, widths, strict=True)
        got = ", ".join(f"{coef.name} {width} ({coef.plain:.3g} without privacy)" for coef, width in pairs)
        remedy = f"Ask for wider ones, or give more {self.lever}."
        if self.measure.simulated is not self.measure.filling:
            remedy += " Columns are taken as narrow within their bounds: Assumptions(spread=..., shares=...) says more."
        if self.eps is not None:
            remedy += " Assumptions(rows=...) simulates more rows."
        return sentence("interval", f"must be reached with {tried}", got, remedy)


def answer_of(facts: PublicFacts, eps: float | None, targets: Mapping[str, Any], assume: Assumptions) -> Answer:
    """The answer for one target of an error, a width or an interval, by its name."""
    given = {name: target for name, target in targets.items() if target is not None}
    if len(given) != 1:
        rule = "or width or interval must be given, and only one of them"
        raise ValueError(sentence("error", rule, list(given), "Give one of them."))
    if (eps is None) == (facts.n_rows is None):
        remedy = "Give n_rows for the smallest eps, or eps for the fewest rows."
        raise ValueError(sentence("n_rows", "or eps must be given with a target, and not both", facts.n_rows, remedy))
    if facts.curves == AUTO:
        remedy = "What auto takes depends on the answer: give a number of knots."
        raise ValueError(sentence("curves", "must be None or a number with a target", facts.curves, remedy))
    answer = _of_intervals if "interval" in given else _of_means
    return answer(facts, eps, given, assume)


def _of_intervals(facts: PublicFacts, eps: float | None, given: Mapping[str, Any], assume: Assumptions) -> Answer:
    """Bisect: each try takes the medians of many intervals."""
    level = _MOST_EPS if eps is None else eps
    count = _LEAST_ROWS if facts.n_rows is None else facts.n_rows
    measure = measure_of(facts, level, count, assume)
    first, last = _LEAST_EPS, _MOST_EPS
    if eps is not None:
        count = measure.simulated.most_rows
        first, last = float(_LEAST_ROWS), float(count)
    goals = _widths("interval", given["interval"], measure.names(level, count))
    search = Bisection(eps, facts.n_rows, measure, goals)
    missed, value, widths = search.between(first, last)
    level, count = search.pair(value)
    # A delta must be small for the number of rows that was found: the curve checks it.
    curve = curve_of(facts, [level], [facts.delta], [count], assume, intervals=True)
    goal_words = ", ".join(f"{coef} {width:g}" for coef, width in goals.items())
    return Answer(
        quantity=search.quantity, value=value, low=missed, high=value, target=1.0, expected=search.ratio(widths),
        standard_error=math.nan, what=f"widths of {goal_words}", assumptions=curve.assumptions, curve=curve,
    )  # fmt: skip


def _of_means(facts: PublicFacts, eps: float | None, given: Mapping[str, Any], assume: Assumptions) -> Answer:
    """Try values far apart, then some between the last that misses the target and the first that meets it."""
    facts = facts.at(1.0)  # a number of knots is one at every eps
    check_promise([] if eps is None else [eps], facts)
    simulated = simulator(facts, assume)
    target, what, criterion = _criterion(simulated, given.get("error"), given.get("width"))
    search = Search(eps, facts.n_rows, simulated, criterion)
    probes = search.tried(search.first())
    met = _from(probes, lambda probe: probe.mean <= target)
    if met is None:
        raise ValueError(_unreached(search, probes[-1], target, what, "error" in given))
    if met > 0:
        refinement = search.tried(search.between(probes[met - 1].value, probes[met].value))
        probes = sorted([*probes, *refinement], key=lambda probe: probe.value)
        met = _from(probes, lambda probe: probe.mean <= target)
        assert met is not None  # the last one still meets it
    if eps is not None:  # a delta must be small for the number of rows that was found
        check_promise([eps], replace(facts, n_rows=int(probes[met].value)))
    sure = _from(probes, lambda probe: probe.mean + _SURE * probe.standard_error <= target)
    missed = [probe.value for probe in probes[:met] if probe.mean - _SURE * probe.standard_error > target]
    return Answer(
        quantity=search.quantity, value=probes[met].value, low=max(missed, default=0.0),
        high=math.inf if sure is None else probes[sure].value, target=target, expected=probes[met].mean,
        standard_error=probes[met].standard_error, what=what, assumptions=(*simulated.assumed, *_cut(search)),
    )  # fmt: skip


def _from(probes: Sequence[Probe], good: Callable[[Probe], bool]) -> int | None:
    """The first place from which on all are good: what is met by chance, and missed further on, does not count."""
    bad = [place for place, probe in enumerate(probes) if not good(probe)]
    first = bad[-1] + 1 if bad else 0
    return first if first < len(probes) else None


def _criterion(simulated: Simulator, error: Any, width: Any) -> tuple[float, str, Criterion]:
    """The target, what it is about, and its measure on one table."""
    if error is not None:
        kind = WRONG if simulated.facts.loss.classification else ROOT_SQUARES
        return check_positive("error", error), f"expected {kind}", lambda table, _: table.error
    if not isinstance(width, Mapping):
        reach, target = simulated.reach, check_positive("width", width)
        what = "distance of a coefficient from that without privacy, across the bounds (root mean square)"
        return target, what, lambda table, _: float(np.sqrt(np.mean(table.distance * reach**2)))
    goals = _widths("width", width, simulated.names)
    places = [simulated.names.index(name) for name in goals]
    widths = np.array(list(goals.values()))
    words = ", ".join(f"{name} {value:g}" for name, value in goals.items())
    what = f"largest ratio of a coefficient's distance from that without privacy to its width ({words})"
    return 1.0, what, lambda table, _: float(np.max(np.sqrt(table.distance[places]) / widths))


def _widths(parameter: str, target: Any, names: Sequence[str]) -> dict[str, float]:
    if not isinstance(target, Mapping):
        remedy = "Such as {'age': 0.05}, in the units of that coefficient."
        raise TypeError(sentence(parameter, "must be a mapping of names of coefficients to widths", target, remedy))
    unknown = [name for name in target if name not in names]
    if unknown or not target:
        remedy = f"There are {list(names)[:20]}."
        raise ValueError(sentence(parameter, "must name coefficients of the model", unknown, remedy))
    return {name: check_positive(parameter, value) for name, value in target.items()}


def _cut(search: Search) -> list[str]:
    """The warning where tables of as many rows would be too large."""
    rows = search.n_rows
    if rows is None or search.simulated.rows_for(rows) == rows:
        return []
    return [f"{search.simulated.rows_for(rows)} rows stand for {rows}, which may need a smaller eps"]


def _unreached(search: Search, last: Probe, target: float, what: str, error: bool) -> str:
    """Why no value was good enough, and what to do."""
    tried = f"an eps of up to {last.value:g}" if search.eps is None else f"up to {last.value:g} rows"
    remedy = f"Ask for a wider one, or give more {search.lever}."
    if error:
        without = float(np.mean([reference.error for reference in search.references(last.value)]))
        advice = "or assume more signal" if without >= target else f"or give more {search.lever}"
        remedy = f"Without privacy it is {without:.4g} on these assumptions: ask for a larger one, {advice}."
    name = "error" if error else "width"
    return f"`{name}` must be reached with {tried}; got {last.mean:.4g} for {target:g} of the {what}. {remedy}"
