from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from typing_extensions import disjoint_base

@disjoint_base
class IntegerSampler:
    @property
    def drawn(self) -> int: ...
    def __init__(self, refill: Callable[[int], bytes]) -> None: ...
    def forget(self) -> None: ...
    def laplace(self, scale: int, out: NDArray[np.int64]) -> None: ...
    def gaussian(self, variance: int, out: NDArray[np.int64]) -> None: ...
    def indices(
        self,
        rate: int,
        table: NDArray[np.uint32],
        starts: NDArray[np.uint16],
        position: int,
        stop: int,
        out: NDArray[np.intp],
    ) -> tuple[int, int]: ...
