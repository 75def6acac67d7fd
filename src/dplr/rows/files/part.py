"""Parts: rows that can be read again, of a file or whatever else; and how those of a file stay what they were."""

from __future__ import annotations

import contextlib
import difflib
import hashlib
import os
import sys
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dplr._kit.validation import sentence
from dplr.rows.files.kinds import Kind
from dplr.rows.spill import Spill

BATCH_ROWS = 1 << 17
_BATCH_BYTES = 3 << 22  # of a batch as eight bytes per number
_BLOCK = 1 << 13  # rows that are summed together: a batch is a whole number of such blocks
_DELIMITERS = (";", "\t", "|", ",")
_LONGEST_NAME = 60  # characters of it in a message: a damaged file has a header of any length
_REMEDY = "Wait until nothing writes to it, and start again."


@dataclass(frozen=True, eq=False)
class Part:
    """Some of the rows. Picklable where its function is: it is opened where it is read.

    Attributes
    ----------
    read : columns, None for all -> tables in memory, of any library, or record batches of Arrow: every row once, in one
        order, anew for every pass.
    name : of the rows in errors; it holds no value of any row.
    rows : number of rows; None where it is not known without reading them.
    columns : those that are read; None for all.
    lasts : whether reading again gives the same rows, or is refused; a query may read other rows next time.
    """

    read: Callable[[list[str] | None], Iterator[Any]]
    name: str
    rows: int | None = None
    columns: tuple[str, ...] | None = None
    lasts: bool = False

    def chosen(self, columns: Sequence[str]) -> Part:
        """These rows with these columns alone."""
        return replace(self, columns=tuple(dict.fromkeys(columns)))

    def batches(self) -> Iterator[Any]:
        with explained(self.name):
            yield from self.read(None if self.columns is None else list(self.columns))


class Unreadable(ValueError):
    """Rows that the library which reads them could not read. What it says is the cause: it may quote a value."""


@contextlib.contextmanager
def explained(name: str) -> Iterator[None]:
    """Errors of other libraries as a sentence; those of this package, of the system and of memory as they are."""
    try:
        yield
    except MemoryError:
        raise
    except Exception as error:
        foreign = type(error).__module__.partition(".")[0] not in ("builtins", "dplr")
        if not foreign and not (isinstance(error, OSError) and error.errno is None):
            raise
        rule = "must be rows that can be read in every pass, as its schema declares them"
        remedy = "Read it with its own library to see which row or file is at fault, and write it anew."
        raise Unreadable(sentence("X", rule, f"{name} with a {type(error).__name__}", remedy)) from error


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


def declared_schema(kinds: Mapping[str, Kind]) -> Any:
    """The types of columns of such a file."""
    import pyarrow as pa

    return pa.schema([(name, pa.string() if kind.text else pa.float64()) for name, kind in kinds.items()])


class Spool:
    """The rows of a file, which are written down when they are first read, and read from there afterwards.

    Text and labels are parsed once for any number of passes. Where `folder` has no room for the rows, the file is read
    again and again.
    """

    def __init__(self, part: Part, folder: str) -> None:
        self._part, self._folder = part, folder
        self._data: NDArray[np.uint8] | None = None  # once all rows were written
        self._has_room = True

    def batches(self, columns: list[str] | None) -> Iterator[Any]:
        if self._data is None and not self._has_room:
            yield from (self._part if columns is None else self._part.chosen(columns)).batches()
        else:
            for batch in self._filled() if self._data is None else self._written():
                yield batch if columns is None else batch.select(columns)

    def _filled(self) -> Iterator[Any]:
        """The batches of the file, each written first."""
        import pyarrow as pa

        sink = None
        with contextlib.ExitStack() as opened:
            with self._writing(opened):
                spill = opened.enter_context(contextlib.closing(Spill(self._folder)))
            for batch in self._part.batches():
                if self._has_room:
                    with self._writing(opened):
                        sink = sink or pa.ipc.new_stream(spill, batch.schema)
                        sink.write_batch(batch)
                yield batch
            if self._has_room:
                with self._writing(opened):
                    if sink is not None:
                        sink.close()
                    self._data = spill.mapped()

    @contextlib.contextmanager
    def _writing(self, opened: contextlib.ExitStack) -> Iterator[None]:
        """A context for one write: if it fails, the spill is closed and nothing more is written."""
        try:
            yield
        except (OSError, ValueError):
            self._has_room = False
            opened.close()

    def _written(self) -> Iterator[Any]:
        import pyarrow as pa

        with pa.ipc.open_stream(pa.BufferReader(pa.py_buffer(self._data))) as reader:
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
