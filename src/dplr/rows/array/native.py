"""What kernels read in place, and what must be converted first."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def is_native(X: Any) -> bool:
    """Whether the kernel reads it as it is."""
    return isinstance(X, np.ndarray) and X.dtype.char in "df" and X.dtype.isnative and X.flags.aligned


def as_native(block: Any) -> NDArray[Any]:
    """A float64 or float32 view of the block where it is one already, else an aligned copy of this block."""
    return block if is_native(block) else np.require(block, np.float64, "A")


def target_is_native(y: Any) -> bool:
    """Whether the kernel reads these targets as they are, booleans as bytes."""
    return (
        isinstance(y, np.ndarray)
        and (y.dtype.char in "d?" or (y.dtype.kind == "i" and y.dtype.itemsize == 8))
        and y.dtype.isnative
        and y.flags.aligned
    )


def as_numbers(y: NDArray[Any]) -> NDArray[Any]:
    """Booleans as the bytes that the kernel reads."""
    return y.view(np.uint8) if y.dtype.char == "?" else y
