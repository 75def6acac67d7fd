import numpy as np
from numpy.typing import NDArray

from dplr._core._knots import Knots
from dplr._core._loss import LossRows

def gradients_of_many(
    rows: LossRows, kernel: str | Knots, width: float, coefs: NDArray[np.float64]
) -> NDArray[np.float64]: ...
