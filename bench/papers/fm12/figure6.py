"""FM12 Figure 6: error against eps."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd
from matplotlib.figure import Figure as Picture

from bench.papers.figure import Cell, Figure, Row
from bench.papers.fm12 import accuracy
from bench.papers.fm12.methods import NO_PRIVACY, TIGHT
from bench.papers.fm12.people import DIMENSIONS, LEVELS, RATE, TABLE

VARIED = "eps"
QUICK = {TIGHT, NO_PRIVACY}  # the others would take long at six eps


def measure(cell: Cell, seed: int) -> Sequence[Row]:
    return accuracy.errors(cell, seed, DIMENSIONS, RATE, LEVELS)


def draw(numbers: pd.DataFrame) -> Picture:
    return accuracy.draw(numbers, VARIED, "eps", log=True)


FIGURE = Figure(
    name="fm12/figure6",
    title="error against eps",
    cells=accuracy.cells,
    measure=measure,
    draw=draw,
    table=lambda numbers: accuracy.table(numbers, VARIED),
    quick=lambda cell: accuracy.quick(cell) and QUICK & {*accuracy.JOBS[cell["repeat"]].methods} != set(),
    needs=(TABLE,),
)
