"""What a build costs against another one of the same sources: `python -m bench.wheels.speed OLD NEW RESULTS`.

OLD and NEW are folders with a package dplr; each is read in processes of its own, in turns, and the least counts: the
machine may be busy. Fits are seeded and on one thread.
"""

from __future__ import annotations

import functools
import json
import os
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from bench.scale.written import write_rows

ROOT = Path(__file__).parents[2]
ROUNDS, SECONDS = 5, 0.5
DRAWS = 100  # of a single number, in one reading


def main(old: str, new: str, results: str) -> None:
    """Write a row for each task: microseconds of both, and their ratio."""
    found: dict[str, list[dict[str, float]]] = {old: [], new: []}
    for _ in range(ROUNDS):
        for folder, readings in found.items():
            readings.append(readings_of(folder))
    rows = []
    for task in found[old][0]:
        before, after = (min(reading[task] for reading in readings) for readings in found.values())
        rows.append(
            {"task": task, "old_us": f"{before:.2f}", "new_us": f"{after:.2f}", "ratio": f"{after / before:.2f}"}
        )
    write_rows(Path(results), rows)


def readings_of(folder: str) -> dict[str, float]:
    """All tasks in a new process."""
    alone = {"DPLR_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "PYTHONPATH": f"{folder}{os.pathsep}{ROOT}"}
    command = [sys.executable, __file__, "--read"]
    done = subprocess.run(command, env=os.environ | alone, capture_output=True, text=True, check=True)
    read: dict[str, float] = json.loads(done.stdout)
    return read


def read() -> dict[str, float]:
    """Microseconds of each task here."""
    warnings.simplefilter("ignore")  # of seeds
    return {name: least(task) for name, task in tasks().items()}


def tasks() -> dict[str, Callable[[], object]]:
    """Single draws, where a call costs most; small fits; and fits whose time is the kernels'."""
    import dplr
    from dplr.noise import Source

    source, made = Source(1), np.random.default_rng(0)
    found: dict[str, Callable[[], object]] = {
        f"{DRAWS} draws of a Laplace number": lambda: [source.laplace(100, 1) for _ in range(DRAWS)],
        f"{DRAWS} draws of a Gaussian number": lambda: [source.gaussian(100, 1) for _ in range(DRAWS)],
        "10,000 Laplace numbers": lambda: source.laplace(2**20, 10_000),
        "10,000 Gaussian numbers": lambda: source.gaussian(2**40, 10_000),
    }
    for n, d in ((1000, 5), (100_000, 10)):
        X = made.uniform(-1, 1, (n, d))
        y, bounds = (X.sum(axis=1) > 0).astype(int), dplr.Bounds([(-1, 1)] * d)
        for mechanism in ("fm", "objective", "output", "ngd", "score"):
            asked: dict[str, Any] = {"eps": 1.0, "delta": 1e-7, "bounds": bounds, "n_rows": n, "rng": 0}
            found[f"fit of {mechanism}, {n:,} rows"] = functools.partial(dplr.fit, X, y, mechanism=mechanism, **asked)
    return found


def least(task: Callable[[], object]) -> float:
    """The least CPU time of a call, in microseconds."""
    task()
    best, end = float("inf"), time.process_time() + SECONDS
    while time.process_time() < end:
        start = time.process_time_ns()
        task()
        best = min(best, (time.process_time_ns() - start) / 1e3)
    return best


if __name__ == "__main__":
    if sys.argv[1:] == ["--read"]:
        print(json.dumps(read()))
    else:
        main(*sys.argv[1:])
