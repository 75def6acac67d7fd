"""Bounds by position: a level or a label is its place, so that made-up rows are numbers."""

from __future__ import annotations

from typing import Any

from dplr.bounds.columns import Pair, write_column
from dplr.bounds.declared import Bounds
from dplr.bounds.kinds import INDICATOR, Column, Levels
from dplr.bounds.products import write_products

UNKNOWN = -1.0  # stands for a value that is not a declared level


def coded_bounds(bounds: Bounds | None, classes: int, target: Pair | None) -> Bounds | None:
    """The bounds by position, with levels and labels as numbers; None without bounds."""
    if bounds is None:
        return None
    columns = [write_column(_coded(column)) for column in bounds.columns]
    declared: Any = list(range(classes)) if classes else target
    return Bounds(columns, target=declared, products=write_products(bounds.products, None))


def _coded(column: Column) -> Column:
    if not isinstance(column, Levels):
        return column
    places: dict[Any, int] = {level: place for place, level in enumerate(column.levels)}
    missing = column.missing if column.missing in (None, INDICATOR) else places[column.missing]
    reference = None if column.reference is None else places[column.reference]
    return Levels(tuple(range(len(places))), column.kind, missing, reference)
