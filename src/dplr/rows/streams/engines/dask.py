"""Dask: parts that workers read, and partitions of a Dask DataFrame. Sums leave a worker, rows do not."""

from __future__ import annotations

import contextlib
import functools
import operator
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from dplr.rows.files.part import Part
from dplr.rows.streams.far import Answered, FarParts, answer_of, grouped, sum_part
from dplr.rows.streams.holding import Shelf, WorkerRows, kind_of
from dplr.rows.streams.parts import LAZY_ROWS, LocalParts, Parts, RemotePass, Sums, in_order
from dplr.rows.streams.recipe import Recipe

# Facts about rows that passes share stay in a worker's memory if they take at most this much per core. A row takes its
# entries on the grid, as float32, and `_LEARNT_A_ROW` bytes.
_MOST_LEARNT_BYTES = 2**29
_LEARNT_A_ROW = 64
# Attempts to fetch an answer that a worker has made, and seconds per attempt: Dask itself would try for ever.
_FETCHES, _FETCH_SECONDS = 3, 60.0


class DaskParts(FarParts):
    """Parts that the workers of a `distributed.Client` read."""

    def answers(self, job: RemotePass[Any]) -> Iterator[bytes]:
        client = self._workers
        tasks = [functools.partial(sum_part, job, *group) for group in grouped(self.parts, _cores(client))]
        return _answers(client, lambda task: client.submit(task, pure=False), tasks)

    def held(self, recipe: Recipe, step: int, folder: str | None) -> Sums:
        cores, learnt = _cores(self._workers), 4 * recipe.prep.geometry.d + _LEARNT_A_ROW
        learns = self.rows is not None and learnt * self.rows <= _MOST_LEARNT_BYTES * cores
        shelf = Shelf(recipe, step, kind_of(self, recipe), folder, learns)
        return _HeldSums(self._workers, [WorkerRows(group, shelf) for group in grouped(self.parts, cores)])


placed = DaskParts


class _HeldSums(Answered):
    """Rows that the first pass leaves on workers. They are freed with the futures, which this object has.

    If a worker is lost, Dask makes another one read and hold its rows.
    """

    def __init__(self, client: Any, groups: list[WorkerRows]) -> None:
        self._client, self._groups = client, groups
        self._futures: list[Any] = []
        self._holders: dict[str, Any] = {}

    def answers(self, job: RemotePass[Any]) -> Iterator[bytes]:
        if not self._futures:
            return _answers(self._client, functools.partial(self._read, job), self._groups)
        if not self._holders:
            self._holders = answer_of("Dask", functools.partial(self._client.who_has, self._futures))
        return _answers(self._client, functools.partial(self._sum, job), self._futures)

    def _read(self, job: RemotePass[Any], group: WorkerRows) -> Any:
        self._futures.append(self._client.submit(functools.partial(_reading, job, group), pure=False))
        return self._client.submit(operator.attrgetter("answer"), self._futures[-1], pure=False)

    def _sum(self, job: RemotePass[Any], future: Any) -> Any:
        workers, work = list(self._holders.get(future.key, ())), functools.partial(_sum_held, job)
        options = {"workers": workers, "allow_other_workers": True} if workers else {}
        return self._client.submit(work, future, pure=False, **options)


def _reading(job: RemotePass[Any], group: WorkerRows) -> WorkerRows:
    return group.reading(job, _own_folder())


def _sum_held(job: RemotePass[Any], group: WorkerRows) -> bytes:
    return group.sums(job, _own_folder())


def _own_folder() -> str:
    from dask.distributed import get_worker

    folder: str = get_worker().local_directory
    return folder


class DaskFrame(Answered):
    """A Dask DataFrame, whose partitions the workers of a client sum."""

    rows = None

    def __init__(self, frame: Any, client: Any) -> None:
        self._frame, self._client = frame, client
        self.empty: Any = frame._meta

    def chosen(self, columns: Sequence[str]) -> DaskFrame:
        return DaskFrame(self._frame[list(dict.fromkeys(columns))], self._client)

    def answers(self, job: RemotePass[Any]) -> Iterator[bytes]:
        from dask.delayed import delayed

        client = self._client

        def begin(partition: tuple[int, Any]) -> Any:
            work = delayed(functools.partial(_sum_frame, job, partition[0]), pure=False, traverse=False)
            return client.compute(work(partition[1]))

        return _answers(client, begin, enumerate(self._frame.to_delayed()))


def _sum_frame(job: RemotePass[Any], number: int, frame: Any) -> bytes:
    """The answer of one partition, summed where it lies."""
    return sum_part(job, Part(functools.partial(_pieces, frame), f"partition {number}"))


NAME = "a query of Dask"
# Kinds of expressions that treat each row by itself, only order rows, or read them; and those of functions of the user.
_BY_ROW = frozenset({
    *("Elemwise", "UFuncElemwise", "Filter", "Query", "DropnaFrame", "DropnaSeries", "SortValues", "Concat"),
    *("Repartition", "Partitions", "BlockwiseIO", "IO", "FillnaCheck", "_DelayedExpr", "DelayedsExpr"),
})  # fmt: skip
_OWN = ("Apply", "Map")


def mixing(frame: Any) -> Iterator[str]:
    """The expressions that may mix rows."""
    for node in frame.expr.walk():
        kinds = [base.__name__ for base in type(node).__mro__]
        if _BY_ROW.isdisjoint(kinds) or kinds[0] in _OWN:
            yield kinds[0]
        values = [value for operand in node.operands if isinstance(operand, dict) for value in operand.values()]
        yield from (type(value.expr).__name__ for value in values if hasattr(value, "expr"))


def parts_of(frame: Any, threads: int | None) -> Parts:
    """The partitions of a Dask DataFrame: on the workers of the client in scope, else read by this process."""
    distributed = sys.modules.get("distributed")  # whoever has a client has loaded it
    with contextlib.suppress(ValueError):  # there is none in scope
        if distributed is not None:
            return DaskFrame(frame, distributed.default_client())
    reads = [functools.partial(_computed, frame, number) for number in range(frame.npartitions)]
    return LocalParts([Part(read, "a partition") for read in reads], frame._meta, threads)


def _computed(frame: Any, number: int, columns: list[str] | None) -> Iterator[Any]:
    selection = frame if columns is None else frame[columns]
    return _pieces(selection.partitions[number].compute(scheduler="sync"), None)


def _pieces(frame: Any, columns: list[str] | None) -> Iterator[Any]:
    """A frame of pandas in pieces that stay in a cache."""
    return (frame.iloc[start : start + LAZY_ROWS] for start in range(0, len(frame), LAZY_ROWS))


def _cores(client: Any) -> int:
    threads: dict[str, int] = answer_of("Dask", client.nthreads)
    return max(1, sum(threads.values()))


def _answers(client: Any, begin: Callable[[Any], Any], tasks: Iterable[Any]) -> Iterator[bytes]:
    """The answers of tasks, in order, of which some wait for each core."""

    def wait(future: Any) -> Any:
        return answer_of("Dask", functools.partial(_fetched, future))

    return in_order(begin, wait, lambda future: future.release(), tasks, 2 * _cores(client))


def _fetched(future: Any) -> Any:
    """The answer, however long it takes to make it. By itself Dask tries for ever to fetch what no worker sends."""
    for _ in range(_FETCHES):
        future.exception()  # once it is made, or failed
        with contextlib.suppress(TimeoutError):
            return future.result(timeout=_FETCH_SECONDS)
    raise TimeoutError
