"""A search for the pair of neighbours whose releases differ most."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from dplr._kit.progress import Track
from dplr.auditor.neighbours import Pair, Pool
from dplr.auditor.trace import NoiseDiffers, ReleaseDiffers
from dplr.auditor.trial import Duel, Loss, Trial
from dplr.privacy.gaussian import gaussian_eps
from dplr.privacy.guarantees import Neighbouring

_RANDOM_SHARE = 0.4  # of the pairs; the others are changes of the worst one so far
_KINDS = 3  # of the records that both tables have


@dataclass(frozen=True, eq=False, slots=True)
class Worst:
    """The pair whose releases differ most.

    Attributes
    ----------
    duel : the pair, before its fits.
    loss : that it may have at most.
    eps : the loss as one number, at the delta of the promise.
    tried : pairs that were fitted.
    refused : pairs whose rows a fit refuses.
    """

    duel: Duel
    loss: Loss
    eps: float
    tried: int
    refused: int


def eps_of(loss: Loss, delta: float) -> float:
    """The eps of a loss; of Gaussian noise at this delta."""
    return loss.pure + (gaussian_eps(loss.mu, delta) if loss.mu > 0 and delta > 0 else 0.0)


def worst_pair(
    trial: Trial, pool: Pool, relation: Neighbouring, n_rows: int, pairs: int, rng: np.random.Generator, track: Track
) -> Worst | None:
    """The worst of so many pairs: some at random, the others changes of the worst one; None if none was fitted."""
    best: tuple[float, Duel, Loss, float] | None = None
    tried = refused = 0
    for number in track(range(pairs), "pairs of neighbours"):
        if best is None or number < _RANDOM_SHARE * pairs:
            pair = _random_pair(pool, relation, n_rows, number % _KINDS, rng)
        else:
            pair = _changed(best[1].pair, pool, rng)
        duel = Duel(trial, pair)
        try:
            run = duel.run(0, number)
        except ValueError:  # a missing value that is not declared, a rate that is not a count
            refused += 1
            continue
        tried += 1
        try:
            loss = duel.exact(run)
        except (NoiseDiffers, ReleaseDiffers):  # no worse pair can be found
            return Worst(duel, Loss(math.inf), math.inf, tried, refused)
        eps = eps_of(loss, duel.statement.delta)
        size = eps + loss.mu  # where delta is too small for any Gaussian loss, mu still says which pair is worse
        if best is None or size > best[0]:
            best = size, duel, loss, eps
    return None if best is None else Worst(best[1], best[2], best[3], tried, refused)


def _random_pair(pool: Pool, relation: Neighbouring, n_rows: int, kind: int, rng: np.random.Generator) -> Pair:
    first = pool.record(rng)
    second = None if relation is Neighbouring.ADD_REMOVE else pool.record(rng)
    if second is not None and rng.random() < 0.5:  # another target alone
        second = replace(first, y=second.y)
    return Pair(first, second, pool.others(n_rows - 1, kind, rng))


def _changed(pair: Pair, pool: Pool, rng: np.random.Generator) -> Pair:
    """A pair one of whose records differs in one respect; now and then the other records change instead."""
    if rng.random() < 0.1:
        return replace(pair, others=pool.others(len(pair.others), int(rng.integers(_KINDS)), rng))
    if pair.second is not None and rng.random() < 0.5:
        return replace(pair, second=pool.changed(pair.second, rng))
    return replace(pair, first=pool.changed(pair.first, rng))
