"""Lazy frames of polars: its streaming engine hands over batches."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import Any

from dplr._kit.validation import sentence
from dplr.rows.streams.engines.lazy import BATCH_ROWS, LazyPart, explained
from dplr.rows.streams.parts import LocalParts


def parts_of(frame: Any, threads: int | None) -> LocalParts:
    """One part: polars reads on threads of its own."""
    if not hasattr(frame, "collect_batches"):
        remedy = "Install a newer polars, or call collect() if memory holds the rows."
        raise TypeError(sentence("X", "must be a LazyFrame that has collect_batches", type(frame).__name__, remedy))
    part = LazyPart(functools.partial(_batches, frame), "a query of polars")
    with explained(part.kind):
        empty = frame.clear().collect()
    return LocalParts([part], empty, threads)


def _batches(frame: Any, columns: list[str] | None) -> Iterator[Any]:
    selection = frame if columns is None else frame.select(columns)
    batches: Iterator[Any] = selection.collect_batches(chunk_size=BATCH_ROWS, maintain_order=True, engine="streaming")
    return batches
