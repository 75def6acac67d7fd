"""``dplr bounds``."""

from __future__ import annotations

import click

from dplr.cli._faults import FILE, USAGE, Refused, blamed
from dplr.cli._files import check_output, write
from dplr.cli._learn import learn
from dplr.cli._options import EXISTING, format_options, note, output_option, overwrite_option
from dplr.cli._tables import column_types, format_of


@click.group(short_help="Bounds files: what is public about the columns.")
def bounds() -> None:
    """Bounds files say what is public about the columns."""


@bounds.command()
@click.argument("data", type=EXISTING)
@click.option("--target", metavar="COLUMN", help="The column to predict.")
@output_option
@overwrite_option
@format_options
def init(
    data: str, target: str | None, output: str, overwrite: bool, encoding: str, delimiter: str,
    spellings: tuple[str, ...],
) -> None:  # fmt: skip
    """Write a bounds file for the columns of DATA, all bounds empty.

    \b
    dplr bounds init people.csv --target income -o census.toml

    Names come from the header, and types from a Parquet file: no row is read, so that no bound can come from the data.
    Fill the file in from a codebook; until then every command refuses it. `dplr bounds learn` learns what no codebook
    has, for a share of the privacy budget.
    """
    check_output(output, overwrite, (data,))
    with blamed(USAGE):
        form = format_of(encoding, delimiter, spellings)
    with blamed(FILE):
        columns = column_types(data, form)
    if target is not None and target not in columns:
        raise Refused(f"`--target` must be a column of `{data}`; got {target!r}.", USAGE)
    from dplr.bounds.skeleton import skeleton

    write(output, skeleton(columns, target).encode())
    note(f"Wrote {output}: {len(columns)} columns. Fill in what is public about them, from a codebook.")


bounds.add_command(learn)
