"""The file of a ledger: how it is made, whether it can be one, and the budget that it holds."""

from __future__ import annotations

import contextlib
import os
import secrets
import sqlite3
import stat

from dplr._kit.files import sync_folder
from dplr._kit.validation import sentence
from dplr.ledger import outcomes
from dplr.ledger.connection import IN_USE, connect, explained
from dplr.ledger.decoding import row_of, terms_in
from dplr.ledger.entries import Terms

APPLICATION = 0x64706C72  # "dplr" in the file's header
VERSION = 2
_SCHEMA = (
    """CREATE TABLE terms (
        id TEXT NOT NULL, eps REAL NOT NULL, delta REAL NOT NULL, composition TEXT NOT NULL,
        neighbouring TEXT NOT NULL, created TEXT NOT NULL, unit TEXT)""",
    """CREATE TRIGGER terms_are_fixed BEFORE UPDATE ON terms
        BEGIN SELECT RAISE(ABORT, 'the terms of a ledger are fixed'); END""",
    """CREATE TRIGGER terms_stay BEFORE DELETE ON terms
        BEGIN SELECT RAISE(ABORT, 'the terms of a ledger are fixed'); END""",
    """CREATE TABLE share (
        name TEXT PRIMARY KEY NOT NULL, eps REAL NOT NULL, delta REAL NOT NULL, created TEXT NOT NULL)""",
    """CREATE TRIGGER shares_are_fixed BEFORE UPDATE ON share
        BEGIN SELECT RAISE(ABORT, 'the shares of a ledger are fixed'); END""",
    """CREATE TRIGGER shares_are_not_replaced BEFORE INSERT ON share
        WHEN EXISTS (SELECT 1 FROM share WHERE name = NEW.name)
        BEGIN SELECT RAISE(ABORT, 'the shares of a ledger are fixed'); END""",
    """CREATE TRIGGER shares_stay BEFORE DELETE ON share
        BEGIN SELECT RAISE(ABORT, 'the shares of a ledger are fixed'); END""",
    """CREATE TABLE entry (
        number INTEGER PRIMARY KEY AUTOINCREMENT, reservation TEXT NOT NULL,
        state TEXT NOT NULL CHECK (state IN ('set aside', 'reserved', 'drawing', 'committed', 'refunded')),
        eps REAL NOT NULL CHECK (eps >= 0), delta REAL NOT NULL CHECK (delta >= 0), guarantee TEXT NOT NULL,
        draws INTEGER NOT NULL CHECK (draws >= 0),
        label TEXT, reserved_at TEXT NOT NULL, ended_at TEXT, statement TEXT NOT NULL, share TEXT)""",
    "CREATE INDEX entry_reservation ON entry (reservation)",
    "CREATE INDEX entry_cost ON entry (state, eps, delta, guarantee, draws)",
    # SQLite does not count REPLACE as a DELETE, so it needs a trigger of its own.
    """CREATE TRIGGER entries_are_not_replaced BEFORE INSERT ON entry
        WHEN EXISTS (SELECT 1 FROM entry WHERE number = NEW.number)
        BEGIN SELECT RAISE(ABORT, 'entries of a ledger are never replaced'); END""",
    """CREATE TRIGGER entries_stay BEFORE DELETE ON entry
        BEGIN SELECT RAISE(ABORT, 'entries of a ledger are never deleted'); END""",
    """CREATE TRIGGER entries_end_once BEFORE UPDATE ON entry WHEN NOT (
            OLD.state = 'set aside' AND NEW.state IN ('reserved', 'refunded')
            OR OLD.state = 'reserved' AND NEW.state IN ('drawing', 'committed', 'refunded')
            OR OLD.state = 'drawing' AND NEW.state = 'committed')
        OR NEW.number <> OLD.number OR NEW.share IS NOT OLD.share
        OR NEW.eps <> OLD.eps OR NEW.delta <> OLD.delta OR NEW.guarantee <> OLD.guarantee
        OR NEW.draws < OLD.draws OR (NEW.draws > OLD.draws AND OLD.state <> 'set aside')
        OR (NEW.reservation <> OLD.reservation AND OLD.state <> 'set aside')
        BEGIN SELECT RAISE(ABORT, 'an entry of a ledger ends once'); END""",
    # Files of models that were committed and not yet delivered.
    "CREATE TABLE release (reservation TEXT PRIMARY KEY NOT NULL, body BLOB NOT NULL)",
    """CREATE TRIGGER releases_are_fixed BEFORE UPDATE ON release
        BEGIN SELECT RAISE(ABORT, 'a release in a ledger is fixed'); END""",
)


def create(path: str, terms: Terms) -> None:
    """Make a ledger under a temporary name and link it to `path`, which must not exist: it appears whole
    or not at all.

    Raises FileExistsError if another process was faster.
    """
    folder, name = os.path.split(path)
    temporary = os.path.join(folder, f".{name}.new-{secrets.token_hex(8)}")
    with IN_USE, explained(path, outcomes.MAKE):
        try:
            os.close(os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
            connection = connect(temporary)
            try:
                _write_schema(connection, terms)
            finally:
                connection.close()
            os.link(temporary, path)
        finally:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(temporary)
        sync_folder(folder)  # SQLite synced the file, but not the folder that holds its name


def _write_schema(connection: sqlite3.Connection, terms: Terms) -> None:
    connection.execute("BEGIN IMMEDIATE")
    for statement in _SCHEMA:
        connection.execute(statement)
    values = (
        terms.id, terms.eps, terms.delta, terms.composition, terms.neighbouring, terms.created, terms.unit,
    )  # fmt: skip
    connection.execute(f"INSERT INTO terms VALUES ({', '.join('?' * len(values))})", values)
    connection.execute(f"PRAGMA application_id = {APPLICATION}")
    connection.execute(f"PRAGMA user_version = {VERSION}")
    connection.execute("COMMIT")


def check_file(path: str) -> None:
    """Refuse what cannot be a ledger before SQLite touches it; finish what a crashed creation left behind."""
    rule = "must be the file of a ledger"
    try:
        status = os.lstat(path)
    except FileNotFoundError:
        remedy = "Make it once with dplr.Ledger(path, eps=..., delta=...), or correct the path."
        raise FileNotFoundError(sentence("ledger", "must be the file of a ledger that exists", path, remedy)) from None
    except OSError as error:
        raise type(error)(sentence("ledger", rule, path, f"The system says: {error.strerror}.")) from None
    if stat.S_ISDIR(status.st_mode):
        raise IsADirectoryError(sentence("ledger", rule, path, "This is a folder: name a file in it."))
    if not stat.S_ISREG(status.st_mode):
        raise ValueError(sentence("ledger", rule, path, "This is not a regular file."))
    if status.st_nlink > 1:
        _remove_leftovers(path)
        if os.lstat(path).st_nlink > 1:
            remedy = "This file has a second name (a hard link), and SQLite would keep a journal for each. Remove one."
            raise ValueError(sentence("ledger", rule, path, remedy))


def _remove_leftovers(path: str) -> None:
    """Temporary names that a creation left behind when it was cut short."""
    folder, name = os.path.split(path)
    for file_name in os.listdir(folder):
        if file_name.startswith(f".{name}.new-"):
            leftover = os.path.join(folder, file_name)
            with contextlib.suppress(FileNotFoundError):
                if os.path.samefile(leftover, path):
                    os.unlink(leftover)


def check_header(connection: sqlite3.Connection, path: str) -> None:
    """Refuse the file of another program or of another version."""
    (application,) = connection.execute("PRAGMA application_id").fetchone()
    if application != APPLICATION:
        raise ValueError(sentence("ledger", "must be the file of a ledger", path, "Another program made this file."))
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    if version != VERSION:
        rule, got = f"must have ledger format {VERSION}", f"ledger format {version} in {path}"
        remedy = "Use the version of dplr that made it."
        if version < VERSION:
            remedy = "It is not opened: make a new ledger, with what is left of the budget of this one."
        raise ValueError(sentence("ledger", rule, got, remedy))


def terms_of(connection: sqlite3.Connection, path: str, identity: str) -> Terms:
    """The terms in the file; unless `identity` is empty, their id must be equal to it."""
    terms = terms_in(*row_of(connection, "terms", "id, eps, delta, composition, neighbouring, created, unit"))
    if identity not in ("", terms.id):
        remedy = "The file was replaced. Open it anew with dplr.Ledger(path) if that is right."
        raise ValueError(sentence("ledger", "must be the ledger that was opened, and is another one", path, remedy))
    return terms
