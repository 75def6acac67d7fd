"""Files that are made up, and a folder for each fault: a copy of them, a ledger, and what processes leave there."""

from __future__ import annotations

import itertools
import json
import os
import shutil
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import parquet

import dplr

ROWS, GROUP = 24_000, 2000
EPS, DELTA = 1.0, 1e-6
MECHANISMS = ("fm", "objective", "ngd")
# Text that stands in rows alone: no error may hold it.
SECRET = "Jane Doe of 7 Elm Street"
BOUNDS = """
[features.age]
lower = 18
upper = 90
[features.job]
levels = ["clerk", "baker", "judge"]
[features.income]
lower = -3
upper = 3
[target]
classes = [0, 1]
"""
# Rows of each file.
LAYOUTS = {
    "even": (6000, 6000, 6000, 6000),
    "huge": (200, 100, 23_500, 100, 100),
    "gaps": (0, 6000, 6000, 0, 6000, 6000),
}


def people(rows: int = ROWS, seed: int = 0) -> pa.Table:
    """Whole numbers, levels, decimals, a target, and a name that no fit reads."""
    rng = np.random.default_rng(seed)
    income = rng.normal(size=rows)
    return pa.table({
        "age": pa.array(rng.integers(18, 91, rows), pa.int8()),
        "job": rng.choice(["clerk", "baker", "judge"], rows),
        "income": income,
        "rich": (income + rng.logistic(size=rows) > 0).astype(np.int64),
        "name": [SECRET] * rows,
    })  # fmt: skip


def write(folder: Path, layout: str) -> None:
    """The same rows in files of these sizes; one row group where a file is huge."""
    folder.mkdir(parents=True)
    table, edges = people(), [0, *itertools.accumulate(LAYOUTS[layout])]
    for number, (start, end) in enumerate(itertools.pairwise(edges)):
        group = ROWS if layout == "huge" else GROUP
        parquet.write_table(table.slice(start, end - start), folder / f"{number}.parquet", row_group_size=group)


@dataclass
class World:
    """One fault: what is there before, and what is found afterwards.

    Attributes
    ----------
    folder : all of it.
    mechanism : of the fit.
    layout : of the files.
    fits : how many the budget has room for.
    again : whether noisy gradient descent reads the files in every step, as on a cluster.
    kept : where rows may be kept; None for the system's folder.
    threads : of the fit; None for as many as there are cores.
    """

    folder: Path
    mechanism: str
    layout: str = "even"
    fits: int = 3
    again: bool = False
    kept: Path | None = None
    threads: int | None = None

    def prepare(self, made: Path) -> None:
        """Copy the files, write the bounds, and make the ledger."""
        self.folder.mkdir(parents=True)
        shutil.copytree(made, self.data)
        (self.folder / "bounds.toml").write_text(BOUNDS)
        self.ledger_path.parent.mkdir()
        self.events.touch()

    def make_ledger(self) -> None:
        """A new budget, for so many fits."""
        dplr.Ledger(self.ledger_path, eps=self.fits * EPS, delta=self.fits * DELTA)

    @property
    def data(self) -> Path:
        """The folder of the files."""
        return self.folder / "data"

    @property
    def files(self) -> list[Path]:
        """The files, in their order."""
        return sorted(self.data.iterdir())

    @property
    def ledger_path(self) -> Path:
        """The ledger, alone in its folder, which may be a disk of its own."""
        return self.folder / "disk" / "budget.db"

    @property
    def ledger(self) -> dplr.Ledger:
        """The budget that pays."""
        return dplr.Ledger(self.ledger_path)

    @property
    def events(self) -> Path:
        """Where processes write what they are about to do."""
        return self.folder / "events"

    def draws(self) -> int:
        """How often a piece of noise was drawn by different processes, at most."""
        pieces = Counter(line.split()[1] for line in set(self.events.read_text().splitlines()))
        return max(pieces.values(), default=0)

    def model(self, name: str) -> dict[str, Any] | None:
        """The model that a process wrote; None for none."""
        path = self.output(name)
        if not path.exists() or not path.stat().st_size:
            return None
        found: dict[str, Any] = json.loads(path.read_text())
        return found

    def output(self, name: str) -> Path:
        """Where a process writes its model."""
        return self.folder / f"{name}.json"

    def fit(self, name: str) -> list[str]:
        """The command of a fit."""
        delta = ["--delta", str(DELTA)] if self.mechanism == "ngd" else []
        kept = [] if self.kept is None else ["--keep", os.fspath(self.kept)]
        return [
            "fit", os.fspath(self.data), "--target", "rich", "--bounds", os.fspath(self.folder / "bounds.toml"),
            "--eps", str(EPS), *delta, "--mechanism", self.mechanism, "--ledger", os.fspath(self.ledger_path),
            "-o", os.fspath(self.output(name)), *kept,
        ]  # fmt: skip
