from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from typing_extensions import disjoint_base

from dplr._core._knots import Knots
from dplr._core._loss import LossRows

@disjoint_base
class DataSums:
    n: int
    q: int
    calls: int

@disjoint_base
class CalledSums(DataSums):
    def __init__(
        self,
        n: int,
        q: int,
        call: Callable[[NDArray[np.float64], bool], tuple[NDArray[np.float64], NDArray[np.float64] | None]],
    ) -> None: ...

@disjoint_base
class NativeSums(DataSums):
    def __init__(self, rows: LossRows, kernel: str | Knots, width: float) -> None: ...
    @property
    def seen(self) -> NDArray[np.int64] | None: ...
