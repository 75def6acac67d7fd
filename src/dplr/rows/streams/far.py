"""Parts that workers read: groups of them that a task sums, and the answers, which are bytes and hold no row."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Self, TypeVar

from dplr._kit.validation import sentence
from dplr.rows import threads as _pool
from dplr.rows.files.part import FileChanged, Part
from dplr.rows.streams.answers import NOTHING, WorkerFault, dump_fault
from dplr.rows.streams.parts import PartChanged, PartList, Pass, Progress, RemotePass, merged, state_of

S = TypeVar("S")

# Rows that a core sums in about half a second.
_TASK_ROWS = 2**22
# The least number of tasks per core, so that no core waits long for the last task.
_TASKS_PER_CORE = 4


class Answered(ABC):
    """Rows that workers sum; `answers` are those of runs of parts, in order."""

    is_local = False

    @abstractmethod
    def answers(self, job: RemotePass[Any]) -> Iterable[bytes]: ...

    def sums(self, job: Pass[S], progress: Progress) -> Iterator[S | None]:
        if not isinstance(job, RemotePass):
            rule = "must not be kept outside the workers, which hand over sums alone"
            raise ValueError(sentence("X", rule, type(job).__name__, "Read the rows on this machine."))
        return _states(job, self.answers(job), progress)


def _states(job: RemotePass[S], answers: Iterable[bytes], progress: Progress) -> Iterator[S | None]:
    for answer in answers:
        state: Any = state_in(job, answer)
        progress(state if isinstance(state, int) else int(state[0].faults.rows) if state else 0)
        yield state


def state_in(job: RemotePass[S], answer: bytes) -> S | None:
    return None if answer == NOTHING else job.load(answer)


class FarParts(Answered, PartList):
    """Parts that the workers of a client or a session read where they can reach them."""

    def __init__(self, parts: Sequence[Part], empty: Any, workers: Any) -> None:
        super().__init__(parts, empty)
        self._workers = workers

    def chosen(self, columns: Sequence[str]) -> Self:
        return type(self)([part.chosen(columns) for part in self.parts], self.empty, self._workers)


def grouped(parts: Sequence[Part], cores: int) -> list[tuple[Part, ...]]:
    """Runs of 2^k neighbours, one per task; the last may be shorter. No bit of a sum depends on k: see `merged`."""
    most = max(1, len(parts) // (_TASKS_PER_CORE * cores))
    rows = max((part.rows or _TASK_ROWS for part in parts), default=_TASK_ROWS)
    size = 2 ** (max(1, min(most, _TASK_ROWS // rows)).bit_length() - 1)
    return [tuple(parts[start : start + size]) for start in range(0, len(parts), size)]


def sum_part(job: RemotePass[Any], *parts: Part) -> bytes:
    """The answer of some parts, computed on a worker. The answer names a fault, and never quotes a value of a row."""
    reading = ""

    def states() -> Iterator[Any]:
        nonlocal reading
        for part in parts:
            reading = part.name
            yield state_of(job, part)

    try:
        with _pool.one_thread():
            state = merged(job, states())
            return NOTHING if state is None else job.dump(state)
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


def answer_of(engine: str, ask: Callable[[], Any]) -> Any:
    """The answer of a cluster. The errors of a cluster may quote rows, so only their type is shown."""
    try:
        return ask()
    except Exception as error:  # not raised here, where it would carry the error that it hides
        kind = type(error).__name__
    remedy = f"The logs of {engine} say more; they may quote rows."
    raise WorkerFault(sentence("X", f"must be read by the workers of {engine}, which gave up", kind, remedy))
