import numpy as np
from numpy.typing import NDArray
from typing_extensions import disjoint_base

from dplr._core._codes import NumberCodes, TextCodes
from dplr._core._values import Values

_Floats = NDArray[np.float64]

@disjoint_base
class Feature:
    def __new__(
        cls,
        values: Values,
        first: int,
        known: NumberCodes | TextCodes | None = None,
        numbers: _Floats | None = None,
        places: NDArray[np.int32] | None = None,
        held: _Floats | None = None,
        filler: float | None = None,
        mark: int = 0,
        entries: NDArray[np.int32] | _Floats | None = None,
        knots: _Floats | None = None,
        line: bool = True,
    ) -> Feature: ...

@disjoint_base
class Features:
    def __new__(cls, features: list[Feature]) -> Features: ...
    def write(self, start: int, index: NDArray[np.int64] | None, out: _Floats, marks: NDArray[np.int64]) -> None: ...
