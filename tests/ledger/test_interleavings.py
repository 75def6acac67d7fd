"""Every order of the steps of drivers that hold the same, one who gives back and one who recovers.

A crash is an order that is cut short, and what is required holds after every step. See recovery.md, theorem 1.
"""

import collections
import itertools

import pytest

from dplr.ledger import handle, transactions
from dplr.ledger.budget import ReservationLost
from dplr.ledger.reservation import FileReservation
from dplr.ledger.transactions import LedgerAccess
from ledger_in_memory import STATEMENT, Shared

FIT = ["begin", "draw", "noise", "commit", "deliver"]


class World:
    """Drivers, what they drew and delivered, and the ledger."""

    def __init__(self, monkeypatch):
        shared = Shared()
        for name in ("reading", "writing"):
            monkeypatch.setattr(transactions, name, shared.transaction)
        self.ledger = handle._handle(LedgerAccess("budget", "id", None))
        self.held, self.dead, self.drew, self.delivered = {}, set(), [], []
        self.was, self.recovered = None, set()

    def step(self, who, what):
        """One step of a driver who lives; a refusal is its end."""
        if who in self.dead:
            return
        try:
            getattr(self, what)(who)
        except (ReservationLost, ValueError):
            self.dead.add(who)
        self.check()

    def begin(self, who):
        """A reserves; the others are forks of its process, and hold the same."""
        if who == "A":
            self.held[who] = self.ledger.reserve(STATEMENT)
        elif "A" in self.held:
            self.held[who] = FileReservation(self.ledger._opened, self.held["A"].token, 1)
        else:
            raise ValueError("nothing is held")

    def draw(self, who):
        self.held[who].draw()

    def noise(self, who):
        self.drew.append(who)

    def commit(self, who):
        self.held[who].commit(outbox=who.encode())

    def refund(self, who):
        self.held[who].refund()

    def deliver(self, who):
        self.delivered.append(who)

    def give_back(self, _):
        self.ledger.give_back(1)

    def recover(self, _):
        self.recovered.add(self.ledger.recover(1).decode())

    def check(self):
        states = [entry.state for entry in self.ledger.entries()]
        assert len(states) <= 1
        state = states[0] if states else None
        assert len(self.drew) <= 1, f"{self.drew} drew"
        assert len({*self.delivered, *self.recovered}) <= 1, f"{self.delivered}, {self.recovered} were delivered"
        assert set(self.delivered) | self.recovered <= set(self.drew)
        assert not (self.delivered or self.recovered) or state == "committed"
        assert not (self.drew and state == "refunded"), "given back after noise"
        assert self.was not in ("refunded", "committed") or state == self.was, "an entry that had ended changed"
        assert self.was != "drawing" or state in ("drawing", "committed")
        self.was = state
        assert self.ledger.spent()[0] == (0.25 if state not in (None, "refunded") else 0.0)


def orders(*steps):
    """All interleavings of sequences of (who, what)."""
    if not any(steps):
        yield []
    for place, own in enumerate(steps):
        if own:
            rest = [*steps[:place], own[1:], *steps[place + 1 :]]
            yield from ([own[0], *after] for after in orders(*rest))


def of(who, *steps):
    return [(who, step) for step in steps]


CASTS = {
    "two drivers, and one who gives back": [of("A", *FIT), of("B", *FIT), of("H", "give_back")],
    "one driver fails before it draws": [of("A", "begin", "refund"), of("B", *FIT), of("H", "give_back")],
    "two drivers, and one who recovers": [of("A", *FIT), of("B", *FIT), of("R", "recover")],
    "three drivers": [of("A", *FIT[:3]), of("B", *FIT[:3]), of("C", *FIT[:3])],
}
# Who delivers, or else the last state: each must be reached, or the orders show nothing.
REACHED = [{"A", "B", "refunded"}, {"B", "refunded"}, {"A", "B"}, {"drawing"}]


@pytest.mark.thorough
@pytest.mark.parametrize(("cast", "reached"), list(zip(CASTS, REACHED, strict=True)), ids=list(CASTS))
def test_in_every_order_one_draws_and_one_delivers_what_is_paid(monkeypatch, cast, reached):
    found, refused = collections.Counter(), collections.Counter()
    for order in orders(*CASTS[cast]):
        world = World(monkeypatch)
        for who, what in order:
            world.step(who, what)
        found[world.delivered[0] if world.delivered else world.was] += 1
        refused.update(world.dead)
    assert reached <= set(found)
    assert len(refused) == len(CASTS[cast])


def test_all_orders_are_tried():
    tried = [tuple(order) for order in orders([1, 2], [3, 4], [5])]
    assert len(set(tried)) == len(tried) == 30
    assert set(itertools.chain(*tried)) == {1, 2, 3, 4, 5}
