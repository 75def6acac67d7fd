"""Draws the pictures of docs/explanation: a mechanism at a glance, alike in every run, for light and dark pages.

    python -m bench.figures.idea_pictures docs/images            # all pictures
    python -m bench.figures.idea_pictures docs/images output     # one of them

The rows are made up, and the background is transparent.
"""

import pathlib
import sys

import matplotlib as mpl

from bench.figures import ideas, mechanisms
from bench.figures.colors import INK

TEXT = ("text.color", "axes.edgecolor", "axes.labelcolor", "axes.titlecolor", "xtick.color", "ytick.color")
STYLE = {
    "svg.hashsalt": "dplr",
    "svg.fonttype": "path",
    "font.size": 10.5,
    "axes.titlesize": 10.5,
    "axes.spines.top": False,
    "axes.spines.right": False,
    **dict.fromkeys(TEXT, INK),
}
PICTURES = {**ideas.PICTURES, **mechanisms.PICTURES}


def draw(folder: str | pathlib.Path, *names: str) -> None:
    """Write the pictures of these names, or all: the same bytes in every run."""
    for name in names or PICTURES:
        with mpl.rc_context(STYLE):
            path = pathlib.Path(folder, f"idea_{name}.svg")
            PICTURES[name]().savefig(path, transparent=True, metadata={"Date": None, "Creator": None})


if __name__ == "__main__":
    draw(*sys.argv[1:])
