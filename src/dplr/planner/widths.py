"""How wide the confidence intervals of a plan will be, by simulation."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dplr._kit import markup
from dplr._kit.extras import pandas
from dplr._kit.validation import capital, check_count, check_eps, sentence
from dplr.fitting.one_vs_rest import ReleasePlan
from dplr.fitting.planning import PublicFacts, check_promise
from dplr.mechanisms.protocol import chosen_columns
from dplr.planner.assumptions import Assumptions
from dplr.planner.merging import merging
from dplr.planner.population import MadeUp
from dplr.planner.simulation import Simulator, simulator
from dplr.summary.columns import INTERCEPT, Chosen, choose

LEVEL = 0.95
SILENT = 0.5  # share of fits from which on a coefficient is expected to be unsaid
_MOST_SETTINGS = 100
_LISTS = (list, tuple, range, np.ndarray)


@dataclass(frozen=True, slots=True)
class Width:
    """The expected interval of one coefficient.

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
    dplr.planner.Widths : Holds one for each coefficient.

    Examples
    --------
    >>> import dplr
    >>> options = {"n_rows": 20_000, "eps": 1.0, "model": "linear", "mechanism": "fm"}
    >>> widths = dplr.plan_intervals(bounds=dplr.Bounds({"age": (18, 99)}, target=(0, 100)), **options)
    >>> age = widths.coefficients[0]
    >>> age.name, age.width > age.plain
    ('age', True)
    """

    name: str
    width: float
    plain: float
    unsaid: float


@dataclass(frozen=True, slots=True)
class Widths:
    """How wide confidence intervals will be: what `dplr.plan_intervals` returns.

    Attributes
    ----------
    eps : float
        Privacy loss.
    n_rows : int
        Number of records, or of persons.
    coefficients : tuple of dplr.planner.Width
        One for each coefficient, the intercept last.
    fits : int
        How many fits were simulated.
    assumptions : tuple of str
        Sentences: what the simulation assumed.
    merged : tuple of dplr.planner.Width
        One for the silent levels of each column, if there are several, as if they were merged into one. Only where
        their shares are declared; empty in a table of several settings.

    Privacy
    -------
    A function of public facts and of assumptions: no private row was read, and nothing was spent.

    See Also
    --------
    dplr.plan_intervals : Makes one.
    dplr.planner.WidthTable : Holds several.

    Examples
    --------
    >>> import dplr
    >>> bounds = dplr.Bounds({"age": (18, 99), "hours": (0, 80)}, target=(0, 100))
    >>> widths = dplr.plan_intervals(bounds=bounds, n_rows=20_000, eps=1.0, model="linear", mechanism="fm")
    >>> [each.name for each in widths.coefficients]
    ['age', 'hours', '(intercept)']
    >>> widths.silent
    ()
    """

    eps: float
    n_rows: int
    coefficients: tuple[Width, ...]
    fits: int
    assumptions: tuple[str, ...]
    merged: tuple[Width, ...] = ()

    @property
    def all_silent(self) -> bool:
        """Whether most fits will bound no coefficient of a column: the table will say nothing."""
        return all(coef.unsaid >= SILENT for coef in self.coefficients if coef.name != INTERCEPT)

    @property
    def silent(self) -> tuple[str, ...]:
        """Coefficients that most fits will not bound, a tuple of str: the table will say nothing of them."""
        return tuple(coef.name for coef in self.coefficients if coef.unsaid >= SILENT)

    def __str__(self) -> str:
        """Return one line per coef, those that will be unsaid, and what was assumed."""
        longest = max(len(coef.name) for coef in self.coefficients)
        lines = [f"  {coef.name.ljust(longest)}  {_words(coef)}" for coef in self.coefficients]
        return "\n".join([self._title, *lines, *self.warning, *self._notes])

    def _repr_html_(self) -> str:
        """Return one line per coef for notebooks, those that will be unsaid, and what was assumed."""
        return markup.piece("", *self.parts)

    @property
    def parts(self) -> tuple[markup.Html, ...]:
        """The parts of a piece of HTML, a tuple. Private."""
        head = ("", "width", "times that without privacy", "of fits cannot say")
        rows = [(coef.name, *_cells(coef)) for coef in self.coefficients]
        return (
            markup.paragraph(f"{self._title}."),
            markup.alarms(self.warning),
            markup.excerpt(head, rows, "coefficients"),
            markup.sentences(self._notes),
        )

    @property
    def _title(self) -> str:
        return (
            f"Expected width of {100 * LEVEL:g} % intervals, median of {self.fits} simulated fits "
            f"(eps = {self.eps:g}, {self.n_rows:,} rows)"
        )

    @property
    def _notes(self) -> list[str]:
        """Widths of merged levels, and what was assumed."""
        merged = [f"Merged into one level, {coef.name}: {_words(coef)}." for coef in self.merged]
        return [*merged, *(f"Assumed: {fact}." for fact in self.assumptions)]

    @property
    def warning(self) -> tuple[str, ...]:
        """The sentences on coefficients that will be unsaid, a tuple of str; empty where there are none."""
        silent = [coef for coef in self.coefficients if coef.unsaid >= SILENT]
        if not silent:
            return ()
        shares = [coef.unsaid for coef in silent]
        share = f"{shares[0]:.0%}" if min(shares) == max(shares) else f"{min(shares):.0%} to {max(shares):.0%}"
        names = ", ".join(coef.name for coef in silent)
        remedy = "Merge rare levels, leave columns out, or take a larger eps or more rows"
        return (f"Cannot say in {share} of fits: {names}. {remedy}: the release is paid for either way.",)


@dataclass(frozen=True, slots=True)
class WidthTable:
    """Expected widths at several eps or numbers of rows: what `dplr.plan_intervals` returns for lists.

    Attributes
    ----------
    settings : tuple of dplr.planner.Widths
        One for each number of rows and eps, rows first.

    Privacy
    -------
    A function of public facts and of assumptions: no private row was read, and nothing was spent.

    See Also
    --------
    dplr.plan_intervals : Makes one.

    Examples
    --------
    >>> import dplr
    >>> bounds = dplr.Bounds({"age": (18, 99)}, target=(0, 100))
    >>> options = {"bounds": bounds, "model": "linear", "mechanism": "fm"}
    >>> table = dplr.plan_intervals(eps=[0.5, 2.0], n_rows=20_000, **options)
    >>> table.to_frame().shape
    (4, 7)
    """

    settings: tuple[Widths, ...]

    def records(self) -> list[dict[str, Any]]:
        """Return one dictionary per coefficient and setting.

        Returns
        -------
        list of dict
            With `n_rows`, `eps`, `name`, `width`, `plain`, `ratio` and `unsaid`.

        Privacy
        -------
        A function of public facts and of assumptions.
        """
        return [
            {
                "n_rows": setting.n_rows, "eps": setting.eps, "name": coef.name, "width": coef.width,
                "plain": coef.plain, "ratio": coef.width / coef.plain, "unsaid": coef.unsaid,
            }
            for setting in self.settings for coef in setting.coefficients
        ]  # fmt: skip

    def to_frame(self) -> Any:
        """Return a pandas data frame, one row per coefficient and setting.

        Returns
        -------
        pandas.DataFrame
            With the columns of `records`.

        Raises
        ------
        ModuleNotFoundError
            pandas is not installed.

        Privacy
        -------
        A function of public facts and of assumptions.
        """
        return pandas().DataFrame(self.records())

    def __str__(self) -> str:
        """Return one line per coefficient with a column per setting, and what was assumed."""
        heads, rows = self._heads, self._rows
        longest = max(len(row[0]) for row in rows)
        lines = [self._title, "  ".join([" " * (longest + 2), *heads]).rstrip()]
        for name, *widths in rows:
            cells = (width.rjust(len(head)) for width, head in zip(widths, heads, strict=True))
            lines.append("  ".join([f"  {name.ljust(longest)}", *cells]))
        return "\n".join([*lines, *self._warnings, *self._assumed])

    def _repr_html_(self) -> str:
        """Return one line per coefficient for notebooks, those that will be unsaid, and what was assumed."""
        widths = markup.excerpt(["", *self._heads], self._rows, "coefficients")
        return markup.piece(self._title, markup.alarms(self._warnings), widths, markup.sentences(self._assumed))

    @property
    def _title(self) -> str:
        return f"Expected width of {100 * LEVEL:g} % intervals, median of {self.settings[0].fits} simulated fits"

    @property
    def _heads(self) -> list[str]:
        return [f"{setting.n_rows:,} rows, eps {setting.eps:g}" for setting in self.settings]

    @property
    def _rows(self) -> list[list[str]]:
        """The name of each coefficient, and its width in each setting."""
        names = dict.fromkeys(coef.name for setting in self.settings for coef in setting.coefficients)
        columns = [{coef.name: _cells(coef)[0] for coef in setting.coefficients} for setting in self.settings]
        return [[name, *(column.get(name, "") for column in columns)] for name in names]

    @property
    def _warnings(self) -> list[str]:
        pairs = zip(self._heads, self.settings, strict=True)
        return [f"{head}: {sentence}" for head, setting in pairs for sentence in setting.warning]

    @property
    def _assumed(self) -> list[str]:
        facts = dict.fromkeys(fact for setting in self.settings for fact in setting.assumptions)
        return [f"Assumed: {fact}." for fact in facts]


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


@dataclass(frozen=True, eq=False, slots=True)
class Measure:
    """Expected widths of one plan at any eps and number of rows.

    Attributes
    ----------
    facts : of the plan; it takes the place of their number of rows.
    simulated : where fits come from: all have the same columns.
    """

    facts: PublicFacts
    simulated: Simulator

    def names(self, eps: float, n_rows: int) -> tuple[str, ...]:
        """Names of the coefficients that a fit here has."""
        return self._selection(self._planned(eps, n_rows)).names

    def at(self, eps: float, n_rows: int, plainly: bool = True) -> Widths:
        """Simulate fits of the plan, and `plainly` without privacy too, and take the medians of their intervals."""
        facts = replace(self.facts, n_rows=n_rows)
        planned, simulated = self._planned(eps, n_rows), self.simulated
        selection = self._selection(planned)
        shown = LEVEL, selection.coordinates
        widths = simulated.interval_widths(planned.mechanism, eps, facts.delta, n_rows, *shown)
        plain = np.full_like(widths, math.nan)
        if plainly:
            plain = simulated.interval_widths(planned.mechanism, math.inf, facts.delta, n_rows, *shown)
        assumptions = [*simulated.assumed]
        rows = simulated.rows_for(n_rows)
        if rows < n_rows:
            assumptions.append(f"tables of {rows:,} rows stand for {n_rows:,}, so the intervals will be narrower")
        medians, plains, unsaid = np.median(widths, axis=0), np.median(plain, axis=0), np.mean(np.isinf(widths), axis=0)
        columns = zip(selection.names, medians.tolist(), plains.tolist(), unsaid.tolist(), strict=True)
        return Widths(eps, n_rows, tuple(Width(*column) for column in columns), len(widths), tuple(assumptions))

    def _planned(self, eps: float, n_rows: int) -> ReleasePlan:
        """The plan here; refused where its mechanism has no intervals."""
        planned = replace(self.facts, n_rows=n_rows).planned(eps)
        lacking = planned.mechanism.lacks_intervals(planned.plan)
        if lacking:
            name = planned.mechanism.about.name
            rule = "must release what confidence intervals need"
            remedy = f"{capital(lacking)}. With aim='coefficients' the default takes one that does."
            raise ValueError(sentence("mechanism", rule, name, remedy))
        return planned

    def _selection(self, planned: ReleasePlan) -> Chosen:
        kept = chosen_columns(planned.mechanism)
        return choose(self.simulated.names, self.facts.layout, self.facts.fit_intercept, kept)


def measure_of(facts: PublicFacts, eps: float, n_rows: int, assume: Assumptions) -> Measure:
    """The measure of a plan, with the curves that it has at this eps."""
    facts = replace(facts, n_rows=n_rows).at(eps)
    return Measure(facts, simulator(facts, assume))


def widths_of(facts: PublicFacts, eps: Any, n_rows: Any, assume: Assumptions, large_delta: bool) -> Widths | WidthTable:
    """The widths of one setting, or of all pairs of several."""
    several = isinstance(eps, _LISTS) or isinstance(n_rows, _LISTS)
    levels = sorted({check_eps(level) for level in (eps if isinstance(eps, _LISTS) else [eps])})
    counts = sorted({check_count("n_rows", count) for count in (n_rows if isinstance(n_rows, _LISTS) else [n_rows])})
    for name, values in (("eps", levels), ("n_rows", counts)):
        if not values:
            raise ValueError(sentence(name, "must hold at least one value", values))
    if len(levels) * len(counts) > _MOST_SETTINGS:
        rule = f"must make at most {_MOST_SETTINGS} settings with n_rows"
        raise ValueError(sentence("eps", rule, f"{len(levels)} x {len(counts)}"))
    check_promise(levels, replace(facts, n_rows=max(counts)), large_delta)
    measure = measure_of(facts, min(levels), min(counts), assume)
    settings = tuple(measure.at(level, count) for count in counts for level in levels)
    return WidthTable(settings) if several else _with_merged(measure, settings[0])


def _with_merged(measure: Measure, widths: Widths) -> Widths:
    """The widths, and what merging silent levels buys: a simulation of the bounds in which they are one level."""
    simulated = measure.simulated
    laws = simulated.population.laws if isinstance(simulated.population, MadeUp) else ()
    coarse = merging(measure.facts, simulated.assume, laws, widths.silent)
    if coarse is None:
        return widths
    facts, assume, names = coarse
    coarser = Measure(facts, simulator(facts, assume)).at(widths.eps, widths.n_rows)
    return replace(widths, merged=tuple(coef for coef in coarser.coefficients if coef.name in names))


def silence_of(facts: PublicFacts, eps: float, n_rows: int, assume: Assumptions) -> Widths | None:
    """Which coefficients most fits will not bound, without the widths of fits without privacy: a short simulation.

    None where the release has no intervals.
    """
    planned = replace(facts, n_rows=n_rows).planned(eps)
    if math.isinf(eps) or planned.mechanism.lacks_intervals(planned.plan):
        return None
    return measure_of(facts, eps, n_rows, replace(assume, fits=1)).at(eps, n_rows, plainly=False)
