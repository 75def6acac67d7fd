"""Parquet files: parts of about 2^20 rows, read in batches whose memory does not grow with the file."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from dplr.rows.files.beginnings import PARQUET, file_kind
from dplr.rows.files.columns import check_columns
from dplr.rows.files.stamp import Stamp, missing_file

PART_ROWS = 1 << 20
BATCH_ROWS = 1 << 17
_BATCH_BYTES = 3 << 22  # of a batch as eight bytes per number
_BLOCK = 1 << 13  # rows that are summed together: a batch is a whole number of such blocks
_BUFFER = 1 << 18  # bytes of a column read at a time: without it a whole row group is held
_TAIL = 8  # bytes: the length of the footer, then the magic


@dataclass(frozen=True, slots=True)
class ParquetPart:
    """Consecutive row groups of one file, and the columns to read from them; no file is open.

    Attributes
    ----------
    path : the file as it was named, for messages.
    stamp : place, size, time and hash of the file, checked whenever it is read.
    groups : positions of the row groups.
    columns : names, in the order in which they are read.
    rows : how many there are, by the footer.
    batch_rows : the most rows of a batch.
    """

    path: str
    stamp: Stamp
    groups: tuple[int, ...]
    columns: tuple[str, ...]
    rows: int
    batch_rows: int = BATCH_ROWS

    @property
    def identity(self) -> str:
        """The file, the row groups and the columns: the same text means the same rows."""
        return f"{self.stamp.text} {list(self.groups)} {list(self.columns)}"

    def chosen(self, columns: Sequence[str]) -> ParquetPart:
        """The part with these columns alone."""
        return replace(self, columns=tuple(columns))

    def batches(self) -> Iterator[Any]:
        """Record batches; ValueError where the file is not what it was, or is damaged."""
        import pyarrow as pa

        rows = 0
        with _whole(self.path), _opened(self.path, self.stamp.place, after=True) as file:
            self.stamp.check(self.path, _footer(file))
            for batch in _reader(file).iter_batches(
                batch_size(self.batch_rows, len(self.columns)),
                row_groups=list(self.groups),
                columns=list(self.columns),
                use_threads=False,
            ):
                rows += batch.num_rows
                columns = [batch.column(name) for name in self.columns]
                yield pa.RecordBatch.from_arrays(columns, list(self.columns))
        self.stamp.check(self.path)
        if rows != self.rows:
            rule = f"must be a whole Parquet file; row groups {list(self.groups)} have {rows} rows"
            raise ValueError(f"`{self.path}` {rule}, and its footer says {self.rows}.")


@dataclass(frozen=True, slots=True)
class Footer:
    """The footer of a file: its Arrow schema, and the rows of each row group."""

    stamp: Stamp
    schema: Any
    group_rows: tuple[int, ...]


def is_parquet(path: str) -> bool:
    """Whether a file begins as Parquet does; OSError where it cannot be read."""
    return file_kind(path) == PARQUET


def footer_of(path: str, columns: Sequence[str] = ()) -> Footer:
    """Read the footer alone; ValueError where there is none, or a column is missing or occurs twice."""
    with _whole(path), _opened(path, path) as file:
        reader = _reader(file)
        data = _footer(file)
        counts = tuple(reader.metadata.row_group(group).num_rows for group in range(reader.num_row_groups))
        footer = Footer(Stamp.of(path, data), reader.schema_arrow, counts)
    check_columns(path, footer.schema.names, columns)
    return footer


def parquet_parts(
    path: str, columns: Sequence[str], part_rows: int = PART_ROWS, batch_rows: int = BATCH_ROWS
) -> list[ParquetPart]:
    """Parts of a file, in its order: as many row groups as have `part_rows` rows in all, at least one, never a piece.

    Raises
    ------
    ValueError
        The file is not a whole Parquet file, or a column is missing or occurs twice.
    """
    footer = footer_of(path, columns)
    return [
        ParquetPart(
            path, footer.stamp, groups, tuple(columns), sum(footer.group_rows[group] for group in groups), batch_rows
        )
        for groups in _runs(footer.group_rows, part_rows)
    ]


def batch_size(most: int, columns: int) -> int:
    """Rows per batch: at most `most`, and fewer where there are many columns."""
    return min(most, max(_BATCH_BYTES // (8 * max(columns, 1)) // _BLOCK, 1) * _BLOCK)


def _runs(counts: Sequence[int], most: int) -> Iterator[tuple[int, ...]]:
    """Neighbouring row groups with at most that many rows in all, or one larger one; empty ones are left out."""
    run: list[int] = []
    rows = 0
    for group, count in enumerate(counts):
        if not count:
            continue
        if run and rows + count > most:
            yield tuple(run)
            run, rows = [], 0
        run.append(group)
        rows += count
    if run:
        yield tuple(run)


def footer_bytes(path: str) -> bytes:
    """The footer of a Parquet file, which describes its content; empty for other files."""
    if not is_parquet(path):
        return b""
    with _whole(path), _opened(path, path) as file:
        return _footer(file)


@contextlib.contextmanager
def _opened(path: str, place: str, after: bool = False) -> Iterator[Any]:
    """The file, opened by Arrow. With `after`, it was read before: if it is missing now, it has changed."""
    import pyarrow as pa

    try:
        file = pa.OSFile(place)
    except FileNotFoundError:
        if after:
            raise missing_file(path) from None
        raise
    with file:
        yield file


def _reader(file: Any) -> Any:
    from pyarrow import parquet

    return parquet.ParquetFile(file, buffer_size=_BUFFER, pre_buffer=False)


def _footer(file: Any) -> bytes:
    """The bytes where the footer should be; whether they are one shows when they are parsed."""
    size = file.size()
    file.seek(max(size - _TAIL, 0))
    tail = file.read(_TAIL)
    length = int.from_bytes(tail[:4], "little")
    start = max(size - _TAIL - length, 0)
    file.seek(start)
    footer: bytes = file.read(size - start)
    file.seek(0)
    return footer


@contextlib.contextmanager
def _whole(path: str) -> Iterator[None]:
    """Explain what Arrow raises for a damaged file; a lack of memory is not damage."""
    import pyarrow as pa

    try:
        yield
    except MemoryError:
        raise
    except (pa.ArrowException, OSError) as error:
        number = getattr(error, "errno", None)
        reason = "it is damaged or cut off. Write it anew." if number is None else f"{os.strerror(number)}."
        raise ValueError(f"`{path}` must be a whole Parquet file; {reason}") from error
