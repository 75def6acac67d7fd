"""``dplr report``."""

from __future__ import annotations

import click

from dplr.cli._faults import FILE, USAGE, blamed
from dplr.cli._files import check_output, write
from dplr.cli._options import EXISTING, note, output_option, overwrite_option, told


@click.command(short_help="One HTML page about a model file.")
@click.argument("model", type=EXISTING)
@output_option
@overwrite_option
@click.option("--title", default="A private model", show_default=True, help="Heading; it is published with the page.")
@click.option("-q", "--quiet", is_flag=True, help="Print nothing but warnings and errors.")
def report(model: str, output: str, overwrite: bool, title: str, quiet: bool) -> None:
    """Write one HTML page about a model file: what was released, what that promises, how to read it.

    \b
    dplr report model.json -o report.html --title "Who earns more than 50,000 dollars?"

    The page may be published with the model: it holds what was released and what was public before. It loads nothing
    and runs no script. Needs the extra `plots`.
    """
    check_output(output, overwrite, (model,))
    from dplr.model_file.file import MODELS, load

    with told():
        with blamed(FILE):
            est = load(model, *MODELS)
        with blamed(USAGE):
            from dplr.report import report_html

            page = report_html(est, title=title)
    write(output, page.encode())
    note(f"Wrote {output}.", quiet)
