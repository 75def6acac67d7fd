"""Rows in parts that can be read again, wherever they are; and one pass over them.

The order of the parts belongs to the data. The bits of exact sums do not depend on it; those of float sums do, by less
than the certificate allows for (`_core/loss.md`, theorem 1).
"""

from __future__ import annotations

import collections
import contextvars
import itertools
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, Protocol, TypeVar, runtime_checkable

from dplr._kit.validation import sentence
from dplr.rows import threads as _pool
from dplr.rows.files.part import FileChanged
from dplr.rows.streams.answers import dump_fault

S = TypeVar("S")
Answer = TypeVar("Answer")
Task = TypeVar("Task")
Handle = TypeVar("Handle")
Progress = Callable[[int], None]

# Parts that are read at once by default: each holds a few batches in memory, and some pages of each column.
_MOST_THREADS = 2
_MOST_COLUMNS = 2**6  # of all parts that are read at once


class Part(Protocol):
    """Some of the rows. Picklable: it is opened where it is read."""

    @property
    def rows(self) -> int | None:
        """Number of rows; None where it is not known without reading them."""
        ...

    @property
    def identity(self) -> str:
        """A text that tells these rows from others: equal texts mean equal rows. It holds no value of any row."""
        ...

    def chosen(self, columns: Sequence[str]) -> Part:
        """These rows with these columns at least; others need not be read."""
        ...

    def batches(self) -> Iterator[Any]:
        """Tables in memory, of any library, or record batches of Arrow: every row once, in one order."""
        ...


class Pass(Protocol[S]):
    """The work of one pass on batches of rows. Picklable, and pure: it knows public facts and a point, and no noise."""

    def zero(self) -> S:
        """The state before the first batch."""
        ...

    def accumulate(self, state: S, batch: Any) -> S:
        """The state after one more batch, a table in memory."""
        ...

    def merge(self, first: S, second: S) -> S:
        """The state of the rows of both, those of the first before those of the second."""
        ...


@runtime_checkable
class RemotePass(Pass[S], Protocol[S]):
    """A pass whose state can travel from a worker to the driver: numbers, and no row."""

    def dump(self, state: S) -> bytes:
        """The state as numbers: on a worker."""
        ...

    def load(self, data: bytes) -> S:
        """The state that a worker sent; types, shapes and lengths are checked."""
        ...


@runtime_checkable
class Parts(Protocol):
    """All rows, in parts."""

    @property
    def empty(self) -> Any:
        """A table without rows, with the columns and types of all parts."""
        ...

    @property
    def rows(self) -> int | None:
        """Number of rows; None where nobody counted them yet."""
        ...

    @property
    def is_local(self) -> bool:
        """Whether rows may be kept: they are read by this process."""
        ...

    def chosen(self, columns: Sequence[str]) -> Parts:
        """These rows with these columns at least; others need not be read."""
        ...

    def sums(self, job: Pass[S], progress: Progress) -> Iterator[S]:
        """The state of each part, once, in the order of the parts; tells `progress` how many rows were read."""
        ...


class Sums(Protocol):
    """Rows that can be summed where they lie."""

    def sums(self, job: Pass[S], progress: Progress) -> Iterator[S]:
        """The state of each part, once, in the order of the parts; tells `progress` how many rows were read."""
        ...


@runtime_checkable
class Holder(Protocol):
    """Parts whose rows can stay, encoded, where they were read."""

    def held(self, recipe: Any, step: int, folder: str | None) -> tuple[Sums, Sums]:
        """All rows, for one pass; and every `step`-th row of each batch, which that pass leaves where it was read.

        They lie in a file without a name in `folder`, "" for a folder of the worker's own; None for its memory.
        """
        ...


class PartList:
    """Parts in their order, whoever reads them.

    Parameters
    ----------
    parts : in their order.
    empty : a table without rows, with the columns and types of all parts.
    """

    def __init__(self, parts: Sequence[Part], empty: Any) -> None:
        self.parts: tuple[Part, ...] = tuple(parts)
        self.empty: Any = empty

    @property
    def rows(self) -> int | None:
        """Number of rows; None where a part does not know."""
        return total_rows(part.rows for part in self.parts)


class LocalParts(PartList):
    """Parts that this process reads, some of them at once.

    Parameters
    ----------
    parts : in their order.
    empty : a table without rows, with the columns and types of all parts.
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
        """These rows, of which only these columns need to be read."""
        return LocalParts([part.chosen(columns) for part in self.parts], self.empty, self._threads, len(columns))

    def sums(self, job: Pass[S], progress: Progress) -> Iterator[S]:
        """The state of each part, in order."""
        few = min(_pool.available_threads(), _MOST_THREADS, max(_MOST_COLUMNS // (self._columns or 1), 1))
        threads = min(self._threads or few, len(self.parts))
        if threads <= 1 or not _pool.can_start(threads):
            yield from (state_of(job, part, progress) for part in self.parts)
            return
        with ThreadPoolExecutor(threads, thread_name_prefix="dplr-part") as pool:

            def begin(part: Part) -> Future[S]:
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


def state_of(job: Pass[S], part: Part, progress: Progress | None = None) -> S:
    """The state of a pass after all batches of one part."""
    state, rows = job.zero(), 0
    for batch in part.batches():
        count = len(batch)
        if count:
            state = job.accumulate(state, batch)
        rows += count
        if progress is not None:
            progress(count)
    if part.rows is not None and rows != part.rows:
        raise row_count_error(part.identity, part.rows, rows)
    return state


def sum_part(job: RemotePass[Any], *parts: Part) -> bytes:
    """The answer of some parts, computed on a worker. The answer names a fault, and never quotes a value of a row."""
    reading = ""

    def states() -> Iterator[Any]:
        nonlocal reading
        for part in parts:
            reading = part.identity
            yield state_of(job, part)

    try:
        with _pool.one_thread():
            return job.dump(merged(job, states()))
    except MemoryError:
        return dump_fault("the worker ran out of memory; give it more, or make smaller parts", reading)
    except OSError as error:
        reason = os.strerror(error.errno) if error.errno else "no reason given"
        return dump_fault(f"it cannot be read ({type(error).__name__}: {reason})", reading)
    except (PartChanged, FileChanged):
        return dump_fault("it changed while it was read", reading)
    except Exception as error:
        name = type(error.__cause__ or error).__name__  # of the library that read them, if it failed
        return dump_fault(f"its rows cannot be read as declared ({name})", reading)


class PartChanged(ValueError):
    """A part has other rows than before."""


def row_count_error(identity: str, before: int, now: int) -> PartChanged:
    """The error for a part that has another number of rows than it had."""
    rule = "must stay as it is while a fit reads it"
    return PartChanged(sentence("X", rule, f"{now} rows instead of {before} in {identity}", "Fit a copy that rests."))


def total_rows(counts: Iterable[int | None]) -> int | None:
    """The sum of the numbers of rows; None if one is not known."""
    total = 0
    for count in counts:
        if count is None:
            return None
        total += count
    return total


def one_pass(parts: Sums, job: Pass[S], progress: Progress = lambda rows: None) -> S:
    """The state of all rows: those of the parts, merged pairwise in their order, with few of them in memory."""
    return merged(job, parts.sums(job, progress))


def merged(job: Pass[S], states: Iterable[S]) -> S:
    """The states of neighbours as one, merged pairwise.

    Which are merged first is a function of how many there are. It stays the same where runs of 2^k states, and a
    shorter last run, were merged before: tasks may be of any such size.
    """
    stack: list[tuple[int, S]] = []  # (number of states, state), from left to right; numbers are falling powers of two
    for part in states:
        stack.append((1, part))
        while len(stack) > 1 and stack[-2][0] == stack[-1][0]:
            (count, first), (_, second) = stack[-2:]
            stack[-2:] = [(2 * count, job.merge(first, second))]
    state = job.zero()
    for _, part in reversed(stack):
        state = job.merge(part, state)
    return state
