"""The tables of docs/develop/releasing.md, from bench/results."""

from __future__ import annotations

import csv
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE, RESULTS = ROOT / "docs" / "develop" / "releasing.md", ROOT / "bench" / "results"
WHEELS = RESULTS / "wheels.csv"
END = "<!-- end -->"


def with_tables(page: str) -> str:
    """The page, each of its tables as the file says that the comment above it names."""
    for name, table in TABLES.items():
        if (RESULTS / name).exists():
            before, found, after = page.partition(f"<!-- {name} -->\n")
            if not found or END not in after:
                raise ValueError(f"the page has no place for a table: <!-- {name} -->, and {END} below it")
            with (RESULTS / name).open() as file:
                page = before + found + table(list(csv.DictReader(file))) + END + after.partition(END)[2]
    return page


def of_wheels(rows: list[dict[str, str]]) -> str:
    """A line for each interpreter."""
    head = "interpreter | wheel, MB | install | `import dplr` | first fit | NumPy, SciPy, scikit-learn | bits"
    lines = [f"| {head} | tests passed, failed, skipped |", "|---|---|---|---|---|---|---|---|"]
    for row in rows:
        kind = row["wheel"].split("-", 2)[2].partition("-manylinux")[0]
        tests = ", ".join(row[name] for name in ("passed", "failed", "skipped")) if row["passed"] else "not run"
        versions = ", ".join(row[name] for name in ("numpy", "scipy", "scikit-learn"))
        times = f"{row['install_cpu_s']} s | {row['import_ms']} ms | {int(row['first_fit_ms']) / 1000:.1f} s"
        size = f"{int(row['bytes']) / 1e6:.2f}"
        lines.append(f"| {row['interpreter']} | {kind}, {size} | {times} | {versions} | {row['bits']} | {tests} |")
    return "\n".join(lines) + "\n"


def of_speed(rows: list[dict[str, str]]) -> str:
    """A line for each task."""
    lines = ["| task | before, µs | after, µs | ratio |", "|---|---|---|---|"]
    lines += [f"| {row['task']} | {row['old_us']} | {row['new_us']} | {row['ratio']} |" for row in rows]
    return "\n".join(lines) + "\n"


TABLES: dict[str, Callable[[list[dict[str, str]]], str]] = {"wheels.csv": of_wheels, "stable_abi.csv": of_speed}

if __name__ == "__main__":
    PAGE.write_text(with_tables(PAGE.read_text()))
