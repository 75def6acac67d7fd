"""A forked child begins with a copy of every lock and every buffer: it waits for no thread that it lacks, and uses no
random byte of its parent, whether the hooks after the fork ran or a signal cut them short."""

import contextlib
import os
import pickle
import select
import signal
import threading
import time
from fractions import Fraction

import pytest

from dplr import noise
from dplr.ledger import Ledger
from dplr.ledger.connection import _Use
from dplr.noise import Source
from dplr.rows import threads

pytestmark = [
    pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork"),
    pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]
HANGS_AFTER = 60.0  # seconds: a child that waits for a thread that it lacks waits for ever


def in_child(work):
    """The result of `work` in a forked child, or its error; fails where the child hangs."""
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            try:
                answer = True, work()
            except BaseException as error:
                answer = False, f"{type(error).__name__}: {error}"
            os.write(writer, pickle.dumps(answer))
        finally:
            os._exit(0)
    os.close(writer)
    try:
        ready, _, _ = select.select([reader], [], [], HANGS_AFTER)
        if not ready:
            os.kill(pid, signal.SIGKILL)
            pytest.fail("the child hangs")
        returned, answer = pickle.loads(os.read(reader, 1 << 16))
    finally:
        os.waitpid(pid, 0)
        os.close(reader)
    if not returned:
        raise ChildError(answer)
    return answer


class ChildError(Exception):
    """What a child raised."""


@contextlib.contextmanager
def held_by_a_thread(lock):
    """Another thread holds the lock."""
    taken, done = threading.Event(), threading.Event()

    def hold():
        with lock:
            taken.set()
            done.wait()

    thread = threading.Thread(target=hold)
    thread.start()
    taken.wait()
    try:
        yield
    finally:
        done.set()
        thread.join()


class Interrupted:
    """A set of sources at which a signal arrives."""

    def __iter__(self):
        raise KeyboardInterrupt


DRAWS = {
    "laplace": lambda source: source.laplace(2**30, 4).tolist(),
    "gaussian": lambda source: source.gaussian(2**40, 4).tolist(),
    "normals": lambda source: [int(each) for each in source.normals(Fraction(2**30), 4)],
    "a rate": lambda source: source.bernoulli_indices(400, 2**31).tolist(),
}


@pytest.mark.parametrize("draw", DRAWS.values(), ids=DRAWS)
@pytest.mark.parametrize("hook", [(), Interrupted()], ids=["no hook", "an interrupt in the hook"])
def test_no_noise_of_the_parent_is_drawn_without_the_hook(monkeypatch, capfd, draw, hook):
    source = Source()
    draw(source)  # the buffer holds bytes that are not read yet
    monkeypatch.setattr(noise, "_ALIVE", hook)
    child = in_child(lambda: draw(source))
    assert child != draw(source)


@pytest.mark.parametrize("draw", DRAWS.values(), ids=DRAWS)
def test_the_sampler_alone_drops_its_parents_bytes(monkeypatch, draw):
    """Deep in a draw nothing asks the source again: a signal may fork there."""
    source = Source()
    draw(source)
    monkeypatch.setattr(noise, "_ALIVE", ())

    def as_if_the_source_knew():
        source._process = os.getpid()
        return draw(source)

    child = in_child(as_if_the_source_knew)
    assert child != draw(source)


def test_a_child_without_the_hook_waits_for_no_thread_that_tells_a_ledger(monkeypatch):
    source = Source()
    monkeypatch.setattr(noise, "_ALIVE", ())
    with held_by_a_thread(source._telling):
        assert len(in_child(lambda: source.laplace(8, 3).tolist())) == 3


def test_a_pool_of_the_parent_is_not_used_where_the_hook_was_cut_short():
    threads.run(str, [1, 2])
    pool, process = threads._pool, threads._process

    def after_no_hook():
        threads._pool, threads._process = pool, process
        return threads.run(str, [1, 2])

    assert in_child(after_no_hook) == ["1", "2"]


def test_a_child_makes_its_own_lock_of_ledgers_or_uses_none():
    use = _Use()  # no hook of a fork takes this one

    def enter():
        with use:
            return True

    with (
        held_by_a_thread(use),
        pytest.raises(ChildError, match=r"RuntimeError: `ledger` must not be used in a process"),
    ):
        in_child(enter)
    assert in_child(enter)
    holder = threading.Thread(target=use.hold)  # the hook of another fork, whose thread the child lacks
    holder.start()
    holder.join()
    assert in_child(enter)
    assert in_child(lambda: use.hold() or use.let_go() or enter())


def test_a_fork_waits_until_no_thread_has_a_ledger_open(tmp_path):
    ledger = Ledger(tmp_path / "budget.db", eps=1.0)
    opened = threading.Event()

    def read_slowly():
        with ledger._opened.reading():
            opened.set()
            time.sleep(0.5)

    thread = threading.Thread(target=read_slowly)
    thread.start()
    opened.wait()
    assert in_child(lambda: ledger.remaining()[0]) == 1.0
    thread.join()
