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
from dplr.ledger.recording import ForkedFit, Recording, remove_journal
from dplr.ledger.room import counted, room_of
from dplr.ledger.terms import cost_of, refusal, statements_of
from dplr.ledger.transactions import LedgerAccess
from dplr.privacy.statement import PrivacyStatement

MOST_BYTES = 64 << 20  # of the file of a release that is kept: the limit of a model file


class FileReservation:
    """Entries of one reservation in the file, as one driver holds them: resuming.md has the states and the proof."""

    def __init__(
        self, opened: LedgerAccess, token: str, holder: str, count: int, recorder: Recording | None = None
    ) -> None:
        self._opened, self.token, self._holder, self._count = opened, token, holder, count
        self.recorder = recorder
        self._state = "drawing" if recorder is not None and recorder.begun else "reserved"

    def __reduce__(self) -> NoReturn:
        """Refuse: the token and the code of a fingerprint do not leave the process."""
        raise TypeError("a reservation belongs to the process that holds it: pickle the ledger instead.")

    def draw(self) -> None:
        """Write down, before the first noise, that it is about to be drawn; raises where another ended or took it."""
        with self._opened.writing(outcomes.HELD) as (connection, _):
            if transactions.start_drawing(connection, self.token, self._holder, self._state) != self._count:
                raise ReservationLost(_lost(self._opened.path))

    def commit(self, outbox: bytes | None = None) -> None:
        """Record the releases as spent for good; raises unless this driver still held all entries."""
        if outbox is not None and len(outbox) > MOST_BYTES:
            rule = f"must have at most {MOST_BYTES >> 20} MiB"
            raise ValueError(sentence("outbox", rule, f"{len(outbox)} bytes", "Commit without it."))
        with self._opened.writing(outcomes.COMMIT) as (connection, _):
            self._check_ended(transactions.commit(connection, self.token, self._holder))
            if outbox is not None:
                transactions.keep(connection, self.token, outbox)
        self._end_recording()

    def refund(self) -> None:
        """Give the budget back; raises once noise may have been drawn."""
        with self._opened.writing(outcomes.HELD) as (connection, _):
            self._check_ended(transactions.refund(connection, self.token, self._holder))
        self._end_recording()

    def _end_recording(self) -> None:
        """Remove the journal of entries that have ended; a later fit removes one that cannot be removed now."""
        if self.recorder is not None:
            with contextlib.suppress(OSError, ForkedFit):
                self.recorder.end()
            remove_journal(self._opened.path, self.token)

    def _check_ended(self, ended: int) -> None:
        if ended != self._count:
            raise ReservationLost(f"a reservation ends once: {ended} of {self._count} entries were still held here.")


def begin(opened: LedgerAccess, statements: Sequence[PrivacyStatement | Stated], code: str | None) -> Reservation:
    """Reserve for a fit that begins now; with a code of the data, another process may resume it."""
    releases, holder = statements_of(statements, some=False), secrets.token_hex(16)
    token = insert(opened, releases, holder, code)
    recording = None if code is None else Recording(opened.path, token, code, holder)
    return FileReservation(opened, token, holder, len(releases), recording)


def insert(
    opened: LedgerAccess,
    statements: Sequence[PrivacyStatement],
    holder: str | None,
    code: str | None = None,
    times: int = 1,
) -> str:
    """Write the entries of a reservation, which has a holder where its fit begins now; returns its token."""
    with opened.writing(outcomes.RESERVE) as (connection, terms):
        costs = [cost_of(statement, terms) for statement in statements]
        if holder is None:
            costs = [piece_of(cost) for cost in costs]
        room = room_of(opened, connection, terms)
        if not room.takes(counted(costs, times)):
            raise BudgetExceeded(refusal(opened.path, terms, room, costs, times))
        token = secrets.token_hex(16)
        priced = chain.from_iterable(repeat(tuple(zip(costs, statements, strict=True)), times))
        transactions.insert(connection, token, opened.label, priced, opened.share, holder, code)
    return token


def _lost(path: str) -> str:
    rule = "must still hold what the fit reserved"
    remedy = (
        "Its entry was given back, or another process resumed it, while the fit was running. No noise was drawn. "
        "Fit again."
    )
    return sentence("ledger", rule, path, remedy)
