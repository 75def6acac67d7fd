import numpy as np
from numpy.typing import NDArray

from dplr._core._row_map import RowMap

def add_moments(
    X: NDArray[np.float64] | NDArray[np.float32],
    y: NDArray[np.float64] | NDArray[np.int64] | NDArray[np.uint8],
    row_map: RowMap,
    scratch: NDArray[np.float64],
    hi: NDArray[np.int64],
    lo: NDArray[np.int64],
    faults: NDArray[np.int64],
    outside: NDArray[np.int64],
    multipliers: NDArray[np.int64] | None = None,
    weights: NDArray[np.float64] | None = None,
) -> None: ...
def moments_work_size(d: int) -> int: ...
