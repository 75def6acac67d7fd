"""``dplr bounds learn``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from dplr._kit.validation import sentence
from dplr.cli._faults import FILE, USAGE, Refused, blamed, visible
from dplr.cli._files import check_output
from dplr.cli._options import (
    EXISTING,
    RELATIONS,
    TABLE,
    delta_option,
    eps_option,
    format_options,
    left_in,
    note,
    output_option,
    overwrite_option,
    share_option,
    told,
)
from dplr.cli._paying import check_price, keeping, paid, payer, saved, uninterrupted, unspent
from dplr.cli._rows import named_files, table_file
from dplr.cli._tables import column_types
from dplr.cli._units import unit_kinds, unit_options, units_of

if TYPE_CHECKING:
    from dplr.rows.files.kinds import Format, Kind


@click.command(short_help="Learn bounds from private rows: a release that costs eps.")
@click.argument("data", type=TABLE)
@eps_option(required=True)
@delta_option
@click.option(
    "--column",
    "columns",
    multiple=True,
    metavar="NAME=KIND",
    help="A column to learn, and what it holds: number, integer, levels (text), date, duration or flag; may be "
    "repeated. Required for CSV, whose types are never read from the rows; of Parquet files all are the default.",
)
@click.option("--target", metavar="COLUMN", help="The column that models will predict, which is learned too.")
@click.option(
    "--outside",
    type=click.FloatRange(1e-4, 0.25),
    default=0.01,
    show_default=True,
    help="Share of the records that may lie beyond each bound.",
)
@click.option("--bounds", type=EXISTING, help="TOML file with bounds that are public: they cost nothing and stay.")
@unit_options
@click.option(
    "--rows-per-person",
    type=click.IntRange(min=1),
    default=1,
    show_default=True,
    help="With --person and without --bounds: how many rows of one person may count whole. 1 has the least noise.",
)
@click.option("--weight-max", type=click.FloatRange(min=0, min_open=True), metavar="W",
    help="With --weight and without --bounds: what weights are clipped to, from public knowledge: about twice the "
    "population over the sample.")  # fmt: skip
@click.option(
    "--neighbouring",
    type=click.Choice(RELATIONS),
    default="replace_one",
    show_default=True,
    help="What is protected: what a record says (the number of records is public), or also that it is there.",
)
@click.option("--n-rows", type=click.IntRange(min=1), help="With add_remove: a public guess of the number of records.")
@click.option("--ledger", "ledger_path", type=EXISTING, help="The budget that pays; see `dplr ledger`.")
@share_option
@click.option("--label", metavar="TEXT", help="What the data are called in the ledger. It is published with it.")
@output_option
@overwrite_option
@format_options
@click.option("-q", "--quiet", is_flag=True, help="Print nothing but warnings and errors.")
def learn(
    data: str, columns: tuple[str, ...], bounds: str | None, ledger_path: str | None, share: str | None,
    label: str | None, output: str, overwrite: bool, form: Format, quiet: bool, **options: Any,
) -> None:  # fmt: skip
    """Learn the bounds of columns of DATA, a file that `dplr fit` reads or - for standard input: a bounds file.

    \b
    dplr bounds learn people.csv --eps 0.1 --ledger budget.db --column age=integer --column income=number -o census.toml

    It is a private release: it spends eps each time, and the file may be published. Do you know the range of a column,
    from a codebook or from what everybody knows? Then declare it: that costs nothing. The file says what was learned
    and what it cost. A column about which the noise allows nothing to be said is a comment in the file.
    """
    check_output(output, overwrite, (data, bounds, ledger_path))
    with blamed(USAGE):
        kinds = _kinds(columns)
        units = units_of(options)
    ledger = payer(ledger_path, label, share)
    held = keeping(ledger)
    with told():
        import dplr
        from dplr.ledger.handle import as_ledger
        from dplr.noise import source_of
        from dplr.quantiles.release import planned

        with unspent():
            with blamed(FILE):
                numbers = {name: options.pop(name) for name in ("rows_per_person", "weight_max")}
                declared = dplr.Bounds(None, **numbers) if bounds is None else dplr.Bounds.from_toml(bounds)
                if bounds is not None and numbers != {"rows_per_person": 1, "weight_max": None}:
                    raise Refused("`--rows-per-person` and --weight-max belong into the file of --bounds.", USAGE)
                rows, kinds = _rows(data, kinds, unit_kinds(units, declared), form)
            with blamed(USAGE):
                release = planned(rows, columns=kinds, bounds=declared, **units, **options)
                check_price(ledger, ledger_path, release.plan.statement)
        learned = paid(held, lambda: release.paid(as_ledger(held), source_of(None)))
    with uninterrupted():
        saved(lambda path: _write(learned, path), output, overwrite, "bounds", lambda: click.echo(str(learned)))
    if not quiet:
        click.echo(visible(str(learned)))
        click.echo(f"Wrote {visible(output)}.")
        if ledger is not None:
            where = ledger_path if share is None else f"share {share} of {ledger_path}"
            click.echo(visible(f"Left in {where}: {left_in(ledger)}."))
    if ledger is None:
        note("No --ledger was given: nothing counted what this release spent.", quiet)


def _write(learned: Any, path: str) -> None:
    from dplr._kit.files import write_whole

    write_whole(path, _text(learned).encode())


def _text(learned: Any) -> str:
    """The bounds file; where nothing can be said about any feature, its comments alone."""
    try:
        text: str = learned.to_toml()
    except ValueError:
        text = "".join(f"# {line}\n" for line in str(learned).splitlines())
    return text


def _kinds(texts: Sequence[str]) -> dict[str, str] | None:
    """Kinds by names of columns, whose names may hold an equals sign; None for all columns by their types."""
    from dplr.quantiles.grid import Kind

    pairs = [text.rpartition("=") for text in texts]
    if any(not name or kind not in list(Kind) for name, _, kind in pairs):
        raise ValueError(sentence("--column", f"must be NAME=KIND, and a kind one of {', '.join(Kind)}", list(texts)))
    if len({name for name, _, _ in pairs}) < len(pairs):
        raise ValueError(sentence("--column", "must name every column once", list(texts)))
    return {name: kind for name, _, kind in pairs} or None


def _rows(
    path: str, kinds: dict[str, str] | None, further: dict[str, Kind], form: Format
) -> tuple[Any, dict[str, str] | None]:
    """The rows as a stream, and the kinds of the columns that are learned."""
    from dplr.rows.files.kinds import Kind
    from dplr.rows.streams.source import Stream, file_parts

    file = table_file(path)
    files, types = named_files(file), {name: column.kind for name, column in column_types(file, form).items()}
    if kinds is None and set(types.values()) == {"unknown"}:
        rule = "must name the columns of a CSV file and what they hold"
        raise ValueError(sentence("--column", rule, "none", "Write --column age=integer, and so on."))
    names = [name for name in (types if kinds is None else kinds) if name not in further]
    of_file = {name: Kind(text=kinds is not None and kinds[name] == "levels") for name in names}
    return Stream(file_parts(files, [*names, *further], of_file | further, form)), kinds
