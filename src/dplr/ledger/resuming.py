"""A fit that goes on in another process: its reservation is held again, and its journal with it.

resuming.md has the states of an entry and the proof.
"""

from __future__ import annotations

import contextlib
import json
import secrets
import sqlite3
from collections.abc import Sequence

from dplr._kit.validation import sentence
from dplr.ledger import outcomes, transactions
from dplr.ledger.budget import Reservation, Stated
from dplr.ledger.entries import statement_text
from dplr.ledger.recording import (
    Recording,
    hand_over,
    has_journal,
    prefixes_of,
    remove_journal,
    remove_unproved,
    reopened,
)
from dplr.ledger.reservation import FileReservation
from dplr.ledger.terms import checked_text, statements_of
from dplr.ledger.transactions import EntryState, LedgerAccess
from dplr.privacy.statement import PrivacyStatement

_OTHERS = "See the entries with ledger.entries()."


def resumed(
    opened: LedgerAccess,
    name: int | str | None,
    statements: Sequence[PrivacyStatement | Stated],
    code: str,
    journalled: bool,
) -> Reservation:
    """A reservation, held again, with the journal of its last driver, who must be gone, where the fit reads one."""
    releases = statements_of(statements, some=True)
    recording, holder = None, secrets.token_hex(16)
    with contextlib.ExitStack() as unless_taken:
        with opened.writing(outcomes.TAKE) as (connection, _):
            if name is None:
                token, entries = _only(opened, connection, releases, code, journalled)
            else:
                token, entries = entries_named(opened, connection, name)
            _check_same(entries, releases, code, entries[0].number if name is None else name, journalled)
            drew = entries[0].state == "drawing"
            if journalled:
                journal = reopened(opened.path, token, code)
                recording = Recording(opened.path, token, code, holder, journal, drew)
                unless_taken.callback(recording.close)
                if drew:
                    hand_over(journal, entries[0].holder, holder)
            transactions.take(connection, token, holder, entries[0].state)
        unless_taken.pop_all()
    return FileReservation(opened, token, holder, len(releases), recording)


def sweep(opened: LedgerAccess) -> None:
    """Remove journals of reservations that have ended, and of dead processes whose noise the journal does not prove."""
    for prefix in prefixes_of(opened.path):
        with opened.reading() as (connection, _):
            token = transactions.token_with(connection, prefix)
            entries = [] if token is None else transactions.entries_of(connection, token, None)
        if token is not None and all(entry.state in ("committed", "refunded") for entry in entries):
            remove_journal(opened.path, token)
        elif token is not None and entries[0].state == "drawing":
            remove_unproved(opened.path, token, entries[0])


def code_of(opened: LedgerAccess, fingerprint: str | None) -> str:
    """The code of a fingerprint that the ledger keeps; no error shows the fingerprint."""
    checked = checked_text("fingerprint", fingerprint)
    with opened.writing(outcomes.READ) as (connection, _):
        return transactions.code_of(connection, checked)


def entries_named(
    opened: LedgerAccess, connection: sqlite3.Connection, name: int | str
) -> tuple[str, list[EntryState]]:
    """The token of a reservation, and its entries."""
    if isinstance(name, bool) or not isinstance(name, int | str):
        raise TypeError(sentence("entry", "must be the number of an entry, or the token of a reservation", name))
    token = name if isinstance(name, str) else transactions.reservation_of(connection, name, opened.share)
    entries = [] if token is None else transactions.entries_of(connection, token, opened.share)
    if token is None or not entries:
        raise ValueError(sentence("entry", f"must be one of {opened.path}", name, _OTHERS))
    return token, entries


def _only(
    opened: LedgerAccess,
    connection: sqlite3.Connection,
    statements: Sequence[PrivacyStatement],
    code: str,
    journalled: bool,
) -> tuple[str, list[EntryState]]:
    """The reservation with these statements and this fingerprint; of those that drew, one with a journal."""
    tokens = transactions.resumable(connection, opened.share)
    drew = transactions.resumable(connection, opened.share, "drawing")
    if journalled:
        tokens += [token for token in drew if has_journal(opened.path, token)]
    reservations = {token: transactions.entries_of(connection, token, opened.share) for token in {*tokens, *drew}}
    waiting = {token: reservations[token] for token in tokens}
    texts = [statement_text(statement) for statement in statements]

    def has_texts(entries: Sequence[EntryState]) -> bool:
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
    raise ValueError(sentence("ledger", rule, opened.path, remedy))


def reason(entries: Sequence[EntryState]) -> str:
    """The reason why a reservation is not resumed or given back."""
    if any(entry.state == "drawing" for entry in entries):
        return "It is drawing: its noise may have been drawn, so its cost stays spent."
    return f"It has ended: it is {entries[0].state}."


def _check_same(
    entries: Sequence[EntryState], statements: Sequence[PrivacyStatement], code: str, name: int | str, journalled: bool
) -> None:
    """Refuse to resume with other statements or other data, and name the difference."""
    states = {entry.state for entry in entries}
    if states != {"reserved"} and not (journalled and states == {"drawing"}):
        raise ValueError(sentence("entry", "must be reserved to be resumed", name, reason(entries)))
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
