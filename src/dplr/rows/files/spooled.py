"""Rows of a file in an unnamed Arrow file, so that text and labels are parsed once for any number of passes."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dplr.rows.files.csv import CsvPart
from dplr.rows.files.labelled import LabelledPart
from dplr.rows.spill import Spill


class CachedPart:
    """A file whose rows are written down when they are first read, and read from there afterwards.

    Parameters
    ----------
    part : the file, with all columns that are ever wanted.
    folder : where the rows are written; where it has no room, the file is read again and again.
    """

    def __init__(self, part: CsvPart | LabelledPart, folder: str) -> None:
        self._part, self._columns = part, tuple(name for name, _ in part.kinds)
        self._spool = _Spool(part, folder)

    @property
    def rows(self) -> int | None:
        """Number of rows; None before they were read."""
        return self._spool.rows

    @property
    def identity(self) -> str:
        """The identity of the file with these columns."""
        return self._part.chosen(self._columns).identity

    def chosen(self, columns: Sequence[str]) -> CachedPart:
        """The part with these columns alone."""
        part = CachedPart.__new__(CachedPart)
        part._part, part._spool, part._columns = self._part, self._spool, tuple(columns)
        return part

    def batches(self) -> Iterator[Any]:
        """Record batches, of the same rows each time; errors are those of the file."""
        spool = self._spool
        if spool.rows is None and not spool.has_room:
            yield from self._part.chosen(self._columns).batches()
        else:
            for batch in spool.fill() if spool.rows is None else spool.read():
                yield batch.select(list(self._columns))


class _Spool:
    """The rows of one file, once they were written; shared by all choices of columns."""

    def __init__(self, part: CsvPart | LabelledPart, folder: str) -> None:
        self._part, self._folder = part, folder
        self._data: NDArray[np.uint8] | None = None
        self.rows: int | None = None
        self.has_room = True

    def fill(self) -> Iterator[Any]:
        """The batches of the file, each written first. They count once all of them are there."""
        import pyarrow as pa

        rows, sink = 0, None
        with contextlib.ExitStack() as opened:
            with self._writing(opened):
                spill = opened.enter_context(contextlib.closing(Spill(self._folder)))
            for batch in self._part.batches():
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
                    self._data, self.rows = spill.mapped(), rows

    @contextlib.contextmanager
    def _writing(self, opened: contextlib.ExitStack) -> Iterator[None]:
        """A context for one write: if it fails, the spill is closed and nothing more is written."""
        try:
            yield
        except (OSError, ValueError):
            self.has_room = False
            opened.close()

    def read(self) -> Iterator[Any]:
        """The batches that were written."""
        import pyarrow as pa

        with pa.ipc.open_stream(pa.BufferReader(pa.py_buffer(self._data))) as reader:
            yield from reader
