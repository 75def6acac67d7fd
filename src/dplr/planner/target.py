"""The smallest eps, or the fewest rows, at which simulated fits reach a target."""

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
from dplr.planner.curve import ROOT_SQUARES, WRONG
from dplr.planner.simulation import Reference, Simulator, TableResult, simulator

_LEVELS = tuple(float(f"{level:.3g}") for level in np.geomspace(0.01, 10, 7))
_LEAST_ROWS, _FACTOR = 100, 4
_BETWEEN = 5  # steps between two levels in the second round
_SURE = 2.0  # standard errors

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
        The largest one at which it is missed by more than two standard errors; 0 for none.
    high : float
        The smallest one from which on it is met by two standard errors; infinity for none.
    target : float
        What was asked for.
    expected, standard_error : float
        What is expected at `value`, by simulation, and its standard error.
    what : str
        What the target is about, in words.
    assumptions : tuple of str
        Sentences: what the simulation assumed.

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
    >>> answer = dplr.plan_target(target_error=0.4, n_rows=2000, bounds=bounds, mechanism="fm")
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

    def __str__(self) -> str:
        """Return the answer, how sure it is, and what was assumed."""
        lines = [self._title, *(f"  {name:10}{text}" for name, text in self._lines)]
        return "\n".join([*lines, *(f"Assumed: {fact}." for fact in self.assumptions)])

    def _repr_html_(self) -> str:
        """Return the answer for notebooks, how sure it is, and what was assumed."""
        assumed = [f"Assumed: {fact}." for fact in self.assumptions]
        return markup.piece(self._title, markup.facts(self._lines), markup.sentences(assumed))

    @property
    def _title(self) -> str:
        name = "eps" if self.quantity == "eps" else "number of rows"
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


@dataclass(frozen=True, eq=False, slots=True)
class Search:
    """Values of eps for a number of rows, or numbers of rows for an eps.

    Attributes
    ----------
    simulated : where fits come from.
    eps, n_rows : the one that is given; the other is None.
    criterion : the measure of the target on one table.
    """

    simulated: Simulator
    eps: float | None
    n_rows: int | None
    criterion: Criterion

    @property
    def quantity(self) -> str:
        """The name of the quantity that the search varies."""
        return "eps" if self.eps is None else "n_rows"

    def references(self, value: float) -> list[Reference]:
        """The errors without privacy on the tables of this value."""
        return self.simulated.references(int(value) if self.n_rows is None else self.n_rows)

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
        candidates = {float(f"{value:.3g}") if self.eps is None else float(round(value)) for value in values}
        return sorted(candidates - {low, high})

    def _probe(self, value: float, tables: Sequence[TableResult]) -> Probe:
        pairs = zip(tables, self.references(value), strict=True)
        measures = np.array([self.criterion(*pair) for pair in pairs])
        return Probe(value, float(measures.mean()), float(measures.std(ddof=1) / math.sqrt(len(measures))))


def answer_of(
    facts: PublicFacts, eps: float | None, target_error: Any, target_width: Any, assume: Assumptions, large_delta: bool
) -> Answer:
    """Try values far apart, then some between the last that misses the target and the first that meets it."""
    if (target_error is None) == (target_width is None):
        rule = "or target_width must be given, and not both"
        raise ValueError(sentence("target_error", rule, target_error, "Give one of them."))
    if (eps is None) == (facts.n_rows is None):
        remedy = "Give n_rows for the smallest eps, or eps for the fewest rows."
        raise ValueError(sentence("n_rows", "or eps must be given with a target, and not both", facts.n_rows, remedy))
    if facts.curves == AUTO:
        remedy = "What auto takes depends on the answer: give a number of knots."
        raise ValueError(sentence("curves", "must be None or a number with a target", facts.curves, remedy))
    facts = facts.at(1.0)  # a number of knots is one at every eps
    check_promise([] if eps is None else [eps], facts, large_delta)
    simulated = simulator(facts, assume)
    target, what, criterion = _criterion(simulated, target_error, target_width)
    search = Search(simulated, eps, facts.n_rows, criterion)
    probes = search.tried(search.first())
    met = _from(probes, lambda probe: probe.mean <= target)
    if met is None:
        raise ValueError(_unreached(search, probes[-1], target, what, target_error is not None))
    if met > 0:
        refinement = search.tried(search.between(probes[met - 1].value, probes[met].value))
        probes = sorted([*probes, *refinement], key=lambda probe: probe.value)
        met = _from(probes, lambda probe: probe.mean <= target)
        assert met is not None  # the last one still meets it
    if eps is not None:  # a delta must be small for the number of rows that was found
        check_promise([eps], replace(facts, n_rows=int(probes[met].value)), large_delta)
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
        return check_positive("target_error", error), f"expected {kind}", lambda table, _: table.error
    if not isinstance(width, Mapping):
        reach, target = simulated.reach, check_positive("target_width", width)
        what = "distance of a coefficient from that without privacy, across the bounds (root mean square)"
        return target, what, lambda table, _: float(np.sqrt(np.mean(table.distance * reach**2)))
    unknown = [name for name in width if name not in simulated.names]
    if unknown or not width:
        remedy = f"There are {list(simulated.names)[:20]}."
        raise ValueError(sentence("target_width", "must name coefficients of the model", unknown, remedy))
    places = [simulated.names.index(name) for name in width]
    widths = np.array([check_positive("target_width", value) for value in width.values()])
    words = ", ".join(f"{name} {value:g}" for name, value in zip(width, widths, strict=True))
    what = f"largest ratio of a coefficient's distance from that without privacy to its width ({words})"
    return 1.0, what, lambda table, _: float(np.max(np.sqrt(table.distance[places]) / widths))


def _cut(search: Search) -> list[str]:
    """The warning where tables of as many rows would be too large."""
    rows = search.n_rows
    if rows is None or search.simulated.rows_for(rows) == rows:
        return []
    return [f"{search.simulated.rows_for(rows)} rows stand for {rows}, which may need a smaller eps"]


def _unreached(search: Search, last: Probe, target: float, what: str, error: bool) -> str:
    """Why no value was good enough, and what to do."""
    tried = f"an eps of up to {last.value:g}" if search.eps is None else f"up to {last.value:g} rows"
    lever = "rows" if search.eps is None else "eps"
    remedy = f"Ask for a wider one, or give more {lever}."
    if error:
        without = float(np.mean([reference.error for reference in search.references(last.value)]))
        advice = "or assume more signal" if without >= target else f"or give more {lever}"
        remedy = f"Without privacy it is {without:.4g} on these assumptions: ask for a larger one, {advice}."
    name = "target_error" if error else "target_width"
    return f"`{name}` must be reached with {tried}; got {last.mean:.4g} for {target:g} of the {what}. {remedy}"
