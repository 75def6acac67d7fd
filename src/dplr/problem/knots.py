"""A convex loss that is known by its slope at knots: its constants are then exact, whatever made the slopes."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from dplr._kit.validation import sentence

Vector = NDArray[np.float64]
FORMS = ("margin", "residual", "family")
# Knots have smaller numbers; the kernels refuse others.
MOST_KNOTS = 2**16
# Slopes are whole numbers of 2^-44 of a power of two above the largest: their differences are then exact in float64.
_BITS = 44


@dataclass(frozen=True, slots=True)
class Knotted:
    """A loss whose slope is linear between knots, and constant beyond the first and the last.

    Attributes
    ----------
    form : what the slope f' is a function of. `"margin"`: the loss is f(y z); `"residual"`: f(z - y); `"family"`:
        f(z) - y z.
    first : number of the first knot, which lies at first / per_unit.
    per_unit : knots in 1.0, a power of two.
    slopes : float64 numbers, little-endian: f' at knots first, first + 1, ...; they never fall.
    """

    form: str
    first: int
    per_unit: float
    slopes: bytes = field(repr=False)

    def __post_init__(self) -> None:
        # What the kernels would refuse, and slopes whose differences float64 does not have.
        if self.form not in FORMS:
            raise ValueError(sentence("form", f"must be one of {', '.join(FORMS)}", self.form))
        values, last = self.values, self.first + len(self.slopes) // 8 - 1
        if len(values) < 2 or not -MOST_KNOTS <= self.first <= last <= MOST_KNOTS:
            raise ValueError(sentence("slopes", "must be two or more, at knots with numbers up to 2^16", len(values)))
        if np.frexp(self.per_unit)[0] != 0.5 or not 2.0**-16 <= self.per_unit <= 2.0**16:
            raise ValueError(sentence("per_unit", "must be a power of two from 2^-16 to 2^16", self.per_unit))
        if not (np.isfinite(values).all() and (np.diff(values) >= 0).all() and np.abs(values).max() > 0):
            raise ValueError(sentence("slopes", "must be finite, not all 0, and never fall", float(values[0])))
        if _rounded(values).tobytes() != self.slopes:
            raise ValueError(sentence("slopes", "must be rounded to a common grid", float(values[0])))

    @property
    def values(self) -> Vector:
        """The slopes, (knots,)."""
        return np.frombuffer(self.slopes, "<f8")

    @property
    def places(self) -> Vector:
        """Where the knots lie, (knots,)."""
        return (self.first + np.arange(len(self.values))) / self.per_unit

    @property
    def lipschitz(self) -> float:
        """Largest |dl/dz| over all z, and all y in [-1, 1]."""
        largest = float(np.abs(self.values).max())
        return largest + 1 if self.form == "family" else largest

    @property
    def smoothness(self) -> float:
        """Largest d2l/dz2."""
        return float(np.diff(self.values).max()) * self.per_unit

    @property
    def one_signed(self) -> bool:
        """Whether dl/dz has the sign of -y, or is 0, for every z."""
        return self.form == "margin" and bool((self.values <= 0).all())

    @property
    def fall(self) -> float:
        """A loss at z = 0 is at most this far above its smallest value, for every y in [-1, 1]; inf where it has none.

        Between two knots f lies at most the step times the change of its slope below the lower end.
        """
        if self.form == "family":
            return max(self._fall(self.values - y, 0.0) for y in (-1.0, 1.0))
        return max(self._fall(self.values, place) for place in ((0.0,) if self.form == "margin" else (-1.0, 1.0)))

    def _fall(self, slopes: Vector, place: float) -> float:
        if slopes[0] > 0 or slopes[-1] < 0:
            return float("inf")
        step = 1 / self.per_unit
        values = np.concatenate(([0.0], np.cumsum((slopes[:-1] + slopes[1:]) * (step / 2))))
        at_place = np.interp(place, self.places, values)  # above f, which is convex
        beyond = max(0.0, self.places[0] - place, place - self.places[-1]) * float(np.abs(slopes).max())
        return float(at_place + beyond - values.min() + step * np.diff(slopes).max()) * (1 + 1e-9)


def knotted(form: str, first: int, per_unit: float, slopes: Vector) -> Knotted:
    """The loss with these slopes, each rounded to a common grid; ValueError unless they rise or stay."""
    return Knotted(form, first, per_unit, _rounded(slopes).tobytes())


def _rounded(slopes: Vector) -> NDArray[np.float64]:
    """Whole numbers of 2^-44 of a power of two that is at least the largest."""
    largest = float(np.abs(slopes).max())
    scale = 2.0 ** (np.ceil(np.log2(largest)) - _BITS) if 2.0**-900 < largest < 2.0**900 else 1.0
    return np.asarray(np.rint(slopes / scale) * scale + 0.0, "<f8")
