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
    out = cells * phi[..., :, None]
    out *= phi[..., None, :]
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
    out = np.stack([x, phi], axis=-1) @ np.stack([phi, x], axis=-2)
    np.einsum("...ii->...i", out)[...] /= 2
    out *= cells
    rows = np.flatnonzero(tied)
    if len(rows):
        both = cells[rows, -1] * tied[rows] * x[..., rows] * phi[..., rows]
        out[..., rows, -1] += both
        out[..., -1, rows] += both
        out[..., rows, rows] = tied[rows] * out[..., rows, -1]
    return out


def second(cells: Array, tied: Array, x: Array, phi: Array) -> Array:
    """Variance of x'E phi, (...): the sum of v_k (x'B_k phi)^2, without a matrix of each point."""
    both = x * phi
    out = np.sum(x**2 @ cells * phi**2 + (both @ cells - cells.diagonal() * both) * both, axis=-1)
    for before, after, variance in _of_ties(cells, tied, x, phi):
        out = out + np.sum(variance * (after**2 - before**2), axis=-1)
    return np.asarray(out)


def fourth(cells: Array, tied: Array, vector_noise: Array, x: Array, phi: Array) -> Array:
    """Fourth cumulant of x'(e - E phi), (...), for Laplace laws: 3 times the sum of squared variances.

    Noise on the vector that is not independent counts as one variable, which bounds it. The fourth powers of
    x_i phi_j + x_j phi_i are added up by their terms, so that no point has a matrix.
    """
    squared, both, x2, phi2 = cells**2, x * phi, x**2, phi**2
    terms = x2**2 @ squared * phi2**2 + 4 * (x2 * both @ squared) * (both * phi2) + 3 * (both**2 @ squared) * both**2
    total = np.sum(terms - 7 * squared.diagonal() * both**2 * both**2, axis=-1)  # these have one term and not eight
    for before, after, variance in _of_ties(cells, tied, x, phi):
        total = total + np.sum(variance**2 * (after**4 - before**4), axis=-1)
    variances = np.diag(vector_noise)
    if np.array_equal(vector_noise, np.diag(variances)):
        total = total + np.sum((variances * x**2) ** 2, axis=-1)
    else:
        total = total + np.sum(x @ vector_noise * x, axis=-1) ** 2
    return np.asarray(3.0 * total)


def _of_ties(cells: Array, tied: Array, x: Array, phi: Array) -> list[tuple[Array, Array, Array]]:
    """x'B_k phi without and with what is tied to a cell, and its variance: of all such cells, if there are any."""
    rows = np.flatnonzero(tied)
    if not len(rows):
        return []
    before = x[..., rows] * phi[..., -1:] + x[..., -1:] * phi[..., rows]
    return [(before, before + tied[rows] * x[..., rows] * phi[..., rows], cells[rows, -1])]
