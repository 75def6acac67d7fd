from typing import Any

import numpy as np
from numpy.typing import NDArray
from typing_extensions import disjoint_base

@disjoint_base
class Values:
    keyed: bool
    @property
    def holds(self) -> str: ...
    def __len__(self) -> int: ...
    def write_numbers(self, start: int, index: NDArray[np.int64] | None, out: NDArray[np.float64]) -> None: ...

def array_values(array: NDArray[Any]) -> Values: ...
