"""Measures figures cell by cell in two processes, keeps finished cells in a file, and resumes where it stopped."""

from __future__ import annotations

import contextlib
import hashlib
import json
import multiprocessing
import os
import pathlib
import time
import warnings
from collections.abc import Iterator, Sequence
from concurrent.futures import Executor, ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from typing import Any

import pandas as pd
from tqdm import tqdm

import dplr
from bench.papers.figure import Cell, Figure, figure_of, key_of, seed_of

HERE, PACKAGE = pathlib.Path(__file__).parent, pathlib.Path(dplr.__file__).parent
DOCS = pathlib.Path("docs/papers")
# Where finished cells lie until their figure is whole; a quick run writes its summaries there too.
WORK, QUICK = pathlib.Path("build/papers"), pathlib.Path("build/papers-quick")
MEASURED = ("mean", "deviation", "repeats", "median")


@dataclass(frozen=True)
class Report:
    """A figure's seconds of work, cells measured now, cells in all; or which data it was skipped for."""

    name: str
    seconds: float
    measured: int
    cells: int
    skipped: str = ""


def missing(figure: Figure) -> str:
    """What a figure needs and this machine does not have; empty for nothing."""
    folder = os.environ.get("DPLR_DATA")
    if figure.needs and not folder:
        return "DPLR_DATA names no folder with the real data"
    absent = [name for name in figure.needs if not (pathlib.Path(str(folder)) / name).exists()]
    return f"no {', '.join(absent)} in DPLR_DATA" if absent else ""


def code_of(figure: Figure) -> str:
    """A digest of all that makes a figure's numbers: its paper's scripts, what they share, and the package itself."""
    shared = [HERE / "figure.py", HERE / "errata.py", *(HERE.parent / "data").glob("*.py")]
    package = (path for path in PACKAGE.rglob("*") if path.suffix in (".py", ".so"))
    digest = hashlib.sha256()
    for path in sorted({*(HERE / figure.name.split("/")[0]).glob("*.py"), *shared, *package}):
        digest.update(path.read_bytes())
    return digest.hexdigest()


class Finished:
    """The finished cells of a figure, in a file of JSON lines whose first line says which code measured them."""

    def __init__(self, figure: Figure, folder: pathlib.Path) -> None:
        self.path = folder / f"{figure.name}.jsonl"
        self.lines: dict[str, dict[str, Any]] = {}
        head = json.dumps({"figure": figure.name, "code": code_of(figure)}) + "\n"
        old = self.path.read_text() if self.path.exists() else ""
        # The last line of a run that was killed may be half a line.
        whole = [line for line in old.splitlines(keepends=True) if line.endswith("\n")]
        if whole[:1] == [head]:
            self.lines = {key_of(line["cell"]): line for line in map(json.loads, whole[1:])}
        else:
            whole = [head]
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self.path.write_text("".join(whole))

    def add(self, line: dict[str, Any]) -> None:
        """Write a line at once: whatever is in the file survives an interruption."""
        with self.path.open("a") as file:
            file.write(json.dumps(line) + "\n")
        self.lines[key_of(line["cell"])] = line


def measured(name: str, cell: Cell) -> dict[str, Any]:
    """Run one cell; what a worker process does."""
    figure = figure_of(name)
    seed, start = seed_of(figure, cell), time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        rows = [dict(row) for row in figure.measure(cell, seed)]
    return {"cell": dict(cell), "seed": seed, "seconds": round(time.perf_counter() - start, 3), "rows": rows}


def summary(figure: Figure, lines: Sequence[dict[str, Any]]) -> pd.DataFrame:
    """Mean, deviation and median of every number over the repeats of its setting, beside what the paper printed."""
    records = [
        {key: value for key, value in line["cell"].items() if key != "repeat"} | row
        for line in sorted(lines, key=lambda line: key_of(line["cell"]))
        for row in line["rows"]
    ]
    frame = pd.DataFrame(records)
    labels = [column for column in frame.columns if column != "value"]
    groups = frame.groupby(labels, sort=False, dropna=False)["value"]
    table = groups.agg(mean="mean", deviation="std", repeats="count", median="median").reset_index()
    table["deviation"] = table["deviation"].fillna(0.0)
    if figure.published:
        table = table.merge(pd.DataFrame(figure.published), how="left", on=labels, validate="one_to_one")
    return table


def run(names: Sequence[str], *, quick: bool, processes: int) -> list[Report]:
    """Measure what is not finished yet, figure by figure, and write each summary as soon as it is whole.

    What is derived from other figures has no quick run.
    """
    os.environ.update(DPLR_NUM_THREADS="1", OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1")
    folder = QUICK if quick else WORK
    with _workers(processes) as pool:
        figures = [figure for figure in map(figure_of, names) if not (quick and figure.derived)]
        return [_run_figure(figure, folder, quick, pool) for figure in figures]


def _run_figure(figure: Figure, folder: pathlib.Path, quick: bool, pool: Executor | None) -> Report:
    why = missing(figure)
    if why:
        return Report(figure.name, 0.0, 0, 0, why)
    cells = [cell for cell in figure.cells() if not quick or figure.quick(cell)]
    finished = Finished(figure, folder)
    left = [cell for cell in cells if key_of(cell) not in finished.lines]
    for line in tqdm(_lines(figure, left, pool), total=len(left), desc=figure.name, disable=not left):
        finished.add(line)
    lines = [finished.lines[key_of(cell)] for cell in cells]
    home = folder if quick else DOCS
    path = home / f"{figure.name}.csv"
    path.parent.mkdir(parents=True, exist_ok=True)
    numbers = figure.derived() if figure.derived else summary(figure, lines)
    numbers.to_csv(path, index=False, float_format="%.6g", lineterminator="\n")
    return Report(figure.name, sum(line["seconds"] for line in lines), len(left), len(cells))


def _lines(figure: Figure, cells: Sequence[Cell], pool: Executor | None) -> Iterator[dict[str, Any]]:
    """Lines of the cells, as they come."""
    if figure.alone or pool is None or len(cells) < 2:
        yield from (measured(figure.name, cell) for cell in cells)
        return
    for done in as_completed([pool.submit(measured, figure.name, cell) for cell in cells]):
        yield done.result()


@contextlib.contextmanager
def _workers(processes: int) -> Iterator[Executor | None]:
    """Fresh processes, or none for one; on an interruption what was not begun is dropped."""
    if processes == 1:
        yield None
        return
    pool = ProcessPoolExecutor(processes, mp_context=multiprocessing.get_context("spawn"))
    try:
        yield pool
    finally:
        pool.shutdown(cancel_futures=True)
