"""``dplr plan --curve``, and with a target: fits that are simulated before any data are read."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

import click

from dplr.cli._faults import USAGE, Refused, blamed, visible
from dplr.cli._files import check_output, write
from dplr.cli._options import EXISTING, bars_wanted, note

if TYPE_CHECKING:
    from dplr.bounds.declared import Bounds

Function = TypeVar("Function", bound=Callable[..., Any])
SHARE = click.FloatRange(min=0, max=1, min_open=True, max_open=True)
NEEDS_CURVE = ("csv_path", "sample", "signal", "positive", "tables", "seed", "target_spread")
_LISTS = ("shares", "spread")
_NAMES = {"csv_path": "csv"}


def curve_options(function: Function) -> Function:
    """The options of a simulation: its questions, its assumptions, and the file that it writes."""
    for option in (
        click.option("--overwrite", is_flag=True, help="Replace --csv if it exists."),
        click.option("--seed", type=click.IntRange(min=0), help="Simulation: seed of the made-up tables and noise."),
        click.option("--tables", type=click.IntRange(min=2), help="Simulation: how many tables; 4 by default."),
        click.option("--target-spread", type=float, help="Simulation: guessed standard deviation of a numeric "
            "target, in parts of its range; 0.2 by default."),
        click.option("--spread", multiple=True, metavar="NAME=[MEAN,]DEVIATION", help="Simulation: public deviation of "
            "a number, in parts of its range; 0.2 by default, and 0.03 with --intervals. May be repeated."),
        click.option("--shares", multiple=True, metavar="NAME=SHARE[,SHARE...]", help="Simulation: public shares of "
            "all levels in their order, of some as LEVEL:SHARE, or of a flag; as 1, 1/2, 1/3 and so on by default, "
            "and rare with --intervals. May be repeated."),
        click.option("--sample", type=EXISTING, help="Simulation: public rows that the private ones are like; tables "
            "are drawn from them. Needs --target."),
        click.option("--positive", type=SHARE, help="Simulation: guessed share of the second of two labels; 0.5 by "
            "default."),
        click.option("--signal", type=SHARE, help="Simulation: guessed share of the target's variation that the "
            "columns explain; 0.4 by default."),
        click.option("--csv", "csv_path", metavar="FILE", help="With --curve: write all figures."),
        click.option("--target-width", multiple=True, metavar="[NAME=]WIDTH", help="Say the smallest eps (or, with "
            "--eps and no --n-rows, the fewest rows) at which the coefficient NAME lies this near to that without "
            "privacy; may be repeated. Without NAME: root mean square over columns, across their bounds."),
        click.option("--target-error", type=float, help="The same for an expected error: share of wrong answers, or "
            "root mean squared error of a number."),
        click.option("--intervals", is_flag=True, help="Simulate fits, and say how wide confidence intervals will be, "
            "and which coefficients the table may be silent about. With --target-width NAME=WIDTH: the smallest eps, "
            "or the fewest rows, for intervals of this width."),
        click.option("--several-eps", metavar="EPS,EPS...", help="With --intervals, in place of --eps: a table."),
        click.option("--several-rows", metavar="N,N...", help="With --intervals, in place of --n-rows: a table."),
        click.option("--curve", is_flag=True, help="Simulate fits by every mechanism at several eps, deltas and "
            "numbers of rows."),
    ):  # fmt: skip
        function = option(function)
    return function


def check_curve(
    curve: bool, questions: int, eps: float | None, options: dict[str, Any], inputs: tuple[Any, ...]
) -> None:
    """Refuse options that belong elsewhere, and an output that cannot be written, before anything is simulated.

    `questions` counts the questions to a simulation beside the curve: a target, or intervals.
    """
    names = [name for name in NEEDS_CURVE if options[name] is not None] + [name for name in _LISTS if options[name]]
    if names and not (curve or questions):
        name = _NAMES.get(names[0], names[0]).replace("_", "-")
        raise Refused(f"`--{name}` is of a simulation: give --curve, --intervals or a target too.", USAGE)
    if curve + questions > 1:
        raise Refused("`--curve`, --intervals and a target exclude each other: run the command twice.", USAGE)
    if not (curve or questions) and eps is None:
        raise Refused("`--eps` is required without --curve or a target.", USAGE)
    output = options["csv_path"]
    if output is not None:
        if not curve:
            raise Refused("`--csv` is of --curve.", USAGE)
        check_output(output, options["overwrite"], (*inputs, options["sample"]))


def widths(texts: tuple[str, ...]) -> float | dict[str, float] | None:
    """One number, or names with numbers."""
    numbers: dict[str, float] = {}
    for text in texts:
        name, _, width = text.rpartition("=")
        try:
            numbers[name] = float(width)
        except ValueError:
            raise Refused(f"`--target-width` must be NAME=WIDTH or a width; got {text!r}.", USAGE) from None
    if "" in numbers and len(numbers) > 1:
        raise Refused("`--target-width` must have a NAME for each width where there are several.", USAGE)
    return numbers.get("", numbers) or None


def several(options: dict[str, Any], intervals: bool) -> dict[str, Any]:
    """Lists of eps and of numbers of rows, taken out of the options; empty without."""
    lists = {}
    for option, name, kind in (("several_eps", "eps", float), ("several_rows", "n_rows", int)):
        text = options.pop(option)
        if text is None:
            continue
        shown = option.replace("_", "-")
        if not intervals:
            raise Refused(f"`--{shown}` is of --intervals.", USAGE)
        try:
            lists[name] = [kind(part) for part in text.split(",")]
        except ValueError:
            raise Refused(f"`--{shown}` must be numbers with commas between them; got {text!r}.", USAGE) from None
    return lists


def assumed(options: dict[str, Any], bounds: Bounds) -> dict[str, Any]:
    """Parameters of `dplr.planner.Assumptions`, without a sample."""
    names = ("signal", "positive", "tables", "seed", "target_spread")
    guesses = {name: options[name] for name in names if options[name] is not None}
    declared = dict(zip(bounds.names or (), bounds.columns, strict=False))
    for name in _LISTS:
        pairs = (text.rpartition("=")[::2] for text in options[name])
        values = {column: _numbers(name, column, text, declared) for column, text in pairs}
        guesses |= {name: values} if values else {}
    return guesses


def _numbers(option: str, column: str, text: str, declared: Mapping[str, Any]) -> Any:
    """One number, several, or shares of levels by name."""
    parts = text.split(",")
    try:
        if option == "shares" and all(":" in part for part in parts):
            levels = {str(level): level for level in getattr(declared.get(column), "levels", ())}
            pairs = (part.rpartition(":")[::2] for part in parts)
            return {levels.get(level, level): float(share) for level, share in pairs}
        values = [float(part) for part in parts]
    except ValueError:
        raise Refused(f"`--{option}` must be NAME=NUMBER[,NUMBER...]; got {column}={text!r}.", USAGE) from None
    return values[0] if len(values) == 1 else values


def simulated(
    facts: dict[str, Any], options: dict[str, Any], sample: Any, target: dict[str, Any], intervals: bool
) -> None:
    """Simulate a curve, print it, and write the figures; in its place a target, or intervals.

    `target` holds parameters of `dplr.plan_target`, or lists for `dplr.plan_curve` with `intervals`.
    """
    import dplr

    guesses = assumed(options, facts["bounds"])
    with blamed(USAGE):
        facts = {**facts, "assume": dplr.planner.Assumptions(sample=sample, **guesses)}
        if {"error", "interval", "width"} & {*target}:
            click.echo(visible(str(dplr.plan_target(**facts, **target))))
            return
        curve = dplr.plan_curve(**{**facts, **target}, intervals=intervals, progress=bars_wanted(None))
    click.echo(visible(str(curve)))
    if options["csv_path"] is not None:
        write(options["csv_path"], curve.csv_text().encode())
        note(f"Wrote {options['csv_path']}.")
