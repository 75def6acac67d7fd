"""diffprivlib and opacus on the tables of the frontier (make papers-peers; about an hour).

    DPLR_DATA=<folder> python -m bench.peers.frontier diffprivlib PYTHON opacus PYTHON

Writes docs/papers/frontier/peers.csv; peers that are not named keep their lines. Both have the rows that dplr has:
numbers in a cube and levels as columns of 0 and c, all in the unit ball.
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile

import pandas as pd
from tqdm import tqdm

from bench.data.tables import table_of
from bench.papers.frontier.methods import TABLES
from bench.peers.compare_accuracy import write

OUT = pathlib.Path("docs/papers/frontier/peers.csv")
LABELS = ["table", "peer", "setting", "delta", "eps", "quantity"]


def scored(peer: str, python: str, folder: str) -> pd.DataFrame:
    """Every setting's scores, with deviations over its fits."""
    worker = pathlib.Path(__file__).with_name("frontier_worker.py")
    one_thread = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    command = [python, str(worker), peer, folder]
    lines = []
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=os.environ | one_thread) as process:
        for text in tqdm(process.stdout, desc=peer, unit="fit"):
            line = json.loads(text)
            lines += [line | {"quantity": name, "value": value} for name, value in line.pop("scores").items()]
    if process.returncode:
        raise SystemExit(f"{peer} failed")
    values = pd.DataFrame(lines).groupby(LABELS, sort=False)["value"]
    return values.agg(mean="mean", deviation="std", repeats="count").reset_index()


def main(*given: str) -> None:
    found = [pd.read_csv(OUT)] if OUT.exists() else []
    with tempfile.TemporaryDirectory() as folder:
        for name in TABLES:
            write(table_of(name, os.environ["DPLR_DATA"]), folder)
        for peer, python in zip(given[::2], given[1::2], strict=True):
            found = [part[part["peer"] != peer] for part in found] + [scored(peer, python, folder)]
    OUT.parent.mkdir(parents=True, exist_ok=True)
    pd.concat(found).to_csv(OUT, index=False, float_format="%.6g", lineterminator="\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
