"""The process under test: a command of dplr in a fork, whose noise has a seed, with a fault at a chosen point.

The operating system's entropy is replaced, and nothing else of the noise: to the ledger it is a fit like any other.
"""

from __future__ import annotations

import contextlib
import faulthandler
import functools
import json
import os
import signal
import sys
import threading
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import sklearn.linear_model
from dplr.cli._jobs import delivered

import dplr
import dplr.estimators
import dplr.fitting.run
import dplr.model_file
import dplr.planner
from bench.scale.faults.world import World
from dplr import noise
from dplr.cli import _fit, main
from dplr.rows.files import parquet
from dplr.rows.streams import rows as streamed
from dplr.rows.streams.source import Stream

# Imported once, and not in every fork.
LOADED = (pd, sklearn.linear_model, dplr.estimators, dplr.fitting.run, dplr.model_file, dplr.planner)
STEPS = 8
SECONDS = 60.0  # after which a process counts as hanging
# What is counted: passes that begin, batches or answers that came, noise that was asked for, and models before and
# after they are written.
PLACES = ("pass", "rows", "noise", "save", "saved")


@dataclass
class Fault:
    """What happens when `place` is reached for the n-th time."""

    place: str
    at: int
    action: Callable[[], Any]


@dataclass
class Run:
    """A process that ended, or was killed.

    Attributes
    ----------
    status : exit code; negative for a signal; None for one that hung.
    said : its standard error.
    points : how often each place was reached; empty for one that was killed.
    """

    name: str
    status: int | None
    said: str
    points: dict[str, int]
    seconds: float


class Process:
    """A forked process that runs a command."""

    def __init__(self, world: World, command: list[str], name: str, fault: Fault | None = None,
                 client: str | None = None) -> None:  # fmt: skip
        self._world, self.name, self._start = world, name, time.perf_counter()
        self._said, self._points = world.folder / f"{name}.err", world.folder / f"{name}.points"
        self.pid = os.fork()
        if not self.pid:
            self._be(command, fault, client)

    def _be(self, command: list[str], fault: Fault | None, client: str | None) -> None:
        """Run the command and end."""
        status, points = 70, Points(fault, self._world, self.name)
        try:
            _redirect(self._said)
            signal.signal(signal.SIGINT, signal.default_int_handler)
            faulthandler.register(signal.SIGUSR1)  # where it hangs, if it does
            points.install(client)
            main(command)
        except SystemExit as error:
            status = int(error.code or 0)
        except BaseException:
            traceback.print_exc()
        finally:
            with contextlib.suppress(OSError):
                self._points.write_text(json.dumps(points.seen))
            sys.stderr.flush()
            os._exit(status)

    def signal(self, which: int) -> None:
        """Send a signal, if the process is still there: nobody else reaps it."""
        os.kill(self.pid, which)

    def wait(self) -> Run:
        """Wait for its end."""
        status: int | None = None
        while time.perf_counter() - self._start < SECONDS:
            ended, code = os.waitpid(self.pid, os.WNOHANG)
            if ended:
                status = os.waitstatus_to_exitcode(code)
                break
            time.sleep(0.01)
        else:
            os.kill(self.pid, signal.SIGUSR1)
            time.sleep(1)
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
        seconds = time.perf_counter() - self._start
        points = json.loads(self._points.read_text()) if self._points.exists() else {}
        said = self._said.read_text(errors="replace") if self._said.exists() else ""
        return Run(self.name, status, said, points, seconds)


def run(world: World, command: list[str], name: str, fault: Fault | None = None, client: str | None = None) -> Run:
    """Run a command to its end."""
    return Process(world, command, name, fault, client).wait()


def _redirect(said: Path) -> None:
    """Standard output to nowhere, standard error to a file."""
    nowhere, file = os.open(os.devnull, os.O_RDWR), os.open(said, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    for source, target in ((nowhere, 0), (nowhere, 1), (file, 2)):
        os.dup2(source, target)
    sys.stdout, sys.stderr = os.fdopen(1, "w", closefd=False), os.fdopen(2, "w", closefd=False)


class Points:
    """Counts what a fit does, writes down what cannot be taken back, and injects the fault."""

    def __init__(self, fault: Fault | None, world: World, name: str) -> None:
        self.seen: Counter[str] = Counter()
        self._fault, self._world, self._name, self._lock = fault, world, name, threading.Lock()

    def reach(self, place: str) -> None:
        """One more time here."""
        with self._lock:
            self.seen[place] += 1
            count = self.seen[place]
        if self._fault is not None and (place, count) == (self._fault.place, self._fault.at):
            self._fault.action()

    def install(self, client: str | None) -> None:
        """Count in this process."""
        self._seed_noise()
        self._count_passes()
        if self._world.threads is not None:
            os.environ["DPLR_NUM_THREADS"] = str(self._world.threads)
        parquet.parquet_parts.__defaults__ = (4000, 1000)  # rows of parts and of batches: many of both in small files
        if self._world.again:
            streamed._PASSES_READ = 10**9  # rows are read again in every step, as on a cluster
        plain = _fit._fitted
        _fit._fitted = lambda X, y, options, job: plain(self._elsewhere(X, client), y, _few_steps(options), job)
        _fit._save = self._around(_fit._save, "save")
        _fit.delivered = self._around(delivered, "saved")

    def _around(self, call: Callable[..., Any], place: str) -> Callable[..., Any]:
        def counted(*given: Any) -> Any:
            self.reach(place)
            return call(*given)

        return counted

    def _seed_noise(self) -> None:
        """Every process draws the same noise, and says so before it has it.

        Noise that is written down before it is used is drawn piece by piece, perhaps by several processes: each piece
        has a seed of its own, so that its bits are the same whoever draws it.
        """
        piece, stream = 0, np.random.default_rng(7)

        def entropy(size: int) -> bytes:
            self._tell(piece)
            self.reach("noise")
            return stream.bytes(size)

        noise._operating_system = entropy
        plain = getattr(noise.Source, "once", None)
        if plain is None:
            return

        @functools.wraps(plain)
        def once(source: Any, about: str, exact: Callable[[], Any], drawn: Callable[[], Any]) -> Any:
            number = source._calls + 1

            def seeded() -> Any:
                nonlocal piece, stream
                piece, stream = number, np.random.default_rng((7, number))
                source.forget()
                return drawn()

            return plain(source, about, exact, seeded)

        noise.Source.once = once

    def _tell(self, piece: int) -> None:
        """This process has this piece of noise."""
        file = os.open(self._world.events, os.O_WRONLY | os.O_APPEND)
        os.write(file, f"{self._name} {piece}\n".encode())
        os.close(file)

    def _count_passes(self) -> None:
        plain = streamed.StreamSource.run

        @functools.wraps(plain)
        def counted(source: Any, job: Any, label: str, *rows_of: Any) -> Any:
            self.reach("pass")
            bar = source.bar

            @contextlib.contextmanager
            def counting(*given: Any) -> Iterator[Callable[[int], None]]:
                with bar(*given) as show:
                    yield lambda rows: (show(rows), self.reach("rows"))[0]

            source.bar = counting
            try:
                return plain(source, job, label, *rows_of)
            finally:
                source.bar = bar

        streamed.StreamSource.run = counted

    def _elsewhere(self, X: Any, client: str | None) -> Any:
        """The rows, read by the workers of a cluster where there is one."""
        if client is None:
            return X
        from bench.scale.faults.client import connected

        return Stream(os.fspath(self._world.data), workers=connected(client))


def _few_steps(options: dict[str, Any]) -> dict[str, Any]:
    """Noisy gradient descent in a few steps."""
    if options["mechanism"] == "ngd":
        return {**options, "mechanism": dplr.NoisyGradientDescent(steps=STEPS)}
    return options
