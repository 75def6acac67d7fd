"""Which columns of a table are learned, and as what: by the types that columns declare, never by their values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from numpy.typing import NDArray

from dplr._kit.validation import sentence
from dplr.bounds.beside import check_name
from dplr.quantiles.grid import Kind
from dplr.rows import Table
from dplr.rows.tables.values import declared_kind

_OF_TYPES = {
    "integer": Kind.INTEGER, "number": Kind.NUMBER, "flag": Kind.FLAG, "text": Kind.LEVELS, "date": Kind.DATE,
    "duration": Kind.DURATION,
}  # fmt: skip
_AS_NUMBERS = (Kind.NUMBER, Kind.INTEGER, Kind.FLAG)
_REMEDY = "Say what each holds, such as columns={'age': 'integer', 'income': 'number', 'race': 'levels'}."


def learned_kinds(table: Table | NDArray[Any], declared: Any, apart: Sequence[str]) -> dict[str, Kind]:
    """The kind of each column that is learned.

    Parameters
    ----------
    table : the rows, or a table without rows that has their columns.
    declared : a mapping of names to kinds, a list of names, or None for all columns by their types.
    apart : columns whose bounds are declared.

    Raises
    ------
    ValueError, TypeError
        A column is not there, or of a type that does not say what it holds, or of another type than was declared.
    """
    types = _types(table)
    if declared is None:
        names: Sequence[str] = [name for name in types if name not in apart]
        declarations: Mapping[str, Any] = {}
    else:
        names, declarations = _asked(declared)
    if not names:
        raise ValueError(sentence("columns", "must have at least one column to learn", declared))
    for name in names:
        check_name("columns", name)
    lacking = [name for name in names if name not in types]
    if lacking:
        raise ValueError(sentence("columns", f"must name columns of X, which has {list(types)[:20]}", lacking))
    twice = [name for name in names if name in apart]
    if twice:
        raise ValueError(sentence("columns", "must not be in the bounds too", twice, "Declare a column, or learn it."))
    return {name: _kind(name, types[name], declarations.get(name)) for name in names}


def _types(table: Table | NDArray[Any]) -> dict[str, Kind | None]:
    if isinstance(table, Table):
        kinds = [declared_kind(table.dtype(place)) for place in range(len(table.columns))]
        return {
            name: None if kind is None else _OF_TYPES[kind] for name, kind in zip(table.columns, kinds, strict=True)
        }
    letters = {"i": Kind.INTEGER, "u": Kind.INTEGER, "f": Kind.NUMBER, "b": Kind.FLAG}
    return {f"column {place}": letters.get(table.dtype.kind) for place in range(table.shape[1])}


def _asked(declared: Any) -> tuple[Sequence[str], Mapping[str, Any]]:
    if isinstance(declared, Mapping):
        return list(declared), declared
    if isinstance(declared, Sequence) and not isinstance(declared, str):
        return list(declared), {}
    raise TypeError(sentence("columns", "must be a list of names, or a mapping of names to kinds", declared, _REMEDY))


def _kind(name: str, of_type: Kind | None, asked: Any) -> Kind:
    """The kind of one column; refused where its type cannot hold it."""
    if asked is None:
        if of_type is None:
            raise ValueError(sentence("columns", f"must say what {name!r} holds, whose type does not", None, _REMEDY))
        return of_type
    try:
        kind = Kind(asked)
    except ValueError:
        rule = f"must be one of {', '.join(repr(str(kind)) for kind in Kind)} for {name!r}"
        raise ValueError(sentence("columns", rule, asked, _REMEDY)) from None
    fits = of_type is None or kind is of_type or (kind in _AS_NUMBERS and of_type in _AS_NUMBERS)
    if not fits:
        remedy = "Convert the column first: dates as dates, codes as text."
        raise ValueError(sentence("columns", f"must be {str(of_type)!r} for {name!r}, by its type", asked, remedy))
    return kind


def numbers_of(kinds: Mapping[str, Kind]) -> tuple[str, ...]:
    """Columns whose bounds are chosen, dates among them."""
    return tuple(name for name, kind in kinds.items() if kind not in (Kind.FLAG, Kind.LEVELS))


def texts_of(kinds: Mapping[str, Kind]) -> tuple[str, ...]:
    """Columns of text."""
    return tuple(name for name, kind in kinds.items() if kind is Kind.LEVELS)
