"""Public numbers: cells in which rows are counted, middles, and the round ends of a range around a middle."""

from __future__ import annotations

import datetime
import math
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

Counts = NDArray[np.int64]

# As the kernel has them (_core/_cells.pyx): 2^10 cells in each power of two from 2^-30 to 2^50, for each sign.
FRACTION_BITS, POWERS = 10, (-30, 50)
LAST = (POWERS[1] - POWERS[0]) << FRACTION_BITS
# Middles are blocks of 2^5 cells.
_BLOCK = 1 << 5
EPOCH = datetime.date(1970, 1, 1)
# Distances of an end from the middle, within a power of ten, from coarse to fine.
STEPS: dict[int, tuple[float, ...]] = {
    1: (1.0,),
    3: (1.0, 2.0, 5.0),
    6: (1.0, 1.5, 2.0, 3.0, 5.0, 7.0),
    12: (1.0, 1.2, 1.5, 1.8, 2.2, 2.7, 3.3, 4.0, 5.0, 6.0, 7.0, 8.5),
}
_POWERS_OF_TEN = range(-9, 16)
# The least distance of an end, as a share of the middle, and around 0.
_NEAREST, _NEAREST_OF_ZERO = 2.0**-8, 1e-3


class Kind(StrEnum):
    """Kinds of columns, by their names."""

    NUMBER = "number"
    INTEGER = "integer"
    DATE = "date"
    DURATION = "duration"
    FLAG = "flag"
    LEVELS = "levels"

    @property
    def whole(self) -> bool:
        """Whether its bounds are whole numbers: of days, for dates and durations."""
        return self in (Kind.INTEGER, Kind.DATE, Kind.DURATION)


def cell_of(value: float) -> int:
    """The cell of a number, from -LAST over 0 to LAST, as the kernel has it."""
    size = abs(value)
    if size < 2.0 ** POWERS[0]:
        return 0
    fraction, power = math.frexp(size)
    if power > POWERS[1]:
        return LAST if value > 0 else -LAST
    cell = ((power - 1 - POWERS[0]) << FRACTION_BITS) + int((2 * fraction - 1) * (1 << FRACTION_BITS)) + 1
    return cell if value > 0 else -cell


def start_of(cell: int) -> float:
    """The least size of the numbers of a cell; 0 for that of zero."""
    if cell == 0:
        return 0.0
    power, fraction = divmod(abs(cell) - 1, 1 << FRACTION_BITS)
    return math.ldexp(1 + fraction / (1 << FRACTION_BITS), power + POWERS[0])


@dataclass(frozen=True)
class Middles:
    """The blocks of cells among which a middle is chosen: the first and the last cell of each."""

    first: Counts
    last: Counts

    def value(self, place: int) -> float:
        """The middle of a block."""
        first, last = int(self.first[place]), int(self.last[place])
        inner, outer = (first, last) if first > 0 else (last, first)
        size = (start_of(inner) + start_of(abs(outer) + 1)) / 2 if inner else 0.0
        return math.copysign(size, first)


def middles() -> Middles:
    """All blocks, from the largest negative numbers to the largest ones; zero is one by itself."""
    starts = np.arange(1, LAST + 1, _BLOCK)
    ends = starts + _BLOCK - 1
    zero = np.zeros(1, np.int64)
    return Middles(np.concatenate([-ends[::-1], zero, starts]), np.concatenate([-starts[::-1], zero, ends]))


def lower_ends(middle: float, kind: Kind, steps: int) -> list[float]:
    """Lower ends of a range around a middle, outwards: 0 among them where the middle is not below it."""
    ends = {_below(middle, distance, unit, kind) for distance, unit in _distances(middle, kind, steps)}
    return sorted(ends | ({0.0} if middle >= 0 else set()), reverse=True)


def upper_ends(middle: float, kind: Kind, steps: int) -> list[float]:
    """Upper ends of a range around a middle, outwards: 0 among them where the middle is not above it."""
    if kind is Kind.DATE:
        ends = {-_day_below(-middle, distance, last=True) for distance, _ in _distances(middle, kind, steps)}
        return sorted(ends)
    return [0.0 - end for end in lower_ends(-middle, kind, steps)]


def narrow(lower: float, upper: float) -> bool:
    """Whether a range is too narrow for the grid: all of it within few cells, far from zero."""
    size = max(abs(lower), abs(upper))
    return upper - lower < size * 2.0**-6 or upper <= lower


def _distances(middle: float, kind: Kind, steps: int) -> list[tuple[float, float]]:
    """Distances from the middle, and the power of ten of each."""
    least = 1.0 if kind.whole else max(abs(middle) * _NEAREST, 1e-6) if middle else _NEAREST_OF_ZERO
    pairs = ((step * 10.0**power, 10.0**power) for power in _POWERS_OF_TEN for step in STEPS[steps])
    return [(distance, unit) for distance, unit in pairs if distance >= least]


def _below(middle: float, distance: float, unit: float, kind: Kind) -> float:
    """A round number at least that far below the middle."""
    if kind is Kind.DATE:
        return _day_below(middle, distance, last=False)
    unit = max(unit, 1.0) if kind.whole else unit
    count = math.floor((middle - distance) / unit)
    return count * unit if unit >= 1 else count / round(1 / unit)


def _day_below(middle: float, distance: float, last: bool) -> float:
    """The first day of a month, or of a year for distances of a year and more, at least that far below the middle.

    With `last` days run backwards, from -day, and it is the last day of a month or a year.
    """
    day = math.floor(middle - distance)
    place = EPOCH.toordinal() + (-day if last else day)
    place = min(max(place, 2), datetime.date.max.toordinal() - 366)
    date = datetime.date.fromordinal(place)
    start = date.replace(day=1) if distance < 365 else date.replace(month=1, day=1)
    if last:
        following = (start.replace(year=start.year + 1) if distance >= 365 else _next_month(start)).toordinal() - 1
        return float(EPOCH.toordinal() - following)
    return float(start.toordinal() - EPOCH.toordinal())


def _next_month(start: datetime.date) -> datetime.date:
    return start.replace(year=start.year + start.month // 12, month=start.month % 12 + 1)
