"""Frames whose columns are plain arrays of numbers: many columns at once, much quicker than one by one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray


def plain_numbers(frame: Any, places: Sequence[int], rows: Any) -> NDArray[np.float64] | None:
    """Columns of a pandas frame as float64; None for other tables, and where a column is of another type."""
    if not hasattr(frame, "iloc"):
        return None
    kinds = frame.dtypes
    if not all(isinstance(kinds.iloc[place], np.dtype) and kinds.iloc[place].kind in "biuf" for place in places):
        return None
    block = frame.iloc[rows]  # rows first: a selection of columns is a copy
    if list(places) != list(range(frame.shape[1])):
        block = block.iloc[:, list(places)]
    return np.ascontiguousarray(block.to_numpy(np.float64))
