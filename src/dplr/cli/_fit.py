"""``dplr fit``."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Any

import click

from dplr._kit.warnings import muted
from dplr.cli._faults import FILE, USAGE, Refused, blamed, visible
from dplr.cli._files import check_model_output
from dplr.cli._options import (
    EXISTING,
    bars_wanted,
    bounds_option,
    eps_option,
    format_options,
    left_in,
    note,
    output_option,
    overwrite_option,
    parameters_of,
    privacy_options,
    promise,
    public_option,
    share_option,
    statement_option,
    told,
)
from dplr.cli._paying import check_price, keeping, paid, payer, saved, uncounted, uninterrupted, unspent
from dplr.cli._rows import named_files, read_rows, table_file
from dplr.cli._silence import check_table
from dplr.cli._tables import feature_kinds, read_table, target_kind
from dplr.cli._units import check_apart, persons_in, unit_kinds, unit_options, units_of
from dplr.problem.losses import LOSSES

if TYPE_CHECKING:
    from dplr.bounds.declared import Bounds
    from dplr.ledger.handle import Ledger
    from dplr.ledger.keeping import Keeping
    from dplr.rows.files.kinds import Format


@click.command(short_help="Fit a private model to a file, such as CSV or Parquet.")
@click.argument("data", metavar="DATA")
@click.option("--target", metavar="COLUMN", help="The column to predict.")
@click.option(
    "--formula",
    metavar="TEXT",
    help="In place of --target: a target, and columns and products of the bounds, such as 'income ~ age*sex'.",
)
@bounds_option
@eps_option(required=True)
@privacy_options
@public_option
@unit_options
@click.option("--n-rows", type=click.IntRange(min=1), help="With add_remove: a public guess of the number of records.")
@click.option("--ledger", "ledger_path", type=EXISTING, help="The budget that pays; see `dplr ledger`.")
@share_option
@click.option("--label", metavar="TEXT", help="What the data are called in the ledger. It is published with it.")
@output_option
@overwrite_option
@format_options
@click.option(
    "--keep",
    type=click.Path(exists=True, file_okay=False, writable=True),
    metavar="FOLDER",
    help="Where a fit keeps rows of large CSV files, and rows that it reads hundreds of times, while it runs. By "
    "default the system's folder of temporary files.",
)
@click.option("--progress/--no-progress", default=None, help="Bars; by default where standard error is a terminal.")
@statement_option
@click.option("-q", "--quiet", is_flag=True, help="Print nothing but warnings and errors.")
def fit(
    data: str, target: str | None, formula: str | None, bounds: str, n_rows: int | None, ledger_path: str | None,
    share: str | None, label: str | None, output: str, overwrite: bool, form: Format, keep: str | None,
    progress: bool | None, statement: bool, quiet: bool, **options: Any,
) -> None:  # fmt: skip
    """Fit a private model to DATA: a file with one record per row, a folder of such files, a pattern in quotes, or -
    for standard input. Files are CSV with a header, plain or inside gzip or zstd, Parquet, SPSS (.sav) or Stata (.dta);
    their beginning says which, and not their name. Large files are read batch by batch, as often as the mechanism needs
    them. A copy of standard input is kept on the disk while the command runs, in a file that only its user can read.

    \b
    dplr fit people.csv --target income --bounds census.toml --eps 0.8 --ledger budget.db -o model.json
    dplr fit people.csv --formula 'income ~ age*C(sex)' --bounds census.toml --model linear --eps 0.8 -o model.json
    dplr fit 'people/*.parquet' --target income --bounds census.toml --mechanism ngd --eps 1 --delta 1e-6 -o model.json
    dplr fit people.csv.gz --delimiter ';' --decimal , --target income --bounds census.toml --eps 0.8 -o model.json
    unzip -p people.zip | dplr fit - --target income --bounds census.toml --eps 0.8 -o model.json

    With --aim coefficients the command says before it pays which lines of the table may say nothing, and what would
    make lines speak. It refuses a fit where all of them would be silent even if columns fill their bounds. A simulation
    says so, from the bounds and the number of records alone; with --public there is none. It takes a second or two, and
    a minute for a hundred coefficients.

    Each run draws new noise and spends eps again, even if you throw its model away: running until a model looks good
    is many releases. Run `dplr plan` first, which costs nothing.

    The bounds name the columns that are used, and say what each of them holds; other columns are not read. In a CSV
    file, a non-numeric field in a numeric column is treated as missing if the bounds say how to treat missing values
    there; otherwise it is an error. Text stays as it is written: "01" is not "1". Quotes must stand around a whole
    field, and be doubled inside it; any other quote is an error, because it could swallow the rows below it.
    Variables of SPSS and Stata are their codes where the bounds have numbers, and their value labels where they have
    text; missing values that the file declares are missing.

    What was fitted and what the release promises are printed to standard output. The model file holds them, and the
    full privacy statement; all of it may be published. The command checks that it can write the output before it reads
    or spends anything.

    A fit that is killed before it draws noise leaves its cost reserved: `dplr ledger give-back` gives it back. What a
    fit drew noise for stays spent. A fit that is killed after its model was paid for keeps it in the ledger:
    `dplr ledger recover` writes the file.
    """
    parameters = parameters_of(options)
    public = parameters["public"]
    with blamed(FILE):
        files = named_files(data)
    check_model_output(output, overwrite, (*files, bounds, ledger_path, public))
    units = units_of(options)
    target, column_bounds, parameters["fit_intercept"] = _subject(target, formula, bounds, parameters["fit_intercept"])
    ledger = payer(ledger_path, label, share)
    files = [table_file(path) for path in files]
    held = keeping(ledger, target)
    with told():
        with unspent():
            with blamed(USAGE):
                kinds, further = _kinds(column_bounds, target, parameters["model"], units)
            with blamed(FILE):
                X, y = read_rows(files, kinds | further, target, form, keep)
                parameters["public"] = None if public is None else _read(public, kinds, target, form)
                persons = persons_in(X, units, column_bounds)
            sample_weight = units.pop("sample_weight")
            parameters |= {"bounds": column_bounds, **units}
            exact = parameters["neighbouring"] == "replace_one"
            public_rows = persons if exact else n_rows
            with blamed(USAGE):
                if exact and n_rows not in (None, public_rows):
                    kind = "persons" if units["person"] or column_bounds.person else "records"
                    count_words = f"{public_rows}, as many {kind} as the data have"
                    raise ValueError(f"`--n-rows` must be left out, or {count_words}; got {n_rows}.")
                _check_plan(parameters, public_rows, ledger, ledger_path)
                check_table(parameters, public_rows)
        bars = bars_wanted(progress)
        parameters |= {"sample_weight": sample_weight, "n_rows": n_rows, "progress": bars}
        est = _fitted(X, y, {**parameters, "ledger": held or uncounted(target)}, held)
        est.target_name_ = target
    with uninterrupted():
        _save(est, output, overwrite)
        if held is not None:
            with blamed(FILE):
                held.delivered()
    if not quiet:
        _say(est, output, statement)
        if ledger is not None:
            where = ledger_path if share is None else f"share {share} of {ledger_path}"
            click.echo(visible(f"Left in {where}: {left_in(ledger)}."))
    if ledger is None and parameters["eps"] != float("inf"):
        note("No --ledger was given: nothing counted what this fit spent.", quiet)


def _say(est: Any, output: str, full: bool) -> None:
    """Print the table of the model, its privacy statement, and the path of its file."""
    from dplr.summary.render import FIRST

    click.echo(visible(str(est._summary(most=FIRST))))
    click.echo()
    promise(est.privacy_, full)
    if not full:
        click.echo(visible(f"The full statement: dplr summary {shlex.quote(output)} --statement"))
    click.echo(f"Wrote {visible(output)}.")


def _kinds(bounds: Bounds, target: str, model: str, units: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """The kinds of a model's columns, and of the columns of ids and weights."""
    kinds = feature_kinds(bounds)
    if target in kinds:
        raise ValueError(f"`{target}` is the target, and must not be among the features of the bounds too.")
    kinds[target] = target_kind(bounds, LOSSES[model].classification)
    check_apart(further := unit_kinds(units, bounds), target)
    return kinds, further


def _subject(target: str | None, formula: str | None, path: str, intercept: bool) -> tuple[str, Bounds, bool]:
    if (target is None) is (formula is None):
        raise Refused("Give --target, or a --formula that has it on its left side.", USAGE)
    with told(), unspent():
        with blamed(FILE):
            bounds = _read_bounds(path)
        if formula is None:
            assert target is not None
            return target, bounds, intercept
        with blamed(USAGE):
            import dplr

            read = dplr.Formula(formula, bounds)
    return read.target, read.bounds, intercept and read.fit_intercept


def _read_bounds(path: str) -> Bounds:
    import dplr

    return dplr.Bounds.from_toml(path)


def _read(path: str, kinds: dict[str, Any], target: str, form: Format) -> tuple[Any, Any]:
    table = read_table(path, kinds, form)
    return table.drop_columns([target]), table[target]


def _check_plan(parameters: dict[str, Any], n_rows: int | None, ledger: Ledger | None, path: str | None) -> None:
    """All that can be refused without the rows."""
    import dplr

    with muted(dplr.UtilityWarning):  # the fit says it
        planned = dplr.plan(n_rows=n_rows, **parameters)
    check_price(ledger, path, planned.statement)


def _fitted(X: Any, y: Any, parameters: dict[str, Any], held: Keeping | None) -> Any:
    import dplr

    return paid(held, lambda: dplr.fit(X, y, **parameters))


def _save(est: Any, output: str, overwrite: bool) -> None:
    import dplr

    saved(lambda path: dplr.save_model(est, path), output, overwrite, "model", lambda: _print_model(est))


def _print_model(est: Any) -> None:
    """The last resort: what can be typed in again."""
    import json

    classes = getattr(est, "classes_", None)
    click.echo(json.dumps({
        "coef": est.coef_.tolist(),
        "intercept": est.intercept_.tolist() if hasattr(est.intercept_, "tolist") else est.intercept_,
        "names": list(est.coef_names_),
        "classes": None if classes is None else classes.tolist(),
        "outcome": getattr(est, "outcome_", None),
        "statement": str(est.privacy_),
    }))  # fmt: skip
