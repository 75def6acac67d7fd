"""The ridge of a model of released moments: by a public rule, as given, or by halves of the noise (moments.md, 4)."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from dplr._kit.validation import check_choice, real_number, sentence
from dplr.inference.reading import Reading
from dplr.mechanisms.functional.spec import FunctionalMechanism
from dplr.moments.law import GAUSSIAN
from dplr.moments.released import ReleasedMoments
from dplr.noise import Source
from dplr.privacy.law import Law
from dplr.solvers import solve_quadratic

AUTO, HALVES = "auto", "cv"
# Of the automatic ridge.
_CANDIDATES = (0.0, 1 / 16, 1 / 4, 1 / 2, 1.0, 2.0, 4.0, 16.0)
_TIMES = 8
_USUAL = FunctionalMechanism()

Vector = NDArray[np.float64]


def ridge_of(released: ReleasedMoments, reading: Reading, l2: float | str, seed: str) -> float:
    """The ridge on the moments."""
    ridge = _USUAL.ridge_deviations * released.diagonal_sd
    if isinstance(l2, str):
        check_choice("l2", l2, [AUTO, HALVES])
        return ridge if l2 == AUTO else ridge * _by_halves(released, reading, ridge, seed)
    value = real_number("l2", l2, "Use 'auto', 'cv', or a number.")
    if not 0 <= value < math.inf:
        raise ValueError(sentence("l2", "must be 'auto', 'cv', or at least 0 and finite", value))
    assert reading.n_rows is not None
    return value * reading.n_rows


def solved(released: ReleasedMoments, reading: Reading, ridge: float) -> Vector:
    """Coefficients of the scaled model; directions that noise drowns are dropped, as by `fm`."""
    floor = _USUAL.floor_deviations * released.diagonal_sd
    return solve_quadratic(reading.matrix, reading.vector, ridge, floor)


def _by_halves(released: ReleasedMoments, reading: Reading, ridge: float, seed: str) -> float:
    """The multiple of the usual ridge that predicts best from one half of the noise to the other."""
    laws = {block.law for party in released.parties for block in party.statement.released.values()}
    if not laws <= {GAUSSIAN, Law.NONE}:
        remedy = "Only Gaussian noise falls into independent halves: release with noise='gaussian', or use l2='auto'."
        raise ValueError(sentence("l2", f"must not be '{HALVES}' with this noise", ", ".join(sorted(laws)), remedy))
    source, scores = Source(int(seed[:12], 16)), np.zeros(len(_CANDIDATES))
    root = math.sqrt(2)  # each half has twice the variance
    floor = root * _USUAL.floor_deviations * released.diagonal_sd
    for _ in range(_TIMES):
        noise, vector_noise = _like(reading, source)
        for sign in (1.0, -1.0):
            fit_matrix, test_matrix = (reading.matrix + s * noise for s in (sign, -sign))
            fit_vector, test_vector = (reading.vector + s * vector_noise for s in (sign, -sign))
            for k, factor in enumerate(_CANDIDATES):
                coef = solve_quadratic(fit_matrix, fit_vector, factor * root * ridge, floor)
                scores[k] += coef @ test_matrix @ coef - 2 * coef @ test_vector
    return _CANDIDATES[int(np.argmin(scores))]


def _like(reading: Reading, source: Source) -> tuple[Vector, Vector]:
    """Fresh noise of the law of that on matrix and vector; it is public, and the same for the same model."""
    size = len(reading.vector)
    noise = np.triu(source.normal(1.0, size * size).reshape(size, size) * np.sqrt(reading.cells))
    np.fill_diagonal(noise, np.diag(noise) + reading.tied * noise[:, -1])
    return noise + np.triu(noise, 1).T, source.normal(1.0, size) * np.sqrt(np.diag(reading.vector_noise))
