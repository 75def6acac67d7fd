"""What is said of the columns of a file."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Sequence

_DELIMITERS = (";", "\t", "|", ",")


def check_columns(path: str, header: Sequence[str], wanted: Collection[str]) -> None:
    """Raise ValueError where a column is missing, or is there twice."""
    missing = [name for name in wanted if name not in header]
    if missing:
        listed = ", ".join(header[:12]) + (", …" if len(header) > 12 else "")
        close = difflib.get_close_matches(missing[0], header, 1)
        hint = f" Did you mean {close[0]}?" if close else ""
        absent = ", ".join(missing[:12])
        divided = [each for each in _DELIMITERS if len(header) == 1 and each in header[0]]
        if divided:
            hint = f" Are its fields divided by {divided[0]!r}? Say so: --delimiter {divided[0]!r}."
        raise ValueError(f"`{path}` must have a column for {absent}; its header has {listed or 'nothing'}.{hint}")
    twice = [name for name in wanted if list(header).count(name) > 1]
    if twice:
        raise ValueError(f"`{path}` must have every column once; {', '.join(twice)} is there twice.")
