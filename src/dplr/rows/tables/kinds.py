"""What a column holds, by the type that it declares and never by its values."""

from __future__ import annotations

from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from dplr.rows.tables.writers import numbers

_TICKS = 86_400_000_000  # microseconds of a day
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
    """Dates as days from 1970-01-01 on, and durations as days; NaN where they are missing."""
    is_duration = values.dtype in DURATIONS
    ticks = values.dt.total_microseconds() if is_duration else values.cast(nw.Datetime("us")).dt.timestamp("us")
    return numbers(ticks) / _TICKS


def is_time(values: Any) -> bool:
    """Whether a column holds dates or durations, by its type."""
    return isinstance(values, nw.Series) and values.dtype in (*DATES, *DURATIONS)
