"""Stamps of files, by which a file that changed between two reads is refused.

A program that edits a file in place can put its time back. It cannot put back the time at which the file's record on
the disk changed, which POSIX systems keep; Windows has none in `os.stat`. That time also moves where only the names or
rights of a file change: a fit is then refused for nothing, and says so. It is compared within one process alone. The
text of a stamp, by which another process finds the work of a fit that was killed, leaves it out: a file that was put
back from a copy, with its time, is the same file.
"""

from __future__ import annotations

import hashlib
import os
import sys
from dataclasses import dataclass

_REMEDY = "Wait until nothing writes to it, and start again."


class FileChanged(ValueError):
    """A file has changed since it was first read."""


@dataclass(frozen=True, slots=True)
class Stamp:
    """Place, size and times of a file, and a hash of its footer or header; `moved_ns` is the time of its record."""

    place: str
    size: int
    mtime_ns: int
    digest: str
    moved_ns: int | None = None

    @classmethod
    def of(cls, path: str, header: bytes) -> Stamp:
        """Look at a file with this footer or header."""
        status = os.stat(path)
        digest = hashlib.sha256(header).hexdigest()
        return cls(os.path.abspath(path), status.st_size, status.st_mtime_ns, digest, _moved_ns(status))

    @property
    def text(self) -> str:
        """The stamp on one line."""
        return f"{self.place} {self.size} {self.mtime_ns} {self.digest}"

    def check(self, path: str, header: bytes | None = None) -> None:
        """Raise FileChanged where the file is another one now, or where its footer or header is."""
        try:
            now = os.stat(self.place)
        except FileNotFoundError:
            raise missing_file(path) from None
        if (now.st_size, now.st_mtime_ns) != (self.size, self.mtime_ns):
            got = f"{now.st_size} bytes, changed after the {self.size} that it had"
            raise FileChanged(f"{_rule(path)}; got {got}. {_REMEDY}")
        if self.moved_ns is not None and _moved_ns(now) != self.moved_ns:
            got = "a file whose content, names or rights changed, and whose time was kept or put back"
            raise FileChanged(f"{_rule(path)}; got {got}. {_REMEDY}")
        if header is not None and hashlib.sha256(header).hexdigest() != self.digest:
            raise FileChanged(f"{_rule(path)}; got other columns or row groups. {_REMEDY}")


def _moved_ns(status: os.stat_result) -> int | None:
    """When the record of a file last changed; None on Windows, where this field is the time of its creation."""
    return None if sys.platform == "win32" else status.st_ctime_ns


def missing_file(path: str) -> FileChanged:
    """The error for a file that is no longer there."""
    return FileChanged(f"{_rule(path)}; it is gone. {_REMEDY}")


def _rule(path: str) -> str:
    return f"`{path}` was changed while it was read, and must stay as it is"
