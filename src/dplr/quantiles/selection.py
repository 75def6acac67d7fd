"""Middle, ends and the records outside of one column, chosen from its exact histogram. Proofs: quantiles.md."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from dplr.noise import Source
from dplr.privacy import sensitivity
from dplr.quantiles.choice import choose
from dplr.quantiles.grid import LAST, Counts, Kind, cell_of, lower_ends, middles, start_of, upper_ends
from dplr.quantiles.law import CELL_UNITS, UNITS, Prices, noise_units, steps_outwards

# How many steps it weighs to go past zero: many numbers are never negative.
_PAST_ZERO = 3
_MIDDLES = middles()
# Beyond the rounding of a product and a sum of floats.
_UP, _DOWN = 1 + 2.0**-40, 1 - 2.0**-40


@dataclass(frozen=True, slots=True)
class Range:
    """The choices for one column.

    Attributes
    ----------
    lower, upper : numbers of the public grid.
    outside : noisy number of records outside.
    """

    lower: float
    upper: float
    outside: float


def chosen_range(
    cells: Counts, kind: Kind, records: int, share: float, price: Prices, changed: int, source: Source
) -> Range:
    """A middle, two ends, and the noisy number of records outside them.

    Parameters
    ----------
    cells : (2 LAST + 1,) what records weigh in each cell, in units of 2^-30.
    kind : of the column.
    records : a public number of them.
    share : of the records that may lie beyond each end.
    price : of each choice.
    changed : records that differ between neighbours.
    source : of the noise.
    """
    below = np.concatenate([[0], np.cumsum(cells)])  # what lies in the cells before each
    total = int(below[-1])
    middle = _middle(below, records, price.middle, changed, source)
    allowed, (steps, weight) = int(share * records * CELL_UNITS), steps_outwards(records, price.end, middle == 0)
    lows, highs = lower_ends(middle, kind, steps), upper_ends(middle, kind, steps)
    before_low = [int(below[cell_of(end) + LAST + _inside(end)]) for end in lows]
    before_high = [int(below[cell_of(end) + LAST + 1 - _inside(end)]) for end in highs]
    low = _end(lows, before_low, allowed, weight, price.end, source)
    high = _end(highs, [total - before for before in before_high], allowed, weight, price.end, source)
    inside = max(before_high[high] - before_low[low], 0)  # one cell may lie beyond both ends
    outside = (total - inside) // (CELL_UNITS // UNITS)
    units = noise_units(price.outside, sensitivity.records_outside(UNITS))
    return Range(lows[low], highs[high], (outside + int(source.laplace(units, 1)[0])) / UNITS)


def _inside(end: float) -> bool:
    """Whether an end lies within its cell, whose records then count as beyond it."""
    return abs(end) != start_of(cell_of(end))


def _middle(below: Counts, records: int, price: Fraction, changed: int, source: Source) -> float:
    """The value of a block of cells near the median, by the exponential mechanism."""
    through = below[_MIDDLES.last + LAST + 1]
    onwards = below[-1] - below[_MIDDLES.first + LAST]
    half = records * CELL_UNITS // 2
    costs = np.maximum(np.maximum(half - through, half - onwards), 0)
    rate = price / sensitivity.range_of_distance(CELL_UNITS, changed)
    return _MIDDLES.value(_least(costs, rate, np.zeros(len(costs), np.int64), Fraction(0), source))


def _end(ends: list[float], outside: list[int], allowed: int, weight: Fraction, price: Fraction, source: Source) -> int:
    """The place of an end with few records beyond it, and few steps outwards."""
    costs = np.maximum(np.array(outside, np.int64) - allowed, 0)
    return _least(costs, price / sensitivity.range_of_excess(CELL_UNITS), _steps(ends), weight, source)


def _least(costs: Counts, rate: Fraction, steps: Counts, weight: Fraction, source: Source) -> int:
    """A position with probability proportional to exp(-rate * cost - weight * step), exactly."""
    rough = float(rate) * costs.astype(float) + float(weight) * steps
    around = np.flatnonzero(rough <= rough.min() * _UP + 1e-9)
    least = min(rate * int(costs[j]) + weight * int(steps[j]) for j in around.tolist())

    def exponent(place: int) -> Fraction:
        return rate * int(costs[place]) + weight * int(steps[place]) - least

    return choose(rough * _DOWN - float(least) * _UP - 1e-9, exponent, source)


def _steps(ends: list[float]) -> Counts:
    """The number of steps from the first end to each; past zero it is larger."""
    signs = np.sign(np.array(ends)).astype(np.int64)
    start = signs[0] or -signs[-1]
    past = (signs != 0) & (signs != start)
    steps: Counts = np.arange(len(ends), dtype=np.int64) + _PAST_ZERO * past
    return steps
