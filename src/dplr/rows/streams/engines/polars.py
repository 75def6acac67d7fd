"""Lazy frames of polars: its streaming engine hands over batches."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator
from typing import Any

from dplr._kit.validation import sentence
from dplr.rows.files.part import Part, explained
from dplr.rows.streams.parts import LAZY_ROWS, LocalParts

NAME = "a query of polars"
# Lines of a plan, and functions, that treat each row by itself or only order rows. All others count as mixing them.
_LINES = re.compile(
    r"\[|DF |\w+ SCAN |PROJECT|ESTIMATED ROWS|SELECT|WITH_COLUMNS:|FILTER|FROM|SORT BY|UNION|PLAN|LEFT PLAN|RIGHT PLAN|"
    r"CACHE|hint\.|simple π|UNNEST|END |$"
)
_BY_ROW = re.compile(
    r"(hint|dt|list|struct)\..*|str\.(?!join$|concat$).*|col|alias|cast|strict_cast|abs|sign|sqrt|cbrt|exp|log|log1p|pow|"
    r"round|floor|ceil|clip|sin|cos|tan|tanh|is_null|is_not_null|is_nan|is_not_nan|is_finite|is_infinite|is_between|is_in|"
    r"not|neg|negate|set_sorted|fill_null|fill_nan|when|then|otherwise|coalesce|as_struct|replace|replace_strict|cut|\w+_horizontal"
)
_NAMED = re.compile(r'(?:col|alias)\("[^"]*"\)')
_CALLS = re.compile(r"((?:\b(?:hint|str|dt|list|struct)\.)?\b[a-z_]\w*)\(")


def mixing(frame: Any) -> Iterator[str]:
    """The lines and functions of its plan that may mix rows."""
    for line in frame.explain(optimized=False).splitlines():
        words = _NAMED.sub("", line.strip())
        if not _LINES.match(words):
            yield re.split(r"[^A-Z_ ]", words)[0].strip() or "a line that is not known"
        if not re.match(r"DF |\w+ SCAN ", words):
            yield from (name for name in _CALLS.findall(words) if not _BY_ROW.fullmatch(name))


def parts_of(frame: Any, threads: int | None) -> LocalParts:
    """One part: polars reads on threads of its own."""
    if not hasattr(frame, "collect_batches"):
        remedy = "Install a newer polars, or call collect() if memory holds the rows."
        raise TypeError(sentence("X", "must be a LazyFrame that has collect_batches", type(frame).__name__, remedy))
    with explained(NAME):
        empty = frame.clear().collect()
    return LocalParts([Part(functools.partial(_batches, frame), NAME)], empty, threads)


def _batches(frame: Any, columns: list[str] | None) -> Any:
    selection = frame if columns is None else frame.select(columns)
    return selection.collect_batches(chunk_size=LAZY_ROWS, maintain_order=True, engine="streaming")
