"""How quickly are Parquet files fitted, beside pyarrow's own read of them, and in how much memory?

    python -m bench.scale.streams /folder/for/files bench/results/streams.csv --rows 100000000

Every figure comes from a process of its own. Memory is the peak above that of the imports, looked at 50 times per
second: of memory that is the process's own, and of what it maps from files, which the system takes back when it needs
to. A share is raw seconds by fitted seconds, both wall time.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import parquet

import dplr
from bench.data import large
from bench.scale.written import write_rows

FITS: dict[str, dict[str, Any]] = {
    "fm": {"mechanism": "fm"},
    "objective": {"mechanism": "objective"},
    "output": {"mechanism": "output"},
    "ngd": {"mechanism": "ngd", "delta": 1e-9},
}


def raw(paths: list[str], columns: list[str]) -> int:
    """Read all row groups, one after the other."""
    pa.set_cpu_count(1)
    rows = 0
    for path in paths:
        file = parquet.ParquetFile(path)
        for group in range(file.num_row_groups):
            rows += len(file.read_row_group(group, columns=columns, use_threads=False))
    return rows


def fitted(paths: list[str], kind: str, name: str) -> Any:
    """One private fit."""
    return dplr.fit(dplr.Stream(paths), large.TARGET, bounds=large.bounds(kind), eps=1.0, **FITS[name])


def learned(paths: list[str], columns: list[str]) -> Any:
    """Bounds of all columns, learned."""
    return dplr.learn_bounds(dplr.Stream(paths), columns=columns, eps=1.0)


def measured(work: Callable[[], Any]) -> dict[str, float]:
    """Seconds, seconds of all cores, and MB above what was there."""
    before, wall, cpu = Memory.now(), time.perf_counter(), time.process_time()
    with Memory() as seen:
        work()
    return {
        "seconds": time.perf_counter() - wall,
        "cpu_seconds": time.process_time() - cpu,
        "own_mb": seen.own - before[0],
        "mapped_mb": seen.mapped - before[1],
    }


class Memory:
    """The largest resident memory while this is entered, in MB: of the process's own, and of mapped files."""

    def __init__(self) -> None:
        self.own = self.mapped = 0.0
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._look)

    def __enter__(self) -> Memory:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()

    def _look(self) -> None:
        while not self._ended.wait(0.02):
            own, mapped = self.now()
            self.own, self.mapped = max(self.own, own), max(self.mapped, mapped)

    @staticmethod
    def now() -> tuple[float, float]:
        """Now."""
        lines = Path("/proc/self/status").read_text().splitlines()
        found = {line.split(":")[0]: float(line.split()[1]) / 1000 for line in lines if line.startswith("Rss")}
        return found["RssAnon"], found["RssFile"]


def warm(kind: str) -> None:
    """Import all that a fit imports."""
    table = large.block(kind, 0, 1000)
    X = table.drop_columns([large.TARGET])
    dplr.fit(X, table[large.TARGET], bounds=large.bounds(kind), eps=1.0, mechanism="fm")
    np.zeros(1)


def child(task: str, kind: str, paths: list[str]) -> None:
    """Measure one task, and print it."""
    warm(kind)
    columns = list(large.block(kind, 0, 1).column_names)
    works: dict[str, Callable[[], Any]] = {
        "raw": lambda: raw(paths, columns),
        "learn_bounds": lambda: learned(paths, [name for name in columns if name != large.TARGET]),
    }
    print(json.dumps(measured(works.get(task, lambda: fitted(paths, kind, task)))))


def main() -> None:
    """Measure every task in a process of its own."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("output", type=Path, nargs="?")
    parser.add_argument("--rows", type=int, default=20_000_000)
    parser.add_argument("--kind", choices=("census", "floats"), default="census")
    parser.add_argument("--files", type=int, default=4)
    parser.add_argument("--tasks", nargs="*", default=["raw", "learn_bounds", *FITS])
    parser.add_argument("--child", nargs="*")
    given = parser.parse_args()
    if given.child:
        task, kind, *paths = given.child
        child(task, kind, paths)
        return
    paths = large.write(given.folder, given.kind, given.rows, given.files)
    rows = []
    for task in given.tasks:
        command = [sys.executable, "-W", "ignore", "-m", "bench.scale.streams", str(given.folder), "--child"]
        done = subprocess.run([*command, task, given.kind, *paths], check=True, capture_output=True, text=True)
        found = json.loads(done.stdout)
        rows.append({"kind": given.kind, "rows": given.rows, "task": task, **found})
        print(rows[-1], f"{given.rows / found['seconds']:.3g} rows/s", flush=True)
    if given.output:
        write_rows(given.output, rows)


if __name__ == "__main__":
    main()
