"""CMS11: learning curves, test error against the number of training rows at eps = 0.1."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd
from matplotlib.figure import Figure as Picture

from bench.papers.cms11 import people
from bench.papers.cms11.people import MAJORITY, METHODS, PLAIN
from bench.papers.figure import Cell, Figure, Row

SIZES = (2_500, 5_000, 10_000, 20_000, 40_000)
EPS, FITS, MEASURED = 0.1, 3, 4


def cells() -> list[Cell]:
    """A fold of a table for a model at one size; `repeat` is the fold that is kept aside, one of four."""
    return people.cells_of(MEASURED, n_rows=SIZES)


def measure(cell: Cell, seed: int) -> Sequence[Row]:
    """Errors of all methods."""
    return list(people.measured(cell, seed, [EPS], FITS))


def quick(cell: Cell) -> bool:
    """One fold of the smallest size."""
    return cell["repeat"] == 0 and cell["n_rows"] == SIZES[0]


def table(numbers: pd.DataFrame) -> str:
    """Mean errors."""
    return people.shown(numbers, "n_rows", METHODS)


def draw(numbers: pd.DataFrame) -> Picture:
    """A panel for each table and model."""
    return people.panels(numbers, "n_rows", "number of training rows", METHODS, (PLAIN, MAJORITY))


FIGURE = Figure(
    "cms11/learning", f"test error against training rows, eps = {EPS}", cells, measure, draw, table, quick,
    people.FILES,
)  # fmt: skip
