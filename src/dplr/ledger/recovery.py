"""The recovery of a fit that did not end: its reservation is given back, or a driver goes on with it."""

from __future__ import annotations

import contextlib
import json
import secrets
import sqlite3
from abc import abstractmethod
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any

from dplr._kit.validation import sentence
from dplr.ledger import transactions
from dplr.ledger.account import Account
from dplr.ledger.budget import Reservation, Stated
from dplr.ledger.entries import Entry, Terms, statement_text
from dplr.ledger.job import Job
from dplr.ledger.recording import (
    Recording,
    hand_over,
    has_journal,
    prefixes_of,
    remove_journal,
    remove_unproved,
    reopened,
)
from dplr.ledger.reservation import reservation_of
from dplr.ledger.terms import checked_text, statements_of
from dplr.ledger.transactions import Unended
from dplr.privacy.statement import PrivacyStatement

if TYPE_CHECKING:
    from dplr.ledger.handle import Ledger

_OTHERS = "See the entries with ledger.entries()."


class Recovery(Account):
    """The part of a ledger that deals with fits that did not end: resuming.md has the states and the proof."""

    __slots__ = ()

    @property
    @abstractmethod
    def strict(self) -> bool:
        """Whether nothing is given back and no fault of the data is shown."""

    @abstractmethod
    def _writing(self) -> AbstractContextManager[tuple[sqlite3.Connection, Terms]]: ...

    def give_back(self, name: int | str) -> list[int]:
        """Give the budget of a fit back that has drawn no noise: its process was killed, or will be refused.

        All entries that were reserved together come back together; of an `Allotment` all that no fit has begun.

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
            There is no such entry, it has ended, its noise may have been drawn, or the ledger is strict.
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
        self._check_recoverable("give back")
        with self._writing() as (connection, _):
            token, entries = self._named(connection, name)
            candidates = [entry for entry in entries if entry.state in ("reserved", "set aside")]
            if not candidates:
                raise ValueError(sentence("entry", "must be reserved or set aside", name, _why(entries)))
            numbers = transactions.give_back(connection, token)
        remove_journal(self.path, token)
        return numbers

    def resume(self, name: int | str | None, *statements: PrivacyStatement | Stated, fingerprint: str) -> Reservation:
        """Hold a reservation again whose process is gone: the same releases of the same data, paid for once.

        Whoever held it before holds it no longer: if that process still runs, it fails before its first noise.

        Parameters
        ----------
        name : int, str or None
            Number of an entry whose state is `"reserved"`, or the token of its reservation; None for the only one that
            has these statements and this fingerprint.
        *statements : dplr.PrivacyStatement or dplr.Plan
            Those of the reservation, in their order, or plans that have them.
        fingerprint : str
            Fingerprint of the data, as `reserve` was given it.

        Returns
        -------
        dplr.ledger.Reservation
            The reservation, which this process holds from now on.

        Raises
        ------
        ValueError, TypeError
            There is no such entry, or several; it has ended, or its noise may have been drawn; a statement or the
            fingerprint is another one; the ledger is strict.
        OSError
            The file cannot be written.

        Privacy
        -------
        At most one driver reaches `"drawing"`, and only what holds the entry then is committed (resuming.md,
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
        return self._resumed(name, statements, self._code_of(fingerprint), journalled=False)

    def _resumed(
        self,
        name: int | str | None,
        statements: Sequence[PrivacyStatement | Stated],
        code: str,
        journalled: bool,
    ) -> Reservation:
        """Hold a reservation again, with the journal of its last driver, who must be gone, where the fit reads one."""
        releases = statements_of(statements, some=True)
        recording, holder = None, secrets.token_hex(16)
        with contextlib.ExitStack() as unless_taken:
            with self._writing() as (connection, _):
                if name is None:
                    token, entries = self._only(connection, releases, code, journalled)
                else:
                    token, entries = self._named(connection, name)
                _check_same(entries, releases, code, entries[0].number if name is None else name, journalled)
                drew = entries[0].state == "drawing"
                if journalled:
                    journal = reopened(self.path, token, code)
                    recording = Recording(self.path, token, code, holder, journal, drew)
                    unless_taken.callback(recording.close)
                    if drew:
                        hand_over(journal, entries[0].holder, holder)
                transactions.take(connection, token, holder, entries[0].state)
            unless_taken.pop_all()
        return reservation_of(self._itself(), token, holder, len(releases), recording)

    def job(
        self, fingerprint: str | None = None, resume: bool = False, keep: Callable[[Any], bytes] | None = None
    ) -> Job:
        """A budget for one fit (`ledger=`) that outlives its process.

        Parameters
        ----------
        fingerprint : str or None, default=None
            What tells these data from others, such as names, sizes and times of files. Another text is another job. Of
            the text the ledger keeps a code under a random key, until the fit has ended, and nothing else keeps any of
            it. None for a fit that is not resumed.
        resume : bool, default=False
            False makes a reservation. True resumes the only one that has the fit's statement and this fingerprint, and
            goes on where its journal ends.
        keep : callable or None, default=None
            Takes the fitted model and returns its file as bytes, such as `dplr.model_file.encode_model`. The ledger
            keeps the file from the commit on, for `recover`, until it is told that it was `delivered`. `fit_many`, a
            `PrivateSearch` and baselines keep nothing, and neither does a model that no file can hold. It is called
            once before the reservation too, with zeros for the numbers of the model, to see whether a file holds it.

        Returns
        -------
        dplr.ledger.Job
            A budget for `ledger=` of one fit.

        Raises
        ------
        ValueError, TypeError
            The ledger is strict; or `resume` without a fingerprint.

        Privacy
        -------
        The file that is kept is the release itself, which is paid for. No estimator that names the job shows or holds
        the fingerprint (resuming.md, section 4). With one a fit may write a journal beside the ledger while it runs: a
        secret file, in which exact sums of rows may stand (resuming.md, section 5).

        Examples
        --------
        >>> import dplr, tempfile, os
        >>> ledger = dplr.Ledger(os.path.join(tempfile.mkdtemp(), "budget"), eps=1.0)
        >>> plan = dplr.plan(n_rows=1000, n_features=2, eps=0.4, mechanism="fm")
        >>> ledger.job("people.csv, 9134 bytes").reserve(plan.statement).draw()
        >>> ledger.entries()[0].state
        'drawing'
        """
        self._check_recoverable("resume or keep")
        code = self._code_of(fingerprint) if fingerprint is not None or resume else None
        return Job(self._itself(), code, resume, keep)

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
        with self._reading() as (connection, _):
            _, siblings = self._named(connection, name)
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
        with self._reading() as (connection, _):
            token, _ = self._named(connection, name)
            body = transactions.kept(connection, token)
        if body is None:
            remedy = "It was delivered, has no file, or was not committed. See ledger.kept()."
            raise ValueError(sentence("entry", "must have a release that is kept", name, remedy))
        return body

    def delivered(self, name: int | str) -> None:
        """Keep the file of a release no longer: it is where it belongs, and the ledger stays small.

        Journals that a process left when it died, and with which nobody goes on, are removed too.

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
        with self._writing() as (connection, _):
            token, _ = self._named(connection, name)
            transactions.drop(connection, token)
        self._sweep()

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
        with self._reading() as (connection, _):
            return transactions.undelivered(connection, self._share)

    def _sweep(self) -> None:
        """Remove the journals with which nobody goes on: a process died that could have removed its own, or drew."""
        for prefix in prefixes_of(self.path):
            with self._reading() as (connection, _):
                token = transactions.token_with(connection, prefix)
                entries = [] if token is None else transactions.unended(connection, token, None)
            if token is not None and all(entry.state in ("committed", "refunded") for entry in entries):
                remove_journal(self.path, token)
            elif token is not None and entries[0].state == "drawing":
                remove_unproved(self.path, token, entries[0])

    @abstractmethod
    def _itself(self) -> Ledger:
        """The ledger that this is a part of."""

    def _check_recoverable(self, what: str) -> None:
        if self.strict:
            rule = f"must not be strict to {what} a fit"
            remedy = "A strict ledger commits when it reserves, so that its file tells nothing of how fits ended."
            raise ValueError(sentence("ledger", rule, self.path, remedy))

    def _code_of(self, fingerprint: str | None) -> str:
        """A fingerprint as the ledger keeps it; no error shows one."""
        self._check_recoverable("resume")
        checked = checked_text("fingerprint", fingerprint)
        with self._writing() as (connection, _):
            return transactions.code_of(connection, checked)

    def _named(self, connection: sqlite3.Connection, name: int | str) -> tuple[str, list[Unended]]:
        """The token of a reservation, and its entries."""
        if isinstance(name, bool) or not isinstance(name, int | str):
            raise TypeError(sentence("entry", "must be the number of an entry, or the token of a reservation", name))
        token = name if isinstance(name, str) else transactions.token_of(connection, name, self._share)
        entries = [] if token is None else transactions.unended(connection, token, self._share)
        if token is None or not entries:
            raise ValueError(sentence("entry", f"must be one of {self.path}", name, _OTHERS))
        return token, entries

    def _only(
        self, connection: sqlite3.Connection, statements: Sequence[PrivacyStatement], code: str, journalled: bool
    ) -> tuple[str, list[Unended]]:
        """The reservation with these statements and this fingerprint; of those that drew, one with a journal."""
        tokens = transactions.resumable(connection, self._share)
        drew = transactions.resumable(connection, self._share, "drawing")
        if journalled:
            tokens += [token for token in drew if has_journal(self.path, token)]
        reservations = {token: transactions.unended(connection, token, self._share) for token in {*tokens, *drew}}
        waiting = {token: reservations[token] for token in tokens}
        texts = [statement_text(statement) for statement in statements]

        def has_texts(entries: Sequence[Unended]) -> bool:
            return [entry.statement for entry in entries] == texts

        matches = {token: entries for token, entries in waiting.items() if has_texts(entries)}
        resumable = [token for token, entries in matches.items() if entries[0].code == code]
        if len(resumable) == 1:
            return resumable[0], waiting[resumable[0]]
        numbers = ", ".join(str(waiting[token][0].number) for token in resumable or matches or waiting)
        if resumable:
            rule = "must have one reserved entry with this statement and these data"
            remedy = f"Give all except one back (entries {numbers}); of one that is drawing, remove its journal."
        else:
            rule = "must have a reserved entry with this statement and these data"
            why = "has this statement and other data" if matches else "has another statement"
            remedy = f"Entry {numbers} {why}." if numbers else "None can be resumed: begin a new fit."
            for entries in (reservations[token] for token in drew if token not in tokens):
                if has_texts(entries) and entries[0].code == code:
                    remedy += f" Entry {entries[0].number} is drawing, and no journal proves what was drawn."
        raise ValueError(sentence("ledger", rule, self.path, remedy))


def _why(entries: Sequence[Unended]) -> str:
    if any(entry.state == "drawing" for entry in entries):
        return "It is drawing: its noise may have been drawn, so its cost stays spent."
    return f"It has ended: it is {entries[0].state}."


def _check_same(
    entries: Sequence[Unended], statements: Sequence[PrivacyStatement], code: str, name: int | str, journalled: bool
) -> None:
    """Refuse what is not the same job, and say what differs."""
    states = {entry.state for entry in entries}
    if states != {"reserved"} and not (journalled and states == {"drawing"}):
        raise ValueError(sentence("entry", "must be reserved to be resumed", name, _why(entries)))
    if entries[0].code is None:
        remedy = "Give it back, and fit anew."
        raise ValueError(sentence("entry", "must have been reserved with a fingerprint", name, remedy))
    if len(entries) != len(statements):
        rule = f"must be those of entry {name}, which are {len(entries)}"
        raise ValueError(sentence("statements", rule, len(statements)))
    for entry, statement in zip(entries, statements, strict=True):
        ours, theirs = json.loads(entry.statement), json.loads(statement_text(statement))
        if differs := sorted(key for key in ours | theirs if ours.get(key) != theirs.get(key)):
            rule = f"must be those of entry {name}"
            got = f"another {', another '.join(differs)}"
            raise ValueError(sentence("statements", rule, got, "Resume with the parameters of the first run."))
    if entries[0].code != code:
        rule = f"must be that of entry {name}"
        remedy = "The data are not those of the first run, or were touched since. Give it back, and fit anew."
        raise ValueError(sentence("fingerprint", rule, "another one", remedy))
