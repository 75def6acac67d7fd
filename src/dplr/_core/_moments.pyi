import numpy as np
from numpy.typing import NDArray

def add_moments(
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
    scratch: NDArray[np.float64],
    hi: NDArray[np.int64],
    lo: NDArray[np.int64],
    faults: NDArray[np.int64],
    outside: NDArray[np.int64],
) -> None: ...
def moments_work_size(d: int) -> int: ...
def cpu_paths() -> tuple[str, ...]: ...
