"""Rows in parts that can be read again, wherever they are; and one pass over them.

The order of the parts belongs to the data. The bits of exact sums do not depend on it; those of float sums do, by less
than the certificate allows for (`_core/loss.md`, theorem 1).
"""

from __future__ import annotations

import collections
import contextvars
import itertools
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, Generic, Protocol, TypeVar, runtime_checkable

from dplr._kit.validation import sentence
from dplr.rows import threads as _pool
from dplr.rows.files.part import Part

S = TypeVar("S")
Answer = TypeVar("Answer")
Task = TypeVar("Task")
Handle = TypeVar("Handle")
Progress = Callable[[int], None]

# Parts that are read at once by default: each holds a few batches in memory, and some pages of each column.
_MOST_THREADS = 2
_MOST_COLUMNS = 2**6  # of all parts that are read at once
# Rows of a batch of a lazy table: few enough to stay in a cache, many enough that the cost of a call does not matter.
LAZY_ROWS = 2**16


class Pass(ABC, Generic[S]):
    """The work of one pass on batches of rows. Picklable, and pure: it knows public facts and a point, and no noise.

    States are merged in the order of their rows; that of no rows is None.
    """

    @abstractmethod
    def partial(self, batch: Any) -> S:
        """The state of one batch, a table in memory."""

    @abstractmethod
    def merge(self, first: S, second: S) -> S: ...

    def added(self, state: S | None, batch: Any) -> S:
        """The state with one more batch."""
        part = self.partial(batch)
        return part if state is None else self.merge(state, part)


class RemotePass(Pass[S]):
    """A pass whose state can travel from a worker to the driver: numbers, and no row; `load` checks what was sent."""

    @abstractmethod
    def dump(self, state: S) -> bytes: ...
    @abstractmethod
    def load(self, data: bytes) -> S: ...


class Sums(Protocol):
    """Rows that can be summed where they lie."""

    def sums(self, job: Pass[S], progress: Progress) -> Iterator[S | None]:
        """The state of each part, once, in the order of the parts; tells `progress` how many rows were read."""


@runtime_checkable
class Parts(Sums, Protocol):
    """All rows, in parts; `empty` is a table without rows, with the columns and types of all of them."""

    @property
    def empty(self) -> Any: ...
    @property
    def rows(self) -> int | None: ...
    @property
    def is_local(self) -> bool:
        """Whether rows may be kept: they are read by this process."""

    def chosen(self, columns: Sequence[str]) -> Parts: ...


@runtime_checkable
class Holder(Protocol):
    """Parts whose rows can stay, encoded, where they were read."""

    def held(self, recipe: Any, step: int, folder: str | None) -> Sums:
        """All rows, for one pass; then every `step`-th row of each batch, which that pass leaves where it was read.

        They lie in a file without a name in `folder`, "" for a folder of the worker's own; None for its memory.
        """


class PartList:
    """Parts in their order, whoever reads them."""

    def __init__(self, parts: Sequence[Part], empty: Any) -> None:
        self.parts: tuple[Part, ...] = tuple(parts)
        self.empty: Any = empty

    @property
    def rows(self) -> int | None:
        return total_rows(self.parts)


def total_rows(parts: Iterable[Part]) -> int | None:
    """The number of rows; None where a part does not know."""
    counts = [part.rows for part in parts]
    return None if None in counts else sum(count or 0 for count in counts)


class LocalParts(PartList):
    """Parts that this process reads, some of them at once.

    Parameters
    ----------
    parts, empty : in their order, and a table without rows.
    threads : how many parts are read at once; None for two, or one of many columns, where there are two cores.
    columns : how many are read of each; None for few.
    """

    is_local = True

    def __init__(
        self, parts: Sequence[Part], empty: Any, threads: int | None = None, columns: int | None = None
    ) -> None:
        super().__init__(parts, empty)
        self._threads, self._columns = threads, columns

    def chosen(self, columns: Sequence[str]) -> LocalParts:
        return LocalParts([part.chosen(columns) for part in self.parts], self.empty, self._threads, len(columns))

    def sums(self, job: Pass[S], progress: Progress) -> Iterator[S | None]:
        few = min(_pool.available_threads(), _MOST_THREADS, max(_MOST_COLUMNS // (self._columns or 1), 1))
        threads = min(self._threads or few, len(self.parts))
        if threads <= 1 or not _pool.can_start(threads):
            yield from (state_of(job, part, progress) for part in self.parts)
            return
        with ThreadPoolExecutor(threads, thread_name_prefix="dplr-part") as pool:

            def begin(part: Part) -> Future[S | None]:
                return pool.submit(contextvars.copy_context().run, state_of, job, part, progress)

            yield from in_order(begin, Future.result, Future.cancel, self.parts, threads)


def in_order(
    begin: Callable[[Task], Handle], wait: Callable[[Handle], Answer], drop: Callable[[Handle], object],
    tasks: Iterable[Task], ahead: int,
) -> Iterator[Answer]:  # fmt: skip
    """Answers in the order of the tasks, each taken once, with that many begun before they are asked for."""
    queue, begun = iter(tasks), collections.deque[Handle]()
    try:
        begun.extend(begin(task) for task in itertools.islice(queue, ahead))
        while begun:
            answer = wait(begun[0])
            drop(begun.popleft())
            begun.extend(begin(task) for task in itertools.islice(queue, 1))
            yield answer
    finally:
        for handle in begun:
            drop(handle)


def state_of(job: Pass[S], part: Part, progress: Progress | None = None) -> S | None:
    """The state of a pass after all batches of one part."""
    state, rows = None, 0
    for batch in part.batches():
        count = len(batch)
        if count:
            state = job.added(state, batch)
        rows += count
        if progress is not None:
            progress(count)
    if part.rows is not None and rows != part.rows:
        raise row_count_error(part.name, part.rows, rows)
    return state


class PartChanged(ValueError):
    """A part has other rows than before."""


def row_count_error(name: str, before: int, now: int) -> PartChanged:
    """The error for a part that has another number of rows than it had."""
    rule = "must stay as it is while a fit reads it"
    return PartChanged(sentence("X", rule, f"{now} rows instead of {before} in {name}", "Fit a copy that rests."))


def one_pass(parts: Sums, job: Pass[S], progress: Progress = lambda rows: None) -> S | None:
    """The state of all rows: those of the parts, merged pairwise in their order, with few of them in memory."""
    states = parts.sums(job, progress)
    return merged(job, states)


def merged(job: Pass[S], states: Iterable[S | None]) -> S | None:
    """The states of neighbours as one, merged pairwise.

    Which are merged first is a function of how many there are. It stays the same where runs of 2^k states, and a
    shorter last run, were merged before: tasks may be of any such size.
    """

    def both(first: S | None, second: S | None) -> S | None:
        return second if first is None else first if second is None else job.merge(first, second)

    # (number of states, state), from left to right; numbers are falling powers of two
    stack: list[tuple[int, S | None]] = []
    for part in states:
        stack.append((1, part))
        while len(stack) > 1 and stack[-2][0] == stack[-1][0]:
            (count, first), (_, second) = stack[-2:]
            stack[-2:] = [(2 * count, both(first, second))]
    state = None
    for _, part in reversed(stack):
        state = both(part, state)
    return state
