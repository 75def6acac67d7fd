"""The style of the pictures: palette, axes, titles and legends that are safe for any name."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from dplr._kit.extras import missing_library
from dplr._kit.validation import sentence
from dplr.plots._view import printable

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

# Okabe and Ito: told apart with every kind of colour vision. Markers differ too, for prints without colour.
COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
MARKERS = ("o", "s", "^", "D", "v", "P")
QUIET = "#7f7f7f"  # for lines of reference: seen on white and on black
WIDTH, HEIGHT = 6.4, 3.6  # inches of a new figure


def axes(caller: str, ax: Axes | None, height: float = HEIGHT) -> Axes:
    """The Axes given, or those of a new figure of pyplot's, which shows and closes it like any other."""
    if ax is not None and not hasattr(ax, "errorbar"):
        raise TypeError(sentence("ax", "must be None or Axes of matplotlib", ax))
    return figure(caller, WIDTH, height).subplots() if ax is None else ax


def figure(caller: str, width: float, height: float) -> Figure:
    """A new figure of pyplot's."""
    try:
        import matplotlib.pyplot as plt
    except ModuleNotFoundError as missing:
        raise missing_library(f"`{caller}`", "matplotlib", "plots") from missing
    return plt.figure(figsize=(width, height), layout="constrained")


def color_of(number: int) -> str:
    """Colour of the series with this number."""
    return COLORS[number % len(COLORS)]


def marker_of(number: int) -> str:
    """Marker of the series with this number."""
    return MARKERS[number % len(MARKERS)]


def short(text: object) -> str:
    """A name as long as a picture can bear."""
    return printable(text, 28)


def title(ax: Axes, claim: str, detail: str) -> None:
    """A sentence, and below it what it is said of."""
    text = f"{claim}\n({detail})"
    # matplotlib measures a text that it wraps as a formula, whatever parse_math says.
    ax.set_title(text, loc="left", fontsize="medium", parse_math=False, wrap="$" not in text)


def tidy(ax: Axes, grid: str) -> Axes:
    """No frame where no axis is, and a faint grid behind the data across the axis named."""
    ax.spines[["top", "right"]].set_visible(False)
    ax.grid(axis="x" if grid == "x" else "y", color=QUIET, alpha=0.25, linewidth=0.8)
    ax.set_axisbelow(True)
    return ax


def named_lines(ax: Axes) -> list[Line2D]:
    """The lines that were given a label."""
    return [line for line in ax.get_lines() if not re.fullmatch(r"_child\d+", str(line.get_label()))]


def legend(ax: Axes) -> None:
    """Name the lines. matplotlib would leave out names that begin with an underscore, and read $ as a formula."""
    lines = named_lines(ax)
    frame = ax.legend(lines, ["entry"] * len(lines), frameon=False, fontsize="small")
    for text, line in zip(frame.get_texts(), lines, strict=True):
        text.set_parse_math(False)
        text.set_text(str(line.get_label()))
