"""Files as one Arrow table, made of the same batches as sums over files; and what is said where memory runs out."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from dplr._kit.extras import optional_library
from dplr.rows.files.csv import header_of
from dplr.rows.files.kinds import CSV, PARQUET, Format, Kind, file_kind
from dplr.rows.files.labelled import dictionary_of
from dplr.rows.files.parquet import footer_of
from dplr.rows.files.part import check_columns
from dplr.rows.files.sources import files_of, parts_of

try:
    import resource
except ModuleNotFoundError:  # Windows
    resource = None  # type: ignore[assignment]

REMEDY = "Name fewer columns in the bounds, or give it more memory."


@dataclass(frozen=True, slots=True)
class Declared:
    """A column as its file declares it: "number", "text" or "unknown", and its value labels."""

    kind: str
    labels: tuple[str, ...] = ()


def read_table(data: Any, kinds: Mapping[str, Kind], form: Format) -> Any:
    """The columns of `kinds`, in their order, as an Arrow table: nothing else of the files is kept.

    ValueError where a file is none of those that are read, a column is missing or occurs twice, a field is not a
    number, or there is no row; MemoryError, with the number of rows that fit.
    """
    import pyarrow as pa

    files = files_of(data)
    parts, schema = parts_of(files, list(kinds), kinds, form)
    counts = [part.rows for part in parts]
    rows = None if None in counts else sum(count or 0 for count in counts)
    named = files[0] if len(files) == 1 else str(data)
    with memory_explained(named, rows) as batches:
        for part in parts:
            batches.extend(part.batches())
        table = pa.Table.from_batches(batches, schema).unify_dictionaries()
    if not table.num_rows:
        raise ValueError(f"`{named}` must have at least one row below its header; got none.")
    return table


def column_types(path: str, form: Format) -> dict[str, Declared]:
    """Every column by its name, as the file declares it: no row is read."""
    optional_library("pyarrow", "reading files", "files")
    kind = file_kind(path)
    if kind == CSV:
        header = header_of(path, form).names
        check_columns(path, header, header)
        return dict.fromkeys(header, Declared("unknown"))
    if kind == PARQUET:
        return {field.name: Declared(_declared(field.type)) for field in footer_of(path).schema}
    types = {}
    for name, variable in dictionary_of(path, form).variables.items():
        labels = tuple(dict.fromkeys(variable.labels.values()))
        # Codes with labels may be either.
        types[name] = Declared("text" if variable.text or variable.date else "unknown" if labels else "number", labels)
    return types


def _declared(kind: Any) -> str:
    """The kind that the bounds declare for an Arrow type."""
    from pyarrow import types

    if types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind):
        return "number"
    if types.is_string(kind) or types.is_large_string(kind) or types.is_dictionary(kind):
        return "text"
    return "unknown"


@contextlib.contextmanager
def memory_explained(path: str, rows: int | None) -> Iterator[list[Any]]:
    """Batches to fill; a MemoryError inside says how many of the rows of `path` were read, and how many would fit."""
    batches: list[Any] = []
    try:
        yield batches
    except MemoryError:
        read, size = sum(batch.num_rows for batch in batches), sum(batch.nbytes for batch in batches)
        batches.clear()  # frees memory for the message
        raise MemoryError(_sentence(path, read, size, rows)) from None


def _sentence(path: str, read: int, size: int, rows: int | None) -> str:
    limit = memory_limit()
    within = "" if limit is None else f" of {limit >> 20} MiB"
    extent = "rows" if rows is None else f"of {rows} rows"
    got, fit = f"none {extent} before it ran out", ""
    if read:
        got = f"{read} {extent} of {-(-size // read)} bytes each before it ran out"
        fit = f" At most about {rounded(read)} rows fit."
    return f"`{path}` must fit into memory{within}; got {got}.{fit} {REMEDY}"


def memory_limit() -> int | None:
    """Bytes that this process may have, by the limits of the shell; None where there is none."""
    if resource is None:
        return None
    limits = [resource.getrlimit(kind)[0] for kind in (resource.RLIMIT_AS, resource.RLIMIT_DATA)]
    return min((limit for limit in limits if limit != resource.RLIM_INFINITY), default=None)


def memory_used() -> int:
    """The most bytes that this process had so far; 0 where the system does not say."""
    if resource is None:
        return 0
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


def rounded(rows: int) -> int:
    """The number, rounded down to two digits."""
    unit: int = 10 ** max(len(str(rows)) - 2, 0)
    return rows // unit * unit
