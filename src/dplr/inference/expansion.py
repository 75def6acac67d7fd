"""Whether a score and its Hessian at a point say something of the coefficients: how far these are from the point."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
# Sampling deviations by which the expansion may be off, and the released score's own deviations, beyond which it is not
# taken for the equation of the coefficients.
_OFF, _LONG = 1.0, 10.0


@dataclass(frozen=True, eq=False, slots=True)
class Expansion:
    """How long the rows of a logistic score are that was expanded at a point.

    Attributes
    ----------
    row_norm : the largest norm of a row.
    half_widths : (q,) the largest size of each coordinate; None where only the norm is known.
    """

    row_norm: float
    half_widths: Array | None

    def subset(self, keep: NDArray[np.intp]) -> Expansion:
        """That of rows with these coordinates alone."""
        return self if self.half_widths is None else replace(self, half_widths=self.half_widths[keep])

    def breaks(self, matrix: Array, score: Array, sampling: Array, vector_noise: Array) -> bool:
        """Whether the coefficients are too far away for the expansion to be their equation.

        The way to the coefficients is delta = H^-1 U, and rho the largest |v.delta| of a row: a bound from the half
        widths of the coordinates, or the norm of a row. The remainder of the expansion is at most ((e^rho - 1)/rho - 1)
        times the root of delta'H delta, in sampling deviations (intervals.md, section 10). Noise makes delta long too:
        then the score is not long beside its own deviations, and the expansion holds.
        """
        delta = np.linalg.lstsq(matrix, score, rcond=None)[0]
        long = float(score @ np.linalg.lstsq(sampling + vector_noise, score, rcond=None)[0])
        if not long > _LONG * len(score):
            return False
        rho = float(np.linalg.norm(delta)) * self.row_norm
        if self.half_widths is not None:
            rho = min(rho, float(np.abs(delta) @ self.half_widths))
        curved = math.expm1(min(rho, 50.0)) / rho - 1 if rho > 0 else 0.0
        off = curved * math.sqrt(max(float(delta @ sampling @ delta), 0.0))
        return not off <= _OFF
