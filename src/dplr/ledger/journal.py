"""An append-only file beside a ledger: work and noise of a fit which a resumed fit must not repeat. See resuming.md.

It may hold exact sums of private rows, so it is secret: readable by its owner alone, never for publication, and removed
when the reservation ends.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import struct
import weakref
import zlib
from types import TracebackType
from typing import Self

from dplr._kit.files import sync, sync_folder
from dplr._kit.validation import sentence

try:
    import fcntl
except ImportError:  # not on Windows
    fcntl = None  # type: ignore[assignment]

_FRAME = struct.Struct("<II")  # the length of a record, and a checksum of it
_KEY = struct.Struct("<H")
_DIGEST = 16
_MOST = 1 << 30
_HEADER = {"format": "dplr journal", "version": 1, "secret": "may hold exact sums of private rows: never publish it"}
_REMEDY = "Remove it: a fit whose entry is reserved then reads all rows again."


class Journal:
    """Records (key, payload) of one reservation, each on the disk before `record` returns.

    One process holds it at a time, by a lock that ends with the process. A record whose writing was cut short is not
    there; damage anywhere else is an error.
    """

    def __init__(self, path: str, descriptor: int, token: str, code: str) -> None:
        self._path, self._descriptor, self._process = path, descriptor, os.getpid()
        self._digest, self._size = b"", 0
        self._records = dict[str, bytes | tuple[int, int]]()  # payloads read; (size, offset) of those written
        self._broken = False
        _OPEN.add(self)
        self._lock()
        self._read()
        self._start(json.dumps(_HEADER | {"token": token, "code": code}).encode())

    @classmethod
    def create(cls, ledger: str, token: str, code: str) -> Self:
        """A new journal; raises FileExistsError where there is one."""
        return cls._opened(ledger, token, code, os.O_CREAT | os.O_EXCL)

    @classmethod
    def reopen(cls, ledger: str, token: str, code: str) -> Self:
        """The journal of a process that has ended; raises while that process runs, and where there is no journal."""
        return cls._opened(ledger, token, code, 0)

    @classmethod
    def _opened(cls, ledger: str, token: str, code: str, flags: int) -> Self:
        path = name_of(ledger, token)
        if fcntl is None:
            raise OSError(sentence("journal", "needs file locks, which this system lacks", path))
        flags |= os.O_RDWR | os.O_APPEND | getattr(os, "O_NOFOLLOW", 0)
        descriptor = os.open(path, flags, 0o600)
        try:
            journal = cls(path, descriptor, token, code)
            sync_folder(os.path.dirname(path))
        except BaseException:
            os.close(descriptor)
            raise
        return journal

    def get(self, key: str) -> bytes | None:
        """The payload that was recorded under a key; None for none.

        Payloads that this process wrote are read from the file, because sums of many columns would fill the memory:
        once the file is closed they are None. Payloads of an earlier process stay in memory.
        """
        record = self._records.get(key)
        if not isinstance(record, tuple):
            return record
        return None if self._descriptor < 0 else os.pread(self._descriptor, *record)

    def keys(self) -> list[str]:
        """All keys, in the order in which they were recorded."""
        return list(self._records)

    def record(self, key: str, payload: bytes) -> None:
        """Append, and return when the disk has confirmed; each key is recorded once."""
        if self._process != os.getpid():
            raise RuntimeError(sentence("journal", "must be written by the process that opened it", os.getpid()))
        if self._descriptor < 0 or self._broken:
            raise RuntimeError(sentence("journal", "must be open, with all records before this one written", key))
        if key in self._records:
            raise ValueError(sentence("key", "must be new", key, "What was recorded stays."))
        name = key.encode()
        begin = self._size + _FRAME.size + _KEY.size + len(name)
        self._append(_KEY.pack(len(name)) + name + payload)
        self._records[key] = len(payload), begin

    def remove(self) -> None:
        """Delete the file: the reservation has ended."""
        with contextlib.suppress(FileNotFoundError):  # whoever gave the reservation back was faster
            os.unlink(self._path)
        sync_folder(os.path.dirname(self._path))
        self.close()

    def close(self) -> None:
        """Close the file, so that another process may reopen it."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _lock(self) -> None:
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            rule = "must not be held by another process"
            remedy = "The fit that began it still runs, or is paused: wait for it, or end it."
            raise ValueError(sentence("journal", rule, self._path, remedy)) from None

    def _start(self, header: bytes) -> None:
        """Write the header, or compare it with the one that is there."""
        file_header = self._records.pop("", None)
        if file_header is None and self._size == 0:
            os.ftruncate(self._descriptor, 0)
            self._append(_KEY.pack(0) + header)
        elif file_header != header:
            rule = "must be that of the reservation that is resumed, about the same data"
            raise ValueError(sentence("journal", rule, self._path, _REMEDY))
        else:
            os.ftruncate(self._descriptor, self._size)

    def _read(self) -> None:
        """All whole records; what follows them was cut short, or the file is damaged."""
        with open(self._descriptor, "rb", closefd=False) as file:
            file.seek(0)
            data = file.read()
        while (body := self._next(data)) is not None:
            (length,) = _KEY.unpack_from(body)
            key = body[_KEY.size : _KEY.size + length].decode()
            self._records[key] = body[_KEY.size + length :]

    def _next(self, data: bytes) -> bytes | None:
        start = self._size
        if len(data) - start < _FRAME.size:
            return None
        length, check = _FRAME.unpack_from(data, start)
        end = start + _FRAME.size + length + _DIGEST
        if check != _checked(length):
            self._check_cut(data, start + _FRAME.size)
            return None
        if end > len(data):
            return None
        body, digest = data[start + _FRAME.size : end - _DIGEST], data[end - _DIGEST : end]
        if digest != self._chained(body):
            self._check_cut(data, end)
            return None
        self._digest, self._size = digest, end
        return body

    def _check_cut(self, data: bytes, rest: int) -> None:
        """The last record may be cut short, and then nothing but zeros follows it; anything else is damage."""
        if data[rest:].strip(b"\0"):
            raise ValueError(sentence("journal", "must be whole, and is damaged", self._path, _REMEDY))

    def _append(self, body: bytes) -> None:
        if len(body) > _MOST:
            raise ValueError(sentence("payload", f"must have less than {_MOST} bytes", len(body)))
        digest = self._chained(body)
        record = _FRAME.pack(len(body), _checked(len(body))) + body + digest
        try:
            rest = memoryview(record)
            while rest:
                rest = rest[os.write(self._descriptor, rest) :]
            sync(self._descriptor)
        except BaseException:  # the disk may or may not have the record: no other may follow it
            self._broken = True  # and the lock stays: until the journal is removed, its driver may draw
            with contextlib.suppress(OSError):
                os.ftruncate(self._descriptor, self._size)
            raise
        self._digest, self._size = digest, self._size + len(record)

    def _chained(self, body: bytes) -> bytes:
        """A checksum of a record and of all before it, so that none is left out or moved."""
        return hashlib.sha256(self._digest + body).digest()[:_DIGEST]


_OPEN: weakref.WeakSet[Journal] = weakref.WeakSet()


def _close_all() -> None:
    """Close them in a forked child, which would hold their locks after the process that has them is gone."""
    for journal in list(_OPEN):
        journal.close()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_close_all)


def name_of(ledger: str, token: str) -> str:
    """The name of the journal of a reservation."""
    return f"{ledger}.fit-{token[:16]}"


def _checked(length: int) -> int:
    return zlib.crc32(length.to_bytes(4, "little")) ^ 0xFFFFFFFF
