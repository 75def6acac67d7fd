"""The table of docs/trust/intervals.md on strange designs, from what was measured.

python -m bench.studies.strange.page
"""

from __future__ import annotations

import itertools
import pathlib
import re
from typing import Any

from bench.studies.strange.__main__ import KEY, SOME, low, read, wrong
from bench.studies.strange.tables import INTERCEPT

ROOT = pathlib.Path(__file__).parents[3]
RESULTS, PAGE = ROOT / "docs/trust/intervals/strange.csv", ROOT / "docs/trust/intervals.md"
MARKERS = "<!-- strange -->\n", "<!-- /strange -->"
HEADS = ("design", "rows", "eps, delta", "told", "covers", "power", "width", "silent lines: announced, real")
VERSIONS = ("before", "after")
SILENT = 0.5
# Why a column covers less than .93 of what it tells, by model and design, where chance does not explain it.
CAUSES: dict[tuple[str, str], str] = {}
Rows = list[dict[str, Any]]


def designs(records: Rows) -> list[dict[str, Rows]]:
    """The records of each design, by version."""
    found: dict[tuple[str, ...], dict[str, Rows]] = {}
    for row in records:
        found.setdefault(tuple(row[name] for name in KEY[1:]), {}).setdefault(row["version"], []).append(row)
    return list(found.values())


def share(part: float, whole: float) -> str:
    """A share in per cent."""
    return f"{part / whole:.0%}".replace("%", " %") if whole else "-"


def decimal(part: float, whole: float) -> str:
    """A share such as .95."""
    return f"{part / whole:.2f}".removeprefix("0")


def told(rows: Rows) -> str:
    """The share of lines that are told."""
    return share(sum(int(row["told"]) for row in rows), sum(int(row["fits"]) for row in rows))


def covers(rows: Rows) -> str:
    """Coverage of the worst column that is told often; of all lines, in brackets, where there is none."""
    often = [row for row in rows if int(row["told"]) >= SOME]
    if often:
        worst = min(often, key=lambda row: int(row["held"]) / int(row["told"]))
        return decimal(int(worst["held"]), int(worst["told"])) + ("!" if wrong(worst) else "")
    some = sum(int(row["told"]) for row in rows)
    return f"({decimal(sum(int(row['held']) for row in rows), some)})" if some else "-"


def power(rows: Rows) -> str:
    """The share of told slopes other than 0 whose interval excludes 0."""
    rows = [row for row in rows if row["apart"]]
    return share(sum(int(row["apart"]) for row in rows), sum(int(row["told"]) for row in rows))


def width(rows: Rows) -> str:
    """The middle one of the widths of the slopes."""
    widths = sorted(float(row["width"]) for row in rows if row["width"] and row["column"] != INTERCEPT)
    return f"{widths[len(widths) // 2]:.2g}" if widths else "-"


def silence(rows: Rows) -> str:
    """How many lines most fits were expected to leave silent, and how many they left so."""
    real = sum(int(row["told"]) <= SILENT * int(row["fits"]) for row in rows)
    expected = sum(float(row["announced"]) >= SILENT for row in rows) if rows[0]["announced"] else "-"
    return f"{expected}, {real} of {len(rows)}"


def table(records: Rows) -> str:
    """One line for each design, what it was before and is now."""
    lines, model = [], ""
    for versions in designs(records):
        first = next(iter(versions.values()))[0]
        if first["model"] != model:
            model = first["model"]
            lines += ["", f"| {model}: {' | '.join(HEADS)} |", f"|{'---|' * len(HEADS)}"]
        cells = [
            [measure(versions[name]) for name in VERSIONS if name in versions]
            for measure in (told, covers, power, width, silence)
        ]
        budget = f"{first['eps']}, {first['delta'].replace('e-0', 'e-')}"
        cells = [[each[0]] if len(set(each)) == 1 else each for each in cells]
        shown = " | ".join(" to ".join(each) for each in cells)
        lines.append(f"| {first['design']} | {int(first['n']):,} | {budget} | {shown} |")
    return "\n".join(lines[1:])


def totals(records: Rows) -> str:
    """How many designs are right, and how many were announced, in each version."""
    heads = "designs", "with a column often told", "one below .93", "beyond chance", "lines promised", "of these, told"
    lines = [f"| | {' | '.join(heads)} |", f"|{'---|' * (len(heads) + 1)}"]
    for name in VERSIONS:
        found = [versions[name] for versions in designs(records) if name in versions]
        often = [rows for rows in found if any(int(row["told"]) >= SOME for row in rows)]
        promised = [row for rows in found for row in rows if row["announced"] and float(row["announced"]) < SILENT]
        counts = [sum(any(map(test, rows)) for rows in often) for test in (low, wrong)]
        true = f"{len(promised)} | {told(promised)}"
        lines.append(f"| {name} | {len(found)} | {len(often)} | {counts[0]} | {counts[1]} | {true} |")
    return "\n".join(lines)


def failures(records: Rows) -> str:
    """Every column of the package of today below .93, and why."""
    heads = ("model", "design", "column", "lines told", "covers", "without privacy", "why")
    lines = [f"| {' | '.join(heads)} |", f"|{'---|' * len(heads)}"]
    for row in itertools.filterfalse(lambda row: row["version"] != VERSIONS[1] or not low(row), records):
        why = CAUSES.get((row["model"], row["design"]), "not known") if wrong(row) else "chance"
        place = f"{row['design']}, {int(row['n']):,} rows, eps {row['eps']}"
        rates = int(row["held"]) / int(row["told"]), int(row["plain"]) / int(row["fits"])
        shown = " | ".join(f"{rate:.3f}".removeprefix("0") for rate in rates)
        lines.append(f"| {row['model']} | {place} | {row['column']} | {row['told']} | {shown} | {why} |")
    return "\n".join(lines)


def text(records: Rows) -> str:
    """All of it."""
    return "\n\n".join([totals(records), failures(records), table(records)]) + "\n"


def main() -> None:
    """Write the tables into the page, between their markers."""
    start, end = MARKERS
    pattern = re.compile(f"(?<={re.escape(start)}).*?(?={re.escape(end)})", re.DOTALL)
    page = PAGE.read_text(encoding="utf-8")
    PAGE.write_text(pattern.sub(lambda _: text(read(RESULTS)), page), encoding="utf-8")


if __name__ == "__main__":
    main()
