import numpy as np
from numpy.typing import NDArray
from typing_extensions import disjoint_base

_Codes = NDArray[np.int32]

@disjoint_base
class NumberCodes:
    count: int
    def __new__(
        cls, knots: NDArray[np.float64], codes: _Codes | None, near: _Codes | None, low: int
    ) -> NumberCodes: ...

@disjoint_base
class TextCodes:
    count: int
    probes: int
    def __new__(cls, levels: list[bytes]) -> TextCodes: ...
