"""The error of a fit that runs out of memory."""

from __future__ import annotations

import math
from typing import Any

from dplr.rows.files.whole import REMEDY, memory_limit, memory_used, rounded


def too_many(rows: Any, error: MemoryError) -> MemoryError:
    """The error that says how many of the rows would fit; it is for the data holder."""
    return MemoryError(_sentence(_count(rows), error))


def _count(rows: Any) -> int:
    """The number of rows; 0 where it is not known, as with the name of a column that is streamed."""
    if isinstance(rows, str):
        return 0
    try:
        return len(rows)
    except TypeError:
        return 0


def _sentence(rows: int, error: MemoryError) -> str:
    limit, request = memory_limit(), _request(error)
    had = limit or memory_used()
    within = "" if limit is None else f" of {limit >> 20} MiB"
    got = f"got {rows} rows, and it ran out" if rows else "it ran out"
    fit = f" At most about {rounded(rows * had // (had + request))} rows fit." if rows and request and had else ""
    return f"`X` and what the fit makes of it must fit into memory{within}; {got}.{fit} {REMEDY}"


def _request(error: MemoryError) -> int:
    """Bytes of the array that NumPy could not make; 0 for other errors."""
    shape, dtype = getattr(error, "shape", ()), getattr(error, "dtype", None)
    return 0 if dtype is None else math.prod(shape) * int(dtype.itemsize)
