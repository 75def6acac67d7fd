"""FM12 Figure 4: error against dimensionality."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd
from matplotlib.figure import Figure as Picture

from bench.papers.figure import Cell, Figure, Row
from bench.papers.fm12 import accuracy
from bench.papers.fm12.people import EPS, RATE, SUBSETS, TABLE

VARIED = "dimensions"


def measure(cell: Cell, seed: int) -> Sequence[Row]:
    return accuracy.errors(cell, seed, cell[VARIED], RATE, (EPS,))


def draw(numbers: pd.DataFrame) -> Picture:
    return accuracy.draw(numbers, VARIED, "dimensionality (columns, with the target)")


FIGURE = Figure(
    name="fm12/figure4",
    title="error against dimensionality",
    cells=lambda: accuracy.cells(dimensions=tuple(SUBSETS)),
    measure=measure,
    draw=draw,
    table=lambda numbers: accuracy.table(numbers, VARIED),
    quick=lambda cell: accuracy.quick(cell) and cell[VARIED] == min(SUBSETS),
    needs=(TABLE,),
)
