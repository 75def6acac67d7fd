"""The recovery of a fit that did not end: its reservation is given back, or a driver goes on with it."""

from __future__ import annotations

from dplr._kit.validation import sentence
from dplr.ledger import outcomes, transactions
from dplr.ledger.account import Account
from dplr.ledger.budget import Reservation, Stated
from dplr.ledger.entries import Entry
from dplr.ledger.recording import remove_journal
from dplr.ledger.resuming import code_of, entries_named, reason, resumed, sweep
from dplr.privacy.statement import PrivacyStatement


class Recovery(Account):
    """The part of a ledger that deals with fits that did not end: resuming.md has the states and the proof."""

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
        given back fails at that moment: it draws nothing and delivers nothing (resuming.md, theorem 1).

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
            candidates = [entry for entry in entries if entry.state in ("reserved", "set aside")]
            if not candidates:
                raise ValueError(sentence("entry", "must be reserved or set aside", name, reason(entries)))
            numbers = transactions.give_back(connection, token)
        remove_journal(self._opened.path, token)
        return numbers

    def resume(self, name: int | str | None, *statements: PrivacyStatement | Stated, fingerprint: str) -> Reservation:
        """Take over a reservation whose process has ended: the same releases of the same data, paid for once.

        Whoever held it before holds it no longer: if that process still runs, it fails before its first noise.

        Parameters
        ----------
        name : int, str or None
            Number of an entry whose state is `"reserved"`, or the token of its reservation; None for the only one that
            has these statements and this fingerprint.
        *statements : dplr.PrivacyStatement or dplr.Plan
            Those of the reservation, in their order, or plans that have them.
        fingerprint : str
            Fingerprint of the data, as it was passed to `reserve`.

        Returns
        -------
        dplr.ledger.Reservation
            The reservation, which this process holds from now on.

        Raises
        ------
        ValueError, TypeError
            There is no such entry, or several; it has ended, or its noise may have been drawn; a statement or the
            fingerprint is another one.
        OSError
            The file cannot be written.

        Privacy
        -------
        At most one driver reaches `"drawing"`, and only the driver that holds the entry then can commit (resuming.md,
        theorem 1).

        Examples
        --------
        >>> import dplr, tempfile, os
        >>> ledger = dplr.Ledger(os.path.join(tempfile.mkdtemp(), "budget"), eps=1.0)
        >>> plan = dplr.plan(n_rows=1000, n_features=2, eps=0.4, mechanism="fm")
        >>> first = ledger.reserve(plan, fingerprint="people.csv, 9134 bytes")  # and a crash
        >>> ledger.resume(1, plan, fingerprint="people.csv, 9134 bytes").commit()
        >>> ledger.remaining()
        (0.6, 1e-12)
        """
        code = code_of(self._opened, fingerprint)
        return resumed(self._opened, name, statements, code, journalled=False)

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
            numbers = {entry.number for entry in siblings}
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
            The file, as `keep` of the job made it.

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

        Journals of fits that have ended, or that can never be resumed, are removed too.

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
        Removes released numbers, and secret journals with which nobody goes on; the entry and its cost stay.
        """
        with self._opened.writing(outcomes.DELIVERED) as (connection, _):
            token, _ = entries_named(self._opened, connection, name)
            transactions.drop(connection, token)
        sweep(self._opened)

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
