"""How long does `dplr fit` take for a CSV file, and in how much memory, beside what polars and DuckDB take to read it?

    python -m bench.scale.csv_files /folder/for/files bench/results/csv_files.csv --rows 2000000 --python old/bin/python

Every figure is that of a whole process: imports and start are in it, and stand alone in the rows `start`. Memory is the
largest that is the process's own, looked at 100 times per second: what it maps from files, the system takes back when
it needs to. `--python` names the interpreter of another installation of dplr to compare with.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from pathlib import Path

from pyarrow import csv as arrow_csv

from bench.data import large
from bench.scale.written import write_rows

READS = {
    "polars": "import sys, polars; polars.read_csv(sys.argv[1])",
    "polars, streamed": "import sys, polars as pl; "
    "pl.scan_csv(sys.argv[1]).select(pl.all().sum()).collect(engine='streaming')",
    "duckdb": "import sys, duckdb; duckdb.sql(f'create table t as from read_csv({sys.argv[1]!r})')",
}  # fmt: skip


def bounds_file(folder: Path, kind: str) -> Path:
    """The bounds of the columns, as a file."""
    lines = [f"[features.{name}]\nlower = {low}\nupper = {high}" for name, (low, high) in large.KINDS[kind].items()]
    path = folder / f"{kind}.toml"
    path.write_text("\n".join([*lines, "[target]\nclasses = [false, true]\n"]))
    return path


def csv_file(folder: Path, kind: str, rows: int) -> Path:
    """A CSV file of so many rows, unless it is there."""
    path = folder / f"{kind}-{rows}.csv"
    if not path.exists():
        with path.open("wb") as file:
            for number, start in enumerate(range(0, rows, large.GROUP)):
                table = large.block(kind, number, min(large.GROUP, rows - start))
                arrow_csv.write_csv(table, file, arrow_csv.WriteOptions(include_header=not number))
    return path


def measured(command: list[str]) -> dict[str, float]:
    """Seconds, seconds of all cores, and the largest memory of a process, which must end well."""
    wall, largest = time.perf_counter(), 0.0
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while True:
        pid, status, used = os.wait4(process.pid, os.WNOHANG)
        if pid:
            break
        largest = max(largest, _own(process.pid))
        time.sleep(0.01)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{command}: {process.returncode}")
    seconds, cores = time.perf_counter() - wall, used.ru_utime + used.ru_stime
    return {"seconds": seconds, "cpu_seconds": cores, "own_mb": largest}


def _own(pid: int) -> float:
    """The resident memory of a process that is its own, in MB."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return 0.0
    return next((float(line.split()[1]) / 1000 for line in lines if line.startswith("RssAnon")), 0.0)


def tasks(folder: Path, kind: str, rows: int, others: list[str]) -> dict[str, list[str]]:
    """What is measured: name -> command."""
    path, bounds = csv_file(folder, kind, rows), bounds_file(folder, kind)
    small = csv_file(folder, kind, 1000)
    found = {name: [sys.executable, "-c", code, os.fspath(path)] for name, code in READS.items()}
    for name, python in {"dplr": sys.executable, **{f"dplr of {each}": each for each in others}}.items():
        for mechanism in ("fm", "objective"):
            fit = ["--target", large.TARGET, "--bounds", os.fspath(bounds), "--eps", "1", "--mechanism", mechanism]
            for word, file in (("start", small), ("fit", path)):
                where = ["-o", os.fspath(folder / "model.json"), "--overwrite"]
                found[f"{name}, {mechanism}, {word}"] = [python, "-m", "dplr", "fit", os.fspath(file), *fit, *where]
    return found


def main() -> None:
    """Measure each in turn, `--repeats` times; the quickest counts."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("output", type=Path, nargs="?")
    parser.add_argument("--rows", type=int, default=2_000_000)
    parser.add_argument("--kinds", nargs="*", default=["census", "floats"])
    parser.add_argument("--repeats", type=int, default=2)
    parser.add_argument("--python", nargs="*", default=[])
    given = parser.parse_args()
    table = []
    for kind in given.kinds:
        for name, command in tasks(given.folder, kind, given.rows, given.python).items():
            found = min((measured(command) for _ in range(given.repeats)), key=lambda each: each["cpu_seconds"])
            table.append({"kind": kind, "rows": given.rows, "task": name, **found})
            print({key: round(value, 2) if isinstance(value, float) else value for key, value in table[-1].items()})
            sys.stdout.flush()
    if given.output:
        write_rows(given.output, table)


if __name__ == "__main__":
    main()
