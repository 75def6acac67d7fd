"""What the pictures share: curves with error bars, one look for each method in all figures, legends below."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.figure import Figure as Picture

from dplr.plots._drawing import COLORS, MARKERS, QUIET

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

# Two standard errors either way.
BARS = 2.0
PUBLISHED = "published"


def panels(count: int, columns: int = 2, height: float = 2.7) -> tuple[Picture, list[Axes]]:
    """A picture as wide as a page, and its Axes in reading order."""
    rows = -(-count // columns)
    picture = Picture(figsize=(4.1 * min(count, columns), height * rows + 0.7), layout="constrained")
    grid = picture.subplots(rows, min(count, columns), squeeze=False).ravel()
    for ax in grid[count:]:
        ax.remove()
    for ax in grid[:count]:
        ax.grid(alpha=0.25)
    return picture, list(grid[:count])


def curves(ax: Axes, table: pd.DataFrame, x: str, series: str, order: Sequence[str], quiet: Sequence[str] = ()) -> None:
    """A curve for each series, in colours and markers by its place in `order`; `quiet` ones are grey and dashed.

    Error bars are two standard errors of the mean. Published values are hollow markers of the series' colour. From the
    seventh series on colours come again, with dashed lines.
    """
    for number, name in enumerate(order):
        part = table[table[series] == name].sort_values(x)
        if part.empty:
            continue
        color, marker = COLORS[number % len(COLORS)], MARKERS[number % len(MARKERS)]
        look = {"color": color, "marker": marker, "markersize": 4.5}
        look["linestyle"] = "--" if number >= len(COLORS) else "-"
        if name in quiet:
            look = {"color": QUIET, "linestyle": (0, (4, 1 + 2 * number))}
        errors = BARS * part["deviation"] / np.sqrt(part["repeats"])
        ax.errorbar(part[x], part["mean"], errors, label=name, linewidth=1.3, capsize=2, **look)
        if PUBLISHED in part and part[PUBLISHED].notna().any():
            ax.plot(part[x], part[PUBLISHED], linestyle="none", marker=marker, markersize=8, markerfacecolor="none",
                    markeredgecolor=look["color"], label=f"{name}, {PUBLISHED}")  # fmt: skip


def finish(
    picture: Picture, axes: Sequence[Axes], labels: Mapping[str, str] | None = None, columns: int = 3
) -> Picture:
    """One legend for all panels, below them; `labels` renames series."""
    handles = {}
    for ax in axes:
        for handle, label in zip(*ax.get_legend_handles_labels(), strict=True):
            handles.setdefault((labels or {}).get(label, label), handle)
    picture.legend(
        handles.values(), handles.keys(), loc="outside lower center", ncols=columns, fontsize=8, frameon=False
    )
    return picture
