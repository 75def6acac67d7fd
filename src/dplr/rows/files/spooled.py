"""Rows of a CSV file in a file of Arrow without a name: its text is read once, however often its rows are.

Such a file is not in any folder: the system frees it when the process ends, however it ends. It is as private as the
rows, and not encrypted.
"""

from __future__ import annotations

import contextlib
import mmap
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from typing import IO, Any

from dplr.rows.files.csv import CsvPart

# Of the room that a disk has, this share is left to others.
_LEFT = 0.2


class Spooled:
    """A CSV file whose rows are written down when they are first read, and read from there afterwards.

    Parameters
    ----------
    part : the file, with all columns that are ever wanted.
    folder : where the rows are written; where it has no room, the file is read again and again.
    """

    def __init__(self, part: CsvPart, folder: str) -> None:
        self._part, self._columns = part, tuple(name for name, _ in part.kinds)
        self._spool = _Spool(part, folder)

    @property
    def rows(self) -> int | None:
        """Number of rows; None before they were read."""
        return self._spool.rows

    @property
    def identity(self) -> str:
        """That of the file with these columns."""
        return self._part.chosen(self._columns).identity

    def chosen(self, columns: Sequence[str]) -> Spooled:
        """The part with these columns alone."""
        part = Spooled.__new__(Spooled)
        part._part, part._spool, part._columns = self._part, self._spool, tuple(columns)
        return part

    def batches(self) -> Iterator[Any]:
        """Record batches, of the same rows each time; errors are those of the file."""
        if self._spool.rows is None and self._spool.has_room:
            for batch in self._spool.fill():
                yield batch.select(list(self._columns))
        elif self._spool.rows is None:
            yield from self._part.chosen(self._columns).batches()
        else:
            for batch in self._spool.read():
                yield batch.select(list(self._columns))


class _Spool:
    """The rows of one file, once they were written; shared by all choices of columns."""

    def __init__(self, part: CsvPart, folder: str) -> None:
        self._part, self._folder = part, folder
        self._data: mmap.mmap | None = None
        self.rows: int | None = None
        self.has_room = True

    def fill(self) -> Iterator[Any]:
        """The batches of the file, each written first. They count once all of them are there."""
        rows = 0
        with contextlib.ExitStack() as until:
            writer = _Writer.opened(self._folder, until)
            for batch in self._part.batches():
                rows += batch.num_rows
                if writer is not None and not writer.write(batch):
                    writer.close()
                    writer = None
                yield batch
            if writer is None or not rows or (data := writer.mapped()) is None:
                self.has_room = False
            else:
                self._data, self.rows = data, rows

    def read(self) -> Iterator[Any]:
        """The batches that were written."""
        import pyarrow as pa

        with pa.ipc.open_stream(pa.BufferReader(pa.py_buffer(self._data))) as reader:
            yield from reader


class _Writer:
    """Writes batches to a file without a name, as long as the disk has room for others too."""

    def __init__(self, folder: str, file: IO[bytes]) -> None:
        self._folder, self._file = folder, file
        self._sink: Any = None
        self._least = _LEFT * shutil.disk_usage(folder).free

    @classmethod
    def opened(cls, folder: str, until: contextlib.ExitStack) -> _Writer | None:
        """None where there is no such folder, or no file can be made in it."""
        try:
            writer = cls(folder, tempfile.TemporaryFile(dir=folder, prefix="dplr-"))  # noqa: SIM115 - closed below
        except OSError:
            return None
        until.callback(writer.close)
        return writer

    def close(self) -> None:
        """Let go of the file; what could not be written, on a full disk, is not wanted."""
        with contextlib.suppress(OSError):
            self._file.close()

    def write(self, batch: Any) -> bool:
        """Whether there was room."""
        import pyarrow as pa

        try:
            if shutil.disk_usage(self._folder).free - batch.nbytes < self._least:
                return False
            if self._sink is None:
                self._sink = pa.ipc.new_stream(self._file, batch.schema)
            self._sink.write_batch(batch)
        except OSError:
            return False
        return True

    def mapped(self) -> mmap.mmap | None:
        """The bytes that were written; None where the disk is full."""
        try:
            if self._sink is not None:
                self._sink.close()
            self._file.flush()
            return mmap.mmap(self._file.fileno(), 0, access=mmap.ACCESS_READ)
        except (OSError, ValueError):
            return None
