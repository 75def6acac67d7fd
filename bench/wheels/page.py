"""The table of interpreters in docs/develop/releasing.md, from bench/results/wheels.csv."""

from __future__ import annotations

import csv
import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE, RESULTS = ROOT / "docs" / "develop" / "releasing.md", ROOT / "bench" / "results" / "wheels.csv"
_PLACE = re.compile(r"(?<=<!-- wheels.csv -->\n).*?(?=<!-- end -->)", re.DOTALL)
_HEAD = (
    "| interpreter | platform | wheel, MB | `import dplr` | first fit | bits | tests passed, failed, skipped |\n"
    "|---|---|---|---|---|---|---|\n"
)


def with_table(page: str) -> str:
    """The page with the table of what was measured."""
    if not _PLACE.search(page):
        raise ValueError("the page has no place for the table: <!-- wheels.csv --> and <!-- end --> on lines alone")
    return _PLACE.sub(lambda _: table(), page)


def table() -> str:
    """One line for each interpreter."""
    with RESULTS.open() as file:
        return _HEAD + "".join(line(row) for row in csv.DictReader(file))


def line(row: dict[str, str]) -> str:
    """A row of the table; times are CPU times."""
    kind = row["wheel"].split("-", 2)[2].partition("-manylinux")[0]
    tests = ", ".join(row[name] for name in ("passed", "failed", "skipped")) if row["passed"] else "not run"
    size = f"{int(row['bytes']) / 1e6:.2f}"
    times = f"{row['import_ms']} ms | {int(row['first_fit_ms']) / 1000:.1f} s"
    return f"| {row['interpreter']} | {row['platform']} | {kind}, {size} | {times} | {row['bits']} | {tests} |\n"
