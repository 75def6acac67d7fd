"""Which coefficients a table is about: their positions, reference levels, and the way to the user's units."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dplr._kit.validation import check_list, describe, sentence
from dplr.bounds.columns import CONSTANT, Bins, Curve, Levels, labels_of, middle
from dplr.bounds.columns import INDICATOR as MARKED
from dplr.bounds.layout import Layout
from dplr.bounds.scaling import Prep
from dplr.inference.reading import Reading
from dplr.privacy.estimand import Estimand
from dplr.problem.geometry import GRID

INTERCEPT = CONSTANT
ITS_LINE = "its line"  # what the knots of a curve are compared with


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
    entries = [entries] if isinstance(entries, str) else check_list("columns", entries, "must be names of columns")
    places = {name: [position] for position, name in enumerate(names)}
    if layout is not None:
        spans = zip(layout.features, layout.firsts, layout.widths, strict=False)
        places = {feature: list(range(first, first + width)) for feature, first, width in spans} | places
    unknown = [name for name in entries if not isinstance(name, str) or name not in places]
    if unknown or not entries:
        raise ValueError(sentence("columns", f"must be names among {describe(list(places))}", describe(unknown)))
    return tuple(sorted({position for name in entries for position in places[name]}))


def choose(
    names: Sequence[str],
    layout: Layout | None,
    intercept: bool,
    kept: Sequence[int] | None,
    narrow: Collection[int] = (),
) -> Chosen:
    """Which coefficients a table has, of the columns `kept` (None: all); those of `narrow` have narrower ranges.

    With an intercept, levels of which each has a column add up to the constant, and no data tell them apart from it.
    The first level is then the reference: its column is left out. So is the first knot of a curve, whose knots add up
    to the constant too; its last one, where it has a line in the declared bounds, which is a sum of the knots; and the
    first knot of each level's curve, whose knots add up to the level.
    """
    columns = list(range(len(names))) if kept is None else list(kept)
    references: dict[str, str] = {}
    spans = zip(layout.features, layout.columns, layout.firsts, strict=False) if layout is not None else ()
    spare = {} if layout is None else spare_knots(layout, intercept, columns, narrow)
    columns = [place for place in columns if place not in spare]
    for feature, column, first in spans:
        levels = levels_of(column)
        if isinstance(column, Curve) and first + column.line in spare:
            references[feature] = compared_knots(column, first, spare)
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


def compared_with(layout: Layout | None, references: Mapping[str, str], coordinates: Sequence[int]) -> list[str]:
    """The reference level of the column of the table that each coefficient belongs to; empty for other columns."""
    if layout is None:
        return [""] * len(coordinates)
    spans = zip(layout.features, layout.firsts, layout.widths, strict=False)
    levels = {first + j: references[name] for name, first, width in spans if name in references for j in range(width)}
    for column, first in zip(layout.columns, layout.firsts, strict=False):
        if isinstance(column, Curve):  # its line and its mark are compared with nothing
            levels |= {first: ""} if column.line else {}
            levels |= dict.fromkeys(
                range(first + column.line + len(column.places), first + column.line + column.block), ""
            )
    return [levels.get(place, "") for place in coordinates]


def parts_of_curves(layout: Layout | None) -> frozenset[str]:
    """Names of the coefficients that say something together alone: the line and the knots of a curve, also in products.

    Those of a curve without a line are differences to its lower bound, and are left out.
    """
    if layout is None:
        return frozenset()
    parts: set[str] = set()
    for column, first in zip(layout.columns, layout.firsts, strict=False):
        if isinstance(column, Curve) and column.line:
            parts.update(layout.names[first : first + 1 + len(column.places)])
    for product, first in zip(layout.products, layout.firsts[len(layout.columns) :], strict=True):
        if product.curve:
            parts.update(layout.names[first : first + product.width])
    return frozenset(parts)


def compared_knots(column: Curve, first: int, left_out: Collection[int]) -> str:
    """The line or value that the knots of a curve are compared with; its first knot is left out."""
    bends = column.line and first + len(column.places) in left_out
    return ITS_LINE if bends else labels_of(column.knot_values)[0]


def narrowed(prep: Prep) -> frozenset[int]:
    """Columns of the model that count as clipped to a narrower range than the one declared."""
    return frozenset() if prep.limits is None else frozenset(np.flatnonzero(np.isfinite(prep.limits[0])).tolist())


def spare_knots(
    layout: Layout, intercept: bool, columns: Sequence[int], narrow: Collection[int] = ()
) -> dict[int, dict[int, float]]:
    """The knots that other columns make up for, of all `columns` of a model, and how.

    Each has a direction of which no row has a part: coefficients of columns in the user's units, -1 stands for the
    intercept. In a row without a missing value the shares of the knots add up to 1, and their sum with the knots as
    factors is the number; beside a mark the number is the middle. A line in a narrower range is no sum of the knots,
    which keep their declared bounds.
    """
    spare: dict[int, dict[int, float]] = {}
    everything = set(columns)
    for column, first in zip(layout.columns, layout.firsts, strict=False):
        if not isinstance(column, Curve):
            continue
        hats = range(first + column.line, first + column.line + column.block)
        if intercept and set(hats) <= everything:
            spare[hats[0]] = {**dict.fromkeys(hats, 1.0), -1: -1.0}
        if column.line and first not in narrow and {first, *hats} <= everything:
            values = (*column.places, *[middle(column.range)] * (column.block - len(column.places)))
            spare[first + len(column.places)] = {first: -1.0, **dict(zip(hats, values, strict=True))}
    for start, product in zip(layout.firsts[len(layout.columns) :], layout.products, strict=True):
        if product.curve is None or product.curve.missing == MARKED:  # beside a mark no knot has a share
            continue
        levels, size = layout.firsts[product.places[0]], len(product.curve.places)
        for k in range(product.width // size):
            knots = range(start + k * size, start + (k + 1) * size)
            if {levels + k, *knots} <= everything:
                spare[knots[0]] = {levels + k: -1.0, **dict.fromkeys(knots, 1.0)}
    return spare


def levels_of(column: object) -> list[str]:
    """The names of a column's levels, if it has a block of them; else nothing."""
    if isinstance(column, Bins):
        return list(column.labels)
    if isinstance(column, Levels) and column.kind == "one_hot":
        return [str(level) for level in column.levels]
    return []


def groups_of(layout: Layout | None, names: Sequence[str]) -> dict[str, list[str]]:
    """Columns of the table, and products, that have several of the coefficients with these names."""
    if layout is None:
        return {}
    products = [" * ".join(layout.features[place] for place in product.places) for product in layout.products]
    groups = {}
    for feature, first, width in zip((*layout.features, *products), layout.firsts, layout.widths, strict=True):
        members = [name for name in layout.names[first : first + width] if name in names]
        if len(members) > 1:
            groups[feature] = members
    return groups


def reference_names(layout: Layout | None, references: Mapping[str, str]) -> list[str]:
    """Names of the levels that others are compared with, in the form of the names of coefficients."""
    if layout is None:
        return []
    names = []
    for feature, column in zip(layout.features, layout.columns, strict=True):
        if isinstance(column, Levels) and column.kind == "binary":
            names.append(f"{feature}={column.levels[0]}")
        elif feature in references and levels_of(column):
            joint = " in " if isinstance(column, Bins) else "="
            names.append(f"{feature}{joint}{references[feature]}")
    return names


def declared_reference(column: object) -> str | None:
    """The declared reference of a column with levels."""
    if isinstance(column, Bins) and column.reference is not None:
        return column.labels[column.bin_of(column.reference)]
    if isinstance(column, Levels) and column.reference is not None:
        return str(column.reference)
    return None


def null_directions(prep: Prep, keep: NDArray[np.intp]) -> NDArray[np.float64]:
    """(k, n_coefs) Directions of which no row has a part: 1 at a coordinate that is not kept, 0 at the other ones.

    The columns of levels add up to 1, as the constant is; for knots see `spare_knots`.
    """
    geometry, layout = prep.geometry, prep.layout
    assert layout is not None
    dropped = np.setdiff1d(np.arange(geometry.n_coefs), keep)
    sizes, directions = dict(geometry.blocks), []
    spare = spare_knots(layout, geometry.intercept > 0, range(geometry.d), narrowed(prep))
    origin = np.array(prep.from_user_units(np.zeros(geometry.d), 0.0))
    for place in dropped.tolist():
        parts = spare.get(place) or {**dict.fromkeys(range(place, place + sizes[place]), 1.0), -1: -1.0}
        units = np.zeros(geometry.d + 1)
        units[list(parts)] = list(parts.values())
        directions.append(np.array(prep.from_user_units(units[:-1], float(units[-1]))) - origin)
    null = np.array(directions)
    return np.linalg.solve(null[:, dropped], null)


def effect_unit(prep: Prep, estimand: Estimand) -> float:
    """The user's units of what coefficients are changes of in one of an equation."""
    if estimand in (Estimand.MEAN, Estimand.LOCATION):
        return GRID / float(prep.scale[-1])
    return 0.5 if estimand is Estimand.PROBABILITY else 1.0


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
