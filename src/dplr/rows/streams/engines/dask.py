"""Dask: parts that workers read, and partitions of a Dask DataFrame. Sums leave a worker, rows do not."""

from __future__ import annotations

import contextlib
import functools
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from dplr.rows.streams.engines.lazy import BATCH_ROWS, LazyPart
from dplr.rows.streams.engines.tasks import FarParts, answer_of, grouped, in_order, remote, states
from dplr.rows.streams.parts import LocalParts, Part, Parts, Pass, RemotePass, Seen, sum_part

S = TypeVar("S")

# An answer is there, and is fetched: a worker that cannot send it is asked so often, for so many seconds each.
_FETCHES, _FETCH_SECONDS = 3, 60.0


class DaskParts(FarParts):
    """Parts that the workers of a `distributed.Client` read where they can reach them."""

    def sums(self, job: Pass[S], seen: Seen) -> Iterator[S]:
        """The states of runs of parts, in order."""
        client, job = self._workers, remote(job)
        cores = _cores(client)
        groups = grouped(self.parts, cores)

        def begin(group: Sequence[Part]) -> Any:
            return client.submit(functools.partial(sum_part, job, *group), pure=False)

        return states(job, in_order(begin, _wait, _drop, groups, 2 * cores), seen)


class DaskFrame:
    """A Dask DataFrame, whose partitions the workers of a client sum."""

    is_local = False
    rows = None

    def __init__(self, frame: Any, client: Any) -> None:
        self._frame, self._client = frame, client
        self.empty = frame._meta
        self.identity = f"a Dask DataFrame {frame._name}"

    def chosen(self, columns: Sequence[str]) -> DaskFrame:
        """The same rows, with these columns alone."""
        return DaskFrame(self._frame[list(dict.fromkeys(columns))], self._client)

    def sums(self, job: Pass[S], seen: Seen) -> Iterator[S]:
        """The states of partitions, in order."""
        from dask.delayed import delayed

        client, job = self._client, remote(job)

        def begin(partition: tuple[int, Any]) -> Any:
            work = delayed(_SumFrame(job, partition[0]), pure=False, traverse=False)
            return client.compute(work(partition[1]))

        partitions = enumerate(self._frame.to_delayed())
        return states(job, in_order(begin, _wait, _drop, partitions, 2 * _cores(client)), seen)


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
    """The same parts, read by the workers of a client."""
    return DaskParts(parts.parts, parts.empty, client)


def _client() -> Any:
    """The client in scope; None for none."""
    distributed = sys.modules.get("distributed")  # whoever has a client has loaded it
    try:
        return None if distributed is None else distributed.default_client()
    except ValueError:
        return None


def _computed(frame: Any, number: int, columns: list[str] | None) -> Iterator[Any]:
    chosen = frame if columns is None else frame[columns]
    return _pieces(chosen.partitions[number].compute(scheduler="sync"), None)


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
