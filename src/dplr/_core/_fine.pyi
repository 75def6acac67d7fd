import numpy as np
from numpy.typing import NDArray

from dplr._core._knots import Knots
from dplr._core._loss import LossRows

def square_low(cut: float) -> float: ...
def add_fine_gradient(
    rows: LossRows,
    kernel: str | Knots,
    width: float,
    high: NDArray[np.float64],
    low: NDArray[np.float64],
    hi: NDArray[np.float64],
    lo: NDArray[np.float64],
) -> None: ...
