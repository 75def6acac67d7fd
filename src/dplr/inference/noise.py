"""Effect of the noise on the cells of a symmetric matrix E on E phi: covariance, derivative, fourth cumulant.

E is the sum of eta_k B_k over the released cells, eta_k independent of variance v_k (intervals.md, section 1). All
functions take points (..., q) and work on the whole batch.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def covariance(cells: Array, tied: Array, phi: Array) -> Array:
    """Cov(E phi) = sum v_k (B_k phi)(B_k phi)', (..., q, q)."""
    out = cells * phi[..., :, None] * phi[..., None, :]
    diagonal = np.einsum("...ii->...i", out)
    diagonal[...] = phi**2 @ cells
    rows = np.flatnonzero(tied)
    if len(rows):
        entries, last, variance, tie = phi[..., rows], phi[..., -1:], cells[rows, -1], tied[rows]
        diagonal[..., rows] += variance * ((last + tie * entries) ** 2 - last**2)
        out[..., rows, -1] += variance * tie * entries**2
        out[..., -1, rows] += variance * tie * entries**2
    return out


def weights(tied: Array, x: Array, phi: Array) -> Array:
    """x'B_k phi of every cell: symmetric (..., q, q); what stands at a tied diagonal cell has no meaning."""
    out = x[..., :, None] * phi[..., None, :]
    out = out + np.swapaxes(out, -1, -2)
    np.einsum("...ii->...i", out)[...] /= 2
    rows = np.flatnonzero(tied)
    if len(rows):
        both = tied[rows] * x[..., rows] * phi[..., rows]
        out[..., rows, -1] += both
        out[..., -1, rows] += both
    return out


def turned(cells: Array, tied: Array, x: Array, phi: Array) -> Array:
    """Sum of v_k (x'B_k phi) B_k, (..., q, q): its product with x is half the gradient of x'Cov(E phi)x in phi."""
    out = cells * weights(tied, x, phi)
    rows = np.flatnonzero(tied)
    if len(rows):
        out[..., rows, rows] = tied[rows] * out[..., rows, -1]
    return out


def fourth(cells: Array, tied: Array, vector_noise: Array, x: Array, phi: Array) -> Array:
    """Fourth cumulant of x'(e - E phi), (...), for Laplace laws: 3 times the sum of squared variances.

    Noise on the vector that is not independent counts as one variable, which bounds it.
    """
    parts = np.triu(cells * weights(tied, x, phi) ** 2)
    total = np.sum(parts**2, axis=(-2, -1))
    variances = np.diag(vector_noise)
    if np.array_equal(vector_noise, np.diag(variances)):
        total = total + np.sum((variances * x**2) ** 2, axis=-1)
    else:
        total = total + np.einsum("...i,ij,...j->...", x, vector_noise, x) ** 2
    return np.asarray(3.0 * total)
