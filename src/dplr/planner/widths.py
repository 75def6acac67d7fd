"""How wide the confidence intervals of a plan will be, and which lines of its table will say nothing, by simulation."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from dplr._kit.validation import capital, sentence
from dplr.fitting.planning import PublicFacts
from dplr.mechanisms.protocol import chosen_columns
from dplr.planner.assumptions import Assumptions
from dplr.planner.merging import merging
from dplr.planner.points import LEVEL, Width, silent_of
from dplr.planner.population import MadeUp
from dplr.planner.simulation import Simulator, simulator
from dplr.problem.plan import Plan
from dplr.summary.columns import Chosen, choose

Widths = tuple[Width, ...]


@dataclass(frozen=True, eq=False, slots=True)
class Measure:
    """Expected widths of one plan at any eps and number of rows.

    Attributes
    ----------
    facts : of the plan; it takes the place of their number of rows.
    simulated : where fits of narrow columns come from; all have the same coefficients.
    filling : where those of columns that fill their bounds come from; the same where rows are drawn from public ones.
    """

    facts: PublicFacts
    simulated: Simulator
    filling: Simulator

    @classmethod
    def of(cls, filling: Simulator) -> Measure:
        """The measure of the plan of a simulator of columns that fill their bounds."""
        made_up = isinstance(filling.population, MadeUp)
        narrow = simulator(filling.facts, filling.assume, narrow=True) if made_up else filling
        return cls(filling.facts, narrow, filling)

    def names(self, eps: float, n_rows: int) -> tuple[str, ...]:
        """Names of the coefficients that a fit here has."""
        return self._selection(self.planned(eps, n_rows)).names

    def at(self, eps: float, n_rows: int, best: bool = True) -> Widths:
        """Simulate fits of the plan, with and without privacy, and take the medians of their intervals.

        With `best` those of columns that fill their bounds too.
        """
        planned = self.planned(eps, n_rows)
        selection = self._selection(planned)
        asked = planned.mechanism, eps, self.facts.delta, n_rows, LEVEL, selection.coordinates
        plain = planned.mechanism, math.inf, *asked[2:]
        widths = self.simulated.interval_widths(*asked)
        filled = np.full_like(widths, math.nan)
        if best:
            filled = widths if self.filling is self.simulated else self.filling.interval_widths(*asked)
        medians = (np.median(of_fits, axis=0) for of_fits in (widths, self.simulated.interval_widths(*plain), filled))
        columns = zip(selection.names, *medians, _unsaid(widths), _unsaid(filled), strict=True)
        return tuple(
            Width(name, float(width), float(without), float(unsaid), float(best_width), float(best_unsaid))
            for name, width, without, best_width, unsaid, best_unsaid in columns
        )

    def merged(self, eps: float, n_rows: int, widths: Widths) -> Widths:
        """Widths of the silent levels of each column as if they were merged into one: of bounds where they are."""
        simulated = self.simulated
        laws = simulated.population.laws if isinstance(simulated.population, MadeUp) else ()
        coarse = merging(self.facts, simulated.assume, laws, [coef.name for coef in silent_of(widths)])
        if coarse is None:
            return ()
        facts, assume, names = coarse
        coarser = Measure.of(simulator(facts, assume)).at(eps, n_rows)
        return tuple(coef for coef in coarser if coef.name in names)

    def planned(self, eps: float, n_rows: int) -> Plan:
        """The plan here; refused where its mechanism has no intervals."""
        planned = replace(self.facts, n_rows=n_rows).planned(eps)
        lacking = planned.mechanism.lacks_intervals(planned.model)
        if lacking:
            name = planned.mechanism.about.name
            rule = "must release what confidence intervals need"
            remedy = f"{capital(lacking)}. With aim='coefficients' the default takes one that does."
            raise ValueError(sentence("mechanism", rule, name, remedy))
        return planned

    def _selection(self, planned: Plan) -> Chosen:
        kept = chosen_columns(planned.mechanism)
        return choose(self.simulated.names, self.facts.layout, self.facts.fit_intercept, kept)


def _unsaid(widths: NDArray[np.float64]) -> NDArray[np.float64]:
    """Which share of fits does not bound each coefficient; nan where none was simulated."""
    return np.where(np.isnan(widths).all(axis=0), math.nan, np.isinf(widths).mean(axis=0))


def measure_of(facts: PublicFacts, eps: float, n_rows: int, assume: Assumptions) -> Measure:
    """The measure of a plan, with the curves that it has at this eps."""
    return Measure.of(simulator(replace(facts, n_rows=n_rows).at(eps), assume))
