"""Rows that stay, encoded, where a worker read them: all of them in a file without a name, or a few in memory.

A pickle does not contain them: it has only their parts and recipe, from which another process reads the rows again.
"""

from __future__ import annotations

import contextlib
import pickle
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dplr.rows.array import ArrayRows
from dplr.rows.spill import Spill, has_room
from dplr.rows.streams.parts import Part, RemotePass, sum_part, total_rows
from dplr.rows.streams.passes import ClippedPass, CountPass
from dplr.rows.streams.recipe import Recipe
from dplr.rows.weights import RowWeights, Weights

Arrays = tuple[NDArray[Any], NDArray[Any], Weights]
_ALIGNED = 64  # bytes: where an array begins in a file


@dataclass(frozen=True)
class Shelf:
    """A choice of rows to hold, and of the place that holds them.

    Attributes
    ----------
    recipe : the recipe that encodes them; any map to scaled rows may be used later.
    step : every `step`-th row of a batch is held; 1 for all.
    kind : the type of their entries in a file.
    folder : of the file; "" for the worker's own folder, None for memory.
    learns : whether facts about rows that passes share stay in memory; they take about as much as the rows.
    """

    recipe: Recipe
    step: int
    kind: str = "<f8"
    folder: str | None = None
    learns: bool = False


class WorkerRows:
    """Rows of some parts, and the answer of the pass that read them.

    Parameters
    ----------
    parts : the parts of the rows.
    shelf : the choice of rows, and their place.
    answer : the answer of the first pass, over all rows.
    """

    def __init__(self, parts: Sequence[Part], shelf: Shelf, answer: bytes = b"") -> None:
        self.parts: tuple[Part, ...] = tuple(parts)
        self.shelf: Shelf = shelf
        self.answer: bytes = answer
        self._rows: list[list[ArrayRows]] | None = None  # of each part, batch by batch; None where none are held
        # The pickle of the last pass's map to scaled rows, and the rows with that map.
        self._last_mapping: tuple[bytes, list[list[ArrayRows]]] = b"", []

    def __reduce__(self) -> tuple[Any, ...]:
        """Leave the rows here: they stay on the machine that read them."""
        return WorkerRows, (self.parts, self.shelf, self.answer)

    def reading(self, job: RemotePass[Any], own_folder: str) -> WorkerRows:
        """Make a pass over all rows, hold some of them on its way, and keep its answer."""
        with contextlib.ExitStack() as opened:
            place = self._place(own_folder, opened)
            read = [_Read(part, self.shelf, place) for part in self.parts]
            self.answer = sum_part(job, *read)
            self._rows = None if place is None or _is_fault(job, self.answer) else place.rows()
        return self

    def sums(self, job: RemotePass[Any], own_folder: str) -> bytes:
        """The answer of the rows that are held; the parts are read again where they are not."""
        if self._rows is None:
            self.reading(CountPass(), own_folder)
        if self._rows is None and self.shelf.step == 1:
            return sum_part(job, *self.parts)
        if self._rows is None:
            return self.answer  # which says why
        self.answer = b""  # the driver has it: a pass begins when the one before has ended
        job, batches = self._learnt(job, self._rows)
        return sum_part(job, *(_HeldPart(part, rows) for part, rows in zip(self.parts, batches, strict=True)))

    def _learnt(
        self, job: RemotePass[Any], batches: list[list[ArrayRows]]
    ) -> tuple[RemotePass[Any], list[list[ArrayRows]]]:
        """The pass, and rows with facts that earlier passes cached; without them where they would fill the memory."""
        if not (self.shelf.learns and isinstance(job, ClippedPass)):
            return job, [[rows.mapped(rows.prep) for rows in part] for part in batches]
        mapping, of_rows = job.recipe.mapping, replace(job, recipe=job.recipe.mapped(None))
        name = pickle.dumps(mapping)
        if self._last_mapping[0] != name:
            self._last_mapping = name, [[rows.mapped(mapping or rows.prep) for rows in part] for part in batches]
        return of_rows, self._last_mapping[1]

    def _place(self, own_folder: str, opened: contextlib.ExitStack) -> _Memory | None:
        """Where rows are put; None where a disk has no room for them."""
        folder = self.shelf.folder
        if folder is None:
            return _Memory(self.shelf)
        count = total_rows(part.rows for part in self.parts)
        width = self.shelf.recipe.prep.geometry.d + 2
        with contextlib.suppress(OSError):  # a folder that is not there, or cannot be written: rows are read again
            if has_room(folder or own_folder, 8 * width * (count or 0)):
                spill = Spill(folder or own_folder)
                return _File(self.shelf, opened.enter_context(contextlib.closing(spill)))
        return None


def _is_fault(job: RemotePass[Any], answer: bytes) -> bool:
    """Whether a pass failed before its end: then some rows may not be held."""
    try:
        job.load(answer)
    except ValueError:
        return True
    return False


class _Memory:
    """Arrays in memory, a list per part."""

    def __init__(self, shelf: Shelf) -> None:
        self._shelf = shelf
        self._parts: list[list[Any]] = []

    def begin(self) -> None:
        """The next arrays are those of the next part."""
        self._parts.append([])

    def add(self, arrays: Arrays) -> None:
        """Hold some rows of a batch."""
        X, y, weights = arrays
        some, kept = slice(None, None, self._shelf.step), None if weights is None else weights[:: self._shelf.step]
        self._parts[-1].append((X[some].copy(), y[some].astype(float), None if kept is None else kept.copy()))

    def rows(self) -> list[list[ArrayRows]] | None:
        """The held rows: the batches of each part."""
        return [[self._of(*arrays) for arrays in part] for part in self._parts]

    def _of(self, X: NDArray[Any], y: NDArray[Any], weights: Weights) -> ArrayRows:
        counts = None if weights is None else RowWeights(weights, None, len(y))
        return ArrayRows(X, y, replace(self._shelf.recipe.prep, layout=None), weights=counts)


class _File(_Memory):
    """Arrays in a file without a name, which the system frees when nothing maps it, or when the process ends."""

    def __init__(self, shelf: Shelf, spill: Spill) -> None:
        super().__init__(shelf)
        self._spill, self._is_full = spill, False

    def add(self, arrays: Arrays) -> None:
        """Write the rows of a batch; a disk without room for them is told by `rows`."""
        try:
            if not self._is_full:
                pairs = zip(arrays, (self._shelf.kind, "<f8", "<f8"), strict=True)
                self._parts[-1].append([self._written(array, kind) for array, kind in pairs if array is not None])
        except OSError:
            self._is_full = True

    def rows(self) -> list[list[ArrayRows]] | None:
        """The rows of the file, mapped; None where not all could be written."""
        if self._is_full:
            return None
        try:
            mapped = self._spill.mapped()
        except (OSError, ValueError):  # a full disk, or no rows
            return None
        self._parts = [[self._mapped(mapped, batch) for batch in part] for part in self._parts]
        return super().rows()

    def _written(self, array: NDArray[Any], kind: str) -> tuple[int, str, tuple[int, ...]]:
        self._spill.write(bytes(-self._spill.tell() % _ALIGNED))
        start = self._spill.tell()
        self._spill.write(np.ascontiguousarray(array, kind).data)
        return start, kind, array.shape

    @staticmethod
    def _mapped(mapped: NDArray[Any], places: list[tuple[int, str, tuple[int, ...]]]) -> Arrays:
        arrays = [
            mapped[start : start + np.dtype(kind).itemsize * int(np.prod(shape))].view(kind).reshape(shape)
            for start, kind, shape in places
        ]
        return arrays[0], arrays[1], arrays[2] if len(arrays) > 2 else None


@dataclass(frozen=True, eq=False)
class _Read:
    """A part whose rows are stored while it is read."""

    part: Part
    shelf: Shelf
    place: _Memory | None

    @property
    def rows(self) -> int | None:
        """Number of rows."""
        return self.part.rows

    @property
    def identity(self) -> str:
        """The part's."""
        return self.part.identity

    def chosen(self, columns: Sequence[str]) -> Part:
        """Itself: its columns were chosen."""
        return self

    def batches(self) -> Iterator[Any]:
        """Every row once, encoded."""
        if self.place is not None:
            self.place.begin()
        for batch in self.part.batches():
            if len(batch):
                rows = self.shelf.recipe.rows_of(batch)
                yield rows
                if self.place is not None:
                    self.place.add(rows.arrays())


@dataclass(frozen=True, eq=False)
class _HeldPart:
    """The held rows of a part."""

    part: Part
    row_batches: list[ArrayRows]

    @property
    def rows(self) -> int:
        """Number of rows that are held."""
        return sum(map(len, self.row_batches))

    @property
    def identity(self) -> str:
        """The part's."""
        return self.part.identity

    def chosen(self, columns: Sequence[str]) -> Part:
        """Itself: it has no columns."""
        return self

    def batches(self) -> Iterator[Any]:
        """The held rows."""
        return iter(self.row_batches)
