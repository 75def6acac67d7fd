"""Lines that a table of coefficients will probably be silent about: said from public facts, before anything is paid."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dplr.cli._faults import USAGE, Refused
from dplr.cli._options import note
from dplr.mechanisms.protocol import AIMS

if TYPE_CHECKING:
    from dplr.planner.widths import Widths

_BASIS = "This is simulated from the bounds and not from the data; `dplr plan --intervals` says more."
_TABLES = 3  # the time of a fit's own table each
_FACTS = (
    "bounds", "model", "mechanism", "delta", "fit_intercept", "l2", "neighbouring", "person", "curves", "aim",
)  # fmt: skip


def expected_table(parameters: dict[str, Any], n_rows: int | None) -> Widths | None:
    """Simulated intervals of a fit with these parameters of `dplr.plan`.

    None where it has no intervals, and where public facts do not tell: without a number of rows, or with a public
    start.
    """
    if n_rows is None or parameters.get("public") is not None:
        return None
    from dplr.fitting.facts import public_facts
    from dplr.planner.assumptions import Assumptions
    from dplr.planner.widths import silence_of

    facts = public_facts(**{name: parameters[name] for name in _FACTS if name in parameters})
    return silence_of(facts, parameters["eps"], n_rows, Assumptions(tables=_TABLES))


def check_table(parameters: dict[str, Any], n_rows: int | None) -> None:
    """Of a fit that is for its table: warn of lines that will be silent, and refuse it where all of them will be."""
    table = expected_table(parameters, n_rows) if parameters["aim"] == AIMS[1] else None
    if table is None:
        return
    from dplr.planner.points import all_silent, warning_of

    warning = warning_of(table)
    if warning and all_silent(table):
        remedy = "A fit with --mechanism and without --aim is not refused."
        raise Refused(f"the table would say nothing. {warning} {_BASIS} Nothing was spent. {remedy}", USAGE)
    if warning:
        note(f"Warning: {warning} {_BASIS}")


def lines_of(table: Widths | None) -> list[str]:
    """Sentences on what a table will say."""
    if table is None:
        return ["A fit with these options has no confidence intervals: `--aim coefficients` asks for them."]
    from dplr.planner.points import warning_of

    return [warning_of(table) or "No line of the table is expected to be silent.", _BASIS]
