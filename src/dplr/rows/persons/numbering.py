"""Numbers for ids, from 0 on in the order in which ids first appear."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Codes = NDArray[np.int64]


def number_integers(values: NDArray[Any]) -> tuple[Codes, Codes, NDArray[Any]]:
    """(codes, counts, keys) of integers."""
    keys, codes, counts = np.unique(values, return_inverse=True, return_counts=True)
    return codes.astype(np.int64), counts.astype(np.int64), keys


def number_texts(values: Sequence[Any]) -> tuple[Codes, Codes, list[str]]:
    """(codes, counts, keys) of texts; the code -1 for an empty one, and for what marks a missing one."""
    known: dict[str, int] = {}
    sound = (text if type(text) is str else "" for text in values)
    codes = np.fromiter((known.setdefault(text, len(known)) if text else -1 for text in sound), np.int64, len(values))
    return codes, np.bincount(codes[codes >= 0], minlength=len(known)).astype(np.int64), list(known)
