"""FM12 Figure 9: time of a fit against eps."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd
from matplotlib.figure import Figure as Picture

from bench.papers.figure import Cell, Figure, Row
from bench.papers.fm12 import timing
from bench.papers.fm12.people import DIMENSIONS, LEVELS, RATE, TABLE

VARIED = "eps"


def measure(cell: Cell, seed: int) -> Sequence[Row]:
    return timing.measured(seed, DIMENSIONS, RATE, cell[VARIED])


def draw(numbers: pd.DataFrame) -> Picture:
    return timing.draw(numbers, VARIED, "eps", log=True)


FIGURE = Figure(
    name="fm12/figure9",
    title="time of a fit against eps",
    cells=lambda: [{VARIED: value} for value in LEVELS],
    measure=measure,
    draw=draw,
    table=lambda numbers: timing.table(numbers, VARIED),
    quick=lambda cell: cell[VARIED] == min(LEVELS),
    needs=(TABLE,),
    alone=True,
)
