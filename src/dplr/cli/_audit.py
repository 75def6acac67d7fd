"""``dplr audit``."""

from __future__ import annotations

from typing import Any

import click

from dplr.cli._faults import BUG, FILE, USAGE, Refused, blamed, visible
from dplr.cli._options import (
    bars_wanted,
    bounds_option,
    eps_option,
    parameters_of,
    privacy_options,
    told,
)
from dplr.cli._units import person_option


@click.command(short_help="Try to prove the promise of a fit wrong, on made-up rows.")
@bounds_option
@click.option("--n-rows", type=click.IntRange(min=2), default=100, show_default=True,
    help="Records, or persons with --person, of each made-up table. A plan may depend on it: give yours if fits are "
    "quick.")  # fmt: skip
@eps_option(required=True)
@privacy_options
@person_option
@click.option("--pairs", type=click.IntRange(min=20), default=300, show_default=True,
    help="Pairs of neighbours to try.")  # fmt: skip
@click.option("--runs", type=click.IntRange(min=20), default=1000, show_default=True,
    help="Fits of each table of the worst pair; more tell more.")  # fmt: skip
@click.option("--confidence", type=click.FloatRange(0, 1, min_open=True, max_open=True), default=0.999,
    show_default=True, help="A right promise is called wrong with at most one minus this probability.")  # fmt: skip
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True,
    help="Of the made-up rows and of their noise: an audit can be repeated.")  # fmt: skip
@click.option("--broken", is_flag=True,
    help="Also audit copies that are broken on purpose: would this audit have seen them?")  # fmt: skip
def audit(
    bounds: str, n_rows: int, pairs: int, runs: int, confidence: float, seed: int, broken: bool, **options: Any,
) -> None:  # fmt: skip
    """Try to prove the promise of a fit wrong, on made-up neighbours within and beyond your own bounds.

    \b
    dplr audit --bounds census.toml --eps 0.8
    dplr audit --bounds census.toml --eps 0.8 --mechanism ngd --delta 1e-6 --person id --runs 5000
    dplr audit --bounds census.toml --eps 0.8 --broken

    No data is read and nothing is spent: what is printed may be published. An audit can prove a promise wrong, never
    right. Exit code 1 where it did: please report it.
    """
    person = options.pop("person")
    parameters = parameters_of({**options, "public": None})
    import dplr

    with told():
        with blamed(FILE):
            column_bounds = dplr.Bounds.from_toml(bounds)
        with blamed(USAGE):
            result = dplr.audit(
                **parameters, person=person, bounds=column_bounds, n_rows=n_rows, pairs=pairs, runs=runs,
                confidence=confidence, seed=seed, broken=broken, progress=bars_wanted(None),
            )  # fmt: skip
    click.echo(visible(str(result)))
    if not result.passed:
        raise Refused("the promise does not hold: please report it.", BUG)
