"""The table of faults in docs/use/scale.md, from what `python -m bench.scale.faults` found.

    python -m bench.scale.faults.page

writes it into the page, between its markers.
"""

from __future__ import annotations

import csv
import re
from pathlib import Path

ROOT = Path(__file__).parents[3]
PAGE = ROOT / "docs" / "use" / "scale.md"
RESULTS = ROOT / "bench" / "results" / "faults.csv"
# Budgets that were right, and releases made twice, are the same for all: a test holds what the page says of them.
COUNTED = ("count", "same bits", "clear error")


def read() -> list[dict[str, str]]:
    """The records of the result."""
    with RESULTS.open(newline="") as file:
        return list(csv.DictReader(file))


def table() -> str:
    """A line per kind, and one of all."""
    rows = read()
    lines = ["| fault | injected | same bits | clear error |", "|---" * (1 + len(COUNTED)) + "|"]
    for kind in [*dict.fromkeys(row["kind"] for row in rows), "all"]:
        some = [row for row in rows if kind in (row["kind"], "all")]
        sums = [sum(int(row[name]) for row in some) for name in COUNTED]
        lines.append(f"| {kind} | {' | '.join(map(str, sums))} |")
    return "\n".join(lines)


def main() -> None:
    """Write the table into the page."""
    found = f"<!-- table: faults -->\n{table()}\n"
    PAGE.write_text(re.sub(r"<!-- table: faults -->\n(\|.*\n)*", lambda _: found, PAGE.read_text()))


if __name__ == "__main__":
    main()
