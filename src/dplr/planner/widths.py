"""How wide the confidence intervals of a plan will be, by simulation."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from dplr._kit.validation import capital, sentence
from dplr.fitting.one_vs_rest import ReleasePlan
from dplr.fitting.planning import PublicFacts
from dplr.mechanisms.protocol import chosen_columns
from dplr.planner.assumptions import Assumptions
from dplr.planner.merging import merging
from dplr.planner.points import LEVEL, Width, silent_of
from dplr.planner.population import MadeUp
from dplr.planner.simulation import Simulator, simulator
from dplr.summary.columns import Chosen, choose

Widths = tuple[Width, ...]


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
        return self._selection(self.planned(eps, n_rows)).names

    def at(self, eps: float, n_rows: int, plainly: bool = True) -> Widths:
        """Simulate fits of the plan, and `plainly` without privacy too, and take the medians of their intervals."""
        planned, simulated = self.planned(eps, n_rows), self.simulated
        selection = self._selection(planned)
        shown = LEVEL, selection.coordinates
        widths = simulated.interval_widths(planned.mechanism, eps, self.facts.delta, n_rows, *shown)
        plain = np.full_like(widths, math.nan)
        if plainly:
            plain = simulated.interval_widths(planned.mechanism, math.inf, self.facts.delta, n_rows, *shown)
        medians, plains, unsaid = np.median(widths, axis=0), np.median(plain, axis=0), np.mean(np.isinf(widths), axis=0)
        columns = zip(selection.names, medians.tolist(), plains.tolist(), unsaid.tolist(), strict=True)
        return tuple(Width(*column) for column in columns)

    def merged(self, eps: float, n_rows: int, widths: Widths) -> Widths:
        """Widths of the silent levels of each column as if they were merged into one: of bounds where they are."""
        simulated = self.simulated
        laws = simulated.population.laws if isinstance(simulated.population, MadeUp) else ()
        coarse = merging(self.facts, simulated.assume, laws, [coef.name for coef in silent_of(widths)])
        if coarse is None:
            return ()
        facts, assume, names = coarse
        coarser = Measure(facts, simulator(facts, assume)).at(eps, n_rows)
        return tuple(coef for coef in coarser if coef.name in names)

    def planned(self, eps: float, n_rows: int) -> ReleasePlan:
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


def silence_of(facts: PublicFacts, eps: float, n_rows: int, assume: Assumptions) -> Widths | None:
    """Which coefficients most fits will not bound, without the widths of fits without privacy: a short simulation.

    None where the release has no intervals.
    """
    planned = replace(facts, n_rows=n_rows).planned(eps)
    if math.isinf(eps) or planned.mechanism.lacks_intervals(planned.plan):
        return None
    return measure_of(facts, eps, n_rows, replace(assume, fits=1)).at(eps, n_rows, plainly=False)
