"""The pieces of an allotment, and the releases that each of them covers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from dplr.privacy.gaussian import gaussian_mu
from dplr.privacy.guarantees import Approx, Gaussian, Poisson, Pure
from dplr.privacy.rules import Cost

Piece = tuple[int, Cost]  # the number of its entry, and its cost


def piece_of(cost: Cost) -> Cost:
    """The piece set aside for a release: as large as any release of its kind has that states the same (eps, delta).

    The mu of Gaussian noise and the steps of Poisson batches depend on the number of records, which folds change.
    """
    if isinstance(cost.guarantee, Gaussian):
        return replace(cost, guarantee=Gaussian(max(cost.guarantee.mu, gaussian_mu(cost.eps, cost.delta))))
    if isinstance(cost.guarantee, Poisson):
        return replace(cost, guarantee=Approx(cost.eps, cost.delta))
    return cost


def covers(piece: Cost, cost: Cost) -> bool:
    """Whether a release of that cost promises at least what the piece says."""
    if cost.eps > piece.eps or cost.delta > piece.delta:
        return False
    if isinstance(piece.guarantee, Pure):
        return isinstance(cost.guarantee, Pure) and cost.guarantee.eps <= piece.guarantee.eps
    if isinstance(piece.guarantee, Gaussian):
        return isinstance(cost.guarantee, Gaussian) and cost.guarantee.mu <= piece.guarantee.mu
    if isinstance(cost.guarantee, Gaussian):  # counted by its mu elsewhere
        return False
    return not isinstance(cost.guarantee, Approx) or cost.guarantee.delta <= piece.delta


def matched(pieces: Sequence[Piece], costs: Sequence[Cost]) -> list[Piece] | None:
    """A piece for each cost, the smallest that covers it, dear costs first; None where one has none."""
    free = sorted(pieces, key=lambda piece: (piece[1].eps, piece[1].delta, piece[0]))
    matches: dict[int, Piece] = {}
    for place in sorted(range(len(costs)), key=lambda place: (costs[place].eps, costs[place].delta), reverse=True):
        smallest = next((piece for piece in free if covers(piece[1], costs[place])), None)
        if smallest is None:
            return None
        matches[place] = smallest
        free.remove(smallest)
    return [matches[place] for place in range(len(costs))]
