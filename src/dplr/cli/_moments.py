"""``dplr moments``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from dplr.cli._faults import FILE, USAGE, Refused, blamed, visible
from dplr.cli._files import check_model_output, check_output
from dplr.cli._options import (
    EXISTING,
    RELATIONS,
    TABLE,
    bounds_option,
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
from dplr.cli._rows import table_file
from dplr.cli._summary import check_ending, full_option, level_option, show, table_options
from dplr.cli._tables import feature_kinds, read_table
from dplr.mechanisms.protocol import NOISES

if TYPE_CHECKING:
    from dplr.rows.files.kinds import Format


@click.group(short_help="Pay once, fit many: noisy moments of a table, and regressions from them.")
def moments() -> None:
    """Noisy moments of a table: released once, merged with those of others, fitted as often as you like.

    \b
    dplr moments release people.csv --bounds census.toml --eps 1 --delta 1e-6 --ledger budget.db -o m.json
    dplr moments merge north.json south.json -o all.json
    dplr moments fit all.json --target income --column age --column education
    """


@moments.command(short_help="Release the noisy moments of a file, such as CSV or Parquet.")
@click.argument("data", type=TABLE)
@bounds_option
@eps_option(required=True)
@click.option(
    "--delta",
    type=click.FloatRange(min=0, max=1, max_open=True),
    default=0.0,
    show_default=True,
    help="What may go wrong beyond eps; far below 1 / (number of records). With one the noise is much smaller.",
)
@click.option(
    "--noise",
    type=click.Choice(NOISES),
    default=NOISES[0],
    show_default=True,
    help="With a delta: the smaller of pure and Gaussian noise, or Gaussian noise, of which many releases cost less.",
)
@click.option(
    "--column",
    "columns",
    multiple=True,
    metavar="NAME",
    help="A column of the bounds to release; may be repeated. Default: all. Each one costs all others precision.",
)
@click.option(
    "--neighbouring",
    type=click.Choice(RELATIONS),
    default="replace_one",
    show_default=True,
    help="What is protected: what a record says (the number of records is public), or also that it is there.",
)
@click.option("--n-rows", type=click.IntRange(min=1), help="With add_remove: a public guess of the number of records.")
@click.option("--party", metavar="NAME", help="Who holds these records, for files that are merged. It is published.")
@click.option("--ledger", "ledger_path", type=EXISTING, help="The budget that pays; see `dplr ledger`.")
@share_option
@click.option("--label", metavar="TEXT", help="What the data are called in the ledger. It is published with it.")
@output_option
@overwrite_option
@format_options
@click.option("-q", "--quiet", is_flag=True, help="Print nothing but warnings and errors.")
def release(
    data: str, bounds: str, eps: float, delta: float, noise: str, columns: tuple[str, ...],
    neighbouring: str, n_rows: int | None, party: str | None, ledger_path: str | None,
    share: str | None, label: str | None, output: str, overwrite: bool, form: Format,
    quiet: bool,
) -> None:  # fmt: skip
    """Release the noisy second moments of the columns of DATA, a file or - for standard input, as a small file.

    \b
    dplr moments release people.csv --bounds census.toml --eps 1 --delta 1e-6 --ledger budget.db -o m.json

    The bounds name all columns, with whatever is a target later among the features, and have no table [target]. The
    file may be published: regressions of any of its columns on any others cost nothing further. Running the command
    again spends eps again. DATA may be whatever `dplr fit` reads.
    """
    check_model_output(output, overwrite, (data, bounds, ledger_path), moments=True)
    ledger = payer(ledger_path, label, share)
    held = keeping(ledger)
    facts: dict[str, Any] = {
        "eps": eps,
        "delta": delta,
        "noise": noise,
        "neighbouring": neighbouring,
        "n_rows": n_rows,
    }
    with told():
        with unspent():
            column_bounds = _declared(bounds, columns)
            with blamed(FILE):
                table = read_table(table_file(data), feature_kinds(column_bounds), form)
            with blamed(USAGE):
                _check_plan(column_bounds, table, facts, ledger, ledger_path)
        import dplr
        from dplr.moments.file import text_of

        def work() -> Any:
            return dplr.release_moments(table, bounds=column_bounds, party=party, ledger=held, **facts)

        released = paid(held, work)
    with uninterrupted():
        saved(released.save, output, overwrite, "release", lambda: click.echo(text_of(released), nl=False))
    if not quiet:
        click.echo(visible(str(released.privacy_)))
        click.echo(f"Wrote {visible(output)}.")
        if ledger is not None:
            where = ledger_path if share is None else f"share {share} of {ledger_path}"
            click.echo(visible(f"Left in {where}: {left_in(ledger)}."))
    if ledger is None and eps != float("inf"):
        note("No --ledger was given: nothing counted what this release spent.", quiet)


@moments.command(short_help="Merge files of disjoint parties.")
@click.argument("files", nargs=-1, required=True, type=EXISTING)
@output_option
@overwrite_option
@click.option("-q", "--quiet", is_flag=True, help="Print nothing but warnings and errors.")
def merge(files: tuple[str, ...], output: str, overwrite: bool, quiet: bool) -> None:
    """Merge FILES of moments into one, as if one party held all records. It costs nothing further.

    \b
    dplr moments merge north.json south.json -o all.json

    All parties must have released the same columns with the same bounds. Every person must be in the records of one
    party only: nobody but the parties can know, and the statement says so.
    """
    check_model_output(output, overwrite, files, moments=True)
    from dplr.model_file.file import MOMENTS, load

    with told():
        with blamed(FILE):
            first, *rest = (load(path, MOMENTS) for path in files)
        with blamed(USAGE):
            merged = first.merge(*rest)
        with blamed(FILE):
            merged.save(output)
    if not quiet:
        click.echo(visible(str(merged.privacy_)))
        click.echo(f"Wrote {visible(output)}.")


@moments.command(short_help="Fit a regression to a file of moments, and print its table.")
@click.argument("file", type=EXISTING)
@click.option("--target", required=True, metavar="COLUMN", help="The column that the model is about.")
@click.option(
    "--probability-of",
    "of_level",
    metavar="LEVEL",
    help="The model is about the probability of this level of the target, or of its bin.",
)
@click.option(
    "--column",
    "--columns",
    "columns",
    multiple=True,
    metavar="NAMES",
    help="Columns to regress on, separated by commas; may be repeated. a*b is a product. Default: all others.",
)
@click.option(
    "--l2",
    metavar="NUMBER",
    default="auto",
    show_default=True,
    help="Ridge of the coefficients that predict: auto, cv, or a number. The table has no ridge.",
)
@click.option(
    "--variances",
    type=click.Choice(("auto", "largest", "equal")),
    default="auto",
    show_default=True,
    help="Variances of the target that intervals take; auto: the largest that a label can have, equal ones of numbers.",
)
@click.option("--save", "model_file", metavar="FILE", help="Also write the model, for dplr summary and dplr predict.")
@table_options
@click.option("-o", "--output", metavar="FILE", help="Write the table: .txt, .csv, .json, .tex or .html.")
@overwrite_option
@click.option("-q", "--quiet", is_flag=True, help="Print nothing but the table, warnings and errors.")
def fit(
    file: str, target: str, of_level: str | None, columns: tuple[str, ...], l2: str, variances: str,
    model_file: str | None, full: bool, level: float, joint: bool, effect_bound: float | None, output: str | None,
    overwrite: bool, quiet: bool,
) -> None:  # fmt: skip
    """Fit a regression to a FILE of moments, and print its table: estimates with intervals. It costs nothing further.

    \b
    dplr moments fit m.json --target income --column age,education
    dplr moments fit m.json --target insured --probability-of yes --column age -o table.csv

    With --probability-of the slopes say by how much the probability changes with a unit of a column; they are not log
    odds. The intervals hold for a model that was chosen before the file was seen.
    """
    if output is not None:
        check_ending(output)
        check_output(output, overwrite, (file,))
    if model_file is not None:
        check_output(model_file, overwrite, (file, output))
    from dplr.model_file.file import MOMENTS, load

    with told():
        with blamed(FILE):
            released = load(file, MOMENTS)
        with blamed(USAGE):
            names = _listed(columns, released.columns)
            model = _model(released, target, of_level, names, {"l2": _ridge(l2), "variances": variances})
            table = model.summary(level=level, joint=joint, effect_bound=effect_bound)
    if model_file is not None:
        with blamed(FILE):
            model.save(model_file)
        note(f"Wrote {model_file}.", quiet)
    show(table, output, full, quiet)


@moments.command(short_help="Print means, deviations and correlations of the columns of a file of moments.")
@click.argument("file", type=EXISTING)
@full_option
@level_option
@click.option("-o", "--output", metavar="FILE", help="Write the tables: .txt, .csv, .json, .tex or .html.")
@overwrite_option
@click.option("-q", "--quiet", is_flag=True, help="Print nothing but the tables, warnings and errors.")
def describe(file: str, full: bool, level: float, output: str | None, overwrite: bool, quiet: bool) -> None:
    """Print means, shares of levels, standard deviations, variance inflation and correlations of the columns of a FILE
    of moments, with intervals that count sampling and noise. It costs nothing further.

    \b
    dplr moments describe m.json
    dplr moments describe m.json -o columns.tex

    Numbers count as clipped to their bounds. Where the released numbers do not tell a number, the table says so.
    """
    if output is not None:
        check_ending(output)
        check_output(output, overwrite, (file,))
    from dplr.model_file.file import MOMENTS, load

    with told():
        with blamed(FILE):
            released = load(file, MOMENTS)
        table = released.describe(level=level)
    show(table, output, full, quiet)


def _declared(path: str, columns: tuple[str, ...]) -> Any:
    """The bounds of the columns that are released."""
    import dplr
    from dplr.moments.release import declared

    with blamed(FILE):
        bounds = declared(dplr.Bounds.from_toml(path), None)
    with blamed(USAGE):
        return declared(bounds, columns) if columns else bounds


def _check_plan(bounds: Any, table: Any, facts: dict[str, Any], ledger: Any, path: str | None) -> None:
    """All that can be refused without the rows."""
    from dplr.moments.release import planned

    plan = planned(bounds.layout, None, table.num_rows, **facts)
    check_price(ledger, path, plan.statement)


def _listed(texts: Sequence[str], columns: Sequence[str]) -> list[str] | None:
    """Names, separated by commas except where a comma is part of a name; None for all columns."""
    groups = [[text] if text in columns else text.split(",") for text in texts]
    return [name for names in groups for name in names] or None


def _ridge(text: str) -> float | str:
    try:
        return float(text)
    except ValueError:
        return text


def _model(released: Any, target: str, level: str | None, columns: list[str] | None, options: Any) -> Any:
    """The model of a number, or of a level, whose text may stand for a number."""
    if level is None:
        return released.regress(target, columns, **options)
    for typed in _typed(level):
        try:
            return released.probability(target, columns, level=typed, **options)
        except ValueError as error:
            refused = error
            if not str(error).startswith("`level`"):
                break
    raise Refused(str(refused), USAGE)


def _typed(level: str) -> list[Any]:
    """A level as text, then as the number or the boolean that it may stand for."""
    booleans: list[Any] = [{"true": True, "false": False}[level.lower()]] if level.lower() in ("true", "false") else []
    try:
        return [level, *booleans, float(level)]
    except ValueError:
        return [level, *booleans]
