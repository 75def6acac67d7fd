"""Encoded rows that later passes read instead of the parts: in files without a name, or a few of them in memory.

Those that this process reads are kept in any order, since exact sums do not depend on it; those that a worker reads
stay there, batch by batch. A pickle does not contain them: it has only their parts and recipe, from which another
process reads the rows again.
"""

from __future__ import annotations

import contextlib
import functools
import pickle
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from numpy.typing import NDArray

from dplr.bounds.columns import Numeric
from dplr.bounds.scaling import Prep
from dplr.rows.array import ArrayRows
from dplr.rows.exact import ClippedGradient
from dplr.rows.files.part import Part
from dplr.rows.spill import SpilledRows, mapped_zeros
from dplr.rows.streams.far import state_in, sum_part
from dplr.rows.streams.parts import Parts, Pass, RemotePass, total_rows
from dplr.rows.streams.passes import CountPass, SumPass
from dplr.rows.streams.recipe import Recipe
from dplr.rows.tables.table import Table, as_table
from dplr.rows.weights import RowWeights

Columns = Sequence[NDArray[Any]]  # X, y and weights where there are any
# Integers of these types, and float32, are exact in float32.
_SHORT = ("Int8", "Int16", "UInt8", "UInt16", "Float32", "Boolean")


def _arrays_of(rows: ArrayRows) -> Columns:
    X, y, weights = rows.arrays()
    return [X, y] if weights is None else [X, y, weights]


def _rows_of(arrays: Columns, prep: Prep, **options: Any) -> ArrayRows:
    X, y, *weights = arrays
    counts = RowWeights(weights[0], None, len(y)) if weights else None
    return ArrayRows(X, y, replace(prep, layout=None), weights=counts, **options)


def _spilled(recipe: Recipe, kind: str, folder: str, rows: int) -> SpilledRows:
    """A place for rows; OSError where there is none."""
    more = 1 if recipe.weighing is None else 2
    return SpilledRows(folder, [kind, *["<f8"] * more], [(recipe.prep.geometry.d,), *[()] * more], rows)


def kind_of(parts: Parts, recipe: Recipe) -> str:
    """The type in which entries of X are kept, exact for all of them, as types and declarations say."""
    table, layout = as_table(parts.empty), recipe.prep.layout
    assert table is not None
    declared: Any = [None] * len(recipe.features) if layout is None else layout.columns
    is_short = layout is None or not layout.products
    pairs = zip(recipe.features, declared, strict=True)
    return "<f4" if is_short and all(_is_short(table, name, column) for name, column in pairs) else "<f8"


def _is_short(table: Table, name: str, column: Any) -> bool:
    if column is not None and not isinstance(column, Numeric):
        return True  # zeros, ones and small whole numbers
    return (column is None or column.plain) and str(table.dtype(table.columns.index(name))) in _SHORT


def keep(
    parts: Parts, recipe: Recipe, count: int, folder: str, run: Callable[[Pass[Any], str], Any]
) -> ArrayRows | None:
    """Encode all rows in one pass; None where the folder's disk has no room for them: they are read again.

    Facts about the rows that passes share are in mapped files too.
    """
    kind, refused = kind_of(parts, recipe), contextlib.suppress(OSError)  # of a full or slow disk, or none
    with refused, contextlib.closing(_spilled(recipe, kind, folder, count)) as spilled:
        if run(_KeepPass(recipe, spilled), "keeping rows") == count:
            return _rows_of(spilled.arrays(), recipe.prep, allocate=functools.partial(mapped_zeros, folder))
    return None


class _KeepPass(Pass[int]):
    """A pass that counts rows and keeps them. For rows that this process reads: it cannot be sent to a worker."""

    def __init__(self, recipe: Recipe, spilled: SpilledRows) -> None:
        self._recipe, self._spilled = recipe, spilled

    def partial(self, batch: Any) -> int:
        self._spilled.add(_arrays_of(self._recipe.rows_of(batch)))
        return len(batch)

    def merge(self, first: int, second: int) -> int:
        return first + second


@dataclass(frozen=True)
class Shelf:
    """A choice of rows that workers hold, and of their place.

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
    """Rows of some parts that a worker holds, and the answer of the pass that read all of their rows."""

    def __init__(self, parts: Sequence[Part], shelf: Shelf, answer: bytes = b"") -> None:
        self.parts: tuple[Part, ...] = tuple(parts)
        self.shelf: Shelf = shelf
        self.answer: bytes = answer
        self._rows: list[list[ArrayRows]] | None = None  # of each part, batch by batch; None where none are held
        # The pickle of the last pass's map to scaled rows, and the rows with that map.
        self._last_mapping: tuple[bytes, list[list[ArrayRows]]] = b"", []

    def __reduce__(self) -> tuple[Any, ...]:
        # Leave the rows here: they stay on the machine that read them.
        return WorkerRows, (self.parts, self.shelf, self.answer)

    def reading(self, job: RemotePass[Any], own_folder: str) -> WorkerRows:
        """Make a pass over all rows, hold some of them on its way, and keep its answer."""
        place = _Place(self.shelf, self.parts, own_folder)
        read = [Part(functools.partial(place.read, part), part.name, part.rows) for part in self.parts]
        self.answer = sum_part(job, *read)
        rows = place.rows()
        self._rows = None if _is_fault(job, self.answer) else rows
        return self

    def sums(self, job: RemotePass[Any], own_folder: str) -> bytes:
        """The answer of the rows that are held; the parts are read again where they are not."""
        if self._rows is None:
            self.reading(CountPass(), own_folder)
        if self._rows is None:
            return sum_part(job, *self.parts) if self.shelf.step == 1 else self.answer  # which says why
        self.answer = b""  # the driver has it: a pass begins when the one before has ended
        job, batches = self._learnt(job, self._rows)
        held = zip(self.parts, batches, strict=True)
        return sum_part(job, *(Part(_given(rows), part.name, sum(map(len, rows))) for part, rows in held))

    def _learnt(
        self, job: RemotePass[Any], batches: list[list[ArrayRows]]
    ) -> tuple[RemotePass[Any], list[list[ArrayRows]]]:
        """The pass, and rows with facts that earlier passes cached; without them where they would fill the memory."""
        if not (self.shelf.learns and isinstance(job, SumPass) and isinstance(job.queries[0][0], ClippedGradient)):
            return job, [[rows.mapped(rows.prep) for rows in part] for part in batches]
        mapping, of_rows = job.recipe.mapping, replace(job, recipe=job.recipe.mapped(None))
        name = pickle.dumps(mapping)
        if self._last_mapping[0] != name:
            self._last_mapping = name, [[rows.mapped(mapping or rows.prep) for rows in part] for part in batches]
        return of_rows, self._last_mapping[1]


def _given(rows: list[ArrayRows]) -> Callable[[list[str] | None], Iterator[ArrayRows]]:
    return lambda columns: iter(rows)


def _is_fault(job: RemotePass[Any], answer: bytes) -> bool:
    """Whether a pass failed before its end: then some rows may not be held."""
    try:
        state_in(job, answer)
    except ValueError:
        return True
    return False


class _Place:
    """Where a worker puts rows while it reads parts: a file, or memory."""

    def __init__(self, shelf: Shelf, parts: Sequence[Part], own_folder: str) -> None:
        self._shelf = shelf
        # Of each part, batch by batch: its arrays, or their place in the file; None without room for them.
        self._held: list[list[Any]] | None = []
        self._spilled: SpilledRows | None = None
        if shelf.folder is not None:
            with self._room():
                rows = total_rows(parts) or 0
                self._spilled = _spilled(shelf.recipe, shelf.kind, shelf.folder or own_folder, rows)

    @contextlib.contextmanager
    def _room(self) -> Iterator[None]:
        """Hold nothing where the folder is not there or cannot be written, or the disk is full: rows are read again."""
        try:
            yield
        except (OSError, ValueError):  # a file without a row cannot be mapped
            self._held = None

    def read(self, part: Part, columns: None) -> Iterator[ArrayRows]:
        """Every row of a part once, encoded."""
        if self._held is not None:
            self._held.append([])
        for batch in part.batches():
            if len(batch):
                rows = self._shelf.recipe.rows_of(batch)
                yield rows
                self._hold(_arrays_of(rows))

    def _hold(self, arrays: Columns) -> None:
        if self._held is not None and self._spilled is not None:
            with self._room():
                self._held[-1].append(self._spilled.add(arrays))
        elif self._held is not None:
            X, *numbers = [array[:: self._shelf.step] for array in arrays]
            self._held[-1].append([X.copy(), *(column.astype(float) for column in numbers)])

    def rows(self) -> list[list[ArrayRows]] | None:
        """The rows of each part, batch by batch; None where they are not held."""
        held, prep = self._held, self._shelf.recipe.prep
        if self._spilled is not None:
            with contextlib.closing(self._spilled), self._room():
                columns = self._spilled.arrays()
            if self._held is None:
                return None
            held = [[[column[place] for column in columns] for place in part] for part in self._held]
        return None if held is None else [[_rows_of(arrays, prep) for arrays in part] for part in held]
