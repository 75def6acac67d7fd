"""One sampler in many threads: no random byte serves two draws, and a forked child waits for nobody."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from dplr import noise
from dplr._core import IntegerSampler

THREADS, CALLS = 8, 6


def laplace(sampler):
    out = np.empty(200, np.int64)
    sampler.laplace(2**40, out)
    return tuple(out.tolist())


def gaussian(sampler):
    out = np.empty(200, np.int64)
    sampler.gaussian(2**44, out)
    return tuple(out.tolist())


def indices(sampler):
    out = np.empty(400, np.intp)
    table, starts = noise._gap_table(2**24)
    count, _ = sampler.indices(2**24, table, starts, 0, 50_000, out)
    return tuple(out[:count].tolist())


class Blocks:
    """Numbered blocks of bytes; a thread that reads the number sleeps before it writes the next one."""

    def __init__(self, pause):
        self.number, self.pause = 0, pause

    def refill(self, size):
        number = self.number
        if self.pause is not None:
            time.sleep(self.pause)
        self.number = number + 1
        return np.random.default_rng(number).bytes(size)


@pytest.mark.parametrize("pause", [None, 0.002])
@pytest.mark.parametrize("draw", [laplace, gaussian, indices])
def test_threads_that_share_a_sampler_draw_what_one_thread_would(draw, pause):
    """Equal calls that come one after the other get the pieces of one stream, in whatever order the threads come."""
    alone = IntegerSampler(Blocks(None).refill)
    expected = sorted(draw(alone) for _ in range(THREADS * CALLS))
    shared, together = IntegerSampler(Blocks(pause).refill), threading.Barrier(THREADS)

    def calls(_):
        together.wait()
        return [draw(shared) for _ in range(CALLS)]

    with ThreadPoolExecutor(THREADS) as pool:
        drawn = sorted(piece for pieces in pool.map(calls, range(THREADS)) for piece in pieces)
    assert len(set(expected)) == THREADS * CALLS
    assert drawn == expected
    assert shared.drawn == alone.drawn


def test_a_forked_child_does_not_wait_for_a_thread_that_it_lacks():
    """In a child of a fork, the thread that drew is gone, and its lock would be held for ever."""
    inside, gate, blocks = threading.Event(), threading.Event(), Blocks(None)

    def refill(size):
        if threading.current_thread().name == "parent":
            inside.set()
            gate.wait(600)
        return blocks.refill(size)

    sampler = IntegerSampler(refill)
    parent = threading.Thread(target=laplace, args=(sampler,), name="parent")
    child = threading.Thread(target=laplace, args=(sampler,), daemon=True)
    parent.start()
    assert inside.wait(60)
    try:
        sampler.forget()
        child.start()
        child.join(20)
        assert not child.is_alive()
    finally:
        gate.set()
        parent.join()


def test_threads_that_share_a_source_draw_after_every_hook_was_called_once():
    """A hook tells a ledger that noise is about to be drawn: a thread that is second waits for the first."""
    source, together, happened = noise.Source(), threading.Barrier(2), []

    def outer():
        happened.append("outer")
        time.sleep(0.2)

    def inner():
        happened.append("inner")
        time.sleep(0.2)
        happened.append("told")

    def draw(_):
        together.wait()
        source.laplace(4, 1)
        happened.append("drawn")

    with source.told_first(outer), source.told_first(inner), ThreadPoolExecutor(2) as pool:
        list(pool.map(draw, range(2)))
    assert happened == ["outer", "inner", "told", "drawn", "drawn"]


def test_a_forked_child_does_not_wait_for_a_thread_of_its_parent_that_calls_a_hook():
    source = noise.Source()
    with ThreadPoolExecutor(1) as parent:
        parent.submit(source._telling.acquire).result()
        source.forget()
        child = threading.Thread(target=source.laplace, args=(4, 1), daemon=True)
        child.start()
        child.join(20)
    assert not child.is_alive()


def test_bytes_that_were_fetched_before_a_fork_are_not_used_after_it():
    """A signal may fork while a sampler fetches bytes: parent and child both hold them, and one alone may use them."""
    blocks, of_the_second = Blocks(None), Blocks(None)
    of_the_second.number = 1

    def refill(size):
        fresh = blocks.refill(size)
        if blocks.number == 1:
            sampler.forget()  # as in the child
        return fresh

    sampler = IntegerSampler(refill)
    assert laplace(sampler) == laplace(IntegerSampler(of_the_second.refill))
