"""Transactions on a ledger, and its entries: SQLite with a write-ahead log. Knows no rule of composition."""

from __future__ import annotations

import contextlib
import json
import sqlite3
import time
from collections.abc import Iterable, Iterator

from dplr.ledger import connection as ledger_connection
from dplr.ledger.connection import IN_USE, connect, explained
from dplr.ledger.entries import Entry, Terms, day_of, guarantee_of, guarantee_text, now, statement_text
from dplr.ledger.file import STATE, check_file, check_header, knows_shares, terms_of, upgrade
from dplr.ledger.rules import Cost
from dplr.privacy.statement import PrivacyStatement


@contextlib.contextmanager
def reading(path: str, identity: str = "") -> Iterator[tuple[sqlite3.Connection, Terms]]:
    """A consistent view of the ledger, and its terms."""
    with _transaction(path, identity, "BEGIN") as opened:
        yield opened


@contextlib.contextmanager
def writing(path: str, identity: str = "") -> Iterator[tuple[sqlite3.Connection, Terms]]:
    """A transaction of the only writer: what it reads cannot change before it writes. Durable when it ends."""
    with _transaction(path, identity, "BEGIN IMMEDIATE") as (connection, terms):
        upgrade(connection)
        yield connection, terms


@contextlib.contextmanager
def _transaction(path: str, identity: str, begin: str) -> Iterator[tuple[sqlite3.Connection, Terms]]:
    with IN_USE, explained(path), _connected(path) as connection:
        deadline = time.monotonic() + ledger_connection.WAIT_SECONDS
        while True:
            try:
                check_header(connection, path)
                connection.execute(begin)
                terms = terms_of(connection, path, identity)
                break
            except sqlite3.OperationalError as error:
                # Some locks (a log being recovered or removed) are refused at once and not waited for.
                if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > deadline:
                    raise
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
                time.sleep(0.002)
        try:
            yield connection, terms
        except BaseException:
            with contextlib.suppress(sqlite3.Error):
                connection.execute("ROLLBACK")
            raise
        connection.execute("COMMIT")


def _connected(path: str) -> contextlib.closing[sqlite3.Connection]:
    check_file(path)
    return contextlib.closing(connect(path))


def costs(connection: sqlite3.Connection, share: str | None = None) -> dict[Cost, int]:
    """What is set aside, reserved or committed, of a share or of the whole ledger, equal costs counted together."""
    where, values = ("", ()) if share is None else (" AND share = ?", (share,))
    rows = connection.execute(
        "SELECT eps, delta, guarantee, draws, count(*) FROM entry "
        f"WHERE state IN ('set aside', 'reserved', 'committed'){where} GROUP BY eps, delta, guarantee, draws",
        values,
    )
    return {Cost(eps, delta, guarantee_of(text), draws): count for eps, delta, text, draws, count in rows}


def shares(connection: sqlite3.Connection) -> dict[str, tuple[float, float]]:
    """The limits of each share by its name, in the order in which they were made."""
    if not knows_shares(connection):
        return {}
    found = connection.execute("SELECT name, eps, delta FROM share ORDER BY rowid")
    return {name: (eps, delta) for name, eps, delta in found}


def insert_share(connection: sqlite3.Connection, name: str, limits: tuple[float, float], strict: bool) -> None:
    """Make a share."""
    made = day_of(now()) if strict else now()
    connection.execute("INSERT INTO share VALUES (?, ?, ?, ?)", (name, *limits, made))


def insert(
    connection: sqlite3.Connection,
    reservation: str,
    label: str | None,
    priced: Iterable[tuple[Cost, PrivacyStatement]],
    strict: bool,
    share: str | None = None,
    aside: bool = False,
) -> None:
    """Make a reservation for each statement; a strict ledger commits it at once, unless it is set aside."""
    time_now = now()
    state, time_now = ("committed", day_of(time_now)) if strict else ("reserved", time_now)
    if aside:
        state = "set aside"
    connection.executemany(
        "INSERT INTO entry (reservation, state, eps, delta, guarantee, draws, label, reserved_at, statement, share) "
        "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            (
                reservation,
                state,
                cost.eps,
                cost.delta,
                guarantee_text(cost.guarantee),
                cost.draws,
                label,
                time_now,
                statement_text(said),
                share,
            )
            for cost, said in priced
        ),
    )


def set_aside(connection: sqlite3.Connection, reservation: str) -> list[tuple[int, Cost]]:
    """Numbers and costs of the entries that are still set aside."""
    rows = connection.execute(
        "SELECT number, eps, delta, guarantee, draws FROM entry WHERE reservation = ? AND state = 'set aside' "
        "ORDER BY number",
        (reservation,),
    )
    return [(number, Cost(eps, delta, guarantee_of(text), draws)) for number, eps, delta, text, draws in rows]


def begin(
    connection: sqlite3.Connection,
    reservation: str,
    taken: Iterable[tuple[int, int, PrivacyStatement]],
    strict: bool,
) -> None:
    """Hand entries that were set aside, by number and numbers drawn, to a reservation of their own."""
    state = "committed" if strict else "reserved"
    connection.executemany(
        "UPDATE entry SET reservation = ?, state = ?, draws = ?, statement = ? WHERE number = ?",
        [(reservation, state, draws, statement_text(said), number) for number, draws, said in taken],
    )


def end(connection: sqlite3.Connection, reservation: str, state: str, was: str = "reserved") -> int:
    """Commit or refund a reservation; returns how many of its entries were still reserved, or set aside."""
    return connection.execute(
        "UPDATE entry SET state = ?, ended_at = ? WHERE reservation = ? AND state = ?",
        (state, now(), reservation, was),
    ).rowcount


def committed(connection: sqlite3.Connection, reservation: str) -> int:
    """How many committed entries a reservation has."""
    query = "SELECT count(*) FROM entry WHERE reservation = ? AND state = 'committed'"
    return int(connection.execute(query, (reservation,)).fetchone()[0])


def entries(connection: sqlite3.Connection) -> list[Entry]:
    """All entries in their order."""
    share = "share" if knows_shares(connection) else "NULL"
    rows = connection.execute(
        f"SELECT number, {STATE}, eps, delta, guarantee, label, reserved_at, ended_at, statement, {share} FROM entry "
        "ORDER BY number"
    )
    return [
        Entry(number, state, eps, delta, guarantee_of(text), label, begun, ended, json.loads(said), share)
        for number, state, eps, delta, text, label, begun, ended, said, share in rows
    ]
