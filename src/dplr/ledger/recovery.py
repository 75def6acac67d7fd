"""The recovery of a fit that did not end: its budget is given back, or the file of its release is fetched."""

from __future__ import annotations

import sqlite3

from dplr._kit.validation import MOST, sentence
from dplr.ledger import outcomes, transactions
from dplr.ledger.account import Account
from dplr.ledger.entries import Entry
from dplr.ledger.terms import checked_text
from dplr.ledger.transactions import LedgerAccess


class Recovery(Account):
    """The part of a ledger that deals with fits that did not end: recovery.md has the states and the proof."""

    __slots__ = ()

    def give_back(self, name: int | str) -> list[int]:
        """Give back the budget of a fit that has drawn no noise, and fail that fit if its process still runs.

        All entries that were reserved together come back together; from an `Allotment`, those that no fit has begun.

        Parameters
        ----------
        name : int or str
            Number of an entry whose state is `"reserved"` or `"set aside"`, or the token of its reservation.

        Returns
        -------
        list of int
            Numbers of the entries that were given back.

        Raises
        ------
        ValueError, TypeError
            There is no such entry, it has ended, or its noise may have been drawn.
        OSError
            The file cannot be written.

        Privacy
        -------
        A fit writes `"drawing"` into its entry before its first noise. A fit that is still running when its entry is
        given back fails at that moment: it draws nothing and delivers nothing (recovery.md, theorem 1).

        Examples
        --------
        >>> import dplr, tempfile, os
        >>> ledger = dplr.Ledger(os.path.join(tempfile.mkdtemp(), "budget"), eps=1.0)
        >>> held = ledger.reserve(dplr.plan(n_rows=1000, n_features=2, eps=0.4, mechanism="fm"))  # and a crash
        >>> ledger.give_back(1), ledger.remaining()
        ([1], (1.0, 1e-12))
        """
        with self._opened.writing(outcomes.GIVE_BACK) as (connection, _):
            token, entries = entries_named(self._opened, connection, name)
            states = [state for _, state in entries]
            if not any(state in ("reserved", "set aside") for state in states):
                why = f"It has ended: it is {states[0]}."
                if "drawing" in states:
                    why = "It is drawing: its noise may have been drawn, so its cost stays spent."
                raise ValueError(sentence("entry", "must be reserved or set aside", name, why))
            return transactions.give_back(connection, token)

    def entries_of(self, name: int | str) -> list[Entry]:
        """The entries that were reserved in one step.

        Parameters
        ----------
        name : int or str
            Number of one of them, or their token.

        Returns
        -------
        list of dplr.ledger.Entry
            All of them, in their order.

        Raises
        ------
        ValueError, TypeError
            There is no such entry.
        OSError
            The file cannot be read.

        Privacy
        -------
        As `entries`.
        """
        with self._opened.reading() as (connection, _):
            _, siblings = entries_named(self._opened, connection, name)
            numbers = {number for number, _ in siblings}
            return [entry for entry in transactions.entries(connection) if entry.number in numbers]

    def recover(self, name: int | str) -> bytes:
        """The file of a release that was committed and not delivered: the same release again, at no further cost.

        Parameters
        ----------
        name : int or str
            Number of its entry, or the token of its reservation.

        Returns
        -------
        bytes
            The file of the model, as `save_model` writes it.

        Raises
        ------
        ValueError, TypeError
            There is no such entry, or nothing is kept of it.
        OSError
            The file cannot be read.

        Privacy
        -------
        Returns the bytes that the commit wrote: released numbers and public facts.

        Examples
        --------
        >>> import dplr, tempfile, os
        >>> ledger = dplr.Ledger(os.path.join(tempfile.mkdtemp(), "budget"), eps=1.0)
        >>> held = ledger.reserve(dplr.plan(n_rows=1000, n_features=2, eps=0.4, mechanism="fm"))
        >>> held.commit(outbox=b"a model")  # and a crash
        >>> ledger.kept(), ledger.recover(1)
        ([1], b'a model')
        >>> ledger.delivered(1)
        >>> ledger.kept()
        []
        """
        with self._opened.reading() as (connection, _):
            token, _ = entries_named(self._opened, connection, name)
            body = transactions.kept(connection, token)
        if body is None:
            remedy = "It was delivered, has no file, or was not committed. See ledger.kept()."
            raise ValueError(sentence("entry", "must have a release that is kept", name, remedy))
        return body

    def delivered(self, name: int | str) -> None:
        """Delete the kept file of a release, which was delivered, so that the ledger stays small.

        Parameters
        ----------
        name : int or str
            Number of its entry, or the token of its reservation.

        Raises
        ------
        ValueError, TypeError
            There is no such entry.
        OSError
            The file cannot be written.

        Privacy
        -------
        Removes released numbers; the entry and its cost stay.
        """
        with self._opened.writing(outcomes.DELIVERED) as (connection, _):
            token, _ = entries_named(self._opened, connection, name)
            transactions.drop(connection, token)

    def kept(self) -> list[int]:
        """The entries whose release is kept for `recover`.

        Returns
        -------
        list of int
            Their numbers.

        Raises
        ------
        ValueError
            The file is not the ledger that was opened.
        OSError
            The file cannot be read.

        Privacy
        -------
        As `entries`: which fits ended with a model depends on the data where others failed.
        """
        with self._opened.reading() as (connection, _):
            return transactions.undelivered(connection, self._opened.share)


def entries_named(
    opened: LedgerAccess, connection: sqlite3.Connection, name: int | str
) -> tuple[str, list[tuple[int, str]]]:
    """The token of a reservation, and the numbers and states of its entries."""
    if isinstance(name, bool) or not (isinstance(name, str) or (isinstance(name, int) and abs(name) < MOST)):
        raise TypeError(sentence("entry", "must be the number of an entry, or the token of a reservation", name))
    token = (
        checked_text("entry", name)
        if isinstance(name, str)
        else transactions.reservation_of(connection, name, opened.share)
    )
    entries = [] if token is None else transactions.entries_of(connection, token, opened.share)
    if token is None or not entries:
        raise ValueError(
            sentence("entry", f"must be one of {opened.path}", name, "See the entries with ledger.entries().")
        )
    return token, entries
