"""A number as a curve: piecewise linear between public knots. Proofs: layout.md, section 3."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from dplr.bounds.kinds import FUNCTIONS, INDICATOR, INVERSES, Numeric, Pair, short

Matrix = NDArray[np.float64]

FEWEST_KNOTS, MOST_KNOTS = 3, 256
_LEAST_DIGITS = 4  # of a knot in a name


@dataclass(frozen=True, slots=True)
class Curve(Numeric):
    """A number between public bounds, and a column for each knot: the share of the knot in a value.

    Between two knots the shares of both add up to 1 and change as a line; all others are 0. So a linear model of the
    shares is a function of the number that bends at the knots alone.

    Attributes
    ----------
    knots : how many, evenly from one bound to the other on the scale of the transform; or those between the bounds,
        increasing, in the user's units: the bounds are knots too.
    line : whether the number has a column of its own beside the knots.
    """

    knots: int | tuple[float, ...] = 8
    line: bool = True
    kind: ClassVar[str] = "curve"

    @property
    def block(self) -> int:
        """Columns of the knots, and of the mark behind them: at least 0, and together at most 1 in any row."""
        return len(self.places) + (self.missing == INDICATOR)

    @property
    def number(self) -> Pair | None:
        """The range of the column that holds the number; None where only the knots have columns."""
        return self.range if self.line else None

    @property
    def plain(self) -> bool:
        """Never: the knots have columns of their own."""
        return False

    @property
    def quantity(self) -> bool:
        """Whether the model has a column that measures something."""
        return self.line

    @property
    def straight(self) -> Numeric:
        """The number without knots."""
        return Numeric(self.lower, self.upper, self.transform, self.missing)

    @property
    def places(self) -> tuple[float, ...]:
        """The knots on the scale of the transform, both bounds among them, increasing."""
        return _places(self.range, self.knots, self.transform)

    @property
    def knot_values(self) -> tuple[float, ...]:
        """The knots in the user's units, both bounds among them, increasing."""
        return _knot_values(self)

    def shares(self, values: Matrix) -> Matrix:
        """(n, knots) Shares of the knots in numbers on the scale of the transform, clipped to the bounds.

        A number that is not finite has a share in no knot.
        """
        places, shares = np.array(self.places), np.zeros((len(values), len(self.places)))
        rows = np.flatnonzero(np.isfinite(values))
        inside = np.clip(values[rows], places[0], places[-1])
        lower = np.minimum(np.searchsorted(places, inside, side="right"), len(places) - 1) - 1
        share = (inside - places[lower]) / (places[lower + 1] - places[lower])
        shares[rows, lower], shares[rows, lower + 1] = 1.0 - share, share
        return shares

    def names(self, name: str) -> list[str]:
        """Names of the columns that the model has for this one, such as "age (line)", "age at 18"."""
        line = [f"{Numeric.names(self.straight, name)[0]} (line)"] if self.line else []
        mark = [f"{name} is missing"] if self.missing == INDICATOR else []
        return [*line, *(f"{name} at {label}" for label in labels_of(self.knot_values)), *mark]

    def __str__(self) -> str:
        """The values in the words of a statement."""
        even = isinstance(self.knots, int)
        listed = f"{self.knots} even" if even else ", ".join(map(short, self.knot_values))
        return f"{self.straight}, knots: {listed}" + ("" if self.line else ", without a line")


def labels_of(values: tuple[float, ...]) -> list[str]:
    """Numbers in as few digits as tell them apart, at least four."""
    for digits in range(_LEAST_DIGITS, 17):
        labels = [f"{value:.{digits}g}" for value in values]
        if len(set(labels)) == len(labels):
            return [short(float(label)) if abs(float(label)) < 1e15 else label for label in labels]
    return [repr(value) for value in values]


def curved(column: Numeric, knots: int) -> Curve:
    """The number with that many even knots beside its line."""
    return Curve(column.lower, column.upper, column.transform, column.missing, knots)


@lru_cache(maxsize=4096)
def _places(ends: Pair, knots: int | tuple[float, ...], transform: str) -> tuple[float, ...]:
    low, high = ends
    if isinstance(knots, int):
        inner = [low + (high - low) * (j / (knots - 1)) for j in range(1, knots - 1)]
    else:
        inner = list(knots) if transform == "clip" else [FUNCTIONS[transform][0](knot) for knot in knots]
    return (low, *inner, high)


@lru_cache(maxsize=4096)
def _knot_values(column: Curve) -> tuple[float, ...]:
    inner = column.knots
    if isinstance(inner, int):
        inverse = INVERSES[column.transform]
        inner = tuple(inverse(place) for place in column.places[1:-1])
    return (column.lower, *inner, column.upper)
