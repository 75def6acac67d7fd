import numpy as np
from numpy.typing import NDArray

from dplr._core._data_sums import DataSums

def minimise(
    sums: DataSums,
    sample: DataSums | None,
    ridge: float,
    center: NDArray[np.float64],
    linear: NDArray[np.float64],
    tau: float,
    rounding: float,
    rounding_slope: float,
    cap: int,
    price: float,
) -> tuple[NDArray[np.float64] | None, float, NDArray[np.float64] | None]: ...
