"""``dplr check``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from dplr.cli._faults import FILE, USAGE, Refused, blamed, visible
from dplr.cli._options import (
    TABLE,
    aim_option,
    bounds_option,
    delta_option,
    eps_option,
    format_options,
    mechanism_option,
    told,
)
from dplr.cli._rows import table_file
from dplr.cli._silence import expected_table, lines_of
from dplr.cli._tables import feature_kinds, read_table, target_kind
from dplr.cli._units import check_apart, persons_in, unit_kinds, unit_options, units_of
from dplr.mechanisms.automatic import AUTO
from dplr.mechanisms.protocol import AIMS
from dplr.problem.losses import LOSSES

if TYPE_CHECKING:
    from dplr.rows.files.kinds import Format


@click.command(short_help="Compare a file with its bounds; spends nothing.")
@click.argument("data", type=TABLE)
@click.option("--target", metavar="COLUMN", help="The column to predict; without it only the features are looked at.")
@bounds_option
@click.option("--model", type=click.Choice(tuple(LOSSES)), default="logistic", show_default=True,
    help="Classes: logistic or svm. A number: linear.")  # fmt: skip
@eps_option(required=False)
@delta_option
@mechanism_option
@aim_option
@unit_options
@format_options
def check(
    data: str, target: str | None, bounds: str, form: Format, **options: Any,
) -> None:  # fmt: skip
    """Say what a fit to DATA would refuse, and what looks wrong. Spends nothing and releases nothing.

    \b
    dplr check people.csv --target income --bounds census.toml    (DATA is whatever `dplr fit` reads)

    It shows missing values, shares outside the bounds, labels and levels that were not declared or are only spelt
    otherwise, bounds in other units than the data, and bounds that are the extremes of the data; of persons their
    number, their rows and ids that look alike, and weights above their cap.

    With --eps it also says which lines of the table of coefficients of a fit with this eps, --delta, --mechanism and
    --aim may say nothing, from the bounds and the number of records (or persons) alone.

    What it prints is NOT private: it is for whoever may see the data. Correct units and spelling by it. Bounds that you
    change by what it shows come from the data, and void the guarantee.

    Exit code 3 where a fit would refuse the data.
    """
    import dplr

    facts = {name: options.pop(name) for name in ("eps", "delta", "mechanism", "aim", "model")}
    eps, model = facts["eps"], facts["model"]
    if eps is None and (facts["delta"] or (facts["mechanism"], facts["aim"]) != (AUTO, AIMS[0])):
        raise Refused("`--eps` is required with --delta, --mechanism and --aim: they are of a fit.", USAGE)
    with told():
        units = units_of(options)
        with blamed(FILE):
            column_bounds = dplr.Bounds.from_toml(bounds)
        with blamed(USAGE):
            kinds = feature_kinds(column_bounds)
            if target is not None:
                kinds[target] = target_kind(column_bounds, LOSSES[model].classification)
            check_apart(further := unit_kinds(units, column_bounds), target)
        with blamed(FILE):
            table = read_table(table_file(data), kinds | further, form)
            X, y = (table, None) if target is None else (table.drop_columns([target]), table[target])
            findings = dplr.check(X, y, bounds=column_bounds, model=model, **units)
            n_rows = persons_in(table, units, column_bounds) if eps is not None else None
        lines = []
        if eps is not None and findings.passed:
            facts |= {"bounds": column_bounds, "person": units["person"]}
            with blamed(USAGE):
                lines = lines_of(expected_table(facts, n_rows))
    for line in (str(findings), *lines):
        click.echo(visible(line))
    if not findings.passed:
        raise Refused("a fit would refuse these data.", FILE)
