import numpy as np
from numpy.typing import NDArray

def floor_limbs(hi: NDArray[np.int64], lo: NDArray[np.int64], shift: int, out: NDArray[np.int64]) -> bool: ...
def go_down(
    gradients: NDArray[np.float64],
    rows: float,
    l2: float,
    center: NDArray[np.float64],
    momentum: float,
    learning_rate: float,
    velocity: NDArray[np.float64],
    coefs: NDArray[np.float64],
) -> None: ...
