"""Checks of the columns of a file."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Sequence

_DELIMITERS = (";", "\t", "|", ",")


def check_columns(path: str, header: Sequence[str], names: Collection[str]) -> None:
    """Raise ValueError where a column is missing, or is there twice."""
    missing = [name for name in names if name not in header]
    if missing:
        header_words = ", ".join(header[:12]) + (", …" if len(header) > 12 else "")
        close = difflib.get_close_matches(missing[0], header, 1)
        hint = f" Did you mean {close[0]}?" if close else ""
        missing_words = ", ".join(missing[:12])
        delimiters = [delimiter for delimiter in _DELIMITERS if len(header) == 1 and delimiter in header[0]]
        if delimiters:
            hint = f" Are its fields divided by {delimiters[0]!r}? Say so: --delimiter {delimiters[0]!r}."
        raise ValueError(
            f"`{path}` must have a column for {missing_words}; its header has {header_words or 'nothing'}.{hint}"
        )
    duplicates = [name for name in names if list(header).count(name) > 1]
    if duplicates:
        raise ValueError(f"`{path}` must have every column once; {', '.join(duplicates)} is there twice.")
