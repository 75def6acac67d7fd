"""Bounds as a constructor call, and as a table of columns for notebooks."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

from dplr._kit import markup
from dplr._kit.validation import capital
from dplr.bounds.kinds import INDICATOR, Column, Levels
from dplr.bounds.products import write_products
from dplr.bounds.provenance import KEY
from dplr.bounds.toml import shown, write_target
from dplr.bounds.units import UnitColumns

if TYPE_CHECKING:
    from dplr.bounds.declared import Bounds


def as_call(bounds: Bounds) -> str:
    """The constructor call."""
    values = [shown(column) for column in bounds.columns]
    features: object = tuple(values) or None if bounds.names is None else dict(zip(bounds.names, values, strict=True))
    arguments = repr(features)
    if bounds._target is not None:
        kind, target = bounds._target
        arguments += f", target={target if kind == 'pair' else write_target(kind, target)!r}"
    if bounds.products:
        arguments += f", products={write_products(bounds.products, bounds.names)}"
    for name, value in _units(bounds).items():
        arguments += f", {name}={value!r}"
    if bounds._provenance is not None:
        arguments += f", {KEY}={bounds._provenance.to_dict()!r}"
    return f"Bounds({arguments})"


def as_html(bounds: Bounds) -> str:
    """A line for each column, and below it the target and whatever else is declared."""
    features = bounds.layout.features
    rows = [
        (name, _values(column), _missing(column)) for name, column in zip(features, bounds.columns, strict=True)
    ]  # fmt: skip
    learned = [] if bounds._provenance is None else [f"{capital(bounds._provenance.fact)}."]
    return markup.piece(
        f"Bounds: {len(rows):,} columns" if rows else "Bounds: the unit ball",
        markup.excerpt(("", "declared", "a missing value"), rows, "columns", words=2),
        markup.facts(_others(bounds)),
        *map(markup.paragraph, (*learned, "All of it is assumed public.")),
    )


def _values(column: Column) -> str:
    """Bounds, bins or levels in words, the first ones of many levels."""
    if not isinstance(column, Levels) or column.kind != "one_hot" or len(column.levels) <= markup.MOST:
        return str(column)
    first = replace(column, levels=column.levels[: markup.MOST], spellings=column.spellings[: markup.MOST])
    return f"{first}, and {len(column.levels) - markup.MOST:,} more"


def _missing(column: Column) -> str:
    if column.missing is None:
        return "is refused"
    return "has a column of its own" if column.missing == INDICATOR else f"counts as {column.missing}"


def _others(bounds: Bounds) -> Iterator[tuple[str, str]]:
    """The target, products, and columns that are not features."""
    if bounds._target is not None:
        yield "target", _target(*bounds._target)
    for one, two in write_products(bounds.products, bounds.layout.features):
        yield "products", f"{one} times {two}"
    for name, value in _units(bounds).items():
        yield name, str(value)


def _target(kind: str, values: tuple[Any, ...]) -> str:
    match kind:
        case "pair":
            return f"{values[0]}, {values[1]} (bounds of a number, or two labels)"
        case "classes":
            return f"one of {', '.join(map(str, values))}"
        case "range":
            return f"in [{values[0]:g}, {values[1]:g}]"
        case _:
            return f"whether it is above {values[0]:g}"


def _units(bounds: Bounds) -> dict[str, Any]:
    """Declared facts of ids and weights."""
    return {name: value for name, value in asdict(bounds._units).items() if value != getattr(UnitColumns(), name)}
