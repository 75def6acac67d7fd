"""The thread pool of the process, created on first use and again on first use in a forked child; and its shares."""

from __future__ import annotations

import contextlib
import contextvars
import itertools
import mmap
import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from dplr._kit.validation import sentence

Item = TypeVar("Item")
Result = TypeVar("Result")

# A sleeping core costs milliseconds to wake: below some 10 ms of work one thread is faster.
_PRODUCTS_WORTH_A_CORE = 5e8

# Room for a thread's stack and the first memory that it takes.
_THREAD_BYTES = 2**24

_pool: ThreadPoolExecutor | None = None
_process = os.getpid()  # whose pool it is
_is_alone = contextvars.ContextVar("_is_alone", default=False)


@contextlib.contextmanager
def one_thread() -> Iterator[None]:
    """A context in which sums use one thread, because the caller keeps the other cores busy."""
    before = _is_alone.set(True)
    try:
        yield
    finally:
        _is_alone.reset(before)


def available_threads() -> int:
    """Cores this process may use, or the environment variable DPLR_NUM_THREADS."""
    if _is_alone.get():
        return 1
    setting = os.environ.get("DPLR_NUM_THREADS", "")
    if setting:
        if not (setting.isascii() and setting.isdigit()) or int(setting) < 1:
            raise ValueError(sentence("DPLR_NUM_THREADS", "must be a positive integer", setting))
        return int(setting)
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def threads_for(products: float, asked: int | None = None) -> int:
    """The number of threads for a sum of that many products: the number asked for, else as many as pay off."""
    return asked or (available_threads() if products >= _PRODUCTS_WORTH_A_CORE else 1)


def spans(n: int, parts: int) -> list[tuple[int, int]]:
    """That many spans of nearly equal length, in order."""
    return list(itertools.pairwise([n * part // parts for part in range(parts + 1)]))


def can_start(threads: int) -> bool:
    """Whether there is memory for that many threads.

    A thread that finds no memory when it begins ends before it signals its start, and Python waits for ever.
    """
    if not hasattr(mmap, "MAP_ANONYMOUS"):  # Windows
        return True
    try:
        # Never touched: it takes addresses, and no memory.
        mmap.mmap(-1, threads * _THREAD_BYTES, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS).close()
    except OSError:
        return False
    return True


def run(work: Callable[[Item], Result], items: Sequence[Item]) -> list[Result]:
    """Results of work(item), with one thread per item; in the calling thread for one item, or where memory is short.

    Each works in a copy of the caller's context: that a thread is born with is of the fit that made the pool.
    """
    global _pool, _process
    if len(items) == 1 or not can_start(len(items)):
        return [work(item) for item in items]
    if _pool is None or _process != os.getpid():  # also where a signal cut the hook after a fork short
        _process = os.getpid()
        _pool = ThreadPoolExecutor(os.cpu_count() or 1, thread_name_prefix="dplr")
    contexts = [contextvars.copy_context() for _ in items]
    return list(_pool.map(lambda context, item: context.run(work, item), contexts, items))


def _forget() -> None:
    global _pool
    _pool = None


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)
