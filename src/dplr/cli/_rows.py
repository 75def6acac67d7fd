"""The rows of files and of standard input: read as a whole where they are few, streamed where they are many."""

from __future__ import annotations

import contextlib
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from typing import IO, TYPE_CHECKING, Any

import click

from dplr.cli._faults import FILE, blamed
from dplr.cli._tables import read_table

if TYPE_CHECKING:
    from dplr.rows.files.kinds import Format, Kind

INPUT = "-"
# A file of at most so many bytes is read once, and its rows kept in memory.
_SMALL = 2**25
_OPEN_FILES = "/proc/self/fd"


def named_files(data: str) -> list[str]:
    """The files that a path, a folder or a pattern names; "-" alone for standard input."""
    from dplr.rows.files.sources import files_of

    return [data] if data == INPUT else files_of(data)


def table_file(path: str) -> str:
    """The path, or for "-" that of a private copy of standard input, which is gone when the command ends."""
    if path != INPUT:
        return path
    with blamed(FILE):
        return click.get_current_context().with_resource(_copied(sys.stdin.buffer))


@contextlib.contextmanager
def _copied(source: IO[bytes]) -> Iterator[str]:
    """The path of a copy, in a folder that nobody else can open. Rows are read more than once, and a pipe only once.

    Where the system shows open files by path, the copy has no name: it is gone however the process ends.
    """
    with contextlib.ExitStack() as opened:
        folder = opened.enter_context(tempfile.TemporaryDirectory(prefix="dplr-"))
        path = os.path.join(folder, "standard-input")
        copy: IO[bytes]
        if os.path.isdir(_OPEN_FILES):
            copy = opened.enter_context(tempfile.TemporaryFile(dir=folder))
            os.symlink(f"{_OPEN_FILES}/{copy.fileno()}", path)
        else:
            copy = opened.enter_context(open(path, "xb"))
        shutil.copyfileobj(source, copy)
        copy.flush()
        yield path


def read_rows(
    files: Sequence[str], kinds: Mapping[str, Kind], target: str, form: Format, keep: str | None
) -> tuple[Any, Any]:
    """X and y of the rows: a table and its target, or a stream and the name of its target."""
    if len(files) == 1 and _is_small(files[0], form):
        table = read_table(files[0], kinds, form)
        return table.drop_columns([target]), table[target]
    from dplr.rows.streams.source import Stream, file_parts

    return Stream(file_parts(files, list(kinds), kinds, form, keep=keep), keep=keep), target


def _is_small(path: str, form: Format) -> bool:
    """Whether a file has at most `_SMALL` bytes, also once it is decompressed."""
    from dplr.rows.files.csv import text_size
    from dplr.rows.files.kinds import SPSS, STATA, beginning_of, codec_of, file_kind
    from dplr.rows.files.labelled import dictionary_of

    if os.path.getsize(path) > _SMALL:
        return False
    if file_kind(path) in (SPSS, STATA):
        return dictionary_of(path, form).size <= _SMALL
    return codec_of(beginning_of(path)) is None or text_size(path, _SMALL) <= _SMALL
