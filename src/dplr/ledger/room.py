"""The room of a ledger, or of a share: the limits that a release must keep, a share's own and the whole ledger's."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from dplr._kit.validation import SMALLEST_DELTA, SMALLEST_EPS
from dplr.ledger import transactions
from dplr.ledger.decoding import Damaged
from dplr.ledger.entries import Terms
from dplr.ledger.transactions import LedgerAccess
from dplr.privacy.guarantees import Gaussian, Neighbouring, Pure
from dplr.privacy.rules import Cost, Costs, Rule, Shortage, added, rule_for


class Limit(NamedTuple):
    """One budget: its rule, the costs spent from it, and the name of its share; None for the whole ledger."""

    rule: Rule
    spent: Costs
    share: str | None


@dataclass(frozen=True, slots=True)
class Room:
    """The limits that a release has to keep, all of them: that of its share first, and the ledger's last."""

    limits: tuple[Limit, ...]

    def takes(self, costs: Costs) -> bool:
        """Whether every limit has room for all these costs together."""
        return all(limit.rule.fits(added(limit.spent, costs)) for limit in self.limits)

    def after(self, costs: Costs) -> Room:
        """The room after these costs are spent."""
        return Room(tuple(limit._replace(spent=added(limit.spent, costs)) for limit in self.limits))

    def spent(self) -> tuple[float, float]:
        """The (eps, delta) spent from the first limit, rounded up."""
        return self.limits[0].rule.spent(self.limits[0].spent)

    def remaining(self, kind: str = "approx", delta: float | None = None) -> tuple[float, float]:
        """The smallest eps and delta that remain of any limit; 0 where a release needs more than that."""
        pairs = [limit.rule.remaining(limit.spent, kind, delta) for limit in self.limits]
        eps, least_delta = min(eps for eps, _ in pairs), min(limit_delta for _, limit_delta in pairs)
        return eps if eps >= SMALLEST_EPS else 0.0, least_delta if least_delta >= SMALLEST_DELTA else 0.0

    def short_of(self, costs: Costs) -> tuple[str | None, list[Shortage]]:
        """The share of the first limit with too little room (None for the whole ledger), and its shortages."""
        for limit in self.limits:
            if short := limit.rule.short_of(limit.spent, costs):
                return limit.share, short
        return None, []

    def first(self, costs: list[Cost]) -> int:
        """How many of these costs fit, in their order."""
        return _most(lambda count: self.takes(counted(costs[:count])), len(costs))

    def rounds(self, costs: list[Cost], times: int) -> int:
        """How many rounds of all these costs fit, of so many."""
        return _most(lambda count: self.takes(counted(costs, count)), times)


def rule_of(terms: Terms) -> Rule:
    """The rule of composition that the terms name."""
    return rule_for(terms.composition, terms.eps, terms.delta, Neighbouring(terms.neighbouring))


def room_of(opened: LedgerAccess, connection: sqlite3.Connection, terms: Terms) -> Room:
    """The room of a share, if this is one, and of the whole ledger."""
    ledger_limit = Limit(rule_of(terms), transactions.costs(connection), None)
    if opened.share is None:
        return Room((ledger_limit,))
    limits = transactions.shares(connection).get(opened.share)
    if limits is None:
        raise Damaged("the table `share`", "name", "must be that of every share", f"none that is {opened.share!r}")
    rule = rule_for(terms.composition, *limits, Neighbouring(terms.neighbouring))
    return Room((Limit(rule, transactions.costs(connection, opened.share), opened.share), ledger_limit))


def counted(costs: list[Cost], times: int = 1) -> dict[Cost, int]:
    """Equal costs counted together."""
    counts: dict[Cost, int] = {}
    for cost in costs:
        counts[cost] = counts.get(cost, 0) + times
    return counts


def _most(fit: Callable[[int], bool], most: int) -> int:
    """The largest number up to `most` that fits; smaller ones do."""
    low, high = 0, most
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if fit(middle) else (low, middle - 1)
    return low


def kind_of(cost: Cost) -> str:
    """The kind of a release, as `Rule.remaining` takes it."""
    return {Pure: "pure", Gaussian: "gaussian"}.get(type(cost.guarantee), "approx")
