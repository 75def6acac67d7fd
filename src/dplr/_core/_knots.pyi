import numpy as np
from numpy.typing import NDArray
from typing_extensions import disjoint_base

FORMS: dict[str, int]
MOST_KNOTS: int

@disjoint_base
class Knots:
    def __new__(cls, form: str, first: int, per_unit: float, slopes: NDArray[np.float64]) -> Knots: ...
