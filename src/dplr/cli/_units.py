"""Options of persons and weights, and the columns that they name."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from dplr.bounds.declared import Bounds
    from dplr.rows.files.kinds import Kind

Function = TypeVar("Function", bound=Callable[..., Any])


def person_option(function: Function) -> Function:
    """The column of ids; the bounds may name it, and say how rows count."""
    return click.option("--person", metavar="COLUMN", help="The column of the persons' ids, read as text: what is "
        "protected is one person with all their rows. The number of records is then that of persons. The bounds may "
        "say how many rows of a person count whole: rows_per_person = 2.")(function)  # fmt: skip


def unit_options(function: Function) -> Function:
    """The columns of ids and of weights; the bounds may name them, and have the numbers."""
    cap = "The column of the rows' weights; the bounds say what they are clipped to: weight = { max = 200 }."
    weight = click.option("--weight", metavar="COLUMN", help=cap)
    return person_option(weight(function))


def units_of(options: dict[str, Any]) -> dict[str, Any]:
    """The options of `unit_options`, taken out of others, as parameters of `dplr.fit`."""
    return {"person": options.pop("person"), "sample_weight": options.pop("weight")}


def unit_kinds(units: dict[str, Any], bounds: Bounds) -> dict[str, Kind]:
    """The kinds of the columns of ids and weights; raises ValueError where options and bounds contradict each other."""
    from dplr.fitting.data import declared_unit
    from dplr.rows.files.kinds import NUMBER, Kind

    person = declared_unit(units["person"], bounds)[0].person
    weight = units["sample_weight"] or bounds.weight
    if bounds.weight not in (None, weight):
        raise ValueError(f"`--weight` must be {bounds.weight}, as the bounds say; got {weight}. Leave it out.")
    ids = Kind(text=True)  # compared as they are written
    return ({person: ids} if person else {}) | ({weight: NUMBER} if weight else {})


def check_apart(kinds: dict[str, Kind], target: str | None) -> None:
    """Raise ValueError where the target is one of these columns."""
    if target in kinds:
        raise ValueError(f"`{target}` is the target, and must not hold ids or weights too.")


def persons_in(X: Any, units: dict[str, Any], bounds: Bounds) -> int:
    """How many persons there are, or rows without persons; raises ValueError for rows without an id."""
    from dplr.fitting.data import count_units

    return count_units(X, units["person"] or bounds.person)
