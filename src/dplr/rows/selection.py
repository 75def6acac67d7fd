"""Selections of rows, and spans in which they are summed."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dplr._kit.validation import check_count


@dataclass(frozen=True, eq=False, slots=True)
class Selection:
    """A selection of rows for a sum: every `step`-th row, or the rows at some indices."""

    step: int = 1
    indices: NDArray[np.int64] | None = None


ALL = Selection()


def every(step: int) -> Selection:
    """Rows 0, step, 2 step, …"""
    return Selection(step=check_count("step", step))


def chosen(indices: Any) -> Selection:
    """The rows with these indices, each as often as it is named."""
    return Selection(indices=np.ascontiguousarray(indices, dtype=np.int64))


def spans(n: int, parts: int) -> list[tuple[int, int]]:
    """That many spans of nearly equal length, in order."""
    edges = [n * part // parts for part in range(parts + 1)]
    return list(itertools.pairwise(edges))


def chunks(n: int, size: int) -> list[tuple[int, int]]:
    """Spans of one size, in order; the last may be shorter."""
    return [(start, min(start + size, n)) for start in range(0, n, size)]
