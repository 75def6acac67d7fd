"""Tables of what a paper prints, what is true, and the number that shows it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import pandas as pd

from bench.papers import pages
from bench.papers.figure import Cell, Figure, Row


@dataclass(frozen=True)
class Erratum:
    """An error of a paper.

    Attributes
    ----------
    printed, true : a sentence each.
    counted : what both numbers count.
    claimed : the number as the paper has it, or as it follows from what the paper prints.
    found : the number as it is; a function without arguments.
    """

    printed: str
    true: str
    counted: str
    claimed: Callable[[], float]
    found: Callable[[], float]


def figure(paper: str, errata: Mapping[str, Erratum]) -> Figure:
    """The table of a paper's errors: a cell for each of them."""

    def cells() -> list[Cell]:
        return [{"error": name} for name in errata]

    def measure(cell: Cell, seed: int) -> Sequence[Row]:
        error = errata[cell["error"]]
        return [{"number": "claimed", "value": error.claimed()}, {"number": "found", "value": error.found()}]

    def table(numbers: pd.DataFrame) -> str:
        means = numbers.set_index(["error", "number"])["mean"]
        rows = [
            {"": name, "printed": error.printed, "true": error.true, "number": error.counted,
             "as printed": f"{means[name, 'claimed']:.4g}", "found": f"{means[name, 'found']:.4g}"}
            for name, error in errata.items()
        ]  # fmt: skip
        return pages.markdown(pd.DataFrame(rows))

    return Figure(f"{paper}/errors", "printed errors, and a number for each", cells, measure, table=table)
