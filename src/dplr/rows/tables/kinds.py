"""Types that columns declare, without a look at their values."""

from __future__ import annotations

from typing import Any

import narwhals as nw
import numpy as np


def declared_kinds(value: Any) -> list[str]:
    """NumPy's letters for the types of columns, from their declared types alone; "O" for what they do not tell."""
    if hasattr(value, "iloc"):
        types = value.dtypes if hasattr(value, "columns") else [value.dtype]
        return [getattr(kind, "kind", "O") for kind in types]
    if isinstance(value, np.ndarray):
        return [value.dtype.kind]
    found = nw.from_native(value, allow_series=True, pass_through=True)
    if isinstance(found, nw.Series):  # text and missing booleans would become objects
        return ["f" if found.dtype.is_numeric() else "O"]
    if isinstance(found, nw.DataFrame):
        return ["f" if kind.is_numeric() or kind == nw.Boolean else "O" for kind in found.schema.dtypes()]
    return ["O"]
