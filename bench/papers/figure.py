"""What a figure of a paper is here: cells to measure, how to measure one, and what to make of the numbers."""

from __future__ import annotations

import importlib
import json
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure as Picture

# One unit of work: labels, and `repeat` where a setting is measured several times. Labels are texts and numbers.
Cell: TypeAlias = Mapping[str, Any]
# One measured number: labels of its own, and `value`.
Row: TypeAlias = Mapping[str, Any]


def nothing() -> Sequence[Cell]:
    """No cells: of what is derived from other figures."""
    return ()


def measures_nothing(cell: Cell, seed: int) -> Sequence[Row]:
    """No numbers: of what is derived from other figures."""
    return ()


def every(cell: Cell) -> bool:
    """All cells."""
    return True


def first_repeats(count: int) -> Callable[[Cell], bool]:
    """Cells of the first repeats."""
    return lambda cell: cell["repeat"] < count


@dataclass(frozen=True)
class Figure:
    """A figure or a table of a paper.

    Attributes
    ----------
    name : paper and figure, as "fm12/figure4": where its numbers and its picture lie in docs/papers.
    title : what it shows, in a line.
    cells : all units of work, in order; those that differ in `repeat` alone are averaged.
    measure : the numbers of a cell, a function of the cell and its seed alone.
    draw : its picture, of the summary; None for a table without one.
    table : its Markdown table, of the summary; it stands in its page between <!-- figure4 --> and
        <!-- /figure4 -->; None for none.
    quick : which cells are measured in a quick run.
    needs : files of the folder that DPLR_DATA names.
    published : what the paper printed: labels as in the summary, and `published`.
    derived : makes the summary from those of other figures, which stand before it; it has no cells then, and no
        quick run.
    alone : whether it measures time: nothing runs beside it, and a quick run is not held to its numbers.
    page : where table and picture stand, as a path from docs; the paper's page, docs/papers/fm12.md, by default.
    """

    name: str
    title: str
    cells: Callable[[], Sequence[Cell]] = nothing
    measure: Callable[[Cell, int], Sequence[Row]] = measures_nothing
    draw: Callable[[pd.DataFrame], Picture] | None = None
    table: Callable[[pd.DataFrame], str] | None = None
    quick: Callable[[Cell], bool] = every
    needs: tuple[str, ...] = ()
    published: Sequence[Row] = ()
    derived: Callable[[], pd.DataFrame] | None = None
    alone: bool = False
    page: str = ""


def figure_of(name: str) -> Figure:
    """The figure of a module, as "fm12/figure4"."""
    found: Figure = importlib.import_module("bench.papers." + name.replace("/", ".")).FIGURE
    if found.name != name:
        raise ValueError(f"the figure in {name} calls itself {found.name}")
    return found


def key_of(cell: Cell) -> str:
    """A cell as text, the same in every run."""
    return json.dumps(dict(cell), sort_keys=True)


def seed_of(figure: Figure, cell: Cell) -> int:
    """The seed of a cell: a function of its figure and its labels."""
    return zlib.crc32(f"{figure.name} {key_of(cell)}".encode())
