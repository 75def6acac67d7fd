"""Holds the numbers of a quick run against the committed ones, within their own error bars."""

from __future__ import annotations

import math
import pathlib

import pandas as pd

from bench.papers.figure import Figure
from bench.papers.run import DOCS, MEASURED, QUICK

# Deviations of the mean of a quick run that are taken for chance: its seeds are fixed, so a run is red always or never.
WIDTH = 5.0
# Of numbers without noise: sums differ in the last bits between processors.
ROUNDING = 1e-6


def differences(quick: pd.DataFrame, committed: pd.DataFrame) -> list[str]:
    """Say of each number of the quick run that it is missing among the committed ones, or too far from its own."""
    labels = [name for name in quick.columns if name not in (*MEASURED, "published")]
    texts = [frame.assign(**{label: frame[label].map(_text) for label in labels}) for frame in (quick, committed)]
    both = texts[0].merge(texts[1], how="left", on=labels, suffixes=("", "_committed"))
    found = []
    for row in both.to_dict("records"):
        named = ", ".join(f"{label} {row[label]}" for label in labels)
        expected = row["mean_committed"]
        if math.isnan(expected):
            found.append(f"{named}: not among the committed numbers")
            continue
        if row["mean"] == expected:
            continue
        spread = row["deviation_committed"] / math.sqrt(row["repeats"])
        if math.isinf(expected) or not abs(row["mean"] - expected) <= WIDTH * spread + ROUNDING * max(1, abs(expected)):
            found.append(f"{named}: {row['mean']:.6g}, committed {expected:.6g} with a standard error of {spread:.2g}")
    return found


def _text(label: object) -> str:
    """A label as text: a column of whole numbers, of fractions or of nothing may have another type in a part."""
    return f"{label:g}" if isinstance(label, int | float) else str(label)


def check(figure: Figure, quick: pathlib.Path = QUICK, committed: pathlib.Path = DOCS) -> list[str]:
    """The differences of one figure; none where it measures time."""
    if figure.alone:
        return []
    path = committed / f"{figure.name}.csv"
    if not path.exists():
        return [f"{path} is missing"]
    return differences(pd.read_csv(quick / f"{figure.name}.csv"), pd.read_csv(path))
