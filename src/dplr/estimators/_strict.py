"""What a strict ledger takes: types that say before the reservation that no value can make a conversion fail."""

from __future__ import annotations

from typing import Any

from dplr._validation import sentence
from dplr.rows import declared_kinds


def check_types(X: Any, y: Any) -> None:
    """Numbers for X, numbers or texts for y: arrays or frames, never lists or objects."""
    _check("X", X, "biuf")
    _check("y", y, "biufUS")


def _check(name: str, value: Any, kinds: str) -> None:
    if any(kind not in kinds for kind in declared_kinds(value)):
        rule = "must be an array or a frame of numbers with a strict ledger"
        remedy = "Convert it first: whether that fails depends on the values, which a strict ledger does not show."
        raise TypeError(sentence(name, rule, type(value).__name__, remedy))
