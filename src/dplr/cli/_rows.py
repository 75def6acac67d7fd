"""The rows of files: read as a whole where they are few, streamed where they are many."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from dplr.cli._tables import read_table

if TYPE_CHECKING:
    from dplr.rows.files.kinds import Format, Kind

# Files of at most so many bytes together are read once, and their rows kept in memory.
_SMALL = 2**25


def named_files(data: str) -> list[str]:
    """The files that a path, a folder or a pattern names."""
    from dplr.rows.files.sources import files_of

    return files_of(data)


def read_rows(
    files: Sequence[str], kinds: Mapping[str, Kind], target: str, form: Format, keep: str | None
) -> tuple[Any, Any]:
    """X and y of the rows: a table and its target, or a stream and the name of its target."""
    if len(files) == 1 and os.path.getsize(files[0]) <= _SMALL:
        table = read_table(files[0], kinds, form)
        return table.drop_columns([target]), table[target]
    from dplr.rows.streams.source import Stream, file_parts

    return Stream(file_parts(files, list(kinds), kinds, form, keep=keep), keep=keep), target
