"""How well fits of two neighbours are told apart: scores of many releases, and the eps that they prove."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dplr._kit.progress import Track
from dplr.auditor.sampled import eps_lower_bound, gaussian_eps, mu_lower_bound
from dplr.auditor.trace import Draw
from dplr.auditor.trial import Duel
from dplr.privacy.guarantees import Gaussian
from dplr.privacy.statement import PrivacyStatement

Vector = NDArray[np.float64]
_DIGITS = 9  # beyond them only residues of floating point would be told apart
_LEAST_VARIANCE = 1e-24  # of a direction, over the largest: less is none, and a shift along it tells everything


@dataclass(frozen=True, eq=False, slots=True)
class Scores:
    """Scores of fits of both neighbours.

    Attributes
    ----------
    losses : log likelihood ratios of each side; None where no formula says them.
    learned : the best linear score of released numbers, learned from a half of the fits; of the other half.
    """

    losses: tuple[Vector, Vector] | None
    learned: tuple[Vector, Vector]


def scores_of(duel: Duel, runs: int, seed: int, track: Track) -> tuple[Scores, list[list[Draw]]]:
    """Scores of so many fits of each table, with noise of their own, and the draws of each fit."""
    sides: list[Vector] = []
    losses: list[list[float]] = []
    draws: list[list[Draw]] = []
    is_sampled = False
    for which in (0, 1):
        numbers, of_side = [], []
        for number in track(range(runs), f"fits of {'one table' if which else 'the other'}"):
            run = duel.run(which, seed + 2 * number + which)
            is_sampled = is_sampled or run.sampled
            numbers.append(run.numbers)
            draws.append(run.draws)
            if not run.sampled:
                of_side.append(duel.loss(which, run))
        sides.append(np.array(numbers))
        losses.append(of_side)
    ratios = None if is_sampled else (np.array(losses[0]).round(_DIGITS), np.array(losses[1]).round(_DIGITS))
    return Scores(ratios, _learned(*sides)), draws


def lower_bound(scores: Scores, statement: PrivacyStatement, confidence: float) -> float:
    """The eps, at the delta of the promise, that these scores prove; of two kinds of scores the larger one.

    Each kind has half of the error that the confidence allows.
    """
    of_one = 1 - (1 - confidence) / 2
    delta = statement.delta
    bounds = [_bound(scores.learned, statement, delta, of_one)]
    if scores.losses is not None:
        bounds.append(_bound(scores.losses, statement, delta, of_one))
    return max(0.0, *bounds)


def _bound(sides: tuple[Vector, Vector], statement: PrivacyStatement, delta: float, confidence: float) -> float:
    """From a threshold, or where all noise is Gaussian from the distance of two normal laws."""
    if isinstance(statement.guarantee, Gaussian):
        return gaussian_eps(mu_lower_bound(*sides, confidence=confidence), delta)
    return eps_lower_bound(*sides, delta=delta, confidence=confidence)


def _learned(first: Vector, second: Vector) -> tuple[Vector, Vector]:
    """Scores of the second halves along the best direction of the first ones (Fisher 1936).

    Numbers are taken as independent where there are too many of them to learn how they move together.
    """
    half = len(first) // 2
    middle = first[:half].mean(axis=0)
    shift = middle - second[:half].mean(axis=0)
    centred = np.vstack([first[:half] - middle, second[:half] - second[:half].mean(axis=0)])
    if 2 * centred.shape[1] > half:
        variance = np.square(centred).mean(axis=0)
        direction = shift / np.maximum(variance, _floor(variance))
    else:
        values, directions = np.linalg.eigh(centred.T @ centred / len(centred))
        direction = directions @ (directions.T @ shift / np.maximum(values, _floor(values)))
    size = np.linalg.norm(direction)
    direction = direction / size if size else direction
    return _tidy((first[half:] - middle) @ direction), _tidy((second[half:] - middle) @ direction)


def _floor(variances: Vector) -> float:
    """A variance where there is none."""
    return float(variances.max()) * _LEAST_VARIANCE or 1.0


def _tidy(scores: Vector) -> Vector:
    """Scores with as many digits as floating point gives their sums."""
    scale = float(np.abs(scores).max(initial=0.0))
    if not scale:
        return scores
    digits = _DIGITS - int(np.floor(np.log10(scale)))
    return np.asarray(np.round(scores, digits))
