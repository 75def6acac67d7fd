"""Transactions on a ledger, and its entries: SQLite with a rollback journal. Knows no rule of composition.

Every query is read to its end at once: one that is not, and that an error keeps alive, would keep others from writing.
"""

from __future__ import annotations

import contextlib
import sqlite3
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from dplr.ledger import connection as ledger_connection
from dplr.ledger import outcomes
from dplr.ledger.connection import IN_USE, connect, explained
from dplr.ledger.decoding import (
    Damaged,
    Fields,
    bytes_of,
    delta_of,
    entry_in,
    eps_of,
    optional,
    state_of,
    text_of,
    time_of,
    token_of,
    word_of,
)
from dplr.ledger.entries import Entry, Terms, guarantee_text, now, statement_text
from dplr.ledger.file import check_file, check_header, terms_of
from dplr.privacy.rules import Cost
from dplr.privacy.statement import PrivacyStatement


@contextlib.contextmanager
def reading(path: str, identity: str = "") -> Iterator[tuple[sqlite3.Connection, Terms]]:
    """A consistent view of the ledger, and its terms."""
    with _transaction(path, identity, "BEGIN", outcomes.READ) as opened:
        yield opened


@contextlib.contextmanager
def writing(path: str, identity: str, outcome: str) -> Iterator[tuple[sqlite3.Connection, Terms]]:
    """A transaction of the only writer: what it reads cannot change before it writes. Durable when it ends."""
    with _transaction(path, identity, "BEGIN IMMEDIATE", outcome) as opened:
        yield opened


@contextlib.contextmanager
def _transaction(path: str, identity: str, begin: str, outcome: str) -> Iterator[tuple[sqlite3.Connection, Terms]]:
    with IN_USE, explained(path, outcome), _connected(path) as connection:
        deadline = time.monotonic() + ledger_connection.WAIT_SECONDS
        while True:
            try:
                check_header(connection, path)
                connection.execute(begin)
                terms = terms_of(connection, path, identity)
                break
            except sqlite3.OperationalError as error:
                # Some locks (a journal being rolled back) are refused at once and not waited for.
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


@dataclass(frozen=True, slots=True)
class LedgerAccess:
    """A ledger file that was opened, or one share of it.

    Attributes
    ----------
    path : the file.
    id : the identity of the ledger; another ledger under the same path is refused.
    label : the name of the data in new entries; None for no name.
    share : the name of the share; None for the whole ledger.
    """

    path: str
    id: str
    label: str | None
    share: str | None = None

    def reading(self) -> contextlib.AbstractContextManager[tuple[sqlite3.Connection, Terms]]:
        """A consistent view of the file, and its terms."""
        return reading(self.path, self.id)

    def writing(self, outcome: str) -> contextlib.AbstractContextManager[tuple[sqlite3.Connection, Terms]]:
        """A transaction of the only writer, and the terms; the outcome says what is spent if that fails."""
        return writing(self.path, self.id, outcome)


def costs(connection: sqlite3.Connection, share: str | None = None) -> dict[Cost, int]:
    """The costs that were not refunded, of a share or of the whole ledger, equal ones counted together.

    An entry whose state is no word of ours would count as nothing if states were asked for, so all others are.
    """
    of_share, names = ("NULL", ()) if share is None else ("share", tuple(shares(connection)))
    rows = connection.execute(
        f"SELECT eps, delta, guarantee, draws, state, {of_share}, count(*), min(number) FROM entry "
        f"WHERE state IS NOT 'refunded' GROUP BY state, eps, delta, guarantee, draws, {of_share}"
    ).fetchall()
    counts = dict[Cost, int]()
    for eps, delta, text, draws, state, name, count, number in rows:
        fields = Fields(f"entry {number}")
        fields.read("state", state, state_of)
        cost = fields.cost(eps, delta, text, draws)
        if fields.read("share", name, optional(word_of(names))) == share:
            counts[cost] = counts.get(cost, 0) + count
    return counts


def shares(connection: sqlite3.Connection) -> dict[str, tuple[float, float]]:
    """The limits of each share by its name, in the order in which they were made."""
    limits = {}
    for row, name, eps, delta, created in connection.execute(
        "SELECT rowid, name, eps, delta, created FROM share ORDER BY rowid"
    ).fetchall():
        fields = Fields(f"share {row}")
        fields.read("created", created, time_of)
        limits[fields.read("name", name, text_of)] = (
            fields.read("eps", eps, eps_of),
            fields.read("delta", delta, delta_of),
        )
    return limits


def insert_share(connection: sqlite3.Connection, name: str, limits: tuple[float, float]) -> None:
    """Make a share."""
    connection.execute("INSERT INTO share VALUES (?, ?, ?, ?)", (name, *limits, now()))


def insert(
    connection: sqlite3.Connection,
    reservation: str,
    label: str | None,
    priced: Iterable[tuple[Cost, PrivacyStatement]],
    share: str | None,
    state: str,
) -> None:
    """Insert an entry per statement."""
    time_now = now()
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
                statement_text(statement),
                share,
            )
            for cost, statement in priced
        ),
    )


def set_aside(connection: sqlite3.Connection, reservation: str) -> list[tuple[int, Cost]]:
    """Numbers and costs of the entries that are still set aside."""
    rows = connection.execute(
        "SELECT number, eps, delta, guarantee, draws FROM entry WHERE reservation = ? AND state = 'set aside' "
        "ORDER BY number",
        (reservation,),
    ).fetchall()
    return [(number, Fields(f"entry {number}").cost(*values)) for number, *values in rows]


def begin(
    connection: sqlite3.Connection,
    reservation: str,
    pieces: Iterable[tuple[int, int, PrivacyStatement]],
) -> None:
    """Hand entries that were set aside to a new reservation; a piece is (number of the entry, draws, statement)."""
    connection.executemany(
        "UPDATE entry SET reservation = ?, state = 'reserved', draws = ?, statement = ? WHERE number = ?",
        [(reservation, draws, statement_text(statement), number) for number, draws, statement in pieces],
    )


def start_drawing(connection: sqlite3.Connection, reservation: str) -> int:
    """Mark entries as drawing, before the first noise; returns how many were reserved."""
    return connection.execute(
        "UPDATE entry SET state = 'drawing' WHERE reservation = ? AND state = 'reserved'", (reservation,)
    ).rowcount


def commit(connection: sqlite3.Connection, reservation: str) -> int:
    """Commit a reservation; returns how many of its entries had not ended."""
    return connection.execute(
        "UPDATE entry SET state = 'committed', ended_at = ? WHERE reservation = ? AND state IN ('reserved', 'drawing')",
        (now(), reservation),
    ).rowcount


def refund(connection: sqlite3.Connection, reservation: str) -> int:
    """Give a reservation back; returns how many of its entries were still reserved."""
    return connection.execute(
        "UPDATE entry SET state = 'refunded', ended_at = ? WHERE reservation = ? AND state = 'reserved'",
        (now(), reservation),
    ).rowcount


def give_back(connection: sqlite3.Connection, reservation: str) -> list[int]:
    """Give back what nobody has begun to draw for, whoever holds it; returns the numbers of the entries."""
    where = "reservation = ? AND state IN ('set aside', 'reserved')"
    rows = connection.execute(f"SELECT number FROM entry WHERE {where} ORDER BY number", (reservation,)).fetchall()
    connection.execute(f"UPDATE entry SET state = 'refunded', ended_at = ? WHERE {where}", (now(), reservation))
    return [number for (number,) in rows]


def reservation_of(connection: sqlite3.Connection, number: int, share: str | None) -> str | None:
    """The reservation to which an entry belongs; None where there is no such entry."""
    query = "SELECT reservation FROM entry WHERE number = ? AND (? IS NULL OR share = ?)"
    row = connection.execute(query, (number, share, share)).fetchone()
    return None if row is None else Fields(f"entry {number}").secret("reservation", row[0], token_of)


def entries_of(connection: sqlite3.Connection, reservation: str, share: str | None) -> list[tuple[int, str]]:
    """Numbers and states of all entries of a reservation, in their order."""
    rows = connection.execute(
        "SELECT number, state FROM entry WHERE reservation = ? AND (? IS NULL OR share = ?) ORDER BY number",
        (reservation, share, share),
    ).fetchall()
    return [(number, Fields(f"entry {number}").read("state", state, state_of)) for number, state in rows]


def keep(connection: sqlite3.Connection, reservation: str, body: bytes) -> None:
    """Write the file of what was released beside its reservation, until it is delivered."""
    connection.execute("INSERT INTO release VALUES (?, ?)", (reservation, body))


def kept(connection: sqlite3.Connection, reservation: str) -> bytes | None:
    """The file that is kept of a release; None for none."""
    row = connection.execute("SELECT body FROM release WHERE reservation = ?", (reservation,)).fetchone()
    return None if row is None else Fields(f"the release {reservation}").secret("body", row[0], bytes_of)


def undelivered(connection: sqlite3.Connection, share: str | None) -> list[int]:
    """The first entry of each reservation whose release is kept."""
    (lost,) = connection.execute(
        "SELECT count(*) FROM release WHERE reservation IS NULL OR reservation NOT IN (SELECT reservation FROM entry)"
    ).fetchone()
    if lost:
        raise Damaged("the table `release`", "reservation", "must be that of an entry", f"{lost} others")
    rows = connection.execute(
        "SELECT min(number) FROM entry JOIN release USING (reservation) WHERE ? IS NULL OR share = ? "
        "GROUP BY reservation ORDER BY 1",
        (share, share),
    ).fetchall()
    return [number for (number,) in rows]


def drop(connection: sqlite3.Connection, reservation: str) -> None:
    """Delete the kept file of a release."""
    connection.execute("DELETE FROM release WHERE reservation = ?", (reservation,))


def entries(connection: sqlite3.Connection) -> list[Entry]:
    """All entries in their order."""
    rows = connection.execute(
        "SELECT number, state, eps, delta, guarantee, draws, label, reserved_at, ended_at, statement, share FROM entry "
        "ORDER BY number"
    ).fetchall()
    names = shares(connection)
    return [entry_in(row, names) for row in rows]
