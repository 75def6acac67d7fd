import numpy as np
from numpy.typing import NDArray
from typing_extensions import disjoint_base

CHUNK_ROWS: int
KINDS: dict[str, int]

@disjoint_base
class LossRows:
    n: int
    q: int
    def __init__(
        self,
        X: NDArray[np.float64] | NDArray[np.float32],
        y: NDArray[np.float64] | NDArray[np.int64] | NDArray[np.uint8],
        shift: NDArray[np.float64],
        scale: NDArray[np.float64],
        low: NDArray[np.float64],
        high: NDArray[np.float64],
        box: bool,
        intercept: float,
        labels: bool,
        negative: float,
        positive: float,
        path: bytes,
    ) -> None: ...
    def add(
        self,
        kernel: str,
        width: float,
        coef: NDArray[np.float64],
        loss: bool,
        count_outside: bool,
        hi: NDArray[np.float64],
        lo: NDArray[np.float64],
        hessian: NDArray[np.float64],
        faults: NDArray[np.int64],
        outside: NDArray[np.int64],
    ) -> None: ...

def curves(z: NDArray[np.float64], path: bytes) -> tuple[NDArray[np.float64], NDArray[np.float64]]: ...
