"""FM12 Figure 7: time of a fit against dimensionality."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd
from matplotlib.figure import Figure as Picture

from bench.papers.figure import Cell, Figure, Row
from bench.papers.fm12 import timing
from bench.papers.fm12.people import EPS, RATE, SUBSETS, TABLE

VARIED = "dimensions"


def measure(cell: Cell, seed: int) -> Sequence[Row]:
    return timing.measured(seed, cell[VARIED], RATE, EPS)


def draw(numbers: pd.DataFrame) -> Picture:
    return timing.draw(numbers, VARIED, "dimensionality (columns, with the target)")


FIGURE = Figure(
    name="fm12/figure7",
    title="time of a fit against dimensionality",
    cells=lambda: [{VARIED: value} for value in SUBSETS],
    measure=measure,
    draw=draw,
    table=lambda numbers: timing.table(numbers, VARIED),
    quick=lambda cell: cell[VARIED] == min(SUBSETS),
    needs=(TABLE,),
    alone=True,
)
