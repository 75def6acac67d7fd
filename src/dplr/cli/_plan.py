"""``dplr plan``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from dplr._kit.warnings import muted
from dplr.cli._curve import check_curve, curve_options, several, simulated, widths
from dplr.cli._faults import BUDGET, FILE, USAGE, Refused, blamed, visible
from dplr.cli._options import (
    EXISTING,
    bounds_option,
    eps_option,
    format_options,
    opened,
    parameters_of,
    privacy_options,
    public_option,
    share_option,
    told,
)
from dplr.cli._tables import feature_kinds, read_table, target_kind
from dplr.cli._units import person_option
from dplr.mechanisms import SHORTHANDS
from dplr.problem.losses import LOSSES

if TYPE_CHECKING:
    from dplr.bounds.declared import Bounds
    from dplr.ledger.handle import Ledger
    from dplr.problem.plan import Plan
    from dplr.rows.files.kinds import Format


@click.command(short_help="What a fit would release; reads no data, spends nothing.")
@bounds_option
@click.option(
    "--n-rows",
    type=click.IntRange(min=1),
    help="Number of records, or of persons with --person. With add_remove: a public guess of it.",
)
@eps_option(required=False)
@privacy_options
@public_option
@person_option
@click.option("--target", metavar="COLUMN", help="With --public or --sample: their target.")
@curve_options
@click.option("--ledger", "ledger_path", type=EXISTING, help="Also say whether this budget could pay.")
@share_option
@click.option("--fits", type=click.IntRange(min=1), default=1, show_default=True,
    help="With --ledger: so many equal fits, such as those of a search.")  # fmt: skip
@format_options
def plan(
    bounds: str, n_rows: int | None, target: str | None, curve: bool, intervals: bool, target_error: float | None,
    target_width: tuple[str, ...], ledger_path: str | None, share: str | None, fits: int, form: Format,
    **simulation: Any,
) -> None:  # fmt: skip
    """Say what a fit would release, with how much noise, before any data is read. Spends nothing.

    \b
    dplr plan --bounds census.toml --n-rows 45222 --eps 0.8
    dplr plan --bounds census.toml --n-rows 45222 --eps 0.8 --mechanism objective --ledger budget.db
    dplr plan --bounds census.toml --n-rows 45222 --curve --csv plan.csv
    dplr plan --bounds census.toml --n-rows 45222 --target-error 0.2 --signal 0.5 --positive 0.25
    dplr plan --bounds census.toml --n-rows 45222 --eps 0.8 --aim coefficients --intervals

    Run it as often as you like, with several mechanisms, values of eps and fewer columns: that is free, and trying
    them on the data is not. Compare the noise of one mechanism at several settings: mechanisms put it into different
    things (sums, gradients, coefficients of the scaled problem), which have different units. With --curve or a target
    fits are simulated on made-up rows, and then all mechanisms can be compared.

    Exit code 4 where the ledger has not enough left.
    """
    import dplr

    parameters, lists = parameters_of(simulation), several(simulation, intervals)
    model, public = parameters["model"], parameters["public"]
    searched = target_error is not None or bool(target_width)
    if intervals and target_error is not None:
        raise Refused("`--intervals` and --target-error exclude each other: run the command twice.", USAGE)
    check_curve(curve, int(searched or intervals), parameters["eps"], simulation, (bounds, public, ledger_path))
    if ledger_path is not None and (curve or searched or intervals):
        raise Refused("`--ledger` is of one plan: leave it out with --curve, --intervals or a target.", USAGE)
    ledger = opened(ledger_path, share)
    if ledger is None and fits != 1:
        raise Refused("`--fits` is of what a ledger is asked: give --ledger too.", USAGE)
    with told():
        with blamed(USAGE):
            if parameters["neighbouring"] == "replace_one" and n_rows is None and not (searched or lists):
                raise ValueError("`--n-rows` is required with replace_one, where the number of records is public.")
        with blamed(FILE):
            column_bounds = dplr.Bounds.from_toml(bounds)
        tables = {name: _rows(path, name, target, column_bounds, model, form)
            for name, path in (("public", public), ("sample", simulation["sample"]))}  # fmt: skip
        facts = {
            **parameters,
            "person": simulation.pop("person"),
            "n_rows": n_rows,
            "bounds": column_bounds,
            "public": tables["public"],
        }
        if curve or searched or intervals:
            goals: dict[str, Any] = {"interval" if intervals else "width": widths(target_width)} if searched else {}
            goals |= lists if intervals else {"error": target_error} if searched else {}
            simulated(facts, simulation, tables["sample"], goals, intervals)
            return
        with blamed(USAGE), muted(dplr.UtilityWarning):  # the plan shows it
            planned = dplr.plan(**facts)
    from dplr.utility._planned import expected_utility

    classes = len(column_bounds.target_classes() or ()) if LOSSES[model].classification else 0
    click.echo(visible(str(planned)))
    for line in [*_noise(planned), expected_utility(planned, classes)]:
        click.echo(visible(line))
    if ledger is not None:
        _price(planned, ledger, fits, ledger_path, share)


def _rows(
    path: str | None, option: str, target: str | None, bounds: Bounds, model: str, form: Format
) -> tuple[Any, Any] | None:
    """Public rows of a file, and their targets."""
    if path is None:
        return None
    if target is None:
        raise Refused(f"`--target` is required with --{option}: it is the column to predict.", USAGE)
    with blamed(USAGE):
        kinds = feature_kinds(bounds)
        kind = target_kind(bounds, LOSSES[model].classification)
    with blamed(FILE):
        table = read_table(path, {**kinds, target: kind}, form)
        return table.drop_columns([target]), table[target]


def _price(planned: Plan, ledger: Ledger, fits: int, path: str | None, share: str | None) -> None:
    """Say what the fits would cost, and refuse them where the ledger has not enough left."""
    with blamed(USAGE):
        price = planned.cost(ledger, fits=fits)
    where = path if share is None else f"{path}, share {share}"
    click.echo(visible(f"Ledger {where}: {price}"))
    if not price.fits:
        raise Refused(f"the ledger has not enough left for {'this fit' if fits == 1 else 'these fits'}.", BUDGET)


def _noise(planned: Plan) -> list[str]:
    """Sensitivity and noise of each block, also for each unit."""
    # Noise on the coefficients themselves stays as it is; that of sums is seen over the number of units.
    on_coef = SHORTHANDS[planned.statement.mechanism].noise_in == "coefficients"
    n = None if on_coef else planned.problem.n_rows
    lines = []
    for name, block in planned.released.items():
        per_unit = "" if n is None else f"; over the number of {planned.statement.unit.many} {block.deviation / n:.3g}"
        lines.append(f"Noise of {name}: {block.noise_words}{per_unit}" if block.scale else f"Noise of {name}: none")
    return lines
