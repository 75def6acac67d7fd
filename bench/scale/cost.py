"""What does a row cost in each kind of pass, and what follows for 10^10 rows on 100 machines?

    python -m bench.scale.cost /folder/for/files bench/results/cost.csv --rows 4000000

Seconds are those of one thread of this process, over Parquet files in the system's cache; a pass reads, encodes and
sums. The second part is a model: each machine has its share of the rows, and a read takes as long as the slower of its
disk and its cores. Nobody ran it.
"""

from __future__ import annotations

import argparse
import os
import time
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import dplr
from bench.data import large
from bench.scale.streams import raw
from bench.scale.written import write_rows
from dplr.rows.streams.passes import SumPass
from dplr.rows.streams.rows import StreamSource

STEPS = 20
FITS: dict[str, dict[str, Any]] = {
    "fm": {"mechanism": "fm"},
    "objective": {"mechanism": "objective"},
    "ngd": {"mechanism": dplr.NoisyGradientDescent(steps=STEPS), "delta": 1e-9},
}
MACHINES, CORES, ROWS = 100, 16, 10**10
DISK = 1.1e9  # bytes per second of a machine's disk, or of its network at 10 Gbit/s
TASK = 2.4e-3  # seconds of the scheduler of Dask per task, measured; each core has one task per read
NGD_STEPS = 200


@dataclass
class Costs:
    """Nanoseconds of one core per row, by pass; bytes per row in the files and kept; bytes of an answer."""

    raw: float = 0.0
    fm: float = 0.0
    newton: float = 0.0  # all reads of objective perturbation together
    reads: int = 0
    clipped: float = 0.0
    step: float = 0.0
    stored: float = 0.0
    answer: int = 0


class Watch:
    """Seconds of each pass of a fit, and the size of its answer."""

    def __init__(self) -> None:
        self.passes: list[tuple[str, float, int]] = []

    def __enter__(self) -> Watch:
        self._run = StreamSource.run
        watch, run = self, self._run

        def watched(source: StreamSource, job: Any, label: str, rows_of: Any = None) -> Any:
            start = time.process_time()
            found = run(source, job, label, rows_of)
            seconds = time.process_time() - start
            dumped = len(job.dump(found)) if isinstance(job, SumPass) else 0
            watch.passes.append((type(job).__name__, seconds, dumped))
            return found

        StreamSource.run = watched  # type: ignore[method-assign]
        return self

    def __exit__(self, *_: object) -> None:
        StreamSource.run = self._run  # type: ignore[method-assign]


def measured(paths: list[str], kind: str, rows: int) -> Costs:
    """Every kind of pass over the files."""
    found, per_row = Costs(stored=sum(map(os.path.getsize, paths)) / rows), 1e9 / rows
    start = time.process_time()
    raw(paths, [*large.KINDS[kind], large.TARGET])
    found.raw = (time.process_time() - start) * per_row
    bounds = large.bounds(kind)

    def watched(name: str) -> tuple[list[tuple[str, float, int]], float]:
        with Watch() as watch:
            start = time.process_time()
            dplr.fit(dplr.Stream(paths, threads=1), large.TARGET, bounds=bounds, eps=1.0, **FITS[name])
            return watch.passes, time.process_time() - start

    passes, _ = watched("fm")
    found.fm, found.answer = sum(seconds for _, seconds, _ in passes) * per_row, max(size for *_, size in passes)
    passes, _ = watched("objective")
    found.newton, found.reads = sum(seconds for _, seconds, _ in passes) * per_row, len(passes)
    passes, whole = watched("ngd")
    read = [seconds for kind, seconds, _ in passes]
    found.clipped = float(np.median(read)) * per_row
    found.step = (whole - sum(read)) / (STEPS - 2) * per_row
    return found


def jobs(costs: Costs) -> list[tuple[str, float, float, str]]:
    """(job, seconds, of which a scheduler, bottleneck) for ROWS rows on MACHINES machines."""
    share = ROWS / MACHINES
    disk = share * costs.stored / DISK

    def one(name: str, passes: list[float], read_again: bool = True) -> tuple[str, float, float, str]:
        reads = [max(disk if read_again or not place else 0.0, each * 1e-9 * share / CORES)
                 for place, each in enumerate(passes)]  # fmt: skip
        tasks = len(passes) * MACHINES * CORES * TASK
        cpu = sum(passes) * 1e-9 * share / CORES
        parts = {"cores": cpu, "disk": disk * (len(passes) if read_again else 1), "scheduler": tasks}
        return name, sum(reads) + tasks, tasks, max(parts, key=lambda part: parts[part])

    return [
        one("fm", [costs.fm]),
        one(f"objective, {costs.reads} reads", [costs.newton / costs.reads] * costs.reads),
        one(f"ngd, {NGD_STEPS} reads", [costs.clipped] * NGD_STEPS),
        one("ngd, rows kept in memory", [costs.clipped] + [costs.step] * (NGD_STEPS - 1), read_again=False),
    ]


def main() -> None:
    """Measure, and say what follows."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("output", type=Path, nargs="?")
    parser.add_argument("--rows", type=int, default=4_000_000)
    parser.add_argument("--kinds", nargs="*", default=[*large.KINDS])
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    os.environ["DPLR_NUM_THREADS"] = "1"
    table = []
    for kind in given.kinds:
        rows = given.rows // (4 if kind == "floats50" else 1)
        costs = measured(large.write(given.folder, kind, rows, 2), kind, rows)
        print(kind, {name: round(value, 1) for name, value in vars(costs).items()}, flush=True)
        table.append({"kind": kind, "rows": rows, **{name: round(value, 1) for name, value in vars(costs).items()}})
        for name, seconds, tasks, cause in jobs(costs):
            print(f"  {name:26} {seconds:8.1f} s, of which {tasks:5.1f} s scheduling; bottleneck: {cause}", flush=True)
    if given.output:
        write_rows(given.output, table)


if __name__ == "__main__":
    main()
