"""Kinds of the columns of a CSV file, from its bounds and never from its values."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dplr._kit.validation import sentence
from dplr.rows.files.kinds import Kind

if TYPE_CHECKING:
    from dplr.bounds.declared import Bounds


def feature_kinds(bounds: Bounds) -> dict[str, Kind]:
    """The kind of each declared column of a CSV file."""
    from dplr.bounds.columns import Levels

    if bounds.names is None:
        remedy = "Write a table [features.NAME] for each: in files names find the columns."
        raise ValueError(sentence("bounds", "must name the columns", "columns by position", remedy))
    kinds = {}
    for name, column in zip(bounds.names, bounds.columns, strict=True):
        levels = column.values if isinstance(column, Levels) else ()
        text = bool(levels) and isinstance(levels[0], str)
        kinds[name] = Kind(text, "" not in levels, column.missing is not None)
    return kinds


def target_kind(bounds: Bounds, classifier: bool) -> Kind:
    """The kind of the target of a CSV file; a classifier's must be declared."""
    pair = bounds.target_pair() if not classifier else None
    classes = bounds.target_classes() if classifier else None
    if classifier and classes is None:
        remedy = "Add a table [target] with classes or a threshold: labels are never read from the private rows."
        raise ValueError(sentence("bounds", "must declare the target of a classifier", pair, remedy))
    text = classes is not None and isinstance(classes[0], str)
    return Kind(text, classes is None or "" not in classes)
