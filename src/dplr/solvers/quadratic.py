"""Linear algebra on released numbers: knows no rows and no privacy."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray


def solve_quadratic(
    matrix: NDArray[np.float64], vector: NDArray[np.float64], ridge: float, floor: float
) -> NDArray[np.float64]:
    """Minimal-norm minimiser of w'(matrix + ridge I)w / 2 - vector.w over the eigenvectors above the floor.

    Spectral trimming (FM12 section 6.2): eigenvalues of ``matrix + ridge I`` at most `floor` are dropped with their
    eigenvectors. The minimiser on the rest is not unique in the whole space; the one of least norm has no component
    along the dropped directions. A floor of 0 becomes the usual rank tolerance.

    Parameters
    ----------
    matrix : (q, q) symmetric, possibly indefinite.
    vector : (q,).
    ridge, floor : at least 0.
    """
    values, vectors = np.linalg.eigh(matrix)
    values = values + ridge
    kept = _kept(values, floor)
    basis = vectors[:, kept]
    return np.asarray(basis @ ((basis.T @ vector) / values[kept]))


def count_kept(matrix: NDArray[np.float64], ridge: float, floor: float) -> int:
    """How many eigenvectors `solve_quadratic` keeps."""
    values = np.asarray(np.linalg.eigvalsh(matrix) + ridge, np.float64)
    return int(_kept(values, floor).sum())


def _kept(values: NDArray[np.float64], floor: float) -> NDArray[np.bool_]:
    tolerance = len(values) * np.finfo(np.float64).eps * max(float(np.abs(values).max()), 0.0)
    return values > max(floor, tolerance)


def adassp_ridge(matrix: NDArray[np.float64], deviation: float, missed: float = 0.05) -> float:
    """The ridge of AdaSSP (Wang 2018, Algorithm 2) for a matrix with Gaussian noise, of this deviation on its diagonal.

    r = sd sqrt(q log(2 q^2 / missed)) is what the noise takes from an eigenvalue at most, with probability 1 - missed,
    sd the deviation off the diagonal. The smallest eigenvalue is then at least the released one less r, and the ridge
    lifts it to r.
    """
    size = len(matrix)
    reach = deviation / math.sqrt(2) * math.sqrt(size * math.log(2 * size**2 / missed))
    least = max(0.0, float(np.linalg.eigvalsh(matrix)[0]) - reach)
    return max(0.0, reach - least)


def is_positive_definite(matrix: NDArray[np.float64]) -> bool:
    """Whether all eigenvalues are positive."""
    return bool(np.linalg.eigvalsh(matrix)[0] > 0)
