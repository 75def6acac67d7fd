"""Does any setting of diffprivlib, tuned in hindsight on the test split, beat dplr's defaults? Pure eps.

    DPLR_DATA=<folder> python -m bench.peers.compare_accuracy PEER_PYTHON bench/results/peer_accuracy.csv

Both have the same rows: numbers in a cube and levels as columns of 0 and c, all in the unit ball. dplr's figures are
those of `bench/results/all_tables.csv` (`objective`, delta = 0).
"""

import csv
import json
import os
import pathlib
import subprocess
import sys
import tempfile

import numpy as np

from bench.data.tables import Table, tables
from dplr.bounds.scaling import Prep, layout_prep
from dplr.rows import as_table, predictors

OURS = pathlib.Path("bench/results/all_tables.csv")
COLUMNS = ("table", "model", "eps", "diffprivlib", "setting", "dplr")


def scaled(X, prep: Prep) -> np.ndarray:
    """Rows of the cube and its blocks."""
    table = as_table(X)
    matrix = np.asarray(X, float) if table is None else predictors(table, prep.layout)
    d = prep.geometry.d
    units = np.clip((matrix - prep.shift[:d]) * prep.scale[:d], prep.low[:d], prep.high[:d])
    return np.rint(units) / 2**20


def write(table: Table, folder: str) -> None:
    """The table as the peer reads it; a numeric target in [-1, 1]."""
    columns = list(table.bounds.names) if table.bounds.names else None
    layout = table.bounds.for_columns(columns, table.X.shape[1])
    numeric = table.model == "linear"
    prep = layout_prep(layout, True, None if numeric else (0.0, 1.0), table.bounds.target_pair() if numeric else None)
    targets = [np.asarray(part, float) for part in (table.y, table.held_y)]
    if numeric:
        targets = [np.clip((part - prep.shift[-1]) * prep.scale[-1] / 2**20, -1, 1) for part in targets]
    np.savez(
        pathlib.Path(folder) / f"{table.name}.npz", X=scaled(table.X, prep), held_X=scaled(table.held_X, prep),
        y=targets[0], held_y=targets[1], model=table.model, half_width=prep.geometry.half_width,
    )  # fmt: skip


def best(lines):
    """Of each table and eps the line with the best score of all settings."""
    found = {}
    for line in lines:
        key, sign = (line["table"], line["eps"]), 1 if line["model"] == "linear" else -1
        if key not in found or sign * line["score"] > sign * found[key]["score"]:
            found[key] = line
    return found


def main(python: str, path: str) -> None:
    with OURS.open() as file:
        rows = [row for row in csv.DictReader(file) if row["mechanism"] == "objective" and float(row["delta"]) == 0]
    ours = {(row["table"], float(row["eps"])): row["mean"] for row in rows}
    with tempfile.TemporaryDirectory() as folder:
        for table in tables(os.environ["DPLR_DATA"], official=True):
            write(table, folder)
        worker = pathlib.Path(__file__).with_name("accuracy_worker.py")
        output = subprocess.run([python, worker, folder], stdout=subprocess.PIPE, text=True, check=True).stdout
    with open(path, "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(COLUMNS)
        for (name, eps), line in best(map(json.loads, output.splitlines())).items():
            cells = (name, line["model"], eps, f"{line['score']:.5f}", line["setting"], ours[name, eps])
            writer.writerow(cells)
            print(*cells)


if __name__ == "__main__":
    main(*sys.argv[1:])
