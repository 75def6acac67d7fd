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
    """How long the rows of a score are that was expanded at a point.

    Lengths are in units in which the logarithm of the loss's second derivative changes by at most 1 per unit: the width
    of a Huber loss; those of the rows for the others.

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
        times the root of delta'H delta, in deviations of which H is the square (intervals.md, section 10), and in those
        of the score the root of `_stretch` times that. Noise makes delta long too: then the score is not long beside
        its own deviations, and the expansion holds.
        """
        delta = np.linalg.lstsq(matrix, score, rcond=None)[0]
        long = float(score @ np.linalg.lstsq(sampling + vector_noise, score, rcond=None)[0])
        if not long > _LONG * len(score):
            return False
        rho = float(np.linalg.norm(delta)) * self.row_norm
        if self.half_widths is not None:
            rho = min(rho, float(np.abs(delta) @ self.half_widths))
        curved = math.expm1(min(rho, 50.0)) / rho - 1 if rho > 0 else 0.0
        longest = max(float(delta @ sampling @ delta), float(delta @ matrix @ delta), 0.0)
        return not curved * math.sqrt(longest * _stretch(matrix, sampling + vector_noise)) <= _OFF


def _stretch(matrix: Array, variance: Array) -> float:
    """Largest ratio of t'H t to the variance of the score along t; 1 where H is no larger than it."""
    values, vectors = np.linalg.eigh(variance)
    kept = values > len(values) * np.finfo(np.float64).eps * float(np.abs(values).max(initial=0.0))
    roots = vectors[:, kept] / np.sqrt(values[kept])
    return max(1.0, float(np.linalg.eigvalsh(roots.T @ matrix @ roots).max(initial=0.0)))
