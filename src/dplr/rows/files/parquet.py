"""Parquet files: parts of about 2^20 rows, read in batches whose memory does not grow with the file."""

from __future__ import annotations

import contextlib
import functools
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from dplr.rows.files.kinds import PARQUET, file_kind
from dplr.rows.files.part import BATCH_ROWS, Part, Stamp, batch_size, check_columns

PART_ROWS = 1 << 20
_BUFFER = 1 << 18  # bytes of a column read at a time: without it a whole row group is held
_TAIL = 8  # bytes: the length of the footer, then the magic


@dataclass(frozen=True, slots=True)
class Footer:
    """The footer of a file: its Arrow schema, and the rows of each row group."""

    stamp: Stamp
    schema: Any
    group_rows: tuple[int, ...]


def footer_of(path: str, columns: Sequence[str] = ()) -> Footer:
    """Read the footer alone; ValueError where there is none, or a column is missing or occurs twice."""
    import pyarrow as pa

    with _whole(path), pa.OSFile(path) as file:
        data, reader = _footer(file), _reader(file)
        counts = tuple(reader.metadata.row_group(group).num_rows for group in range(reader.num_row_groups))
        footer = Footer(Stamp.of(path, data), reader.schema_arrow, counts)
    check_columns(path, footer.schema.names, columns)
    return footer


def parquet_parts(
    path: str, columns: Sequence[str], part_rows: int = PART_ROWS, batch_rows: int = BATCH_ROWS
) -> list[Part]:
    """Parts of a file, in its order: as many row groups as have `part_rows` rows in all, at least one, never a piece.

    ValueError where the file is not a whole Parquet file, or a column is missing or occurs twice.
    """
    footer, runs = footer_of(path, columns), list[tuple[int, list[int]]]()
    for group, count in enumerate(footer.group_rows):
        if runs and count and runs[-1][0] + count <= part_rows:
            runs[-1] = runs[-1][0] + count, [*runs[-1][1], group]
        elif count:
            runs.append((count, [group]))
    reads = [functools.partial(_batches, path, footer.stamp, groups, rows, batch_rows) for rows, groups in runs]
    return [Part(read, path, rows, tuple(columns), True) for read, (rows, _) in zip(reads, runs, strict=True)]


def _batches(
    path: str, stamp: Stamp, groups: list[int], expected: int, batch_rows: int, names: list[str]
) -> Iterator[Any]:
    """Record batches of some row groups; ValueError where the file is not what it was, or is damaged."""
    import pyarrow as pa

    rows, size = 0, batch_size(batch_rows, len(names))
    with _whole(path), stamp.opened(path, _footer, pa.OSFile) as file:
        for batch in _reader(file).iter_batches(size, row_groups=groups, columns=names, use_threads=False):
            rows += batch.num_rows
            yield pa.RecordBatch.from_arrays([batch.column(name) for name in names], names)
    if rows != expected:
        rule = f"must be a whole Parquet file; row groups {groups} have {rows} rows"
        raise ValueError(f"`{path}` {rule}, and its footer says {expected}.")


def footer_bytes(path: str) -> bytes:
    """The footer of a Parquet file, which describes its content; empty for other files."""
    import pyarrow as pa

    if file_kind(path) != PARQUET:
        return b""
    with _whole(path), pa.OSFile(path) as file:
        return _footer(file)


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
