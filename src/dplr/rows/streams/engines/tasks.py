"""Tasks of a cluster: groups of parts that a task sums, and the answers, which are bytes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Self, TypeVar

from dplr._kit.validation import sentence
from dplr.rows.streams.answers import WorkerFault
from dplr.rows.streams.parts import Part, PartList, Pass, Progress, RemotePass

S = TypeVar("S")

# Rows that a core sums in about half a second.
_TASK_ROWS = 2**22
# The least number of tasks per core, so that no core waits long for the last task.
_TASKS_PER_CORE = 4


class FarParts(PartList):
    """Parts that workers read.

    Parameters
    ----------
    parts : in their order.
    empty : a table without rows, with the columns and types of all parts.
    workers : the cluster that reads: a client or a session.
    """

    is_local = False

    def __init__(self, parts: Sequence[Part], empty: Any, workers: Any) -> None:
        super().__init__(parts, empty)
        self._workers = workers

    def chosen(self, columns: Sequence[str]) -> Self:
        """These rows, of which only these columns need to be read."""
        return type(self)([part.chosen(columns) for part in self.parts], self.empty, self._workers)


def grouped(parts: Sequence[Part], cores: int) -> list[tuple[Part, ...]]:
    """Runs of 2^k neighbours, one per task; the last may be shorter. No bit of a sum depends on k: see `merged`."""
    most = max(1, len(parts) // (_TASKS_PER_CORE * cores))
    rows = max((part.rows or _TASK_ROWS for part in parts), default=_TASK_ROWS)
    size = 2 ** (max(1, min(most, _TASK_ROWS // rows)).bit_length() - 1)
    return [tuple(parts[start : start + size]) for start in range(0, len(parts), size)]


def remote(job: Pass[Any]) -> RemotePass[Any]:
    """The pass, if its state may leave a worker."""
    if isinstance(job, RemotePass):
        return job
    rule = "must not be kept outside the workers, which hand over sums alone"
    raise ValueError(sentence("X", rule, type(job).__name__, "Read the rows on this machine."))


def states(job: RemotePass[S], answers: Iterable[Any], progress: Progress) -> Iterator[S]:
    """The states that workers sent."""
    for answer in answers:
        state = job.load(answer)
        progress(_rows_in(state))
        yield state


def _rows_in(state: Any) -> int:
    if isinstance(state, int):
        return state
    return int(state[0].faults.rows) if state else 0


def answer_of(engine: str, ask: Callable[[], Any]) -> Any:
    """The answer of a cluster. The errors of a cluster may quote rows, so only their type is shown."""
    try:
        return ask()
    except Exception as error:  # not raised here, where it would carry the error that it hides
        kind = type(error).__name__
    remedy = f"The logs of {engine} say more; they may quote rows."
    raise WorkerFault(sentence("X", f"must be read by the workers of {engine}, which gave up", kind, remedy))
