"""Connections to the file of a ledger, and errors of SQLite and of the system as sentences for users.

A connection is never kept: it would not survive a fork, a pickle or a deep copy. A fork waits for the operation of
another thread: otherwise the child would take the locks of that thread's connection for its own, and overwrite
entries. The file is never opened by other means while it is in use: closing such a descriptor would drop this process's
locks.
"""

from __future__ import annotations

import contextlib
import os
import pathlib
import sqlite3
import threading
from collections.abc import Iterator

from dplr._kit.validation import sentence
from dplr.ledger.decoding import Damaged, as_text

WAIT_SECONDS = 60.0


class _Use:
    """A lock held while this process has a connection, and during a fork: no child begins with SQLite's memory of them.

    A signal may cut short the hook that takes it before a fork. Then a child may begin with the lock of a thread that
    it lacks. It makes its own; where that thread had a connection, the child uses no ledger at all.
    """

    def __init__(self) -> None:
        self._lock, self._process, self._connections = threading.RLock(), os.getpid(), 0

    def __enter__(self) -> None:
        if not self._is_ours():
            rule = "must not be used in a process that was forked while a ledger was open"
            remedy = "Nothing is spent by that. Start processes with the method 'spawn' or 'forkserver'."
            raise RuntimeError(sentence("ledger", rule, "such a process", remedy))
        self._lock.acquire()
        self._connections += 1

    def __exit__(self, *_: object) -> None:
        self._connections -= 1
        self._lock.release()

    def hold(self) -> None:
        """Wait until no thread has a connection: before a fork."""
        if self._is_ours():
            self._lock.acquire()

    def let_go(self) -> None:
        """Let connections be made again: after a fork, in both processes."""
        with contextlib.suppress(RuntimeError):  # `hold` was cut short
            self._lock.release()

    def _is_ours(self) -> bool:
        """Whether the lock is of this process; a new one is made where no connection came with the fork."""
        if self._process != os.getpid() and not self._connections:
            self._lock, self._process = threading.RLock(), os.getpid()
        return self._process == os.getpid()


IN_USE = _Use()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=IN_USE.hold, after_in_parent=IN_USE.let_go, after_in_child=IN_USE.let_go)


def connect(path: str) -> sqlite3.Connection:
    """A connection that waits for other writers, and whose commits return once the disk has confirmed them.

    The journal is SQLite's rollback journal, which exists only while a step is written: whoever only looks at a ledger
    leaves no file that others would have to write. EXTRA confirms that it is gone, too: it would undo the step.
    """
    address = address_of(pathlib.Path(path).absolute())
    connection = sqlite3.connect(address, timeout=WAIT_SECONDS, isolation_level=None, uri=True)
    connection.text_factory = as_text
    try:
        connection.execute("PRAGMA synchronous = EXTRA")
        connection.execute("PRAGMA fullfsync = ON")  # macOS: past the cache of the drive; nothing elsewhere
        connection.execute("PRAGMA trusted_schema = OFF")
    except BaseException:
        connection.close()
        raise
    return connection


def address_of(path: pathlib.PurePath) -> str:
    """The URI of a file that SQLite may write. It names no host: a Windows share is a path that begins with //."""
    address = path.as_uri()  # made of the bytes of the name: not every file name is text
    if not address.startswith("file:///"):
        address = address.replace("file://", "file:////", 1)
    return f"{address}?mode=rw"


@contextlib.contextmanager
def explained(path: str, outcome: str) -> Iterator[None]:
    """SQLite's and the system's errors, and damage, as sentences: what, which file, what is spent, what to do.

    Parameters
    ----------
    outcome : what is spent where this fails, one of `outcomes`.
    """
    try:
        yield
    except (Damaged, UnicodeDecodeError) as error:  # SQLite's own error quotes the bytes of a damaged schema
        damage = error if isinstance(error, Damaged) else "names in it are no text"
        raise ValueError(f"`ledger` must be whole, and {path} is not: {damage}. {outcome} {_RESTORE}") from None
    except sqlite3.Error as error:
        raise _translated(error, path, outcome) from error
    except FileExistsError:
        raise
    except OSError as error:
        if error.filename is None and error.errno is None:  # already a sentence
            raise
        rule = "must be in a folder where files can be made, linked and synced"
        remedy = f"{outcome} The system says: {error.strerror}."
        raise type(error)(sentence("ledger", rule, path, remedy)) from error


_RESTORE = "Put back a copy of the file that was made after the last fit: an older one forgets what was spent since."


def _translated(error: sqlite3.Error, path: str, outcome: str) -> Exception:
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
        rule = f"was in use by others for {WAIT_SECONDS:g} seconds"
        remedy = "Another program, such as a backup, holds the file: wait until it has ended. Try again."
        return TimeoutError(sentence("ledger", rule, path, f"{outcome} {remedy}"))
    if code in (sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_ERROR):
        rule = "must be the file of a ledger, and SQLite cannot read it"
        return ValueError(sentence("ledger", rule, path, f"{outcome} {_RESTORE} SQLite says: {error}."))
    if code == sqlite3.SQLITE_CONSTRAINT:
        rule = "must keep the rules of a ledger, and refuses this step"
        return ValueError(sentence("ledger", rule, path, f"{outcome} {_RESTORE} SQLite says: {error}."))
    if code in (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM, sqlite3.SQLITE_AUTH):
        rule = (
            "must be a file that this user may read, and write to spend from it, in a folder where they may make files"
        )
        remedy = "Ask its owner; a step that was cut short is put right when the owner looks at the ledger."
        return PermissionError(sentence("ledger", rule, path, f"{outcome} {remedy} SQLite says: {error}."))
    if code in (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR):
        rule = "could not be written to disk"
        return OSError(sentence("ledger", rule, path, f"{outcome} Make room on the disk. SQLite says: {error}."))
    return RuntimeError(sentence("ledger", "could not be used", path, f"{outcome} SQLite says: {error}."))
