"""Ray: tasks that read parts, and blocks of a Dataset of Ray. Sums leave a worker, rows do not."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from typing import Any, TypeVar

from dplr.rows.streams.engines.lazy import BATCH_ROWS, LazyPart
from dplr.rows.streams.engines.tasks import FarParts, answer_of, grouped, remote, states
from dplr.rows.streams.parts import LocalParts, Part, Pass, Progress, RemotePass, in_order, sum_part

S = TypeVar("S")


class RayParts(FarParts):
    """Parts that workers of Ray read where they can reach them."""

    def sums(self, job: Pass[S], progress: Progress) -> Iterator[S]:
        """The states of runs of parts, in order."""
        cores = _cores()
        groups = grouped(self.parts, cores)
        return _answered(remote(job), _sum_group, groups, cores, progress)


class RayDataset:
    """A Dataset of Ray. Its blocks are made once per choice of columns, and lie in Ray's store while a fit runs."""

    is_local = False
    rows = None

    def __init__(self, dataset: Any, empty: Any, columns: Sequence[str] | None = None) -> None:
        self._dataset, self._columns, self._blocks = dataset, columns, None
        self.empty: Any = empty
        self.identity: str = f"a Ray Dataset {id(dataset)}"

    def chosen(self, columns: Sequence[str]) -> RayDataset:
        """The data set with these columns alone."""
        return RayDataset(self._dataset, self.empty, list(dict.fromkeys(columns)))

    def sums(self, job: Pass[S], progress: Progress) -> Iterator[S]:
        """The states of blocks, in order."""
        if self._blocks is None:
            selection = self._dataset if self._columns is None else self._dataset.select_columns(self._columns)
            self._blocks = answer_of("Ray", selection.to_arrow_refs)
        return _answered(remote(job), _sum_block, list(enumerate(self._blocks or [])), _cores(), progress)


def _answered(job: RemotePass[S], work: Any, tasks: Sequence[Any], cores: int, progress: Progress) -> Iterator[S]:
    import ray

    run = ray.remote(work)

    def wait(reference: Any) -> Any:
        return answer_of("Ray", functools.partial(ray.get, reference))

    def drop(reference: Any) -> None:
        """Do nothing: Ray frees a result when no reference to it remains."""

    return states(job, in_order(lambda task: run.remote(job, *task), wait, drop, tasks, 2 * cores), progress)


def _sum_group(job: RemotePass[Any], *group: Part) -> bytes:
    return sum_part(job, *group)


def _sum_block(job: RemotePass[Any], number: int, block: Any) -> bytes:
    read = functools.partial(_batches, block)
    return sum_part(job, LazyPart(read, "a block", identity=f"block {number}"))


def _batches(block: Any, columns: list[str] | None) -> Iterator[Any]:
    batches: Iterator[Any] = iter(block.to_batches(max_chunksize=BATCH_ROWS))
    return batches


def _cores() -> int:
    import ray

    cluster: Any = ray  # of whose functions some have no types
    return max(1, int(cluster.cluster_resources().get("CPU", 1)))


def parts_of(dataset: Any, threads: int | None) -> RayDataset:
    """The blocks of a Dataset."""
    return RayDataset(dataset, dataset.schema().base_schema.empty_table())


def placed(parts: LocalParts, ray: Any) -> RayParts:
    """These parts, read by workers of Ray."""
    return RayParts(parts.parts, parts.empty, ray)
