"""``dplr evaluate``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from dplr.cli._faults import FILE, USAGE, blamed, visible
from dplr.cli._files import check_output
from dplr.cli._options import (
    EXISTING,
    RELATIONS,
    TABLE,
    eps_option,
    format_options,
    left_in,
    note,
    overwrite_option,
    share_option,
    told,
)
from dplr.cli._paying import keeping, paid, payer, saved, uninterrupted, unspent
from dplr.cli._predict import kinds_of
from dplr.cli._rows import table_file
from dplr.cli._tables import read_table

if TYPE_CHECKING:
    from dplr.rows.files.kinds import Format


@click.command(short_help="How good a model is, measured on private rows that it was not fitted to.")
@click.argument("model", type=EXISTING)
@click.argument("data", type=TABLE)
@eps_option(required=True)
@click.option("--target", metavar="COLUMN", help="The column of the outcomes. Default: the model's target.")
@click.option(
    "--threshold", "thresholds", type=click.FloatRange(0, 1, min_open=True, max_open=True), multiple=True,
    help="A probability at which decisions are counted, beside 0.5; may be repeated.",
)  # fmt: skip
@click.option("--person", metavar="COLUMN", help="The column of persons' ids: a person with all rows is protected.")
@click.option("--in-sample", is_flag=True, help="The model was fitted to these rows too, which flatters it.")
@click.option("--neighbouring", type=click.Choice(RELATIONS), default="replace_one", show_default=True,
              help="What is protected: what a record says, or also that it is there.")  # fmt: skip
@click.option("--n-rows", type=click.IntRange(min=1), help="With add_remove: a public guess of the number of records.")
@click.option("--level", type=click.FloatRange(0.5, 1, max_open=True), default=0.95, show_default=True,
              help="Level of the intervals.")  # fmt: skip
@click.option("--ledger", "ledger_path", type=EXISTING, help="The budget that pays; see `dplr ledger`.")
@share_option
@click.option("--label", metavar="TEXT", help="What the data are called in the ledger. It is published with it.")
@click.option("-o", "--output", metavar="FILE", help="Also write the table as CSV.")
@overwrite_option
@format_options
@click.option("-q", "--quiet", is_flag=True, help="Print the table alone.")
def evaluate(
    model: str, data: str, eps: float, target: str | None, thresholds: tuple[float, ...], person: str | None,
    in_sample: bool, neighbouring: str, n_rows: int | None, level: float, ledger_path: str | None, share: str | None,
    label: str | None, output: str | None, overwrite: bool, form: Format, quiet: bool,
) -> None:  # fmt: skip
    """Release how good a model file is on DATA, a file that `dplr fit` reads or - for standard input.

    \b
    dplr evaluate model.json test.csv --eps 0.2 --ledger budget.db
    dplr evaluate model.json test.parquet --eps 0.5 --threshold 0.2 -o evaluation.csv

    DATA must hold rows that the model was not fitted to: rows that it has seen flatter it. Every interval counts
    sampling and the noise of the release. What is printed may be published; running the command again spends eps again.
    """
    if output is not None:
        check_output(output, overwrite, (model, data, ledger_path))
    ledger = payer(ledger_path, label, share)
    held = keeping(ledger)
    import dplr
    from dplr.model_file.file import MODELS, load

    with told():
        with unspent():
            with blamed(FILE):
                est = load(model, *MODELS)
            with blamed(USAGE):
                name = _target(est, target)
                kinds = _kinds(est, name, person)
            with blamed(FILE):
                table = read_table(table_file(data), kinds, form)
        options: dict[str, Any] = {
            "eps": eps, "thresholds": thresholds, "person": person, "in_sample": in_sample, "level": level,
            "neighbouring": neighbouring, "n_rows": n_rows, "ledger": held,
        }  # fmt: skip
        X, y = _rows(est, table, name)
        result = paid(held, lambda: dplr.evaluate(est, X, y, **options))
    with uninterrupted():
        click.echo(visible(str(result)))
        if output is not None:
            saved(lambda path: _write(result, path), output, overwrite, "evaluation", lambda: click.echo(_csv(result)))
    if not quiet:
        click.echo(visible(str(result.privacy_)))
        if ledger is not None:
            where = ledger_path if share is None else f"share {share} of {ledger_path}"
            click.echo(visible(f"Left in {where}: {left_in(ledger)}."))
    if ledger is None and eps != float("inf"):
        note("No --ledger was given: nothing counted what this release spent.", quiet)


def _rows(est: Any, table: Any, target: str) -> tuple[Any, Any]:
    """The table and the name of its outcomes; or rows of features that the model was fitted to, and outcomes."""
    features = getattr(est, "features_", None)
    if features is None:
        return table, target
    return features.transform(table.drop_columns([target])), table[target]


def _target(est: Any, target: str | None) -> str:
    """The column of the outcomes."""
    if not hasattr(est, "_record"):
        raise ValueError(f"MODEL must be a fitted model; got {type(est).__name__}. Use `dplr.evaluate` in Python.")
    name = target or getattr(est, "target_name_", None)
    if name is None:
        raise ValueError("`--target` must name the column of the outcomes: the model file does not.")
    return str(name)


def _kinds(est: Any, target: str, person: str | None) -> dict[str, Any]:
    """The kinds of all columns that are read."""
    from dplr.cli._tables import target_kind
    from dplr.rows.files.kinds import NUMBER, Kind

    kinds = kinds_of(est)
    bounds = est._record.bounds
    if target in kinds:
        raise ValueError(f"`--target` must not be a feature of the model; got {target}.")
    kinds[target] = NUMBER if bounds is None else target_kind(bounds, hasattr(est, "classes_"))
    ids = person or (None if bounds is None else bounds.person)
    weight = None if bounds is None else bounds.weight
    return kinds | ({ids: Kind(text=True)} if ids else {}) | ({weight: NUMBER} if weight else {})


def _csv(result: Any) -> str:
    lines = ["measure,estimate,lower,upper,level,noise_sd"]
    for name, one in result.measures.items():
        numbers = (one.estimate, one.lower, one.upper, one.level, one.noise_sd)
        quoted = '"' + name.replace('"', '""') + '"'
        lines.append(",".join([quoted, *(f"{number:.8g}" for number in numbers)]))
    return "\n".join(lines)


def _write(result: Any, path: str) -> None:
    """The measures to a CSV file."""
    with open(path, "w", encoding="utf-8") as file:
        file.write(_csv(result) + "\n")
