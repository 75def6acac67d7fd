"""Lines that a table of coefficients may be silent about: said from public facts, before anything is paid."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dplr.cli._faults import USAGE, Refused
from dplr.mechanisms.protocol import AIMS

if TYPE_CHECKING:
    from dplr.planner.preview import Preview

_ALL_SPEAK = "Every line of the table is expected to speak, if numbers have a deviation of 3% of their bounds or more."


def expected_table(parameters: dict[str, Any], n_rows: int | None) -> Preview | None:
    """The preview of a fit with these parameters of `dplr.plan`; None where there is none."""
    if n_rows is None or parameters.get("public") is not None:
        return None
    from dplr.fitting.facts import public_facts
    from dplr.planner.preview import preview

    facts = {name: value for name, value in parameters.items() if name != "eps"}
    return preview(public_facts(n_rows=n_rows, **facts), parameters["eps"])


def check_table(parameters: dict[str, Any], n_rows: int | None) -> None:
    """Refuse a fit that is for its table, where no line of it is expected to speak; the fit itself warns of some."""
    table = expected_table(parameters, n_rows) if parameters["aim"] == AIMS[1] else None
    if table is not None and table.silent:
        remedy = "A fit with --mechanism and without --aim is not refused."
        raise Refused(f"the table would say nothing. {table.warning} Nothing was spent. {remedy}", USAGE)


def lines_of(table: Preview | None) -> list[str]:
    """Sentences on what a table will say."""
    if table is None:
        return ["A fit with these options has no confidence intervals: `--aim coefficients` asks for them."]
    from dplr.planner.preview import BASIS

    return [table.warning or f"{_ALL_SPEAK} {BASIS}"]
