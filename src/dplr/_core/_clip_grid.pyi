from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from typing_extensions import disjoint_base

from dplr._core._row_map import RowMap

_Limbs = NDArray[np.int64]

@disjoint_base
class GridRows:
    n: int
    q: int
    faults: _Limbs
    @property
    def in_place(self) -> bool: ...
    @property
    def kept_bytes(self) -> int: ...
    def __init__(
        self,
        X: NDArray[Any],
        y: NDArray[Any],
        row_map: RowMap,
        weights: NDArray[np.float64] | None = None,
        allocate: Callable[[int], NDArray[np.float64]] | None = None,
    ) -> None: ...
    def keep(self, *, chosen: bool) -> None: ...
    def is_kept(self, *, chosen: bool) -> bool: ...
