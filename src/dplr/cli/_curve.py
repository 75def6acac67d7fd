"""``dplr plan --curve``, and with a target: fits that are simulated before any data are read."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

from dplr.cli._faults import USAGE, Refused, blamed, visible
from dplr.cli._files import check_output, write
from dplr.cli._options import EXISTING, bars_wanted, note

Function = TypeVar("Function", bound=Callable[..., Any])
SHARE = click.FloatRange(min=0, max=1, min_open=True, max_open=True)
NEEDS_CURVE = ("html", "csv_path", "sample", "signal", "positive", "tables", "seed")
_NAMES = {"csv_path": "csv"}


def curve_options(function: Function) -> Function:
    """The options of a simulation: its questions, its assumptions, and the files that it writes."""
    for option in (
        click.option("--overwrite", is_flag=True, help="Replace --html and --csv if they exist."),
        click.option("--seed", type=click.IntRange(min=0), help="Simulation: seed of the made-up tables and noise."),
        click.option("--tables", type=click.IntRange(min=2), help="Simulation: how many tables; 4 by default."),
        click.option("--sample", type=EXISTING, help="Simulation: public rows that the private ones are like; tables "
            "are drawn from them. Needs --target."),
        click.option("--positive", type=SHARE, help="Simulation: guessed share of the second of two labels; 0.5 by "
            "default."),
        click.option("--signal", type=SHARE, help="Simulation: guessed share of the target's variation that the "
            "columns explain; 0.4 by default."),
        click.option("--csv", "csv_path", metavar="FILE", help="With --curve: write all figures."),
        click.option("--html", metavar="FILE", help="With --curve: write a page with sliders (extra `plots`)."),
        click.option("--target-width", multiple=True, metavar="[NAME=]WIDTH", help="Say the smallest eps (or, with "
            "--eps and no --n-rows, the fewest rows) at which the coefficient NAME lies this near to that without "
            "privacy; may be repeated. Without NAME: root mean square over columns, across their bounds."),
        click.option("--target-error", type=float, help="The same for an expected error: share of wrong answers, or "
            "root mean squared error of a number."),
        click.option("--intervals", is_flag=True, help="Simulate fits, and say how wide confidence intervals will be."),
        click.option("--curve", is_flag=True, help="Simulate fits by every mechanism at several eps, deltas and "
            "numbers of rows."),
    ):  # fmt: skip
        function = option(function)
    return function


def check_curve(
    curve: bool, questions: int, eps: float | None, options: dict[str, Any], inputs: tuple[Any, ...]
) -> None:
    """Refuse options that belong elsewhere, and outputs that cannot be written, before anything is simulated.

    `questions` counts the questions to a simulation beside the curve: a target, or intervals.
    """
    names = [name for name in NEEDS_CURVE if options[name] is not None]
    if names and not (curve or questions):
        name = _NAMES.get(names[0], names[0])
        raise Refused(f"`--{name}` is of a simulation: give --curve, --intervals or a target too.", USAGE)
    if curve + questions > 1:
        raise Refused("`--curve`, --intervals and a target exclude each other: run the command twice.", USAGE)
    if not (curve or questions) and eps is None:
        raise Refused("`--eps` is required without --curve or a target.", USAGE)
    outputs = [options[name] for name in ("html", "csv_path") if options[name] is not None]
    if outputs and not curve:
        raise Refused("`--html` and `--csv` are of --curve.", USAGE)
    for output in outputs:
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


def simulated(
    facts: dict[str, Any], options: dict[str, Any], sample: Any, target: dict[str, Any], intervals: bool
) -> None:
    """Simulate a curve, print it, and write the page and the figures; in its place a target, or intervals."""
    import dplr

    guesses = {name: options[name] for name in ("signal", "positive", "tables", "seed") if options[name] is not None}
    with blamed(USAGE):
        facts = {**facts, "assume": dplr.Assumptions(sample=sample, **guesses)}
        if target:
            click.echo(visible(str(dplr.plan_target(**facts, **target))))
            return
        if intervals:
            click.echo(visible(str(dplr.plan_intervals(**facts))))
            return
        curve = dplr.plan_curve(**facts, progress=bars_wanted(None))
    click.echo(visible(str(curve)))
    if options["csv_path"] is not None:
        write(options["csv_path"], curve.csv_text().encode())
        note(f"Wrote {options['csv_path']}.")
    if options["html"] is not None:
        with blamed(USAGE):
            from dplr.report import curve_html

            page = curve_html(curve)
        write(options["html"], page.encode())
        note(f"Wrote {options['html']}.")
