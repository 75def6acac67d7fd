"""FM12 Figure 5: error against the share of the rows that are used."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd
from matplotlib.figure import Figure as Picture

from bench.papers.figure import Cell, Figure, Row
from bench.papers.fm12 import accuracy
from bench.papers.fm12.people import DIMENSIONS, EPS, RATES, TABLE

VARIED = "rate"


def measure(cell: Cell, seed: int) -> Sequence[Row]:
    return accuracy.errors(cell, seed, DIMENSIONS, cell[VARIED], (EPS,))


def draw(numbers: pd.DataFrame) -> Picture:
    return accuracy.draw(numbers, VARIED, "sampling rate (share of the rows)")


FIGURE = Figure(
    name="fm12/figure5",
    title="error against the sampling rate",
    cells=lambda: accuracy.cells(rate=RATES),
    measure=measure,
    draw=draw,
    table=lambda numbers: accuracy.table(numbers, VARIED),
    quick=lambda cell: accuracy.quick(cell) and cell[VARIED] == min(RATES),
    needs=(TABLE,),
)
