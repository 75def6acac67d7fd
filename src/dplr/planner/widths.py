"""How wide the confidence intervals of a plan will be, by simulation."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from dplr._kit.validation import capital, sentence
from dplr.fitting.planning import PublicFacts, check_promise
from dplr.mechanisms.protocol import chosen_columns
from dplr.planner.assumptions import Assumptions
from dplr.planner.simulation import simulator
from dplr.summary.columns import choose

LEVEL = 0.95


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
    coefficients : tuple of dplr.planner.Width
        One for each coefficient, the intercept last.
    fits : int
        How many fits were simulated.
    assumptions : tuple of str
        Sentences: what the simulation assumed.

    Privacy
    -------
    A function of public facts and of assumptions: no private row was read, and nothing was spent.

    See Also
    --------
    dplr.plan_intervals : Makes one.

    Examples
    --------
    >>> import dplr
    >>> bounds = dplr.Bounds({"age": (18, 99), "hours": (0, 80)}, target=(0, 100))
    >>> widths = dplr.plan_intervals(bounds=bounds, n_rows=20_000, eps=1.0, model="linear", mechanism="fm")
    >>> [each.name for each in widths.coefficients]
    ['age', 'hours', '(intercept)']
    """

    coefficients: tuple[Width, ...]
    fits: int
    assumptions: tuple[str, ...]

    def __str__(self) -> str:
        """Return one line per coef, and what was assumed."""
        longest = max(len(coef.name) for coef in self.coefficients)
        lines = [f"Expected width of {100 * LEVEL:g} % intervals, median of {self.fits} simulated fits"]
        for coef in self.coefficients:
            width = f"{coef.width:.3g}, {coef.width / coef.plain:.2g} times that without privacy"
            width = width if math.isfinite(coef.width) else "cannot say"
            unsaid = f"; {coef.unsaid:.0%} of fits cannot say" if coef.unsaid > 0 and math.isfinite(coef.width) else ""
            lines.append(f"  {coef.name.ljust(longest)}  {width}{unsaid}")
        return "\n".join([*lines, *(f"Assumed: {fact}." for fact in self.assumptions)])


def widths_of(facts: PublicFacts, eps: float, assume: Assumptions, large_delta: bool) -> Widths:
    """Simulate fits of the plan, and without privacy, and take the medians of their intervals."""
    facts = facts.at(eps)
    check_promise([eps], facts, large_delta)
    planned = facts.planned(eps)
    lacking = planned.mechanism.lacks_intervals(planned.plan)
    if lacking:
        name = planned.mechanism.about.name
        rule = "must release what confidence intervals need"
        raise ValueError(sentence("mechanism", rule, name, f"{capital(lacking)}."))
    assert facts.n_rows is not None
    simulated = simulator(facts, assume)
    selection = choose(simulated.names, facts.layout, facts.fit_intercept, chosen_columns(planned.mechanism))
    shown = LEVEL, selection.coordinates
    widths = simulated.interval_widths(planned.mechanism, eps, facts.delta, facts.n_rows, *shown)
    plain = simulated.interval_widths(planned.mechanism, math.inf, facts.delta, facts.n_rows, *shown)
    assumptions = [*simulated.assumed]
    rows = simulated.rows_for(facts.n_rows)
    if rows < facts.n_rows:
        assumptions.append(f"tables of {rows:,} rows stand for {facts.n_rows:,}, so the intervals will be narrower")
    medians, plains, unsaid = np.median(widths, axis=0), np.median(plain, axis=0), np.mean(np.isinf(widths), axis=0)
    columns = zip(selection.names, medians.tolist(), plains.tolist(), unsaid.tolist(), strict=True)
    return Widths(tuple(Width(*column) for column in columns), len(widths), tuple(assumptions))
