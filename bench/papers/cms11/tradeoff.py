"""CMS11: test error against eps, logistic regression and Huber SVM on Adult and KDD Cup 99."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd
from matplotlib.figure import Figure as Picture

from bench.papers.cms11 import people
from bench.papers.cms11.people import MAJORITY, METHODS, PLAIN
from bench.papers.figure import Cell, Figure, Row

LEVELS = (0.05, 0.1, 0.2, 0.5, 1.0)
FITS = 2


def cells() -> list[Cell]:
    """A fold of a table for a model; `repeat` is the fold that is kept aside."""
    return people.cells_of()


def measure(cell: Cell, seed: int) -> Sequence[Row]:
    """Errors of all methods at all eps."""
    return list(people.measured(cell, seed, LEVELS, FITS))


def quick(cell: Cell) -> bool:
    """One fold of Adult."""
    return cell["repeat"] == 0 and cell["table"] == "Adult" and cell["model"] == "logistic"


def table(numbers: pd.DataFrame) -> str:
    """Mean errors."""
    return people.shown(numbers, "eps", METHODS)


def draw(numbers: pd.DataFrame) -> Picture:
    """A panel for each table and model."""
    return people.panels(numbers, "eps", "eps", METHODS, (PLAIN, MAJORITY))


FIGURE = Figure("cms11/tradeoff", "test error against eps", cells, measure, draw, table, quick, people.FILES)
