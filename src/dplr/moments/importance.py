"""Importance of columns: which share of the unit ball each has, and so how little noise. Proof: moments.md, lemma 4."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from dplr._kit.validation import real_number, sentence
from dplr.bounds.layout import Layout
from dplr.bounds.scaling import Prep, layout_prep
from dplr.moments.selection import place_of
from dplr.problem.geometry import GRID

LEAST, MOST = 0.1, 10.0  # beyond, the noise drowns whatever counts least
_ROOM = 2**40  # the squared radius of the unit ball, in squared grid units


def importance_of(layout: Layout, value: Mapping[Any, float] | None) -> tuple[float, ...]:
    """The importance of each declared column, then of each product; () where all count alike."""
    if value is None:
        return ()
    if not isinstance(value, Mapping):
        remedy = "Give the columns that count more or less than 1, such as {'income': 3}."
        raise TypeError(sentence("importance", "must map names of columns to numbers", value, remedy))
    numbers = [1.0] * len(layout.widths)
    places = [place_of(layout, entry, "importance") for entry in value]
    if len(set(places)) < len(places):
        raise ValueError(sentence("importance", "must name every column once", list(value)))
    for place, number in zip(places, value.values(), strict=True):
        numbers[place] = real_number("importance", number)
        if not LEAST <= numbers[place] <= MOST:
            raise ValueError(sentence("importance", f"must be between {LEAST:g} and {MOST:g}", number))
    return tuple(numbers) if len(set(numbers)) > 1 else ()


def fact_of(layout: Layout, importance: tuple[float, ...]) -> list[str]:
    """The assumption of a statement about the importance of columns; none where all count alike."""
    if not importance:
        return []
    names = [*layout.features, *(product.said(layout.features) for product in layout.products)]
    counted = ", ".join(f"{name} {number:g}" for name, number in zip(names, importance, strict=True) if number != 1)
    return [f"declared importance of columns (1 for others): {counted}"]


def moments_prep(layout: Layout, importance: tuple[float, ...] = ()) -> Prep:
    """The way from a row of a table to a scaled row, whose groups of columns are as wide as they are important.

    Half-widths are whole numbers of grid units, and the sum of their squares over all groups is at most 1, in integers.
    """
    prep = layout_prep(layout, True, None)
    if not importance:
        return prep
    geometry, columns = prep.geometry, np.repeat(importance, layout.widths)
    assert geometry.half_width is not None
    heads = [first for first in geometry.firsts if first < geometry.d]
    units = np.floor(columns / math.hypot(*columns[heads]) * GRID)
    while sum(int(size) ** 2 for size in units[heads]) > _ROOM:
        units -= 1
    ratios = np.append(units / (geometry.half_width * GRID), 1.0)
    shift, scale, low, high = prep.shift, *(part * ratios for part in (prep.scale, prep.low, prep.high))
    low[:-1], high[:-1] = np.maximum(low[:-1], -units), np.minimum(high[:-1], units)
    levels = [first + k for first, size in geometry.blocks for k in range(size)]
    levels += [first + 1 for first in geometry.marked]
    shares = [first + k for first, size, _ in geometry.hats for k in range(size)]
    for places, ends in ((levels, units), (shares, units - 1)):  # shares that are rounded up add up to no more
        scale[places] = high[places] = ends[places]
    for part in (scale, low, high):
        part.flags.writeable = False
    weights = tuple((units / GRID).tolist())
    wide = replace(geometry, half_width=1.0, weights=weights)
    return replace(prep, geometry=wide, shift=shift, scale=scale, low=low, high=high)
