"""Checks for a strict ledger, before the reservation: types whose conversion cannot fail, whatever the values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dplr._kit.validation import sentence
from dplr.bounds.columns import Levels
from dplr.bounds.declared import Bounds
from dplr.fitting.intake import RawRows
from dplr.privacy.guarantees import Neighbouring
from dplr.rows import Table, as_table, declared_kinds, declares_text

_RULE = "must be an array or a frame of numbers{} with a strict ledger"


def check_types(X: Any, y: Any, bounds: Bounds | None) -> None:
    """Numbers for X, or text with declared levels; numbers or texts for y: arrays or frames, never lists or objects."""
    check_columns(X, bounds)
    _check("y", y, declared_kinds(y), "biufUS", _RULE.format(""))


def check_columns(X: Any, bounds: Bounds | None) -> None:
    """Types of X alone. Columns that the bounds do not name are not read, and may be anything."""
    kinds, table = declared_kinds(X), as_table(X)
    if table is not None:
        kinds = [kind for j, kind in enumerate(kinds) if not _is_settled(table, j, bounds)]
    _check("X", X, kinds, "biuf", _RULE.format(", or of text with declared levels,"))


def check_given(data: RawRows, neighbouring: str, n_rows: int | None) -> None:
    """Refuse ids that are not columns of numbers or text, and weights that are not numbers; lists and objects too.

    Where the number of persons is public it is declared: rows without an id do not say how many they are of, so no
    count of ids is the same for all tables that differ in one person (unit.md, lemma 7).
    """
    if data.unit.person is not None and neighbouring == Neighbouring.REPLACE_ONE and n_rows is None:
        rule = "must be declared where a strict ledger protects persons under replace_one"
        remedy = (
            "Counted ids would tell whether one is missing. Declare the number of persons, which is public, or use "
        )
        raise ValueError(sentence("n_rows", rule, None, f"{remedy}neighbouring='add_remove'."))
    if data.ids is not None and not declares_text(data.ids):
        rule = "must be a column of numbers or text with a strict ledger"
        _check("person", data.ids, declared_kinds(data.ids), "iufU", rule)
    if data.weights is not None:
        _check("sample_weight", data.weights, declared_kinds(data.weights), "biuf", _RULE.format(""))


def _is_settled(table: Table, place: int, bounds: Bounds | None) -> bool:
    """Whether no value of a column matters: it is not read; or it is text, and each text or gap counts as something."""
    if bounds is None:
        return False
    name = table.columns[place]
    if bounds.names is not None and name not in bounds.names:
        return True
    position = place if bounds.names is None else bounds.names.index(name)
    column = bounds.columns[position] if position < len(bounds.columns) else None
    if not (table.is_text(place) and isinstance(column, Levels) and column.text):
        return False
    if column.missing is None:
        rule = f"must say what a missing value of {name!r} counts as, with a strict ledger"
        remedy = "Else the fit fails where one is missing, and that is seen. Declare missing='indicator', or a level."
        raise ValueError(sentence("bounds", rule, str(column), remedy))
    return True


def _check(name: str, value: Any, codes: Sequence[str], kinds: str, rule: str) -> None:
    if any(kind not in kinds for kind in codes):
        remedy = "Convert it first: whether that fails depends on the values, which a strict ledger does not show."
        raise TypeError(sentence(name, rule, type(value).__name__, remedy))
