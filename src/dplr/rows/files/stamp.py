"""Stamps of files, by which a file that changed between two reads is refused."""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass

_REMEDY = "Wait until nothing writes to it, and start again."


class FileChanged(ValueError):
    """A file has changed since it was first read."""


@dataclass(frozen=True, slots=True)
class Stamp:
    """Place, size and time of a file, and a hash of its footer or header."""

    place: str
    size: int
    mtime_ns: int
    digest: str

    @classmethod
    def of(cls, path: str, header: bytes) -> Stamp:
        """Look at a file with this footer or header."""
        status = os.stat(path)
        return cls(os.path.abspath(path), status.st_size, status.st_mtime_ns, hashlib.sha256(header).hexdigest())

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
        if header is not None and hashlib.sha256(header).hexdigest() != self.digest:
            raise FileChanged(f"{_rule(path)}; got other columns or row groups. {_REMEDY}")


def missing_file(path: str) -> FileChanged:
    """The error for a file that is no longer there."""
    return FileChanged(f"{_rule(path)}; it is gone. {_REMEDY}")


def _rule(path: str) -> str:
    return f"`{path}` was changed while it was read, and must stay as it is"
