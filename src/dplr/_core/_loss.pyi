import numpy as np
from numpy.typing import NDArray
from typing_extensions import disjoint_base

from dplr._core._knots import Knots
from dplr._core._row_map import RowMap

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
        row_map: RowMap,
        weights: NDArray[np.float64] | None = None,
    ) -> None: ...
    def add(
        self,
        kernel: str | Knots,
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
