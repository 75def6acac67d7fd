"""Parquet files of any number of rows: small whole numbers as a census has them, or float64. Nobody's data."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pyarrow as pa
from pyarrow import parquet

import dplr

GROUP = 2**20
# Name -> least and largest value: thirteen columns, of which some are two-valued.
CENSUS = {
    "age": (18, 99), "male": (0, 1), "single": (0, 1), "married": (0, 1), "education": (1, 24), "disability": (0, 1),
    "native": (0, 1), "hours": (0, 99), "years": (0, 40), "owns": (0, 1), "family": (1, 20), "children": (0, 19),
    "bedrooms": (0, 10),
}  # fmt: skip
# Fifty columns: those of the census, again and again.
CENSUS50 = {f"{name}{turn}": ends for turn in range(4) for name, ends in CENSUS.items()}
KINDS = {
    "census": CENSUS,
    "floats": {f"x{j}": (-1.0, 1.0) for j in range(13)},
    "census50": dict(list(CENSUS50.items())[:50]),
    "floats50": {f"x{j}": (-1.0, 1.0) for j in range(50)},
}
TARGET = "rich"


def bounds(kind: str) -> dplr.Bounds:
    """The bounds of the columns of a file; two-valued ones are levels."""
    return dplr.Bounds({
        name: {"levels": [0, 1], "binary": True} if ends == (0, 1) else ends for name, ends in KINDS[kind].items()
    })  # fmt: skip


def block(kind: str, seed: int, rows: int = GROUP) -> pa.Table:
    """Some rows, with a target that a linear model can tell in part."""
    rng = np.random.default_rng(seed)
    ends = KINDS[kind]
    if kind.startswith("floats"):
        columns = {name: rng.uniform(-1, 1, rows) for name in ends}
    else:
        columns = {name: rng.integers(low, high + 1, rows, np.int8) for name, (low, high) in ends.items()}
    score = sum((each - (ends[name][0] + ends[name][1]) / 2) / (ends[name][1] - ends[name][0])
                for name, each in columns.items())  # fmt: skip
    target = score + rng.logistic(size=rows) > 0
    return pa.table({**columns, TARGET: target})


def write(folder: Path, kind: str, rows: int, files: int = 1) -> list[str]:
    """Files of so many rows together, unless they are there; 16 different row groups take turns."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = [os.fspath(folder / f"{kind}-{rows}-{part}-of-{files}.parquet") for part in range(files)]
    if all(map(os.path.exists, paths)):
        return paths
    blocks = [block(kind, seed) for seed in range(16)]
    edges = [rows * part // files for part in range(files + 1)]
    for path, first, last in zip(paths, edges, edges[1:], strict=False):
        with parquet.ParquetWriter(path, blocks[0].schema) as writer:
            for number, start in enumerate(range(first, last, GROUP)):
                writer.write_table(blocks[number % 16].slice(0, min(GROUP, last - start)), row_group_size=GROUP)
    return paths
