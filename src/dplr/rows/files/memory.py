"""The error where memory runs out: how many rows fitted, and what to do."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from typing import Any

REMEDY = "Name fewer columns in the bounds, or give it more memory."


class BatchStore:
    """Batches that were read so far."""

    def __init__(self) -> None:
        self.batches: list[Any] = []
        self.rows: int = 0
        self.size: int = 0

    def add(self, batch: Any) -> None:
        """Keep a batch."""
        self.batches.append(batch)
        self.rows += batch.num_rows
        self.size += batch.nbytes


@contextlib.contextmanager
def memory_explained(path: str, rows: int | None) -> Iterator[BatchStore]:
    """Batches to fill; a MemoryError inside says how many of the rows of `path` were read, and how many would fit."""
    store = BatchStore()
    try:
        yield store
    except MemoryError:
        store.batches.clear()  # frees memory for the message
        raise MemoryError(_sentence(path, store, rows)) from None


def _sentence(path: str, store: BatchStore, rows: int | None) -> str:
    limit = memory_limit()
    within = "" if limit is None else f" of {limit >> 20} MiB"
    extent = "rows" if rows is None else f"of {rows} rows"
    if not store.rows:
        return f"`{path}` must fit into memory{within}; got none {extent} before it ran out. {REMEDY}"
    row_bytes = -(-store.size // store.rows)
    got = f"{store.rows} {extent} of {row_bytes} bytes each before it ran out"
    return f"`{path}` must fit into memory{within}; got {got}. At most about {rounded(store.rows)} rows fit. {REMEDY}"


def memory_limit() -> int | None:
    """Bytes that this process may have, by the limits of the shell; None where there is none."""
    try:
        import resource
    except ModuleNotFoundError:  # Windows
        return None
    limits = [resource.getrlimit(kind)[0] for kind in (resource.RLIMIT_AS, resource.RLIMIT_DATA)]
    return min((limit for limit in limits if limit != resource.RLIM_INFINITY), default=None)


def memory_used() -> int:
    """The most bytes that this process had so far; 0 where the system does not say."""
    try:
        import resource
    except ModuleNotFoundError:  # Windows
        return 0
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


def rounded(rows: int) -> int:
    """The number, rounded down to two digits."""
    unit: int = 10 ** max(len(str(rows)) - 2, 0)
    return rows // unit * unit
