import numpy as np
from numpy.typing import NDArray

_Codes = NDArray[np.int32]

class NumberCodes:
    def __init__(self, knots: NDArray[np.float64], codes: _Codes | None, near: _Codes | None, low: int) -> None: ...

class TextCodes:
    probes: int
    def __init__(self, levels: list[bytes]) -> None: ...
