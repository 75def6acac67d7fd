"""Kinds of columns, by the types that they declare and never by their values."""

from __future__ import annotations

from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from dplr.rows.tables.writers import numbers

_TICKS = {"D": 1, "s": 86_400, "ms": 86_400_000, "us": 86_400_000_000, "ns": 86_400_000_000_000}  # in a day
DATES, DURATIONS = (nw.Date, nw.Datetime), (nw.Duration,)


def declared_kind(dtype: Any) -> str | None:
    """The kind of a column: "integer", "number", "flag", "text", "date" or "duration"; None for other types."""
    if dtype.is_integer():
        return "integer"
    if dtype.is_numeric():
        return "number"
    if dtype == nw.Boolean:
        return "flag"
    if dtype in (nw.String, nw.Categorical, nw.Enum):
        return "text"
    return "date" if dtype in DATES else "duration" if dtype in DURATIONS else None


def days(values: Any) -> NDArray[np.float64]:
    """Dates as days from 1970-01-01 on, in UTC, and durations as days; NaN where they are missing.

    Values are read as the whole numbers that they are stored as: conversions of dates fail for some of them.
    """
    dtype, native = values.dtype, values.to_native()
    unit = "D" if dtype == nw.Date else dtype.time_unit
    plain: Any = getattr(native, "array", None)
    if getattr(plain, "asi8", None) is not None:  # pandas
        return np.asarray(np.where(plain.isna(), np.nan, plain.asi8) / _TICKS[unit])
    return numbers(values.cast(nw.Int32 if dtype == nw.Date else nw.Int64)) / _TICKS[unit]


def is_time(values: Any) -> bool:
    """Whether a column holds dates or durations, by its type."""
    return isinstance(values, nw.Series) and values.dtype in (*DATES, *DURATIONS)
