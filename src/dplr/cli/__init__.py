"""The command line (click and pyarrow, extra `cli`). What is heavy is imported by the command that needs it.
Private.
"""

from __future__ import annotations

import click

from dplr.cli._audit import audit
from dplr.cli._bounds import bounds
from dplr.cli._check import check
from dplr.cli._demo import demo
from dplr.cli._evaluate import evaluate
from dplr.cli._faults import Commands
from dplr.cli._fit import fit
from dplr.cli._ledger import ledger
from dplr.cli._moments import moments
from dplr.cli._plan import plan
from dplr.cli._predict import predict
from dplr.cli._report import report
from dplr.cli._summary import summary

__all__ = ["main"]


def _show_version(context: click.Context, _: click.Parameter, value: bool) -> None:
    if value and not context.resilient_parsing:
        from importlib import metadata

        click.echo(f"dplr {metadata.version('dplr')}")
        context.exit()


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.option("--version", is_flag=True, expose_value=False, is_eager=True, callback=_show_version, help="Show it.")
def main() -> None:
    """Regression models whose coefficients protect each person in the data (differential privacy).

    \b
    A first model, from a file with the columns that census.toml describes:
      dplr bounds init people.csv --target income -o census.toml    # then fill it in, from a codebook
      dplr check people.csv --target income --bounds census.toml
      dplr ledger init budget.db --eps 3 --delta 1e-5
      dplr plan --bounds census.toml --n-rows 45222 --eps 0.8
      dplr fit people.csv --target income --bounds census.toml --eps 0.8 --ledger budget.db -o model.json
      dplr report model.json -o report.html
      dplr summary model.json    # confidence intervals, if fitted with --aim coefficients

    What eps means: whatever a model shows, it would have shown with almost the same probability if any one record had
    been different. Almost: the two probabilities differ by a factor of at most exp(eps). eps = 0.1 is strong (1.1
    times), 1 is moderate (2.7 times), above 5 little is promised. Every fit spends its eps, and what several fits of
    the same people spend adds up: a ledger counts it and refuses what is too much.

    Where bounds come from: a TOML file says which numbers and levels each column may hold. Write it from a codebook or
    from what everybody knows, never from the data: the minimum and maximum of the data are secrets of single people.

    \b
    [features.age]
    lower = 17
    upper = 90
    [features.sex]
    levels = ["Female", "Male"]
    [target]
    classes = [0, 1]    # or: threshold = 50000; for linear models: lower = 0, upper = 200000

    What is on standard output may be published, apart from predictions for private rows, from `dplr check`, and from
    `dplr ledger show` without --public. What is on standard error is for the data holder: warnings and errors depend on
    the rows.

    \b
    Exit codes:
      0    done
      1    a fault of dplr itself: please report it
      2    the command is wrong: an option, a parameter, a file that may not be overwritten
      3    a file is wrong, or in use by others: data, bounds, model or ledger
      4    the ledger has not enough left; nothing was spent
      130  interrupted
    DPLR_DEBUG=1 shows where an error comes from; dplr --versions, what to add to the report of a fault.
    """


for _command in (fit, predict, evaluate, summary, plan, check, bounds, ledger, audit, report, moments, demo):
    main.add_command(_command)
