"""The file of a ledger: how it is made, whether it can be one, and the budget that it holds."""

from __future__ import annotations

import contextlib
import os
import secrets
import sqlite3
import stat
from collections.abc import Iterator

from dplr._files import sync_folder
from dplr._validation import sentence
from dplr.ledger.connection import IN_USE, connect, explained
from dplr.ledger.entries import Terms

APPLICATION = 0x64706C72  # "dplr" in the file's header
VERSION = 6
_WITH_SHARES, _WITH_UNIT = 3, 4  # of these two, ledgers of records had version 3, and those of persons version 4
_WITH_RELEASES = 5
_KEY_BYTES = 32
_TERMS = (
    """CREATE TABLE terms (
        id TEXT NOT NULL, eps REAL NOT NULL, delta REAL NOT NULL, composition TEXT NOT NULL,
        neighbouring TEXT NOT NULL, strict INTEGER NOT NULL, created TEXT NOT NULL)""",
    """CREATE TRIGGER terms_are_fixed BEFORE UPDATE ON terms
        BEGIN SELECT RAISE(ABORT, 'the terms of a ledger are fixed'); END""",
    """CREATE TRIGGER terms_stay BEFORE DELETE ON terms
        BEGIN SELECT RAISE(ABORT, 'the terms of a ledger are fixed'); END""",
)
_UNIT = "ALTER TABLE terms ADD COLUMN unit TEXT"
_SHARES = (
    """CREATE TABLE share (
        name TEXT PRIMARY KEY NOT NULL, eps REAL NOT NULL, delta REAL NOT NULL, created TEXT NOT NULL)""",
    """CREATE TRIGGER shares_are_fixed BEFORE UPDATE ON share
        BEGIN SELECT RAISE(ABORT, 'the shares of a ledger are fixed'); END""",
    """CREATE TRIGGER shares_stay BEFORE DELETE ON share
        BEGIN SELECT RAISE(ABORT, 'the shares of a ledger are fixed'); END""",
)
_ENTRY = """CREATE TABLE entry (
        number INTEGER PRIMARY KEY AUTOINCREMENT, reservation TEXT NOT NULL,
        state TEXT NOT NULL CHECK (state IN ('set aside', 'reserved', 'drawing', 'committed', 'refunded')),
        eps REAL NOT NULL, delta REAL NOT NULL, guarantee TEXT NOT NULL, draws INTEGER NOT NULL,
        label TEXT, reserved_at TEXT NOT NULL, ended_at TEXT, statement TEXT NOT NULL, share TEXT,
        holder TEXT, fingerprint TEXT)"""
_OF_ENTRIES = (
    "CREATE INDEX entry_reservation ON entry (reservation)",
    "CREATE INDEX entry_cost ON entry (state, eps, delta, guarantee, draws)",
    """CREATE TRIGGER entries_stay BEFORE DELETE ON entry
        BEGIN SELECT RAISE(ABORT, 'entries of a ledger are never deleted'); END""",
    """CREATE TRIGGER entries_end_once BEFORE UPDATE ON entry WHEN NOT (
            OLD.state = 'set aside' AND NEW.state IN ('reserved', 'committed', 'refunded')
            OR OLD.state = 'reserved' AND NEW.state IN ('reserved', 'drawing', 'committed', 'refunded')
            OR OLD.state = 'drawing' AND NEW.state IN ('drawing', 'committed'))
        OR NEW.number <> OLD.number OR NEW.share IS NOT OLD.share
        OR NEW.eps <> OLD.eps OR NEW.delta <> OLD.delta OR NEW.guarantee <> OLD.guarantee
        OR NEW.draws < OLD.draws OR (NEW.draws > OLD.draws AND OLD.state <> 'set aside')
        OR (NEW.reservation <> OLD.reservation AND OLD.state <> 'set aside')
        BEGIN SELECT RAISE(ABORT, 'an entry of a ledger ends once'); END""",
)
# Files of models that were committed and not yet delivered.
_RELEASES = (
    "CREATE TABLE release (reservation TEXT PRIMARY KEY NOT NULL, body BLOB NOT NULL)",
    """CREATE TRIGGER releases_are_fixed BEFORE UPDATE ON release
        BEGIN SELECT RAISE(ABORT, 'a release in a ledger is fixed'); END""",
)
# Under this key fingerprints are kept as codes, which tell nobody who lacks it of the data.
_SECRET = "CREATE TABLE secret (key BLOB NOT NULL)"
# Version 1 wrote 'released' for an entry whose cost was given back. Before version 5 a fit that had drawn noise stayed
# 'reserved': nobody knows which have, so all of them count as drawing.
OLDER_STATE = "CASE state WHEN 'released' THEN 'refunded' WHEN 'reserved' THEN 'drawing' ELSE state END"


def _rewriting(version: int) -> Iterator[str]:
    """The statements that turn a file of that version into one of this; it has no key yet."""
    if version < _WITH_RELEASES:
        yield from _rewriting_entries(version)
    else:  # fingerprints were kept as they were given: such fits are given back, and not resumed
        yield "UPDATE entry SET fingerprint = NULL WHERE fingerprint IS NOT NULL"
    yield _SECRET
    yield f"PRAGMA user_version = {VERSION}"


def _rewriting_entries(version: int) -> Iterator[str]:
    share = "share" if version >= _WITH_SHARES else "NULL"
    yield "ALTER TABLE entry RENAME TO older_entry"
    if version < _WITH_SHARES:
        yield from _SHARES
    if version < _WITH_UNIT:
        yield _UNIT
    yield _ENTRY
    yield (
        f"INSERT INTO entry SELECT number, reservation, {OLDER_STATE}, eps, delta, guarantee, draws, label, "
        f"reserved_at, ended_at, statement, {share}, NULL, NULL FROM older_entry ORDER BY number"
    )
    yield "DROP TABLE older_entry"  # its indexes and triggers go with it
    yield from _OF_ENTRIES
    yield from _RELEASES


def create(path: str, terms: Terms) -> None:
    """Make a ledger under a temporary name and link it to `path`, which must not exist: it appears whole
    or not at all.

    Raises FileExistsError if another process was faster.
    """
    folder, name = os.path.split(path)
    temporary = os.path.join(folder, f".{name}.new-{secrets.token_hex(8)}")
    with IN_USE, explained(path):
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
        sync_folder(folder)  # SQLite synced the file; its name is ours to sync


def _write_schema(connection: sqlite3.Connection, terms: Terms) -> None:
    connection.execute("BEGIN IMMEDIATE")
    for statement in (*_TERMS, _UNIT, *_SHARES, _ENTRY, *_OF_ENTRIES, *_RELEASES, _SECRET):
        connection.execute(statement)
    _make_key(connection)
    values = (
        terms.id,
        terms.eps,
        terms.delta,
        terms.composition,
        terms.neighbouring,
        terms.strict,
        terms.created,
        terms.unit,
    )
    connection.execute(f"INSERT INTO terms VALUES ({', '.join('?' * len(values))})", values)
    connection.execute(f"PRAGMA application_id = {APPLICATION}")
    connection.execute(f"PRAGMA user_version = {VERSION}")
    connection.execute("COMMIT")
    connection.execute("PRAGMA journal_mode = WAL")


def _make_key(connection: sqlite3.Connection) -> None:
    connection.execute("INSERT INTO secret VALUES (?)", (secrets.token_bytes(_KEY_BYTES),))


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
    """Temporary names that a creation left behind when it was cut short."""
    folder, name = os.path.split(path)
    for other in os.listdir(folder):
        if other.startswith(f".{name}.new-"):
            leftover = os.path.join(folder, other)
            with contextlib.suppress(FileNotFoundError):
                if os.path.samefile(leftover, path):
                    os.unlink(leftover)


def check_header(connection: sqlite3.Connection, path: str) -> None:
    """Refuse the file of another program or of a version that is not known."""
    (application,) = connection.execute("PRAGMA application_id").fetchone()
    if application != APPLICATION:
        raise ValueError(sentence("ledger", "must be the file of a ledger", path, "Another program made this file."))
    version = _version(connection)
    if not 1 <= version <= VERSION:
        rule = f"must have version 1 to {VERSION} of the format, but has {version}"
        raise ValueError(sentence("ledger", rule, path, "Use the version of dplr that made it."))


def upgrade(connection: sqlite3.Connection) -> None:
    """Rewrite a file of an older version as this one has it. Part of the writer's transaction: all or none.

    Programs of the older version refuse the file afterwards; what they had reserved in it stays spent.
    """
    version = _version(connection)
    if version < VERSION:
        for statement in _rewriting(version):
            connection.execute(statement)
        _make_key(connection)


def knows_releases(connection: sqlite3.Connection) -> bool:
    """Whether the file has releases, and entries that say whether noise was drawn: older versions have neither."""
    return _version(connection) >= _WITH_RELEASES


def knows_shares(connection: sqlite3.Connection) -> bool:
    """Whether the file has shares: older versions have none."""
    return _version(connection) >= _WITH_SHARES


def _version(connection: sqlite3.Connection) -> int:
    return int(connection.execute("PRAGMA user_version").fetchone()[0])


def terms_of(connection: sqlite3.Connection, path: str, identity: str) -> Terms:
    """The budget in the file; unless `identity` is empty, it must be the budget of that name."""
    unit = "unit" if _version(connection) >= _WITH_UNIT else "NULL"
    found = connection.execute(
        f"SELECT id, eps, delta, composition, neighbouring, strict, created, {unit} FROM terms"
    ).fetchall()
    if len(found) != 1:
        raise ValueError(sentence("ledger", "must hold one budget", path, "The file was tampered with."))
    name, eps, delta, composition, neighbouring, strict, created, unit = found[0]
    terms = Terms(name, eps, delta, composition, neighbouring, bool(strict), created, unit)
    if identity not in ("", terms.id):
        remedy = "The file was replaced. Open it anew with dplr.Ledger(path) if that is right."
        raise ValueError(sentence("ledger", "must be the ledger that was opened, and is another one", path, remedy))
    return terms
