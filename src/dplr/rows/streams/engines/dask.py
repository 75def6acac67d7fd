"""Dask: parts that workers read, and partitions of a Dask DataFrame. Sums leave a worker, rows do not."""

from __future__ import annotations

import contextlib
import functools
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from dplr.rows.streams.engines.lazy import BATCH_ROWS, LazyPart
from dplr.rows.streams.engines.tasks import FarParts, answer_of, grouped, remote, states
from dplr.rows.streams.holding import Shelf, WorkerRows
from dplr.rows.streams.keeping import kind_of
from dplr.rows.streams.parts import LocalParts, Part, Parts, Pass, Progress, RemotePass, Sums, in_order, sum_part
from dplr.rows.streams.recipe import Recipe

S = TypeVar("S")

# Facts about rows that passes share stay in a worker's memory if they take at most this much per core. A row takes its
# entries on the grid, as float32, and `_LEARNT_A_ROW` bytes.
_MOST_LEARNT_BYTES = 2**29
_LEARNT_A_ROW = 64
# Attempts to fetch an answer that a worker has made, and seconds per attempt: Dask itself would try for ever.
_FETCHES, _FETCH_SECONDS = 3, 60.0


class DaskParts(FarParts):
    """Parts that the workers of a `distributed.Client` read where they can reach them."""

    def sums(self, job: Pass[S], progress: Progress) -> Iterator[S]:
        """The states of runs of parts, in order."""
        client, job = self._workers, remote(job)
        cores = _cores(client)
        groups = grouped(self.parts, cores)

        def begin(group: Sequence[Part]) -> Any:
            return client.submit(functools.partial(sum_part, job, *group), pure=False)

        return states(job, in_order(begin, _wait, _drop, groups, 2 * cores), progress)

    def held(self, recipe: Recipe, step: int, folder: str | None) -> tuple[Sums, Sums]:
        """All rows, for one pass; and the rows that this pass leaves on the workers, for later ones."""
        cores, learnt = _cores(self._workers), 4 * recipe.prep.geometry.d + _LEARNT_A_ROW
        learns = self.rows is not None and learnt * self.rows <= _MOST_LEARNT_BYTES * cores
        shelf = Shelf(recipe, step, kind_of(self, recipe), folder, learns)
        groups = grouped(self.parts, cores)
        reading = _Reading(self._workers, [WorkerRows(group, shelf) for group in groups])
        return reading, _HeldSums(reading)


class _Reading:
    """Rows that workers read once. The rows that they hold are freed with the futures, which this object has."""

    def __init__(self, client: Any, groups: list[WorkerRows]) -> None:
        self.client, self._groups = client, groups
        self.futures: list[Any] = []

    def sums(self, job: Pass[S], progress: Progress) -> Iterator[S]:
        """The states of runs of parts, in order."""
        client, job = self.client, remote(job)

        def begin(group: WorkerRows) -> Any:
            self.futures.append(client.submit(functools.partial(_read, job, group), pure=False))
            return client.submit(_answer, self.futures[-1], pure=False)

        return states(job, in_order(begin, _wait, _drop, self._groups, 2 * _cores(client)), progress)


class _HeldSums:
    """Rows that workers hold. If a worker is lost, Dask makes another one read and hold its rows."""

    def __init__(self, reading: _Reading) -> None:
        self._reading, self._holders = reading, {}  # type: tuple[_Reading, dict[str, Any]]

    def sums(self, job: Pass[S], progress: Progress) -> Iterator[S]:
        """The states of runs of parts, in order."""
        client, work = self._reading.client, functools.partial(_sum_held, remote(job))
        if not self._holders:
            self._holders = answer_of("Dask", functools.partial(client.who_has, self._reading.futures))

        def begin(future: Any) -> Any:
            workers = list(self._holders.get(future.key, ())) or None
            return client.submit(work, future, pure=False, workers=workers, allow_other_workers=workers is not None)

        futures = self._reading.futures
        return states(remote(job), in_order(begin, _wait, _drop, futures, 2 * _cores(client)), progress)


def _read(job: RemotePass[Any], group: WorkerRows) -> WorkerRows:
    return group.reading(job, _own_folder())


def _answer(group: WorkerRows) -> bytes:
    return group.answer


def _sum_held(job: RemotePass[Any], group: WorkerRows) -> bytes:
    return group.sums(job, _own_folder())


def _own_folder() -> str:
    from dask.distributed import get_worker

    folder: str = get_worker().local_directory
    return folder


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


class DaskFrame:
    """A Dask DataFrame, whose partitions the workers of a client sum."""

    is_local = False
    rows = None

    def __init__(self, frame: Any, client: Any) -> None:
        self._frame, self._client = frame, client
        self.empty: Any = frame._meta

    def chosen(self, columns: Sequence[str]) -> DaskFrame:
        """The frame with these columns alone."""
        return DaskFrame(self._frame[list(dict.fromkeys(columns))], self._client)

    def sums(self, job: Pass[S], progress: Progress) -> Iterator[S]:
        """The states of partitions, in order."""
        from dask.delayed import delayed

        client, job = self._client, remote(job)

        def begin(partition: tuple[int, Any]) -> Any:
            work = delayed(_SumFrame(job, partition[0]), pure=False, traverse=False)
            return client.compute(work(partition[1]))

        partitions = enumerate(self._frame.to_delayed())
        return states(job, in_order(begin, _wait, _drop, partitions, 2 * _cores(client)), progress)


@dataclass(frozen=True)
class _SumFrame:
    """Sums one partition where it lies."""

    job: RemotePass[Any]
    number: int

    def __call__(self, frame: Any) -> bytes:
        part = LazyPart(functools.partial(_pieces, frame), "a partition", identity=f"partition {self.number}")
        return sum_part(self.job, part)


def parts_of(frame: Any, threads: int | None) -> Parts:
    """The partitions of a Dask DataFrame: on the workers of the client in scope, else read by this process."""
    client = _client()
    if client is not None:
        return DaskFrame(frame, client)
    parts = [
        LazyPart(functools.partial(_computed, frame, number), "a partition") for number in range(frame.npartitions)
    ]
    return LocalParts(parts, frame._meta, threads)


def placed(parts: LocalParts, client: Any) -> DaskParts:
    """These parts, read by the workers of a client."""
    return DaskParts(parts.parts, parts.empty, client)


def _client() -> Any:
    """The client in scope; None for none."""
    distributed = sys.modules.get("distributed")  # whoever has a client has loaded it
    try:
        return None if distributed is None else distributed.default_client()
    except ValueError:
        return None


def _computed(frame: Any, number: int, columns: list[str] | None) -> Iterator[Any]:
    selection = frame if columns is None else frame[columns]
    return _pieces(selection.partitions[number].compute(scheduler="sync"), None)


def _pieces(frame: Any, columns: list[str] | None) -> Iterator[Any]:
    """A frame of pandas in pieces that stay in a cache."""
    return (frame.iloc[start : start + BATCH_ROWS] for start in range(0, len(frame), BATCH_ROWS))


def _cores(client: Any) -> int:
    threads: dict[str, int] = answer_of("Dask", client.nthreads)
    return max(1, sum(threads.values()))


def _wait(future: Any) -> Any:
    return answer_of("Dask", functools.partial(_fetched, future))


def _fetched(future: Any) -> Any:
    """The answer, however long it takes to make it. By itself Dask tries for ever to fetch what no worker sends."""
    for _ in range(_FETCHES):
        future.exception()  # once it is made, or failed
        with contextlib.suppress(TimeoutError):
            return future.result(timeout=_FETCH_SECONDS)
    raise TimeoutError


def _drop(future: Any) -> None:
    future.release()
