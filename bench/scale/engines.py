"""What does a row cost in every engine that reads Parquet files for a fit?

    python -m bench.scale.engines /folder/for/files bench/results/engines.csv --rows 8000000

Every figure comes from a process of its own, with workers of its own, and is that of a second fit. Seconds of all cores
are those of the process and of all its children: workers, and the virtual machine of Spark.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil
import pyarrow.dataset as ds

import dplr
from bench.data import large
from bench.scale.written import write_rows

FITS: dict[str, dict[str, Any]] = {
    "fm": {"mechanism": "fm"},
    "objective": {"mechanism": "objective"},
    "ngd": {"mechanism": dplr.NoisyGradientDescent(steps=10), "delta": 1e-9},
}
SLOW = {("spark dataframe", "objective"), ("spark dataframe", "ngd")}  # minutes, on a socket


def files(paths: list[str]) -> Any:
    """Files, read by one thread of this process."""
    return dplr.Stream(paths, threads=1)


def arrow(paths: list[str]) -> Any:
    """A dataset of pyarrow, read by this process."""
    return dplr.Stream(ds.dataset(paths), threads=1)


def polars(paths: list[str]) -> Any:
    """A lazy frame of polars."""
    import polars as pl

    return pl.scan_parquet(paths)


def duckdb(paths: list[str]) -> Any:
    """A relation of DuckDB."""
    import duckdb

    return duckdb.connect().sql(f"select * from read_parquet({paths!r})")


def dask(paths: list[str], workers: int, frames: bool = False, is_set: bool = True) -> Any:
    """Processes of Dask, set as docs/use/scale.md says, or as they come."""
    import dask
    import dask.dataframe as dd
    import distributed

    if is_set:
        dask.config.set({"distributed.worker.profile.enabled": False})
        dask.config.get("distributed.nanny.pre-spawn-environ").pop("MALLOC_TRIM_THRESHOLD_", None)
    cluster = distributed.LocalCluster(n_workers=workers, threads_per_worker=1, dashboard_address=None)
    client = distributed.Client(cluster)
    return dd.read_parquet(paths) if frames else dplr.Stream(paths, workers=client)


def spark(paths: list[str], frame: bool = False) -> Any:
    """Executors of Spark."""
    os.environ["PYSPARK_PYTHON"] = sys.executable
    from pyspark.sql import SparkSession

    options = {"spark.ui.enabled": "false", "spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1"}
    session = SparkSession.builder.master("local[2,4]").config(map=options).getOrCreate()
    return session.read.parquet(*paths) if frame else dplr.Stream(paths, workers=session)


ENGINES: dict[str, Callable[[list[str]], Any]] = {
    "files": files,
    "pyarrow dataset": arrow,
    "polars": polars,
    "duckdb": duckdb,
    "dask 1": lambda paths: dask(paths, 1),
    "dask 1 as it comes": lambda paths: dask(paths, 1, is_set=False),
    "dask 2": lambda paths: dask(paths, 2),
    "dask dataframe 2": lambda paths: dask(paths, 2, frames=True),
    "spark 2": spark,
    "spark dataframe": lambda paths: spark(paths, frame=True),
}


def cores_seconds() -> float:
    """Seconds of all cores so far, of this process and its children."""
    me = psutil.Process()
    total = 0.0
    for process in [me, *me.children(recursive=True)]:
        try:
            times = process.cpu_times()
        except psutil.NoSuchProcess:
            continue
        total += times.user + times.system
    return total


def child(engine: str, name: str, paths: list[str]) -> None:
    """Measure a second fit, and print it."""
    warnings.simplefilter("ignore")
    start = time.perf_counter()
    source = ENGINES[engine](paths)
    began = time.perf_counter() - start
    for _ in range(2):
        wall, cores = time.perf_counter(), cores_seconds()
        dplr.fit(source, large.TARGET, bounds=large.bounds("census"), eps=1.0, **FITS[name])
        found = {"seconds": time.perf_counter() - wall, "cpu_seconds": cores_seconds() - cores}
    print(json.dumps({"start": began, **found, "load": os.getloadavg()[0]}), flush=True)
    os._exit(0)  # clusters take their time to close


def main() -> None:
    """Measure every engine and every fit in a process of its own."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("output", type=Path, nargs="?")
    parser.add_argument("--rows", type=int, default=8_000_000)
    parser.add_argument("--files", type=int, default=8)
    parser.add_argument("--engines", nargs="*", default=[*ENGINES])
    parser.add_argument("--fits", nargs="*", default=[*FITS])
    parser.add_argument("--child", nargs="*")
    given = parser.parse_args()
    if given.child:
        engine, name, *paths = given.child
        child(engine, name, paths)
    paths = large.write(given.folder, "census", given.rows, given.files)
    rows: list[dict[str, Any]] = []
    for name in given.fits:
        for engine in given.engines:
            if (engine, name) in SLOW:
                continue
            command = [sys.executable, "-W", "ignore", "-m", "bench.scale.engines", str(given.folder), "--child"]
            done = subprocess.run([*command, engine, name, *paths], capture_output=True, text=True)
            if done.returncode:
                print(engine, name, done.stderr[-300:])
                continue
            found = json.loads(done.stdout.splitlines()[-1])
            per_row = {"ns_per_row": 1e9 * found["cpu_seconds"] / given.rows}
            rows.append({"engine": engine, "fit": name, "rows": given.rows, **found, **per_row})
            print({key: round(value, 2) if isinstance(value, float) else value for key, value in rows[-1].items()})
            sys.stdout.flush()
            if given.output:
                write_rows(given.output, rows)


if __name__ == "__main__":
    main()
