"""How a reservation in a file ends: committed or given back; in a strict ledger it is spent from the beginning."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, NoReturn

from dplr._kit.validation import sentence
from dplr.ledger import transactions
from dplr.ledger.budget import Reservation, ReservationLost
from dplr.ledger.recording import Recording, remove_journal

if TYPE_CHECKING:
    from dplr.ledger.handle import Ledger

MOST_BYTES = 64 << 20  # of a release that is kept: as many as a model file has


class _Held:
    """Entries of one reservation in the file, as one driver holds them: resuming.md has the states and the proof."""

    def __init__(self, ledger: Ledger, token: str, holder: str, count: int, recorder: Recording | None = None) -> None:
        self._ledger, self.token, self._holder, self._count = ledger, token, holder, count
        self.recorder = recorder
        self._state = "drawing" if recorder is not None and recorder.begun else "reserved"

    def __reduce__(self) -> NoReturn:
        """Refuse: the token and the code of a fingerprint do not leave the process."""
        raise TypeError("a reservation belongs to the process that holds it: pickle the ledger instead.")

    def draw(self) -> None:
        """Write down, before the first noise, that it is about to be drawn; raises where another ended or took it."""
        with self._ledger._writing() as (connection, _):
            if transactions.start_drawing(connection, self.token, self._holder, self._state) != self._count:
                raise ReservationLost(_lost(self._ledger.path))

    def commit(self, outbox: bytes | None = None) -> None:
        """Record the releases as spent for good; raises unless this driver still held all entries."""
        if outbox is not None and len(outbox) > MOST_BYTES:
            rule = f"must have at most {MOST_BYTES >> 20} MiB"
            raise ValueError(sentence("outbox", rule, f"{len(outbox)} bytes", "Commit without it."))
        with self._ledger._writing() as (connection, _):
            self._check_ended(transactions.commit(connection, self.token, self._holder))
            if outbox is not None:
                transactions.keep(connection, self.token, outbox)
        self._end_recording()

    def refund(self) -> None:
        """Give the budget back; raises once noise may have been drawn."""
        with self._ledger._writing() as (connection, _):
            self._check_ended(transactions.refund(connection, self.token, self._holder))
        self._end_recording()

    def _end_recording(self) -> None:
        """The entries have ended; a journal that cannot be removed is removed by a later fit."""
        if self.recorder is not None:
            with contextlib.suppress(OSError):
                self.recorder.end()
            remove_journal(self._ledger.path, self.token)

    def _check_ended(self, ended: int) -> None:
        if ended != self._count:
            raise ReservationLost(f"a reservation ends once: {ended} of {self._count} entries were still held here.")


class _Spent:
    """Entries of one reservation in a strict ledger: spent for good. The file is the same however the fit ends."""

    def __init__(self, ledger: Ledger, token: str, count: int) -> None:
        self._ledger, self.token, self._count, self._ended = ledger, token, count, False
        self.recorder = None

    def draw(self) -> None:
        """Write nothing: what is spent for good is not given back, whether noise was drawn or not."""

    def commit(self, outbox: bytes | None = None) -> None:
        """Write and keep nothing; raises if an entry is not in the file, or if the reservation had already ended."""
        with self._ledger._reading() as (connection, _):
            count = transactions.committed(connection, self.token)
        if self._ended or count != self._count:
            raise RuntimeError(f"a reservation ends once, and stays: {count} of {self._count} entries are there.")
        self._ended = True

    def refund(self) -> None:
        """Write nothing and give nothing back. Never raises: that would show the error of the fit as its context."""
        self._ended = True


def reservation_of(
    ledger: Ledger, token: str, holder: str, count: int, recorder: Recording | None = None
) -> Reservation:
    """The reservation of that name, which has so many entries."""
    return _Spent(ledger, token, count) if ledger.strict else _Held(ledger, token, holder, count, recorder)


def _lost(path: str) -> str:
    rule = "must still hold what the fit reserved"
    remedy = (
        "Its entry was given back, or another process resumed it, while the fit was running. No noise was drawn. "
        "Fit again."
    )
    return sentence("ledger", rule, path, remedy)
