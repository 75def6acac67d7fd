"""Checks of the columns of a file."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Sequence

_DELIMITERS = (";", "\t", "|", ",")
_LONGEST = 60  # characters of a name in a message: a damaged file has a header of any length


def _words(names: Sequence[str]) -> str:
    """The first names of a list, none of them long."""
    short = [name if len(name) <= _LONGEST else f"{name[:_LONGEST]}…" for name in names[:12]]
    return ", ".join(short) + (", …" if len(names) > 12 else "")


def check_columns(path: str, header: Sequence[str], names: Collection[str]) -> None:
    """Raise ValueError where a column is missing, or is there twice."""
    missing = [name for name in names if name not in header]
    if missing:
        close = difflib.get_close_matches(missing[0], header, 1)
        hint = f" Did you mean {close[0]}?" if close else ""
        delimiters = [delimiter for delimiter in _DELIMITERS if len(header) == 1 and delimiter in header[0]]
        if delimiters:
            hint = f" Are its fields divided by {delimiters[0]!r}? Say so: --delimiter {delimiters[0]!r}."
        raise ValueError(
            f"`{path}` must have a column for {_words(missing)}; its header has {_words(header) or 'nothing'}.{hint}"
        )
    duplicates = [name for name in names if list(header).count(name) > 1]
    if duplicates:
        raise ValueError(f"`{path}` must have every column once; {', '.join(duplicates)} is there twice.")
