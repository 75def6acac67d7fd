import numpy as np
from numpy.typing import NDArray

def gram(columns: NDArray[np.float64], out: NDArray[np.float64]) -> None: ...
