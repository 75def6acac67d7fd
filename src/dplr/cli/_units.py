"""Options of persons and weights, and the columns that they name."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from dplr.bounds.declared import Bounds
    from dplr.rows.files.kinds import Kind

Function = TypeVar("Function", bound=Callable[..., Any])
_OPTIONS = ("person", "rows_per_person", "weight", "weight_max")


def unit_options(function: Function) -> Function:
    """Whom a fit protects, and how much rows count; the bounds may say it too."""
    for option in (
        click.option("--weight-max", type=click.FloatRange(min=0, min_open=True), metavar="W",
            help="What weights are clipped to, from public knowledge: about twice the population over the sample."),
        click.option("--weight", metavar="COLUMN", help="The column of the rows' weights; with --weight-max."),
        click.option("--rows-per-person", type=click.IntRange(min=1), default=1, show_default=True,
            help="With --person: how many rows of one person may count whole. 1 has the least noise."),
        click.option("--person", metavar="COLUMN", help="The column of the persons' ids, read as text: what is "
            "protected is one person with all their rows. The number of records is then that of persons."),
    ):  # fmt: skip
        function = option(function)
    return function


def units_of(options: dict[str, Any]) -> dict[str, Any]:
    """The options of `unit_options`, taken out of others, as parameters of `dplr.plan`; `sample_weight` is a column.

    Raises
    ------
    ValueError
        One of --weight and --weight-max is given without the other.
    """
    person, rows, weight, cap = (options.pop(name) for name in _OPTIONS)
    if (weight is None) is not (cap is None):
        raise ValueError("`--weight` and `--weight-max` must both be given, or neither.")
    bounds = None if cap is None else (0, cap)
    return {"person": person, "rows_per_person": rows, "weight_bounds": bounds, "sample_weight": weight}


def unit_kinds(units: dict[str, Any], bounds: Bounds) -> dict[str, Kind]:
    """The kinds of the columns of ids and weights; raises ValueError where options and bounds contradict each other."""
    from dplr.fitting.units import UnitDeclaration
    from dplr.rows.files.kinds import NUMBER, Kind

    person = UnitDeclaration.of(units["person"], units["rows_per_person"], units["weight_bounds"], bounds).person
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
    from dplr.fitting.streaming import count_units
    from dplr.rows import row_weights
    from dplr.rows.streams.source import Stream

    person = units["person"] or bounds.person
    if isinstance(X, Stream):
        return count_units(X, person)
    return len(X) if person is None else row_weights(len(X), X[person], 1, None, None, None).units
