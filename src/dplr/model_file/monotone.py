"""Columns whose curves were made monotone after the release, in a model file."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dplr.bounds.columns import Curve
from dplr.bounds.scaling import Prep
from dplr.estimators._monotone import DIRECTIONS, project, tilted
from dplr.model_file.readers import choice, list_of, table, text
from dplr.model_file.strict_json import refuse

_ROUNDED = 1e-9  # of the largest coefficient
_COLUMN = table({"column": text, "direction": choice(*DIRECTIONS)})


def write_monotone(directions: Mapping[str, str]) -> list[dict[str, str]]:
    """Plain values: keys of a file have no order."""
    return [{"column": name, "direction": direction} for name, direction in directions.items()]


def read_monotone(where: str, value: Any) -> dict[str, str]:
    """The directions that `write_monotone` wrote."""
    entries = list_of(_COLUMN, 1)(where, value)
    directions = {entry["column"]: entry["direction"] for entry in entries}
    if len(directions) < len(entries):
        refuse(where, "must name every column once", [entry["column"] for entry in entries])
    return directions


def check_monotone(directions: Mapping[str, str], prep: Prep, coefs: NDArray[np.float64]) -> None:
    """Refuse columns that are no curves, or whose curves in these models (models, columns) have another direction."""
    layout = prep.layout
    pairs = () if layout is None else zip(layout.features, layout.columns, strict=True)
    curves = [name for name, column in pairs if isinstance(column, Curve)]
    if not set(directions) <= set(curves):
        refuse("model.monotone", f"must name curves, {curves[:20]}", list(directions))
    assert layout is not None
    for coef in coefs:
        nearest = coef.copy()
        for name, direction in directions.items():
            place = layout.features.index(name)
            if product := tilted(layout, place):
                refuse("model.monotone", "must name curves whose line is no factor", product)
            project(prep, place, direction, nearest)
        if not np.allclose(nearest, coef, rtol=0.0, atol=_ROUNDED * float(np.abs(coef).max())):
            refuse("model.monotone", "must be directions that the curves have", dict(directions))
