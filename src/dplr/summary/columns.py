"""Which coefficients a table is about: their positions, reference levels, and the way to the user's units."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dplr._kit.validation import describe, sentence
from dplr.bounds.kinds import Bins, Levels
from dplr.bounds.layout import Layout
from dplr.bounds.scaling import Prep
from dplr.inference.reading import Reading
from dplr.privacy.estimand import Estimand
from dplr.problem.geometry import Geometry

INTERCEPT = "(intercept)"


@dataclass(frozen=True, eq=False, slots=True)
class Chosen:
    """The coefficients of a table.

    Attributes
    ----------
    names : of the columns, then of the intercept where there is one.
    coordinates : their positions in the scaled problem, increasing.
    references : column of the table -> the level that the others are compared with.
    """

    names: tuple[str, ...]
    coordinates: tuple[int, ...]
    references: dict[str, str]


def positions(names: Sequence[str], layout: Layout | None, entries: Sequence[str] | str) -> tuple[int, ...]:
    """Positions of columns by name: of a coefficient, or of a column of the table with all of its coefficients."""
    entries = [entries] if isinstance(entries, str) else list(entries)
    places = {name: [position] for position, name in enumerate(names)}
    if layout is not None:
        spans = zip(layout.features, layout.firsts, layout.widths, strict=False)
        places = {feature: list(range(first, first + width)) for feature, first, width in spans} | places
    unknown = [name for name in entries if name not in places]
    if unknown or not entries:
        raise ValueError(sentence("columns", f"must be names among {describe(list(places))}", describe(unknown)))
    return tuple(sorted({position for name in entries for position in places[name]}))


def choose(names: Sequence[str], layout: Layout | None, intercept: bool, kept: Sequence[int] | None) -> Chosen:
    """Which coefficients a table has, of the columns `kept` (None: all).

    With an intercept, levels of which each has a column add up to the constant, and no data tell them apart from it.
    The first level is then the reference: its column is left out.
    """
    columns = list(range(len(names))) if kept is None else list(kept)
    references: dict[str, str] = {}
    spans = zip(layout.features, layout.columns, layout.firsts, strict=False) if layout is not None else ()
    for feature, column, first in spans:
        levels = levels_of(column)
        if not levels:
            continue
        declared = declared_reference(column)
        if declared is not None:
            references |= {feature: declared} if first in columns else {}
        elif intercept and set(range(first, first + column.block)) <= set(columns):
            columns.remove(first)
            references[feature] = levels[0]
    constant = [len(names)] if intercept else []
    shown = (*(names[position] for position in columns), *([INTERCEPT] if intercept else []))
    return Chosen(shown, (*columns, *constant), references)


def compared_with(layout: Layout, references: Mapping[str, str], coordinates: Sequence[int]) -> list[str]:
    """The reference level of the column of the table that each coefficient belongs to; empty for other columns."""
    spans = zip(layout.features, layout.firsts, layout.widths, strict=False)
    levels = {first + j: references[name] for name, first, width in spans if name in references for j in range(width)}
    return [levels.get(place, "") for place in coordinates]


def levels_of(column: object) -> list[str]:
    """The names of a column's levels, if it has a block of them; else nothing."""
    if isinstance(column, Bins):
        return list(column.labels)
    if isinstance(column, Levels) and column.kind == "one_hot":
        return [str(level) for level in column.levels]
    return []


def declared_reference(column: object) -> str | None:
    """The declared reference of a column with levels."""
    if isinstance(column, Bins) and column.reference is not None:
        return column.labels[column.bin_of(column.reference)]
    if isinstance(column, Levels) and column.reference is not None:
        return str(column.reference)
    return None


def null_directions(geometry: Geometry, keep: NDArray[np.intp]) -> NDArray[np.float64]:
    """(k, n_coefs) For each first level that is not kept, a direction of which no row has a part.

    In every row one column of the block is the half-width: their sum, less its multiple of the constant, is 0.
    """
    sizes, directions = dict(geometry.blocks), []
    for first in np.setdiff1d(np.arange(geometry.n_coefs), keep).tolist():
        assert geometry.half_width is not None
        direction = np.zeros(geometry.n_coefs)
        direction[first : first + sizes[first]] = 1.0
        direction[-1] = -geometry.half_width / geometry.intercept
        directions.append(direction)
    return np.array(directions)


def user_units(prep: Prep, reading: Reading) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Rows of the map from scaled coefficients to the user's coefficients and intercept, and what is added to each.

    Both are about `factor` times the scaled coefficients; the last row is the intercept's, if there is one.
    """
    geometry = prep.geometry
    size = geometry.n_coefs
    units = np.zeros((size, size))
    slopes, start = prep.to_user_units(np.zeros(size))
    added = np.zeros(size)
    for j, unit in enumerate(np.eye(size)):
        slopes, offset = prep.to_user_units(unit)
        units[: geometry.d, j] = slopes
        if geometry.intercept:
            units[geometry.d, j] = offset - start
    if geometry.intercept:
        added[geometry.d] = 0.5 if reading.estimand is Estimand.PROBABILITY else start
    return units, added
