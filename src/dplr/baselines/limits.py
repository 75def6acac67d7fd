"""Limits of a noisy table, checked on public facts before anything is drawn."""

from __future__ import annotations

from typing import Any

from dplr._kit.validation import check_count, is_listed, sentence
from dplr.baselines.grid import Grid
from dplr.baselines.law import MOST_CELLS, MOST_THETA, MOST_WALK, TwoSided

_MOST_BINS = 2**20  # of one column: their middles are listed


def bins_of_each(bins: Any, columns: int) -> list[int | None]:
    """The user's number of bins of each column and of y; None for the usual one."""
    if bins is None:
        return [None] * columns
    listed = is_listed(bins)
    if listed and len(bins) != columns:
        rule = f"must be None, a number, or {columns} of them: of each column, and of y"
        raise ValueError(sentence("bins", rule, bins))
    counts = [None if count is None else check_count("bins", count) for count in (bins if listed else [bins] * columns)]
    if any(count is not None and count > _MOST_BINS for count in counts):
        raise ValueError(sentence("bins", "must be at most 2^20", bins))
    return counts


def check_walk(eps: float, sensitivity: int) -> None:
    """Refuse so much noise that drawing it would take hours: a number is found by passing over cells."""
    least = sensitivity / MOST_WALK
    if eps < least:
        rule = f"must be at least {least!r} for a table of counts, whose noise would take too long to draw"
        raise ValueError(sentence("eps", rule, eps, "Give a larger eps."))


def check_threshold(theta: int) -> None:
    """Refuse a threshold whose chance, an exact fraction, would take long to divide."""
    if theta > MOST_THETA:
        remedy = "Left out it follows from eps and the cells. Give a smaller `theta`, a larger `eps`, or fewer `bins`."
        raise ValueError(sentence("theta", f"must be at most {MOST_THETA}", theta, remedy))


def check_size(law: TwoSided, grid: Grid, theta: int) -> None:
    """Refuse a table of which too many empty cells would pass."""
    expected = law.expected(theta, grid.cells)
    if expected > MOST_CELLS:
        sizes = " x ".join(str(size) for size in grid.sizes)
        rule = f"must leave at most {MOST_CELLS} empty cells that pass with noise"
        got = f"about {expected:.3g} of {sizes} cells"
        remedy = "Give fewer bins, or declare the levels of columns that take few values."
        raise ValueError(f"`bins` {rule}; got {got}. {remedy}")
