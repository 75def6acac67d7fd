"""``dplr bounds``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from dplr.cli._faults import FILE, USAGE, Refused, blamed
from dplr.cli._files import check_output, write
from dplr.cli._learn import learn
from dplr.cli._options import TABLE, format_options, note, output_option, overwrite_option
from dplr.cli._rows import table_file
from dplr.cli._tables import column_types

if TYPE_CHECKING:
    from dplr.rows.files.kinds import Format


@click.group(short_help="Bounds files: what is public about the columns.")
def bounds() -> None:
    """Bounds files say what is public about the columns."""


@bounds.command()
@click.argument("data", type=TABLE)
@click.option("--target", metavar="COLUMN", help="The column to predict.")
@output_option
@overwrite_option
@format_options
def init(
    data: str, target: str | None, output: str, overwrite: bool, form: Format,
) -> None:  # fmt: skip
    """Write a bounds file for the columns of DATA, all bounds empty.

    \b
    dplr bounds init people.csv --target income -o census.toml

    DATA is a file that `dplr fit` reads, or - for standard input. Names come from the header, and types from Parquet,
    SPSS and Stata files: no row is read, so that no bound can come from the data. Value labels of SPSS and Stata are
    offered as levels, in comments. Fill the file in from a codebook; until then every command refuses it.
    `dplr bounds learn` learns what no codebook has, for a share of the privacy budget.
    """
    check_output(output, overwrite, (data,))
    with blamed(FILE):
        declared = column_types(table_file(data), form)
    columns = {name: column.kind for name, column in declared.items()}
    if target is not None and target not in columns:
        raise Refused(f"`--target` must be a column of `{data}`; got {target!r}.", USAGE)
    from dplr.bounds.toml import skeleton

    labels = {name: column.labels for name, column in declared.items()}
    write(output, skeleton(columns, target, labels).encode())
    note(f"Wrote {output}: {len(columns)} columns. Fill in what is public about them, from a codebook.")


bounds.add_command(learn)
