"""The exact delta of a pair of data sets at a given eps, by integration over the released coefficients."""

import math

import numpy as np
from scipy import special

from dplr.auditor.density import log_density, minimiser

_MOST_COLUMNS = 2
# The grid reaches as far as the norm of the noise does, except with this probability.
_OUTSIDE = 1e-13
_CHUNK = 200_000


def hockey_stick(X, y, X2, y2, *, eps, loss, ridge, scale, law="gaussian", mechanism="objective", w0=0.0, points=1001):
    """Smallest delta with P(S) <= e^eps P2(S) + delta for every event S of releases, for one pair of data sets.

    It is the integral of max(0, f - e^eps f2) over the coefficients, by the midpoint rule on a grid around the
    minimiser on (X, y): the distance from it is at most the noise's norm, over `ridge` for objective perturbation.
    The eps -inf gives the mass of f, which is 1 up to the error of the rule.
    """
    centre = minimiser(X, y, loss=loss, ridge=ridge, w0=w0)
    d = centre.shape[-1]
    if centre.ndim != 1 or d > _MOST_COLUMNS:
        raise ValueError(f"`X` must be one data set of at most {_MOST_COLUMNS} columns; got {np.shape(X)}")
    if law == "gamma":
        reach = scale * float(special.gammainccinv(d, _OUTSIDE))
    else:
        reach = scale * math.sqrt(2 * float(special.gammainccinv(d / 2, _OUTSIDE)))
    if mechanism == "objective":
        reach /= ridge
    spacing = 2 * reach / points
    offsets = (np.arange(points) + 0.5) * spacing - reach
    total = 0.0
    for start in range(0, points**d, _CHUNK):
        cells = np.unravel_index(np.arange(start, min(start + _CHUNK, points**d)), (points,) * d)
        coef = centre + np.stack([offsets[cell] for cell in cells], axis=-1)
        log_f, log_f2 = (
            log_density(rows, targets, coef, loss=loss, ridge=ridge, scale=scale, law=law, mechanism=mechanism, w0=w0)
            for rows, targets in ((X, y), (X2, y2))
        )
        excess = -np.expm1(np.minimum(eps + log_f2 - log_f, 0.0))
        total += float((np.exp(log_f) * excess).sum())
    return float(total * spacing**d)
