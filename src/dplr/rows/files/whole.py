"""Files as one Arrow table, made of the same batches as sums over files."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from dplr._kit.extras import optional_library
from dplr.rows.files.beginnings import CSV, PARQUET, file_kind
from dplr.rows.files.columns import check_columns
from dplr.rows.files.kinds import Format, Kind
from dplr.rows.files.labelled import Variable, dictionary_of
from dplr.rows.files.lines import header_of
from dplr.rows.files.memory import memory_explained
from dplr.rows.files.parquet import footer_of
from dplr.rows.files.sources import files_of, parts_of, schema_of


@dataclass(frozen=True, slots=True)
class Declared:
    """A column as its file declares it: "number", "text" or "unknown", and its value labels."""

    kind: str
    labels: tuple[str, ...] = ()


def read_table(data: Any, kinds: Mapping[str, Kind], form: Format) -> Any:
    """The columns of `kinds`, in their order, as an Arrow table: nothing else of the files is kept.

    Raises
    ------
    ValueError
        A file is none of those that are read, a column is missing or occurs twice, a field is not a number, or there is
        no row.
    OSError
        A file cannot be read.
    MemoryError
        The rows do not fit; it says how many do.
    """
    import pyarrow as pa

    files = files_of(data)
    parts = parts_of(files, list(kinds), kinds, form)
    counts = [part.rows for part in parts]
    rows = None if None in counts else sum(count or 0 for count in counts)
    named = files[0] if len(files) == 1 else str(data)
    with memory_explained(named, rows) as store:
        for part in parts:
            for batch in part.batches():
                store.add(batch)
        table = pa.Table.from_batches(store.batches, schema_of(files, list(kinds), kinds)).unify_dictionaries()
    if not table.num_rows:
        raise ValueError(f"`{named}` must have at least one row below its header; got none.")
    return table


def column_types(path: str, form: Format) -> dict[str, Declared]:
    """Every column by its name, as the file declares it: no row is read."""
    optional_library("pyarrow", "reading files", "files")
    if (kind := file_kind(path)) == CSV:
        header = header_of(path, form).names
        check_columns(path, header, header)
        return dict.fromkeys(header, Declared("unknown"))
    if kind == PARQUET:
        return {field.name: Declared(_declared(field.type)) for field in footer_of(path).schema}
    return {name: _of_dictionary(variable) for name, variable in dictionary_of(path, form).variables}


def _of_dictionary(variable: Variable) -> Declared:
    """The kind of a variable: codes with labels may be either."""
    labels = tuple(dict.fromkeys(variable.labels.values()))
    kind = "text" if variable.text or variable.date else "unknown" if labels else "number"
    return Declared(kind, labels)


def _declared(kind: Any) -> str:
    """The kind that the bounds declare for an Arrow type."""
    from pyarrow import types

    if types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind):
        return "number"
    if types.is_string(kind) or types.is_large_string(kind) or types.is_dictionary(kind):
        return "text"
    return "unknown"
