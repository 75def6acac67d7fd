"""Which columns a model has, and which coordinate is its target: from names that users give to places in a layout."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dplr._kit.validation import sentence
from dplr.bounds.columns import INDICATOR, Bins, Levels, Numeric
from dplr.bounds.layout import Layout
from dplr.bounds.products import Product


@dataclass(frozen=True, eq=False, slots=True)
class Chosen:
    """The columns of a model.

    Attributes
    ----------
    layout : of what a table must have for predictions: the columns, and the factors of products.
    kept : positions of the model's columns among those of `layout`.
    places : the same columns among those of the release.
    """

    layout: Layout
    kept: NDArray[np.intp]
    places: NDArray[np.intp]

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the model's columns."""
        return tuple(self.layout.names[k] for k in self.kept)


@dataclass(frozen=True, slots=True)
class Target:
    """A column of the release that a model is about.

    Attributes
    ----------
    name : in the words of a table.
    feature : position of the declared column.
    place : of the column of the release.
    flipped : whether the model is of the other one of two levels: 1 less the column.
    """

    name: str
    feature: int
    place: int
    flipped: bool = False


def feature_of(layout: Layout, name: Any, parameter: str) -> int:
    """The position of a declared column."""
    if not isinstance(name, str):
        raise TypeError(sentence(parameter, "must be the name of a declared column", name))
    if name not in layout.features:
        close = difflib.get_close_matches(name, layout.features, 1)
        remedy = f"Did you mean {close[0]!r}?" if close else "What was not released cannot be fitted."
        raise ValueError(sentence(parameter, f"must be one of {list(layout.features)[:20]}", name, remedy))
    return layout.features.index(name)


def number_target(layout: Layout, name: Any) -> Target:
    """A number, or ordered levels, which count as their positions."""
    feature = feature_of(layout, name, "target")
    column = layout.columns[feature]
    if column.number is None:
        remedy = f"Use probability({name!r}, level=...)."
        raise ValueError(sentence("target", "must be a number", f"{name}, {column}", remedy))
    _check_unmarked(layout, feature)
    shown = column.names(layout.features[feature])[0] if isinstance(column, Numeric) else layout.features[feature]
    return Target(shown, feature, layout.firsts[feature])


def level_target(layout: Layout, name: Any, level: Any) -> Target:
    """A level, or a bin."""
    feature = feature_of(layout, name, "target")
    column = layout.columns[feature]
    if not isinstance(column, (Levels, Bins)) or (isinstance(column, Levels) and column.kind == "ordinal"):
        raise ValueError(
            sentence("target", "must be a column of levels or bins", f"{name}, {column}", f"Use regress({name!r}).")
        )
    labels: Sequence[Any] = column.labels if isinstance(column, Bins) else column.levels
    if level is None and len(labels) != 2:
        raise ValueError(sentence("level", f"must be one of {list(labels)[:20]}", level))
    label = labels[1] if level is None else level
    if not any(label == entry and isinstance(label, str) is isinstance(entry, str) for entry in labels):
        raise ValueError(sentence("level", f"must be one of {list(labels)[:20]}", label))
    position, first = labels.index(label), layout.firsts[feature]
    named = f"{name} in {label}" if isinstance(column, Bins) else f"{name}={labels[position]}"
    if column.number is not None:  # one column for two levels
        _check_unmarked(layout, feature)
        return Target(named, feature, first, flipped=position == 0)
    place = column.places[position]
    if place < 0:
        remedy = "It has no column of its own. Take another level, or declare bounds without a reference."
        raise ValueError(sentence("level", "must not be the reference", label, remedy))
    return Target(named, feature, first + place)


def chosen(layout: Layout, columns: Sequence[Any] | None, target: Target) -> Chosen:
    """The columns of a model: those named, or all that do not hold the target."""
    features, products = _named(layout, columns, target)
    used = sorted({*features, *(place for k in products for place in layout.products[k].places)})
    moved = {place: new for new, place in enumerate(used)}
    small = replace(
        layout,
        features=tuple(layout.features[k] for k in used),
        columns=tuple(layout.columns[k] for k in used),
        products=tuple(_moved(layout.products[k], moved) for k in products),
    )
    count = len(layout.columns)
    blocks = [(moved[k], k) for k in features]
    blocks += [(len(used) + new, count + k) for new, k in enumerate(products)]
    kept = [small.firsts[position] + step for position, origin in blocks for step in range(layout.widths[origin])]
    places = [layout.firsts[origin] + step for _, origin in blocks for step in range(layout.widths[origin])]
    return Chosen(small, np.array(kept, np.intp), np.array(places, np.intp))


def entries_of(layout: Layout, columns: Chosen) -> tuple[str | tuple[str, str], ...]:
    """Names of a model's columns, and pairs of names for products, as a user would give them."""
    places, names = set(columns.places.tolist()), layout.features
    firsts = zip(layout.firsts, range(len(layout.firsts)), strict=True)
    blocks = [k for first, k in firsts if first in places]
    count = len(names)
    products = [layout.products[k - count].places for k in blocks if k >= count]
    return (*(names[k] for k in blocks if k < count), *((names[a], names[b]) for a, b in products))


def label_of(layout: Layout, target: Target) -> Any:
    """The level, or the label of the bin, of a target of `level_target`."""
    column = layout.columns[target.feature]
    if isinstance(column, Bins):
        return column.labels[column.places.index(target.place - layout.firsts[target.feature])]
    assert isinstance(column, Levels)
    if column.number is not None:
        return column.levels[0 if target.flipped else 1]
    return column.levels[column.places.index(target.place - layout.firsts[target.feature])]


def _named(layout: Layout, columns: Sequence[Any] | None, target: Target) -> tuple[list[int], list[int]]:
    """Positions of declared columns and of products, in their declared order."""
    every = range(len(layout.products))
    if columns is None:
        features = [k for k in range(len(layout.columns)) if k != target.feature]
        products = [k for k in every if target.feature not in layout.products[k].places]
    else:
        if isinstance(columns, (str, bytes)) or not isinstance(columns, Sequence):
            remedy = "Give a list, also of one."
            raise TypeError(sentence("columns", "must be a list of names of declared columns", columns, remedy))
        places, count = [_place_of(layout, entry) for entry in columns], len(layout.columns)
        if len(set(places)) < len(places):
            raise ValueError(sentence("columns", "must name every column once", list(columns)))
        features = sorted(place for place in places if place < count)
        products = sorted(place - count for place in places if place >= count)
    holding = [k for k in products if target.feature in layout.products[k].places]
    if target.feature in features or holding:
        rule = f"must not hold the target, {layout.features[target.feature]!r}"
        raise ValueError(sentence("columns", rule, None if columns is None else list(columns), "Leave it out."))
    if not features and not products:
        raise ValueError(sentence("columns", "must name at least one column", columns))
    return features, products


def _place_of(layout: Layout, entry: Any) -> int:
    """The position of a declared column, or, behind all of them, of a product: a pair of names or "a*b"."""
    if isinstance(entry, str) and (entry in layout.features or "*" not in entry):
        return feature_of(layout, entry, "columns")
    pair = entry.split("*") if isinstance(entry, str) else entry
    if isinstance(pair, (str, bytes)) or not isinstance(pair, Sequence) or len(pair) != 2:
        raise TypeError(sentence("columns", "must hold names of columns, and pairs of names for products", entry))
    places = {feature_of(layout, name, "columns") for name in pair}
    for k, product in enumerate(layout.products):
        if set(product.places) == places:
            return len(layout.features) + k
    names = [product.said(layout.features) for product in layout.products]
    remedy = "Products must be declared before a release: Bounds(..., products=[...])."
    raise ValueError(sentence("columns", f"must hold products among {names[:10]}", entry, remedy))


def _moved(product: Product, moved: dict[int, int]) -> Product:
    first, second = product.places
    return Product((moved[first], moved[second]), product.factors)


def _check_unmarked(layout: Layout, feature: int) -> None:
    """A missing number counts as the middle of its bounds, which is no value of a target."""
    if layout.columns[feature].missing == INDICATOR:
        rule = "must not be a column whose missing values are marked: they would count as the middle of its bounds"
        remedy = "Release rows in which it is known, or declare a constant that a missing value counts as."
        raise ValueError(sentence("target", rule, layout.features[feature], remedy))
