"""A `Prep` as the kernels take it."""

from __future__ import annotations

from functools import lru_cache

from dplr._core import RowMap, instruction_set
from dplr.bounds.scaling import Prep


def row_map(prep: Prep) -> RowMap:
    """The map from raw rows to scaled rows, on the CPU path of this process."""
    return _built(prep, instruction_set())


@lru_cache(maxsize=8)
def _built(prep: Prep, path: str) -> RowMap:
    """Built once for a prep, which is compared by identity and never changes: public constants only."""
    box = prep.geometry.half_width is not None
    constant = prep.geometry.intercept
    return RowMap(prep.shift, prep.scale, prep.low, prep.high, box, constant, prep.labels, path.encode())
