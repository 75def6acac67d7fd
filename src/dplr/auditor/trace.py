"""Noise that remembers what it was added to, so that a fit of other rows can be made to release the same numbers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dplr.noise import Ints, Source
from dplr.privacy.law import Law


class NoiseDiffers(RuntimeError):
    """Neighbours drew noise of different laws, scales or sizes: a fact that is no function of public facts."""


class ReleaseDiffers(RuntimeError):
    """Neighbours whose noisy sums are the same released different numbers: they tell more than their noisy sums do."""


@dataclass(eq=False, slots=True)
class Draw:
    """One call of a source of noise.

    Attributes
    ----------
    law : of the noise.
    scale : of the law, in whole units.
    noise : the whole numbers that were drawn; once they were added, those that were.
    value : the exact numbers that they were added to; None where they were not added to numbers.
    scales, groups : of noise of a gauge: half-widths of the coordinates, and sizes of the groups.
    """

    law: Law
    scale: float
    noise: Ints
    value: Ints | None = None
    scales: tuple[float, ...] = ()
    groups: tuple[int, ...] = ()

    @property
    def released(self) -> Ints:
        """The numbers after the noise."""
        assert self.value is not None
        return self.value + self.noise

    def loss(self, other: Draw) -> float:
        """Log density of what was released around this value, less that around the value of the other draw."""
        assert self.value is not None
        assert other.value is not None
        near = _real(self.noise)
        far = near + _real(self.value - other.value)
        if self.law is Law.DISCRETE_LAPLACE:
            return float(np.abs(far).sum() - np.abs(near).sum()) / self.scale
        if self.law is Law.NORM_GAMMA:
            return float(np.linalg.norm(far) - np.linalg.norm(near)) / self.scale
        return float((far**2 - near**2).sum()) / (2 * self.scale**2)

    def moved(self, other: Draw) -> float:
        """The distance of the two values in scales of the noise: of an L1 law in L1, else in L2."""
        assert self.value is not None
        assert other.value is not None
        away = _real(self.value - other.value)
        distance = np.abs(away).sum() if self.law is Law.DISCRETE_LAPLACE else np.linalg.norm(away)
        return float(distance) / self.scale


class Tracing(Source):
    """A source that keeps every draw; with a script it draws nothing, and every sum comes out as it did there.

    Parameters
    ----------
    seed : of the noise, which protects nobody.
    script : draws of a fit of other rows; None to draw.
    """

    def __init__(self, seed: int, script: Sequence[Draw] | None = None) -> None:
        super().__init__(seed)
        self.draws: list[Draw] = []
        self.sampled: bool = False  # whether batches were drawn
        self._script = script

    def laplace(self, scale: int, size: int) -> Any:
        return self._traced(Law.DISCRETE_LAPLACE, float(scale), size, lambda: super(Tracing, self).laplace(scale, size))

    def gaussian(self, variance: int, size: int) -> Any:
        scale = math.sqrt(variance)
        return self._traced(Law.DISCRETE_GAUSSIAN, scale, size, lambda: super(Tracing, self).gaussian(variance, size))

    def norm_gamma(self, scale: Fraction, size: int) -> Any:
        return self._traced(Law.NORM_GAMMA, float(scale), size, lambda: super(Tracing, self).norm_gamma(scale, size))

    def in_body(self, scales: Sequence[Fraction], groups: Sequence[int]) -> Any:
        draw = super().in_body
        noise = self._traced(Law.GAUGE, float(scales[0]), len(scales), lambda: draw(scales, groups))
        noise.draw.scales, noise.draw.groups = tuple(map(float, scales)), tuple(groups)
        return noise

    def normals(self, deviation: Fraction, size: int) -> Any:
        return self._traced(Law.GAUSSIAN, float(deviation), size, lambda: super(Tracing, self).normals(deviation, size))

    def bernoulli_indices(self, n: int, rate_units: int) -> NDArray[np.intp]:
        # A batch: what a batch releases has a mixture for its law.
        self.sampled = True
        return super().bernoulli_indices(n, rate_units)

    def _traced(self, law: Law, scale: float, size: int, drawn: Any) -> Any:
        """Noise that knows its draw."""
        if self._script is None:
            draw, sums = Draw(law, scale, self._faulty(drawn())), None
        else:
            place = len(self.draws)
            twin = self._script[place] if place < len(self._script) else None
            if twin is None or (twin.law, twin.scale, len(twin.noise)) != (law, scale, size):
                raise NoiseDiffers(f"neighbours drew different noise: {law} of scale {scale:g}, draw {place + 1}")
            draw, sums = Draw(law, scale, twin.noise), None if twin.value is None else twin.released
        self.draws.append(draw)
        noise = draw.noise.copy().view(_Noise)
        noise.draw, noise.sums = draw, sums
        return noise

    def _faulty(self, noise: Ints) -> Ints:
        """The noise as it is: copies that are broken on purpose change it."""
        return noise.copy()


class _Noise(np.ndarray):
    """Whole numbers that note what they are added to, and where a script says so come out as its sums."""

    draw: Draw | None = None
    sums: Ints | None = None

    def __array_finalize__(self, of: Any) -> None:
        # A view or a copy in another shape is of the draw it was made from.
        self.draw, self.sums = getattr(of, "draw", None), getattr(of, "sums", None)

    def __radd__(self, value: Any) -> Any:
        # Called for ``numbers + noise``, since this class is the narrower one.
        numbers, draw = np.asarray(value), self.draw
        if draw is None or numbers.shape != self.shape:
            return numbers + np.asarray(self)
        draw.value, draw.noise = numbers.ravel().copy(), np.asarray(self).ravel().copy()  # not what was drawn, if other
        if self.sums is None:
            return numbers + np.asarray(self)
        draw.noise = self.sums - draw.value
        return self.sums.reshape(self.shape)


def _real(numbers: Ints) -> NDArray[np.float64]:
    return np.asarray(numbers, dtype=np.float64)
