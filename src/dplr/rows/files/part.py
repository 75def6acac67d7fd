"""A file as rows that can be read again: they stay what they were, whether the file or a copy of its rows is read."""

from __future__ import annotations

import contextlib
import copy
import difflib
import hashlib
import os
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from dplr.rows.files.kinds import Format, Kind
from dplr.rows.spill import Spill

BATCH_ROWS = 1 << 17
_BATCH_BYTES = 3 << 22  # of a batch as eight bytes per number
_BLOCK = 1 << 13  # rows that are summed together: a batch is a whole number of such blocks
_DELIMITERS = (";", "\t", "|", ",")
_LONGEST_NAME = 60  # characters of it in a message: a damaged file has a header of any length
_REMEDY = "Wait until nothing writes to it, and start again."


class FileChanged(ValueError):
    """A file has changed since it was first read."""


def binary(path: str) -> Any:
    return open(path, "rb")


@dataclass(frozen=True, slots=True)
class Stamp:
    """Place, size and times of a file, and a hash of its footer or header; `moved_ns` is the time of its record.

    A program that edits a file in place can put its time back. It cannot put back the time at which the file's record
    on the disk changed, which POSIX systems keep; Windows has none in `os.stat`. That time also moves where only the
    names or rights of a file change: a fit is then refused for nothing, and says so.
    """

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

    def check(self, path: str, header: bytes | None = None) -> None:
        """Raise FileChanged where the file is another one now, or where its footer or header is."""
        try:
            now = os.stat(self.place)
        except FileNotFoundError:
            raise missing_file(path) from None
        if (now.st_size, now.st_mtime_ns) != (self.size, self.mtime_ns):
            raise _changed(path, f"; got {now.st_size} bytes, changed after the {self.size} that it had")
        if self.moved_ns is not None and _moved_ns(now) != self.moved_ns:
            got = "; got a file whose content, names or rights changed, and whose time was kept or put back"
            raise _changed(path, got)
        if header is not None and hashlib.sha256(header).hexdigest() != self.digest:
            raise _changed(path, "; got other columns or row groups")

    @contextlib.contextmanager
    def opened(
        self, path: str, header_of: Callable[[Any], bytes], opener: Callable[[str], Any] = binary
    ) -> Iterator[Any]:
        """The file, which is read from here on; FileChanged where it is, or becomes, another one than it was."""
        try:
            file = opener(self.place)
        except FileNotFoundError:
            raise missing_file(path) from None
        with file:
            self.check(path, header_of(file))
            yield file
        self.check(path)


def _moved_ns(status: os.stat_result) -> int | None:
    """When the record of a file last changed; None on Windows, where this field is the time of its creation."""
    return None if sys.platform == "win32" else status.st_ctime_ns


def missing_file(path: str) -> FileChanged:
    return _changed(path, "; it is gone")


def _changed(path: str, got: str) -> FileChanged:
    return FileChanged(f"`{path}` was changed while it was read, and must stay as it is{got}. {_REMEDY}")


@dataclass(frozen=True, slots=True)
class DeclaredPart(ABC):
    """A file whose fields are read as the bounds declare them; no file is open.

    Attributes
    ----------
    name : the path as it was given, for messages.
    stamp : of the file, checked whenever it is read.
    kinds : of the columns, in the order in which they are read.
    form : its format, and which texts mean missing values.
    rows : how many there are; None where the file does not say it.
    """

    name: str
    stamp: Stamp
    kinds: Mapping[str, Kind]
    form: Format
    rows: int | None

    def chosen(self, columns: Sequence[str]) -> Self:
        """The part with these columns alone."""
        return replace(self, kinds={name: self.kinds[name] for name in columns})

    @abstractmethod
    def batches(self) -> Iterator[Any]:
        """Record batches; ValueError where the file is not what it was, or its rows are not what they must be."""


def declared_schema(kinds: Mapping[str, Kind]) -> Any:
    """The types of columns of such a file."""
    import pyarrow as pa

    return pa.schema([(name, pa.string() if kind.text else pa.float64()) for name, kind in kinds.items()])


class CachedPart:
    """A file whose rows are written down when they are first read, and read from there afterwards.

    Text and labels are parsed once for any number of passes. Where `folder` has no room for the rows, the file is read
    again and again.
    """

    def __init__(self, part: DeclaredPart, folder: str) -> None:
        self.name: str = part.name
        self._part, self._columns, self._spool = part, list(part.kinds), _Spool(folder)

    @property
    def rows(self) -> int | None:
        """Number of rows; None before they were read."""
        return self._spool.rows

    def chosen(self, columns: Sequence[str]) -> CachedPart:
        part = copy.copy(self)
        part._columns = list(columns)
        return part

    def batches(self) -> Iterator[Any]:
        if self._spool.rows is None and not self._spool.has_room:
            yield from self._part.chosen(self._columns).batches()
        else:
            for batch in self._spool.read() if self._spool.rows is not None else self._spool.filled(self._part):
                yield batch.select(self._columns)


@dataclass
class _Spool:
    """The rows of one file, once they were written; shared by all choices of columns."""

    folder: str
    data: NDArray[np.uint8] | None = None
    rows: int | None = None
    has_room: bool = True

    def filled(self, part: DeclaredPart) -> Iterator[Any]:
        """The batches of the file, each written first. They count once all of them are there."""
        import pyarrow as pa

        rows, sink = 0, None
        with contextlib.ExitStack() as opened:
            with self._writing(opened):
                spill = opened.enter_context(contextlib.closing(Spill(self.folder)))
            for batch in part.batches():
                rows += batch.num_rows
                if self.has_room:
                    with self._writing(opened):
                        sink = sink or pa.ipc.new_stream(spill, batch.schema)
                        sink.write_batch(batch)
                yield batch
            if self.has_room:
                with self._writing(opened):
                    if sink is not None:
                        sink.close()
                    self.data, self.rows = spill.mapped(), rows

    @contextlib.contextmanager
    def _writing(self, opened: contextlib.ExitStack) -> Iterator[None]:
        """A context for one write: if it fails, the spill is closed and nothing more is written."""
        try:
            yield
        except (OSError, ValueError):
            self.has_room = False
            opened.close()

    def read(self) -> Iterator[Any]:
        import pyarrow as pa

        with pa.ipc.open_stream(pa.BufferReader(pa.py_buffer(self.data))) as reader:
            yield from reader


def batch_size(most: int, columns: int) -> int:
    """Rows per batch: at most `most`, and fewer where there are many columns."""
    return min(most, max(_BATCH_BYTES // (8 * max(columns, 1)) // _BLOCK, 1) * _BLOCK)


def check_columns(path: str, header: Sequence[str], names: Collection[str]) -> None:
    """Raise ValueError where a column is missing, or is there twice."""
    missing = [name for name in names if name not in header]
    if missing:
        close = difflib.get_close_matches(missing[0], header, 1)
        hint = f" Did you mean {close[0]}?" if close else ""
        delimiters = [delimiter for delimiter in _DELIMITERS if len(header) == 1 and delimiter in header[0]]
        if delimiters:
            hint = f" Are its fields divided by {delimiters[0]!r}? Say so: --delimiter {delimiters[0]!r}."
        had = _words(header) or "nothing"
        raise ValueError(f"`{path}` must have a column for {_words(missing)}; its header has {had}.{hint}")
    duplicates = [name for name in names if list(header).count(name) > 1]
    if duplicates:
        raise ValueError(f"`{path}` must have every column once; {', '.join(duplicates)} is there twice.")


def _words(names: Sequence[str]) -> str:
    """The first names of a list, none of them long."""
    short = [name if len(name) <= _LONGEST_NAME else f"{name[:_LONGEST_NAME]}…" for name in names[:12]]
    return ", ".join(short) + (", …" if len(names) > 12 else "")
