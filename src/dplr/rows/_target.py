"""The target of a table as an array."""

from __future__ import annotations

from typing import Any

import narwhals as nw
import numpy as np

from dplr.rows._table import numbers


def as_target(y: Any) -> Any:
    """Arrays of numbers, booleans or objects from a column of any library; what is no column stays as it is."""
    series = None if isinstance(y, np.ndarray) else nw.from_native(y, series_only=True, pass_through=True)
    if not isinstance(series, nw.Series) or hasattr(y, "iloc"):
        return y
    if series.dtype.is_decimal() or (series.dtype.is_numeric() and series.is_null().any()):
        return numbers(series)
    if series.dtype.is_numeric() or (series.dtype == nw.Boolean and not series.is_null().any()):
        return series.to_numpy()
    return np.array([*series.to_list(), None], object)[:-1]  # never two-dimensional
