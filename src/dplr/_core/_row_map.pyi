import numpy as np
from numpy.typing import NDArray
from typing_extensions import disjoint_base

@disjoint_base
class RowMap:
    d: int
    intercept: float
    path: bytes
    def __init__(
        self,
        shift: NDArray[np.float64],
        scale: NDArray[np.float64],
        low: NDArray[np.float64],
        high: NDArray[np.float64],
        box: bool,
        intercept: float,
        labels: tuple[float, float] | None,
        path: bytes,
    ) -> None: ...

def built_paths() -> tuple[str, ...]: ...
def cpu_paths() -> tuple[str, ...]: ...
