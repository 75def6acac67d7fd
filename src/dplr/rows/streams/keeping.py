"""Rows that a fit reads hundreds of times, encoded once and kept in files without a name while it runs."""

from __future__ import annotations

import contextlib
import functools
import threading
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dplr.bounds.columns import Numeric
from dplr.bounds.scaling import Prep
from dplr.rows.array import ArrayRows
from dplr.rows.spill import Spill, has_room, mapped_zeros
from dplr.rows.streams.parts import Parts, Pass
from dplr.rows.streams.recipe import Recipe
from dplr.rows.tables.table import Table, as_table
from dplr.rows.weights import RowWeights

# Integers of these types, and float32, are exact in float32.
_SHORT = ("Int8", "Int16", "UInt8", "UInt16", "Float32", "Boolean")


@dataclass(frozen=True, eq=False)
class StoredRows:
    """All rows, encoded, in mapped files, in any order: exact sums do not depend on it."""

    X: NDArray[Any]
    y: NDArray[np.float64]
    weights: NDArray[np.float64] | None
    folder: str

    def rows(self, prep: Prep) -> ArrayRows:
        """The rows with this map to scaled rows; facts about them that passes share are in mapped files too."""
        weights = None if self.weights is None else RowWeights(self.weights, None, len(self.y))
        allocate = functools.partial(mapped_zeros, self.folder)
        return ArrayRows(self.X, self.y, replace(prep, layout=None), weights=weights, allocate=allocate)


def keep(
    parts: Parts, recipe: Recipe, count: int, folder: str, run: Callable[[Pass[Any], str], Any]
) -> StoredRows | None:
    """Encode all rows in one pass; None where the folder's disk has no room for them."""
    width = recipe.prep.geometry.d
    kind = np.dtype(kind_of(parts, recipe))
    kinds = [(kind, width), (np.dtype(np.float64), 1)] + [(np.dtype(np.float64), 1)] * (recipe.weighing is not None)
    needed = count * sum(dtype.itemsize * size for dtype, size in kinds)
    with contextlib.suppress(OSError):  # a full or slow disk, or none: rows are read again instead
        if not has_room(folder, needed):
            return None
        job = _KeepPass(recipe, folder, [dtype for dtype, _ in kinds])
        if run(job, "keeping rows") != count:
            return None
        X, y, *weights = job.arrays(count, [size for _, size in kinds])
        return StoredRows(X, y[:, 0], weights[0][:, 0] if weights else None, folder)
    return None


class _KeepPass:
    """A pass that appends the rows of every batch to files. For rows that this process reads."""

    def __init__(self, recipe: Recipe, folder: str, kinds: list[np.dtype[Any]]) -> None:
        self._recipe, self._kinds, self._lock = recipe, kinds, threading.Lock()
        self._files = [Spill(folder) for _ in kinds]

    def zero(self) -> int:
        """No rows yet."""
        return 0

    def accumulate(self, state: int, batch: Any) -> int:
        """Write the rows of a batch; returns how many there are."""
        X, y, weights = self._recipe.rows_of(batch).arrays()
        parts = [X, y] if weights is None else [X, y, weights]
        written = [np.ascontiguousarray(part, kind).data for part, kind in zip(parts, self._kinds, strict=True)]
        with self._lock:
            for file, data in zip(self._files, written, strict=True):
                file.write(data)
        return state + len(y)

    def merge(self, first: int, second: int) -> int:
        """How many rows were written."""
        return first + second

    def arrays(self, count: int, sizes: list[int]) -> list[NDArray[Any]]:
        """The arrays that were written, mapped; the files are closed, and live as long as the arrays."""
        arrays = []
        for file, kind, size in zip(self._files, self._kinds, sizes, strict=True):
            arrays.append(file.mapped(kind).reshape(count, size))
            file.close()
        return arrays


def kind_of(parts: Parts, recipe: Recipe) -> str:
    """The type in which entries of X are kept, exact for all of them."""
    return "<f4" if _is_short(parts, recipe) else "<f8"


def _is_short(parts: Parts, recipe: Recipe) -> bool:
    """Whether float32 holds every entry of X exactly, as types and declarations say; no value is looked at."""
    table = as_table(parts.empty)
    assert table is not None
    layout = recipe.prep.layout
    declared: Any = [None] * len(recipe.features) if layout is None else layout.columns
    if layout is not None and layout.products:
        return False
    return all(_is_short_column(table, name, column) for name, column in zip(recipe.features, declared, strict=True))


def _is_short_column(table: Table, name: str, column: Any) -> bool:
    if column is not None and not isinstance(column, Numeric):
        return True  # zeros, ones and small whole numbers
    return (column is None or column.plain) and str(table.dtype(table.columns.index(name))) in _SHORT
