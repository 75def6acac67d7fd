"""How a reservation in a file ends: committed or given back; in a strict ledger it is spent from the beginning."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dplr.ledger import transactions
from dplr.ledger.budget import Reservation

if TYPE_CHECKING:
    from dplr.ledger.handle import Ledger


class _Held:
    """Entries of one reservation in the file."""

    def __init__(self, ledger: Ledger, token: str, count: int) -> None:
        self._ledger, self._token, self._count = ledger, token, count

    def commit(self) -> None:
        """Record the releases as spent for good; raises unless all entries were still reserved."""
        self._end("committed")

    def refund(self) -> None:
        """Give the budget back."""
        self._end("refunded")

    def _end(self, state: str) -> None:
        with self._ledger._writing() as (connection, _):
            ended = transactions.end(connection, self._token, state)
            if ended != self._count:
                raise RuntimeError(f"a reservation ends once: {ended} of {self._count} entries were still reserved.")


class _Spent:
    """Entries of one reservation in a strict ledger: spent for good. The file is the same however the fit ends."""

    def __init__(self, ledger: Ledger, token: str, count: int) -> None:
        self._ledger, self._token, self._count, self._ended = ledger, token, count, False

    def commit(self) -> None:
        """Write nothing; raises if an entry is not in the file, or if the reservation had already ended."""
        with self._ledger._reading() as (connection, _):
            found = transactions.committed(connection, self._token)
        if self._ended or found != self._count:
            raise RuntimeError(f"a reservation ends once, and stays: {found} of {self._count} entries are there.")
        self._ended = True

    def refund(self) -> None:
        """Write nothing and give nothing back. Never raises: that would show the error of the fit as its context."""
        self._ended = True


def reservation_of(ledger: Ledger, token: str, count: int) -> Reservation:
    """The reservation of that name, which has so many entries."""
    return (_Spent if ledger.strict else _Held)(ledger, token, count)
