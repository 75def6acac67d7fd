import numpy as np
from numpy.typing import NDArray

FRACTION_BITS: int
POWERS: tuple[int, int]

def count_cells(
    values: NDArray[np.float64], shares: NDArray[np.int64] | None, counts: NDArray[np.int64], unit: int = 1
) -> None: ...
