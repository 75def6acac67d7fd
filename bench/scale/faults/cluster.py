"""A cluster of Dask in a process of its own, and what can be lost of it."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

from bench.scale.faults.client import WORKERS, connected
from bench.scale.faults.driver import Fault, run
from bench.scale.faults.judge import SAME, Case
from bench.scale.faults.kinds import Kind, at_random

PLACES = ("pass", "rows")


class Cluster:
    """A scheduler and two workers."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[str] | None = None
        self._address = ""

    @property
    def address(self) -> str:
        """Where the scheduler listens; it is started if it is not there."""
        if self._process is None or self._process.poll() is not None:
            command = [sys.executable, "-m", "bench.scale.faults.serve", str(WORKERS)]
            self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                             stderr=subprocess.DEVNULL, text=True)  # fmt: skip
            assert self._process.stdout is not None
            self._address = self._process.stdout.readline().strip()
        return self._address

    @property
    def pid(self) -> int:
        """The process of the scheduler."""
        assert self._process is not None
        return self._process.pid

    def close(self) -> None:
        """End it."""
        if self._process is not None and self._process.stdin is not None:
            self._process.stdin.close()
            try:
                self._process.wait(20)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
            self._process = None


def workers(address: str) -> list[int]:
    """The processes of the workers."""
    return sorted(connected(address).run(os.getpid).values())


def worker_killed(case: Case, lab: Any) -> set[str]:
    """A worker is killed; its nanny starts another."""
    address, turn = lab.cluster.address, case.rng.randrange(WORKERS)
    fault = Fault(*at_random(case.rng, lab.points, PLACES),
                  lambda: os.kill(workers(address)[turn], signal.SIGKILL))  # fmt: skip
    case.add(run(case.world, case.world.fit("fit"), "fit", fault, address))
    return {SAME}


def worker_without_memory(case: Case, lab: Any) -> None:
    """A worker has nearly no memory left."""
    address, room = lab.cluster.address, case.rng.choice([0, 2**18, 2**20, 2**22])
    turn = case.rng.randrange(WORKERS)

    def inject() -> None:
        limit_memory(workers(address)[turn], room)

    case.add(run(case.world, case.world.fit("fit"), "fit", Fault(*at_random(case.rng, lab.points, PLACES), inject),
                 address))  # fmt: skip


def limit_memory(pid: int, room: int) -> None:
    """Let a process have this much more."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    used = next(int(line.split()[1]) for line in lines if line.startswith("VmData")) * 1024
    resource.prlimit(pid, resource.RLIMIT_DATA, (used + room, used + room))


def scheduler_killed(case: Case, lab: Any) -> None:
    """The scheduler and the nannies are killed; workers end by themselves."""
    address, pid = lab.cluster.address, lab.cluster.pid
    fault = Fault(*at_random(case.rng, lab.points, PLACES), lambda: os.kill(pid, signal.SIGKILL))
    case.add(run(case.world, case.world.fit("fit"), "fit", fault, address))


KINDS = [
    Kind("Dask worker killed (SIGKILL)", worker_killed, 5, cluster=True),
    Kind("Dask worker out of memory (RLIMIT_DATA)", worker_without_memory, 3, cluster=True),
    Kind("Dask scheduler killed (SIGKILL)", scheduler_killed, 3, cluster=True),
]
