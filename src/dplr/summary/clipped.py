"""Columns that a fit clipped to ranges narrower than their declared bounds: what a table says of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from dplr.bounds.scaling import Prep

CLIPPED_COLUMNS = "clipped columns"
READ = (
    "The coefficients are those of columns that are clipped to ranges of released numbers, inside their declared "
    'bounds; of the columns themselves with ranges="off".'
)


@dataclass(frozen=True, slots=True)
class Clipping:
    """How a fit clipped a number, in its units.

    Attributes
    ----------
    low, high : float
        Ends of the range, made of released numbers.
    lower, upper : float
        Declared bounds, which the range lies in.

    Privacy
    -------
    The range was released, and the bounds are public: it costs nothing further.
    """

    low: float
    high: float
    lower: float
    upper: float


def about(title: str, clipped: Mapping[str, Clipping]) -> str:
    """The title of a table, which says whether it is about clipped columns."""
    return f"{title}, about {CLIPPED_COLUMNS}" if clipped else title


def noted(notes: tuple[str, ...], clipped: Mapping[str, Clipping]) -> tuple[str, ...]:
    """The notes of a table, which say what clipped columns are."""
    return (READ, *notes) if clipped else notes


def clippings(names: Sequence[str], prep: Prep) -> dict[str, Clipping]:
    """Name of each column that was clipped to a range of its own -> the range and its declared bounds."""
    if prep.limits is None or prep.layout is None:
        return {}
    rows = zip(names, *(ends.tolist() for ends in prep.limits), prep.layout.pairs, strict=True)
    return {name: Clipping(low, high, *pair) for name, low, high, pair in rows if low > -np.inf}
