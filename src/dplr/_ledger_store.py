"""The ledger's file: SQLite with a write-ahead log, one connection an operation. Knows no rule of composition.

A connection is never kept: it would not survive a fork, a pickle or a deep copy. A fork waits for the operation of
another thread: the child would take the locks of that thread's connection for its own, and overwrite entries. The file
is never opened by other means while it is in use: closing such a descriptor would drop this process's locks.
"""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import sqlite3
import stat
import threading
import time
import urllib.parse
from collections.abc import Iterator, Sequence

from dplr._ledger_entries import Entry, Terms, guarantee_of, guarantee_text, now, statement_text
from dplr._ledger_rules import Cost
from dplr._validation import sentence
from dplr.privacy import PrivacyStatement

APPLICATION = 0x64706C72  # "dplr" in the file's header
VERSION = 1
WAIT_SECONDS = 60.0
# Held while this process has a connection, and during a fork: no child begins with SQLite's memory of open files.
_OPEN = threading.RLock()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_OPEN.acquire, after_in_parent=_OPEN.release, after_in_child=_OPEN.release)
_SCHEMA = (
    """CREATE TABLE terms (
        id TEXT NOT NULL, eps REAL NOT NULL, delta REAL NOT NULL, composition TEXT NOT NULL,
        neighbouring TEXT NOT NULL, strict INTEGER NOT NULL, created TEXT NOT NULL)""",
    """CREATE TABLE entry (
        number INTEGER PRIMARY KEY AUTOINCREMENT, reservation TEXT NOT NULL,
        state TEXT NOT NULL CHECK (state IN ('reserved', 'committed', 'released')),
        eps REAL NOT NULL, delta REAL NOT NULL, guarantee TEXT NOT NULL, draws INTEGER NOT NULL,
        label TEXT, reserved_at TEXT NOT NULL, ended_at TEXT, statement TEXT NOT NULL)""",
    "CREATE INDEX entry_reservation ON entry (reservation)",
    "CREATE INDEX entry_cost ON entry (state, eps, delta, guarantee, draws)",
    """CREATE TRIGGER terms_are_fixed BEFORE UPDATE ON terms
        BEGIN SELECT RAISE(ABORT, 'the terms of a ledger are fixed'); END""",
    """CREATE TRIGGER terms_stay BEFORE DELETE ON terms
        BEGIN SELECT RAISE(ABORT, 'the terms of a ledger are fixed'); END""",
    """CREATE TRIGGER entries_stay BEFORE DELETE ON entry
        BEGIN SELECT RAISE(ABORT, 'entries of a ledger are never deleted'); END""",
    """CREATE TRIGGER entries_end_once BEFORE UPDATE ON entry WHEN OLD.state <> 'reserved' OR NEW.number <> OLD.number
        OR NEW.eps <> OLD.eps OR NEW.delta <> OLD.delta OR NEW.guarantee <> OLD.guarantee OR NEW.draws <> OLD.draws
        BEGIN SELECT RAISE(ABORT, 'an entry of a ledger ends once'); END""",
)


def create(path: str, terms: Terms) -> None:
    """Make a ledger under a temporary name and link it to `path`, which must not exist: it appears whole
    or not at all.

    Raises FileExistsError where another process was faster.
    """
    folder, name = os.path.split(path)
    temporary = os.path.join(folder, f".{name}.new-{secrets.token_hex(8)}")
    with _OPEN, _explained(path):
        try:
            os.close(os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
            connection = _open(temporary)
            try:
                _write_schema(connection, terms)
            finally:
                connection.close()
            os.link(temporary, path)
        finally:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(temporary)
        _sync(folder)  # SQLite synced the file; its name is ours to sync


def _write_schema(connection: sqlite3.Connection, terms: Terms) -> None:
    connection.execute("BEGIN IMMEDIATE")
    for statement in _SCHEMA:
        connection.execute(statement)
    values = (terms.id, terms.eps, terms.delta, terms.composition, terms.neighbouring, terms.strict, terms.created)
    connection.execute("INSERT INTO terms VALUES (?, ?, ?, ?, ?, ?, ?)", values)
    connection.execute(f"PRAGMA application_id = {APPLICATION}")
    connection.execute(f"PRAGMA user_version = {VERSION}")
    connection.execute("COMMIT")
    connection.execute("PRAGMA journal_mode = WAL")


def _sync(path: str) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def check_file(path: str) -> None:
    """Refuse what cannot be a ledger before SQLite touches it; finish what a crashed creation left behind."""
    what = "must be the file of a ledger"
    try:
        found = os.lstat(path)
    except FileNotFoundError:
        remedy = "Make it once with dplr.Ledger(path, eps=..., delta=...), or correct the path."
        raise FileNotFoundError(sentence("ledger", "must be the file of a ledger that exists", path, remedy)) from None
    except OSError as error:
        raise type(error)(sentence("ledger", what, path, f"The system says: {error.strerror}.")) from None
    if stat.S_ISDIR(found.st_mode):
        raise IsADirectoryError(sentence("ledger", what, path, "This is a folder: name a file in it."))
    if not stat.S_ISREG(found.st_mode):
        raise ValueError(sentence("ledger", what, path, "This is no regular file."))
    if found.st_nlink > 1:
        _remove_leftovers(path)
        if os.lstat(path).st_nlink > 1:
            remedy = "This file has a second name (a hard link), and SQLite would keep a log for each. Remove one."
            raise ValueError(sentence("ledger", what, path, remedy))


def _remove_leftovers(path: str) -> None:
    """Names that a creation gave and, when it was cut short, did not take away."""
    folder, name = os.path.split(path)
    for other in os.listdir(folder):
        if other.startswith(f".{name}.new-"):
            leftover = os.path.join(folder, other)
            with contextlib.suppress(FileNotFoundError):
                if os.path.samefile(leftover, path):
                    os.unlink(leftover)


def _open(path: str) -> sqlite3.Connection:
    """A connection that waits for others, and for whose commits the disk has confirmed."""
    name = urllib.parse.quote(os.fsencode(path))  # bytes: not every name of a file is text
    address = f"file://{name}?mode=rw"
    connection = sqlite3.connect(address, timeout=WAIT_SECONDS, isolation_level=None, uri=True)
    try:
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("PRAGMA trusted_schema = OFF")
    except BaseException:
        connection.close()
        raise
    return connection


def _connected(path: str) -> contextlib.closing[sqlite3.Connection]:
    check_file(path)
    return contextlib.closing(_open(path))


@contextlib.contextmanager
def reading(path: str, identity: str = "") -> Iterator[tuple[sqlite3.Connection, Terms]]:
    """A consistent view of the ledger, and its terms."""
    with _transaction(path, identity, "BEGIN") as opened:
        yield opened


@contextlib.contextmanager
def writing(path: str, identity: str = "") -> Iterator[tuple[sqlite3.Connection, Terms]]:
    """The only writer for a while: what is read cannot change before it is written. Durable when it ends."""
    with _transaction(path, identity, "BEGIN IMMEDIATE") as opened:
        yield opened


@contextlib.contextmanager
def _transaction(path: str, identity: str, begin: str) -> Iterator[tuple[sqlite3.Connection, Terms]]:
    with _OPEN, _explained(path), _connected(path) as connection:
        deadline = time.monotonic() + WAIT_SECONDS
        while True:
            try:
                _check_header(connection, path)
                connection.execute(begin)
                terms = _terms(connection, path, identity)
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


def _check_header(connection: sqlite3.Connection, path: str) -> None:
    (application,) = connection.execute("PRAGMA application_id").fetchone()
    if application != APPLICATION:
        raise ValueError(sentence("ledger", "must be the file of a ledger", path, "Another program made this file."))
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    if version != VERSION:
        rule = f"must have version {VERSION} of the format, but has {version}"
        raise ValueError(sentence("ledger", rule, path, "Use the version of dplr that made it."))


def _terms(connection: sqlite3.Connection, path: str, identity: str) -> Terms:
    found = connection.execute(
        "SELECT id, eps, delta, composition, neighbouring, strict, created FROM terms"
    ).fetchall()
    if len(found) != 1:
        raise ValueError(sentence("ledger", "must hold one budget", path, "The file was tampered with."))
    name, eps, delta, composition, neighbouring, strict, created = found[0]
    terms = Terms(name, eps, delta, composition, neighbouring, bool(strict), created)
    if identity not in ("", terms.id):
        remedy = "The file was replaced. Open it anew with dplr.Ledger(path) if that is right."
        raise ValueError(sentence("ledger", "must be the ledger that was opened, and is another one", path, remedy))
    return terms


@contextlib.contextmanager
def _explained(path: str) -> Iterator[None]:
    """SQLite's and the system's errors as sentences: what, which file, what to do."""
    try:
        yield
    except sqlite3.DatabaseError as error:
        raise _translated(error, path) from error
    except FileExistsError:
        raise
    except OSError as error:
        if error.filename is None and error.errno is None:  # already a sentence
            raise
        rule = "must be in a folder where files can be made, linked and synced"
        raise type(error)(sentence("ledger", rule, path, f"The system says: {error.strerror}.")) from error


def _translated(error: sqlite3.DatabaseError, path: str) -> Exception:
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
        rule = f"was in use by others for {WAIT_SECONDS:g} seconds"
        return TimeoutError(sentence("ledger", rule, path, "Try again; what was reserved stays spent."))
    if code in (sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CORRUPT):
        rule = "must be the file of a ledger, and SQLite cannot read it"
        return ValueError(sentence("ledger", rule, path, f"SQLite says: {error}."))
    if code in (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM, sqlite3.SQLITE_AUTH):
        rule = "must be a file, in a folder, that this process may write"
        return PermissionError(sentence("ledger", rule, path, f"SQLite says: {error}."))
    if code in (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR):
        rule = "could not be written to disk"
        return OSError(
            sentence("ledger", rule, path, f"Make room; what was reserved stays spent. SQLite says: {error}.")
        )
    return RuntimeError(sentence("ledger", "could not be used", path, f"SQLite says: {error}."))


def costs(connection: sqlite3.Connection) -> dict[Cost, int]:
    """What is reserved or committed, equal costs counted together."""
    rows = connection.execute(
        "SELECT eps, delta, guarantee, draws, count(*) FROM entry WHERE state IN ('reserved', 'committed') "
        "GROUP BY eps, delta, guarantee, draws"
    )
    return {Cost(eps, delta, guarantee_of(text), draws): count for eps, delta, text, draws, count in rows}


def insert(
    connection: sqlite3.Connection,
    reservation: str,
    label: str | None,
    priced: Sequence[tuple[Cost, PrivacyStatement]],
) -> None:
    """Reserve for each statement."""
    time_now = now()
    connection.executemany(
        "INSERT INTO entry (reservation, state, eps, delta, guarantee, draws, label, reserved_at, statement) "
        "VALUES (?, 'reserved', ?, ?, ?, ?, ?, ?, ?)",
        [
            (
                reservation,
                cost.eps,
                cost.delta,
                guarantee_text(cost.guarantee),
                cost.draws,
                label,
                time_now,
                statement_text(said),
            )
            for cost, said in priced
        ],
    )


def end(connection: sqlite3.Connection, reservation: str, state: str) -> int:
    """Commit or release a reservation; how many entries it had that were still reserved."""
    return connection.execute(
        "UPDATE entry SET state = ?, ended_at = ? WHERE reservation = ? AND state = 'reserved'",
        (state, now(), reservation),
    ).rowcount


def entries(connection: sqlite3.Connection) -> list[Entry]:
    """All entries in their order."""
    rows = connection.execute(
        "SELECT number, state, eps, delta, guarantee, label, reserved_at, ended_at, statement FROM entry "
        "ORDER BY number"
    )
    return [
        Entry(number, state, eps, delta, guarantee_of(text), label, begun, ended, json.loads(said))
        for number, state, eps, delta, text, label, begun, ended, said in rows
    ]
