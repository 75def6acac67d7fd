"""The levels that a table would be silent about, as one level: of columns whose shares are public."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Any

from dplr.bounds.columns import Levels, read_column, write_column
from dplr.bounds.declared import with_columns
from dplr.fitting.planning import PublicFacts
from dplr.planner.assumptions import Assumptions
from dplr.planner.laws import Codes, ColumnLaw

_NAMED = 3  # levels in the name of a merged one


def merging(
    facts: PublicFacts, assume: Assumptions, laws: Sequence[ColumnLaw], silent: Collection[str]
) -> tuple[PublicFacts, Assumptions, list[str]] | None:
    """Facts and assumptions in which the silent levels of each column are one, and the names of their coefficients.

    None where no column has several silent levels and shares that somebody declared. A sample has the shares of its
    rows; else `laws` has those of every column.
    """
    layout = facts.layout
    if layout is None or facts.bounds is None:
        return None
    columns, shares, names = {}, dict(assume.shares or {}), []
    for place, (name, column) in enumerate(zip(layout.features, layout.columns, strict=True)):
        if not isinstance(column, Levels) or column.kind != "one_hot":
            continue
        rare = [level for level in column.levels if f"{name}={level}" in silent]
        if len(rare) < 2 or not (assume.sample or name in shares or column.least_share is not None):
            continue
        group = " or ".join(map(str, rare[:_NAMED]))
        group += f" or {len(rare) - _NAMED} others" if len(rare) > _NAMED else ""
        columns[place] = _merged(name, column, rare, group)
        names.append(f"{name}={group}")
        if name in shares:
            shares[name] = _shares(column, laws[place], rare, group)
    if not columns:
        return None
    merged = replace(facts, bounds=with_columns(facts.bounds, columns))
    return merged, replace(assume, shares=shares or None), names


def _merged(name: str, column: Levels, rare: Sequence[Any], group: str) -> Levels:
    written = write_column(column)
    owners = (column.levels[place] for place in column.positions)
    values = [value for value, level in zip(column.values, owners, strict=True) if level in rare]
    groups = {key: entries for key, entries in written.get("merge", {}).items() if key not in rare}
    written |= {"merge": groups | {group: values}}
    if column.missing in rare:
        written["missing"] = group
    merged = read_column(f"column {name!r}", written)
    assert isinstance(merged, Levels)
    return merged


def _shares(column: Levels, law: ColumnLaw, rare: Sequence[Any], group: str) -> dict[Any, float]:
    assert isinstance(law, Codes)
    pairs = list(zip(column.levels, law.shares, strict=True))
    rest = {level: share for level, share in pairs if level not in rare}
    return rest | {group: sum(share for level, share in pairs if level in rare)}
