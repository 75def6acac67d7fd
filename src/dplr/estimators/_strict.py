"""What a strict ledger takes: types that say before the reservation that no value can make a conversion fail."""

from __future__ import annotations

from typing import Any

import narwhals as nw
import numpy as np

from dplr._validation import sentence


def check_types(X: Any, y: Any) -> None:
    """Numbers for X, numbers or texts for y: arrays or frames, never lists or objects."""
    _check("X", X, "biuf")
    _check("y", y, "biufUS")


def _check(name: str, value: Any, kinds: str) -> None:
    if any(kind not in kinds for kind in _kinds(value)):
        rule = "must be an array or a frame of numbers with a strict ledger"
        remedy = "Convert it first: whether that fails depends on the values, which a strict ledger does not show."
        raise TypeError(sentence(name, rule, type(value).__name__, remedy))


def _kinds(value: Any) -> list[str]:
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
