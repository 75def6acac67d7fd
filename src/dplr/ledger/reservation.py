"""A reservation in a file: made, then committed or given back."""

from __future__ import annotations

import contextlib
import secrets
from collections.abc import Sequence
from itertools import chain, repeat
from typing import NoReturn

from dplr._kit.validation import sentence
from dplr.ledger import outcomes, transactions
from dplr.ledger.budget import BudgetExceeded, Reservation, ReservationLost, Stated
from dplr.ledger.pieces import piece_of
from dplr.ledger.room import counted, room_of
from dplr.ledger.terms import cost_of, refusal, statements_of
from dplr.ledger.transactions import LedgerAccess
from dplr.privacy.statement import PrivacyStatement

_MORE_WAITS = 9
MOST_BYTES = 64 << 20  # of the file of a release that is kept: the limit of a model file


class FileReservation:
    """Entries of one reservation in the file, as one driver holds them: recovery.md has the states and the proof."""

    token: str

    def __init__(self, opened: LedgerAccess, token: str, count: int) -> None:
        self._opened, self.token, self._count = opened, token, count

    def __reduce__(self) -> NoReturn:
        # Refuse: one process draws and commits.
        raise TypeError("a reservation belongs to the process that holds it: pickle the ledger instead.")

    def draw(self) -> None:
        """Write down, before the first noise, that it is about to be drawn; raises where somebody gave it back."""
        with self._opened.writing(outcomes.HELD) as (connection, _):
            if transactions.start_drawing(connection, self.token) != self._count:
                raise ReservationLost(_lost(self._opened.path))

    def commit(self, outbox: bytes | None = None) -> None:
        """Record the releases as spent for good; raises unless all entries are still held.

        Their noise is drawn, so a file that others hold is waited for ten times as long as elsewhere.
        """
        if outbox is not None and len(outbox) > MOST_BYTES:
            rule = f"must have at most {MOST_BYTES >> 20} MiB"
            raise ValueError(sentence("outbox", rule, f"{len(outbox)} bytes", "Commit without it."))
        for _ in range(_MORE_WAITS):
            with contextlib.suppress(TimeoutError):  # nothing was written
                return self._commit(outbox)
        return self._commit(outbox)

    def _commit(self, outbox: bytes | None) -> None:
        with self._opened.writing(outcomes.COMMIT) as (connection, _):
            self._check_ended(transactions.commit(connection, self.token))
            if outbox is not None:
                transactions.keep(connection, self.token, outbox)

    def refund(self) -> None:
        """Give the budget back; raises once noise may have been drawn."""
        with self._opened.writing(outcomes.HELD) as (connection, _):
            self._check_ended(transactions.refund(connection, self.token))

    def _check_ended(self, ended: int) -> None:
        if ended != self._count:
            raise ReservationLost(f"a reservation ends once: {ended} of {self._count} entries were still held here.")


def begin(opened: LedgerAccess, statements: Sequence[PrivacyStatement | Stated]) -> Reservation:
    """Reserve for a fit that begins now."""
    releases = statements_of(statements, some=False)
    return FileReservation(opened, insert(opened, releases, "reserved"), len(releases))


def insert(opened: LedgerAccess, statements: Sequence[PrivacyStatement], state: str, times: int = 1) -> str:
    """Write the entries of a reservation, which are reserved or set aside; returns its token."""
    with opened.writing(outcomes.RESERVE) as (connection, terms):
        costs = [cost_of(statement, terms) for statement in statements]
        if state == "set aside":
            costs = [piece_of(cost) for cost in costs]
        room = room_of(opened, connection, terms)
        if not room.takes(counted(costs, times)):
            raise BudgetExceeded(refusal(opened.path, terms, room, costs, times))
        token = secrets.token_hex(16)
        priced = chain.from_iterable(repeat(tuple(zip(costs, statements, strict=True)), times))
        transactions.insert(connection, token, opened.label, priced, opened.share, state)
    return token


def _lost(path: str) -> str:
    rule = "must still hold what the fit reserved"
    remedy = "Its entry was given back while the fit was running. No noise was drawn. Fit again."
    return sentence("ledger", rule, path, remedy)
