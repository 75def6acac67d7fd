"""Has a fit of the same rows the same bits, whoever reads them?

    python -m bench.scale.bits /folder/for/files bench/results/bits.csv
    /other/environment/bin/python -m bench.scale.bits /folder/for/files bench/results/bits.csv --engine spark

Noise is seeded. Every way is compared with the same rows as an array of float64, encoded by hand. Lines of other
engines stay in the file. `--page` writes the table into docs/use/scale.md.
"""

from __future__ import annotations

import argparse
import contextlib
import csv
import hashlib
import itertools
import os
import re
import sys
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.dataset as ds
from pyarrow import parquet

import dplr
from bench.scale.written import write_rows
from dplr.mechanisms.perturbation import minimisation
from dplr.rows import Rows

ROOT = Path(__file__).parents[2]
PAGE, RESULTS = ROOT / "docs" / "use" / "scale.md", ROOT / "bench" / "results" / "bits.csv"
N = 40_000
JOBS = ["clerk", "cook", "pilot"]
COLUMNS = {"age": (18, 90), "hours": (0, 99), "income": (-3, 3)}
BOUNDS = dplr.Bounds({**COLUMNS, "job": {"levels": JOBS}})
CODED = dplr.Bounds([*COLUMNS.values(), {"levels": [0, 1, 2]}])
FITS: dict[str, dict[str, Any]] = {
    "fm": {"mechanism": "fm"},
    "ngd": {"mechanism": dplr.NoisyGradientDescent(steps=5), "delta": 1e-6},
    "objective": {"mechanism": "objective"},
}
REFERENCE = "float64 array"


def people(rows: int = N) -> pa.Table:
    """Small integers, floats, text, and a boolean target."""
    rng = np.random.default_rng(0)
    age, hours, job = rng.integers(18, 90, rows), rng.integers(0, 99, rows), rng.integers(0, 3, rows)
    income = rng.normal(size=rows)
    rich = hours / 30 + income + job / 4 + rng.normal(size=rows) > 2
    small = {"age": pa.array(age, pa.int8()), "hours": pa.array(hours, pa.int16())}
    return pa.table({**small, "income": income, "job": np.array(JOBS)[job], "rich": rich})


def array(table: pa.Table) -> tuple[Any, Any]:
    """The same rows as float64, levels as their numbers."""
    codes = np.array([JOBS.index(job) for job in table["job"].to_pylist()], float)
    columns = [table[name].to_numpy().astype(float) for name in COLUMNS]
    return np.column_stack([*columns, codes]), table["rich"].to_numpy()


class Files:
    """The rows in files, written once per number of files."""

    def __init__(self, table: pa.Table, folder: Path) -> None:
        self.table, self._folder = table, folder

    def paths(self, count: int) -> list[str]:
        """That many files, which hold all rows in their order."""
        folder = self._folder / f"{len(self.table)} rows in {count}"
        folder.mkdir(parents=True, exist_ok=True)
        edges = np.linspace(0, len(self.table), count + 1).astype(int)
        paths = [os.fspath(folder / f"{number:03}.parquet") for number in range(count)]
        for path, (start, end) in zip(paths, itertools.pairwise(edges), strict=True):
            if not os.path.exists(path):
                parquet.write_table(self.table.slice(start, end - start), path)
        return paths


Way = Callable[[Files], Any]


def _polars_lazy(files: Files) -> Any:
    import polars as pl

    return pl.scan_parquet(files.paths(7))


def _duckdb(files: Files) -> Any:
    import duckdb

    return duckdb.connect().sql(f"select * from read_parquet({files.paths(7)!r})")


def _polars(files: Files) -> Any:
    import polars as pl

    return pl.from_arrow(files.table)


LOCAL: dict[str, Way] = {
    REFERENCE: lambda files: array(files.table),
    "pandas frame": lambda files: files.table.to_pandas(),
    "Arrow table": lambda files: files.table,
    "polars frame": _polars,
    "one Parquet file": lambda files: files.paths(1),
    "7 files": lambda files: files.paths(7),
    "100 files": lambda files: files.paths(100),
    "`pyarrow.dataset`": lambda files: ds.dataset(files.paths(7)),
    "polars `LazyFrame`": _polars_lazy,
    "DuckDB relation": _duckdb,
}


@contextlib.contextmanager
def _dask(workers: int) -> Iterator[dict[str, Way]]:
    import dask.dataframe as dd
    import distributed

    options = {"n_workers": workers, "threads_per_worker": 1, "dashboard_address": None}
    with distributed.LocalCluster(**options) as cluster, distributed.Client(cluster) as client:
        named = f"{workers} worker{'s' * (workers > 1)}"
        yield {
            f"Dask, files, {named}": lambda files: dplr.Stream(files.paths(7), workers=client),
            f"Dask DataFrame, {named}": lambda files: dd.read_parquet(files.paths(7)),
        }


@contextlib.contextmanager
def _spark() -> Iterator[dict[str, Way]]:
    os.environ["PYSPARK_PYTHON"] = sys.executable
    from pyspark.sql import SparkSession

    options = {"spark.ui.enabled": "false", "spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1"}
    session = SparkSession.builder.master("local[2,4]").config(map=options).getOrCreate()
    yield {
        "Spark, files": lambda files: dplr.Stream(files.paths(7), workers=session),
        "Spark DataFrame": lambda files: session.read.parquet(*files.paths(7)),
    }
    session.stop()


ENGINES: dict[str, Callable[[], contextlib.AbstractContextManager[dict[str, Way]]]] = {
    "local": lambda: contextlib.nullcontext(LOCAL),
    "dask": lambda: _dask(1),
    "dask 3": lambda: _dask(3),
    "spark": _spark,
}


class Told:
    """What a mechanism is told, before its noise: exact sums; and what it releases on a grid."""

    def __init__(self) -> None:
        self.sums: list[bytes] = []
        self.released: list[Any] = []  # coefficients in steps of their grid

    @contextlib.contextmanager
    def listening(self) -> Iterator[None]:
        """Note all of it while this is entered."""
        with contextlib.ExitStack() as restored:
            restored.callback(setattr, Rows, "total", Rows.total)
            Rows.total = self._noting(Rows.total)  # type: ignore[method-assign]
            rounded = minimisation.to_grid
            minimisation.to_grid = self._rounding(rounded)
            restored.callback(setattr, minimisation, "to_grid", rounded)
            yield

    def _noting(self, method: Any) -> Any:
        def call(*given: Any, **named: Any) -> Any:
            total = method(*given, **named)
            if hasattr(total, "exponent"):
                self.sums.append(total.hi.tobytes() + total.lo.tobytes() + str(total.exponent).encode())
            return total

        return call

    def _rounding(self, function: Any) -> Any:
        def call(coef: Any, grid: float) -> Any:
            found = function(coef, grid)
            self.released.append(found / grid)
            return found

        return call


def fitted(source: Any, mechanism: str) -> dict[str, Any]:
    """Hashes of the coefficients of a fit with seeded noise and of its exact sums; and what was released, in steps."""
    X, y = source if isinstance(source, tuple) else (source, "rich")
    told = Told()
    with warnings.catch_warnings(), told.listening():
        warnings.simplefilter("ignore")
        bounds = CODED if isinstance(source, tuple) else BOUNDS
        est = dplr.fit(X, y, bounds=bounds, eps=1.0, rng=3, **FITS[mechanism])
    coefs = [float(coef).hex().encode() for coef in (*np.ravel(est.coef_), *np.ravel(est.intercept_))]
    return {"coefficients": _hash(coefs), "sums": _hash(told.sums), "released": told.released}


def _hash(texts: list[bytes]) -> str:
    return hashlib.sha256(b"\n".join(texts)).hexdigest()[:16] if texts else ""


def line(way: str, mechanism: str, found: dict[str, Any], reference: dict[str, Any]) -> dict[str, Any]:
    """The hashes of a fit, whether they are those of the array, and how far its release is from that of the array."""
    pairs = zip(found["released"], reference["released"], strict=True)
    is_equal = all(found[key] == reference[key] for key in ("coefficients", "sums"))
    return {
        "way": way,
        "mechanism": mechanism,
        "coefficients": found["coefficients"],
        "sums": found["sums"],
        "equal": "yes" if is_equal else "no",
        "steps": max((int(np.abs(one - other).max()) for one, other in pairs), default=0),
    }


def compared(ways: dict[str, Way], files: Files) -> Iterator[dict[str, Any]]:
    """A line per mechanism and way."""
    for mechanism in FITS:
        reference = fitted(LOCAL[REFERENCE](files), mechanism)
        for name, way in ways.items():
            yield line(name, mechanism, fitted(way(files), mechanism), reference)


def read(path: Path = RESULTS) -> list[dict[str, str]]:
    """The lines of a result."""
    if not path.exists():
        return []
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def added(lines: list[dict[str, Any]], path: Path) -> None:
    """Write lines in the place of earlier ones of their ways."""
    ways = {line["way"] for line in lines}
    every = [line for line in read(path) if line["way"] not in ways] + lines
    write_rows(path, every)


def page(lines: list[dict[str, str]]) -> str:
    """The table of the page: a line for all ways with the same verdicts."""
    found = {(line["way"], line["mechanism"]): line for line in lines}
    ways: dict[tuple[str, ...], list[str]] = {}
    for way in dict.fromkeys(line["way"] for line in lines):
        ways.setdefault(tuple(_cell(found[way, name]) for name in FITS), []).append(way)
    rows = [f"| rows | {' | '.join(f'`{name}`' for name in FITS)} |", "|---" * (1 + len(FITS)) + "|"]
    rows += [f"| {'; '.join(names)} | {' | '.join(verdicts)} |" for verdicts, names in ways.items()]
    return "\n".join(rows)


def _cell(line: dict[str, str]) -> str:
    if line["equal"] == "yes":
        return "equal"
    steps = int(line["steps"])
    return f"{steps} step{'s' * (steps > 1)}" if steps else "not equal"


def main() -> None:
    """Compare the ways of some engines, or write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("output", type=Path, nargs="?", default=RESULTS)
    parser.add_argument("--engine", nargs="*", choices=(*ENGINES,), default=["local", "dask", "dask 3"])
    parser.add_argument("--page", action="store_true")
    given = parser.parse_args()
    if given.page:
        text = re.sub(r"<!-- table: bits -->\n(\|.*\n)*", f"<!-- table: bits -->\n{page(read())}\n", PAGE.read_text())
        PAGE.write_text(text)
        return
    files = Files(people(), given.folder)
    for engine in given.engine:
        with ENGINES[engine]() as ways:
            lines = list(compared(ways, files))
        for line in lines:
            print(" ".join(f"{value!s:>16}" for value in line.values()), flush=True)
        added(lines, given.output)


if __name__ == "__main__":
    main()
