"""Whether a score and its Hessian at a point say something of the coefficients: how far these are from the point."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from dplr.inference.reading import Reading

# Sampling deviations by which the expansion may be off, and the released score's own deviations, beyond which it is not
# taken for the equation of the coefficients.
_OFF, _LONG = 1.0, 10.0


def expanded(reading: Reading, row_norm: float, half_widths: NDArray[np.float64] | None) -> Reading:
    """The reading, marked as too far from its center where the expansion of a logistic score does not hold.

    The way to the coefficients is delta = H^-1 U, and rho the largest |v.delta| of a row: a bound from `half_widths`
    of the coordinates, or the norm of a row. The remainder of the expansion is at most ((e^rho - 1)/rho - 1) times the
    root of delta'H delta, in sampling deviations (intervals.md, section 10). Noise makes delta long too: then the score
    is not long beside its own deviations, and the expansion stays.
    """
    matrix, score = reading.matrix, reading.vector
    delta = np.linalg.lstsq(matrix, score, rcond=None)[0]
    variance = reading.sampling + reading.vector_noise
    long = float(score @ np.linalg.lstsq(variance, score, rcond=None)[0])
    if not long > _LONG * len(score):
        return reading
    rho = float(np.linalg.norm(delta)) * row_norm
    if half_widths is not None:
        rho = min(rho, float(np.abs(delta) @ half_widths))
    curved = math.expm1(min(rho, 50.0)) / rho - 1 if rho > 0 else 0.0
    off = curved * math.sqrt(max(float(delta @ reading.sampling @ delta), 0.0))
    return replace(reading, far=not off <= _OFF)
