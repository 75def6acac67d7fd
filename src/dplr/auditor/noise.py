"""Whether noise was drawn as stated: by its law, each number by itself, and never twice."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from dplr.auditor.trace import Draw
from dplr.privacy.law import Law

Vector = NDArray[np.float64]
_LEAST_SCALE = 64.0  # below it a law of whole numbers is no longer one of real numbers
_MOST_NUMBERS = 400  # of a fit, of which pairs are compared
_KURTOSIS = 1.8  # of ranks: numbers of one norm have sizes that depend on each other, and signs that do not


@dataclass(frozen=True, slots=True)
class NoiseCheck:
    """A test of the noise of many fits.

    Attributes
    ----------
    numbers : int
        How many numbers were drawn.
    law : float
        Chance of noise as far from its law as this, if it is drawn by it, for the call of a fit that is farthest
        (Kolmogorov and Smirnov).
    together : float
        Chance of two numbers of a fit that agree as well as these, if each is drawn by itself, for the pair that agrees
        best.
    repeated : int
        How many fits had the noise of an earlier one.
    again : float
        Chance of so many, if each fit draws anew (Markov); little noise repeats by itself.

    Privacy
    -------
    Of noise on made-up rows: free to publish.

    See Also
    --------
    dplr.audit : Tests the noise of its fits.

    Examples
    --------
    >>> from dplr.auditor import NoiseCheck
    >>> NoiseCheck(numbers=1000, law=1e-9, together=0.4, repeated=0).findings(error=0.001)
    ['the noise does not have its law (p = 1e-09)']
    """

    numbers: int
    law: float
    together: float
    repeated: int
    again: float = 1.0

    def findings(self, error: float) -> list[str]:
        """Say what is wrong with the noise.

        Parameters
        ----------
        error : float
            Chance makes a sentence with at most this probability, in (0, 1).

        Returns
        -------
        list of str
            Sentences; empty where nothing is wrong.

        Privacy
        -------
        Reads chances of made-up fits alone.
        """
        found = []
        if self.law < error / 3:
            found.append(f"the noise does not have its law (p = {self.law:.1g})")
        if self.together < error / 3:
            found.append(f"numbers of one fit share noise (p = {self.together:.1g})")
        if self.repeated and self.again < error / 3:
            found.append(f"{self.repeated} fits repeat the noise of another one")
        return found


def check_noise(fits: Sequence[Sequence[Draw]], seed: int) -> NoiseCheck:
    """Test the noise of all fits: each number should be uniform on the scale of its law."""
    rng = np.random.default_rng(seed)
    calls = min(map(len, fits), default=0)
    uniform = [np.concatenate([_uniform(draws[call], rng) for draws in fits]) for call in range(calls)]
    chances = [stats.kstest(numbers, "uniform").pvalue for numbers in uniform if len(numbers)]
    law = float(min([1.0, *(len(chances) * chance for chance in chances)]))
    raw = [_numbers(draws) for draws in fits]
    repeated = len(raw) - len({numbers.tobytes() for numbers in raw})
    wide = [_numbers([draw for draw in draws if draw.scale >= _LEAST_SCALE])[:_MOST_NUMBERS].copy() for draws in fits]
    return NoiseCheck(sum(map(len, raw)), law, _together(wide), repeated, _again(fits, repeated))


def _numbers(draws: Sequence[Draw]) -> Vector:
    """All numbers of some draws, each over its scale."""
    return np.concatenate([np.zeros(0), *(np.asarray(draw.noise, float) / draw.scale for draw in draws)])


def _again(fits: Sequence[Sequence[Draw]], repeated: int) -> float:
    """The chance that so many fits repeat another one: two numbers agree with at most the chance 1 / (2 scale)."""
    if not repeated:
        return 1.0
    scales = [np.asarray(draw.scales or [draw.scale] * len(draw.noise)) for draw in fits[0]]
    agree = -np.log(np.maximum(2 * np.concatenate([np.zeros(0), *scales]), 1.0)).sum()
    return float(min(1.0, len(fits) * (len(fits) - 1) / 2 / repeated * np.exp(agree)))


def _uniform(draw: Draw, rng: np.random.Generator) -> Vector:
    """Numbers that are uniform on [0, 1] if the noise has its law; of a norm, one number."""
    if draw.scale < _LEAST_SCALE:
        return np.zeros(0)
    numbers = np.asarray(draw.noise, dtype=np.float64) + rng.uniform(-0.5, 0.5, len(draw.noise))
    if draw.law is Law.DISCRETE_LAPLACE:
        return np.asarray(stats.laplace.cdf(numbers / draw.scale))
    if draw.law in (Law.DISCRETE_GAUSSIAN, Law.GAUSSIAN):
        return np.asarray(stats.norm.cdf(numbers / draw.scale))
    size = len(numbers)
    if draw.law is Law.NORM_GAMMA:
        length = np.linalg.norm(numbers) / draw.scale
    else:
        firsts = np.cumsum([0, *draw.groups[:-1]])
        length = np.add.reduceat(np.abs(numbers) / draw.scales, firsts).max()
    return np.array([stats.gamma.cdf(length, size)])


def _together(fits: Sequence[Vector]) -> float:
    """The smallest chance over pairs of numbers of their correlation, times the number of pairs."""
    width = min([_MOST_NUMBERS, *map(len, fits)])
    if width < 2 or len(fits) < 50:
        return 1.0
    ranks = stats.rankdata(np.array([numbers[:width] for numbers in fits]), axis=0)
    spread = ranks.std(axis=0)
    ranks = (ranks - ranks.mean(axis=0)) / np.where(spread, spread, 1.0)
    agreement = np.abs(np.triu(ranks.T @ ranks / len(fits), 1)).max()
    pairs = width * (width - 1) / 2
    return float(min(1.0, 2 * pairs * stats.norm.sf(agreement * np.sqrt((len(fits) - 1) / _KURTOSIS))))
