"""The files that a path, a list, a folder or a pattern names, and their parts. No row is in two parts."""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from dplr._kit.extras import optional_library
from dplr._kit.validation import sentence
from dplr.rows.files.csv import csv_parts
from dplr.rows.files.kinds import CSV, PARQUET, SPSS, STATA, Format, Kind, file_kind
from dplr.rows.files.labelled import labelled_parts
from dplr.rows.files.parquet import footer_of, parquet_parts
from dplr.rows.files.part import Part, declared_schema

# Kinds of files whose columns are read as the bounds declare them -> the parts of one.
_DECLARED: dict[str, Callable[..., list[Part]]] = {
    CSV: csv_parts,
    SPSS: labelled_parts,
    STATA: labelled_parts,
}
_HIDDEN = (".", "_")  # notes that programs leave in folders, such as _SUCCESS

_FORMULA = "Formulas are not read: give the table, the name of the target, and bounds that name the features."


def files_of(data: Any) -> list[str]:
    """Sorted paths of the files that `data` names: a path, a folder, a pattern such as 'people/*.parquet', or a list.

    ValueError where there is none, one is there twice or empty beside others, or a folder has folders.
    """
    optional_library("pyarrow", "reading files", "files")
    sources = list(data) if isinstance(data, (list, tuple)) else [data]
    files = sorted(path for source in sources for path in _named(source))
    if not files:
        raise ValueError(sentence("data", "must name at least one file", data, "Hidden files do not count."))
    refuse_repeats(files)
    for path in files:
        if not os.path.isfile(path):
            rule = "must be a file, because it is read more than once"
            raise ValueError(f"`{path}` {rule}. Write its rows to a file first.")
    if len(files) > 1:
        _check_alike(files)
    return files


def parts_of(
    files: Sequence[str], columns: Sequence[str], kinds: Mapping[str, Kind] | None = None, form: Format | None = None
) -> tuple[list[Part], Any]:
    """Parts of all files, in their order, and their Arrow schema; `kinds` says what columns hold, except in Parquet."""
    import pyarrow as pa

    kind = file_kind(files[0])
    if kind == PARQUET:
        schema = pa.schema(list(_types_of(files, columns).items()))
        return [part for path in files for part in parquet_parts(path, columns)], schema
    if missing := [name for name in columns if name not in (kinds or {})]:
        remedy = "Declare them in the bounds: what a column holds is never read from its values."
        raise ValueError(sentence("bounds", "must say what each column of a file holds", missing, remedy))
    known = {name: (kinds or {})[name] for name in columns}
    return [part for path in files for part in _DECLARED[kind](path, known, form or Format())], declared_schema(known)


def _types_of(files: Sequence[str], columns: Sequence[str]) -> dict[str, Any]:
    """The type of each column in Parquet files; ValueError where two differ."""
    types: dict[str, Any] = {}
    for path in files:
        schema = footer_of(path, columns).schema
        for name in columns:
            first, here = types.setdefault(name, schema.field(name).type), schema.field(name).type
            if here != first:
                got = f"{first} in `{files[0]}` and {here} in `{path}`"
                raise ValueError(f"column {name!r} must have one type in all files; got {got}. Write one of them anew.")
    return types


def _named(source: Any) -> list[str]:
    """The files of one path, folder or pattern."""
    if not isinstance(source, (str, os.PathLike)) or isinstance(path := os.fspath(source), bytes):
        remedy = "Give a path, a folder, a pattern such as 'people/*.parquet', or a list of these."
        raise TypeError(sentence("data", "must name files", source, remedy))
    if "://" in path:
        raise ValueError(sentence("data", "must be a path on this machine", path, "Copy the files here first."))
    deep = False
    if os.path.isdir(path):
        files = _shown(os.path.join(path, name) for name in os.listdir(path))
    elif os.path.lexists(path) or not glob.has_magic(path):
        if not os.path.exists(path):
            remedy = _FORMULA if re.search(r"\w\s*~\s*\w", path) else "Check the path."
            raise FileNotFoundError(sentence("data", "must name a file that exists", path, remedy))
        return [path]
    else:
        files, deep = _shown(glob.glob(path, recursive=True)), "**" in path
    folders = [file for file in files if os.path.isdir(file)]
    if folders and not deep:
        raise _not_flat(path, os.path.basename(min(folders)))
    return [file for file in files if file not in folders]


def _shown(paths: Iterable[str]) -> list[str]:
    return [path for path in paths if not os.path.basename(path).startswith(_HIDDEN)]


def _not_flat(path: str, folder: str) -> ValueError:
    remedy = "Name the files of all folders by a pattern with **, such as 'people/**/*.parquet'."
    if "=" in folder:
        column = folder.partition("=")[0]
        remedy = f"Names of folders are not read as columns: write {column} into the files. {remedy}"
    return ValueError(f"`{path}` must hold files alone; got the folder {folder}. {remedy}")


def refuse_repeats(files: Iterable[str], on_this_machine: bool = True) -> None:
    """Raise where a file is there twice, by whatever name: its changes would exceed the sensitivity.

    Without `on_this_machine`, a file that is on none of its disks is told by its path.
    """
    places: dict[Any, str] = {}
    for path in files:
        place: Any = path
        try:
            status = os.stat(path)
            place = (status.st_dev, status.st_ino)
        except OSError:
            if on_this_machine:
                raise
        if place in places:
            again = "is named twice" if places[place] == path else f"is the same file as `{places[place]}`"
            raise ValueError(f"`{path}` {again}: its records would count twice, against the guarantee. Name it once.")
        places[place] = path


def _check_alike(files: Sequence[str]) -> None:
    """Raise for files of several kinds, and for empty ones, which may have been cut off."""
    empty = [path for path in files if not os.path.getsize(path)]
    if empty:
        raise ValueError(f"`{empty[0]}` must have a header or a footer; it is empty. Write it anew, or delete it.")
    first = file_kind(files[0])
    for path in files:
        if file_kind(path) != first:
            rule = f"must be of one kind; `{files[0]}` is {first}, and `{path}` is not"
            raise ValueError(f"`data` {rule}. Name those of one kind by a pattern, such as 'people/*.parquet'.")
