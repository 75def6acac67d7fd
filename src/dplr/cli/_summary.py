"""``dplr summary``."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import click

from dplr.cli._faults import FILE, USAGE, Refused, blamed, visible
from dplr.cli._files import check_output, write
from dplr.cli._options import EXISTING, note, overwrite_option, told

_FORMS: dict[str, Callable[[Any], str]] = {
    ".txt": lambda table: f"{table.to_text()}\n",
    ".csv": lambda table: str(table.to_csv()),
    ".json": lambda table: f"{table.to_json()}\n",
    ".tex": lambda table: str(table.to_latex()),
    ".html": lambda table: f"{table.to_html()}\n",
}


level_option = click.option(
    "--level", type=click.FloatRange(min=0.5, max=1, max_open=True), default=0.95, show_default=True,
    help="Probability of each interval.",
)  # fmt: skip
full_option = click.option("--full", is_flag=True, help="Print all lines and notes, and not the first of them alone.")


def table_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """The options of a regression table."""
    for option in (
        click.option("--effect-bound", type=click.FloatRange(min=0, min_open=True), metavar="NUMBER",
            help="Largest effect of a column that noise drowns, in units of the target, probability or log odds."),
        click.option("--joint", is_flag=True, help="All intervals hold together with the probability of the level."),
        level_option,
        full_option,
    ):  # fmt: skip
        function = option(function)
    return function


@click.command(short_help="The coefficients of a model file, with intervals or why there are none.")
@click.argument("model", type=EXISTING)
@click.option("--column", "columns", multiple=True, metavar="NAME",
    help="A column, or a coefficient, of the model in the table; may be repeated. Default: all.")  # fmt: skip
@table_options
@click.option("--statement", is_flag=True, help="Print the full privacy statement of the model, and no table.")
@click.option("-o", "--output", metavar="FILE", help=f"Write the table; the name ends in {', '.join(_FORMS)}.")
@overwrite_option
@click.option("-q", "--quiet", is_flag=True, help="Print nothing but the table, warnings and errors.")
def summary(
    model: str, columns: tuple[str, ...], full: bool, level: float, joint: bool, effect_bound: float | None,
    statement: bool, output: str | None, overwrite: bool, quiet: bool,
) -> None:  # fmt: skip
    """Print the coefficients of a model file: with intervals that count sampling and privacy noise, where its release
    allows them; else with the noise of each, where that is known, and why there are no intervals.

    \b
    dplr summary model.json
    dplr summary model.json --full
    dplr summary model.json --column age --column education -o table.tex
    dplr summary model.json --statement

    The table costs no further privacy and may be published with the model. Options of intervals are refused for a model
    that has none. Where the released numbers do not bound a coefficient, the table says so.
    """
    if output is not None:
        check_ending(output)
        check_output(output, overwrite, (model,))
    from dplr.model_file.file import MODELS, load
    from dplr.summary.render import FIRST

    with told():
        with blamed(FILE):
            est = load(model, *MODELS)
        if statement:
            click.echo(visible(str(est.privacy_)))
            return
        with blamed(USAGE):
            most = None if full or output is not None else FIRST
            table = est._summary(list(columns) or None, level, joint, effect_bound, most)
    show(table, output, full, quiet)


def check_ending(output: str) -> None:
    """Refuse a name that does not say what form the table shall have."""
    if os.path.splitext(output)[1].lower() not in _FORMS:
        raise Refused(f"`--output` must end in {', '.join(_FORMS)}; got {output}.", USAGE)


def show(table: Any, output: str | None, full: bool, quiet: bool) -> None:
    """Print a table, or write all of it."""
    if output is None:
        click.echo(visible(table.to_text() if full else str(table)))
        return
    write(output, _FORMS[os.path.splitext(output)[1].lower()](table).encode())
    note(f"Wrote {output}.", quiet)
