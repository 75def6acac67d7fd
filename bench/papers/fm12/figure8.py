"""FM12 Figure 8: time of a fit against the sampling rate."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd
from matplotlib.figure import Figure as Picture

from bench.papers.figure import Cell, Figure, Row
from bench.papers.fm12 import timing
from bench.papers.fm12.people import DIMENSIONS, EPS, RATES, TABLE

VARIED = "rate"


def measure(cell: Cell, seed: int) -> Sequence[Row]:
    return timing.measured(seed, DIMENSIONS, cell[VARIED], EPS)


def draw(numbers: pd.DataFrame) -> Picture:
    return timing.draw(numbers, VARIED, "sampling rate (share of the rows)")


FIGURE = Figure(
    name="fm12/figure8",
    title="time of a fit against the sampling rate",
    cells=lambda: [{VARIED: value} for value in RATES],
    measure=measure,
    draw=draw,
    table=lambda numbers: timing.table(numbers, VARIED),
    quick=lambda cell: cell[VARIED] == min(RATES),
    needs=(TABLE,),
    alone=True,
)
