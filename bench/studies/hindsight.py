"""What `mechanism="auto"` loses against the best mechanism in hindsight. Fits nothing: it reads kept results.

    python -m bench.studies.hindsight bench/results/hindsight.csv

`official` are the fits of all_tables.csv, scored on official test splits, which the rule was not chosen on; `training`
are those of auto.csv, which it was chosen on, at 500 to 20,000 rows. The loss is the error of what auto takes over that
of the best mechanism of the same table, delta and eps, less 1; for numbers the error is 1 - R^2. It prints the table of
docs/use/choosing.md.
"""

import csv
import pathlib
import sys
from collections import defaultdict
from collections.abc import Iterator
from typing import Any

import numpy as np

from dplr.mechanisms.automatic import choose
from dplr.problem.losses import LOSSES

RESULTS = pathlib.Path(__file__).parents[1] / "results"
# Rows that are fitted in all_tables.csv; what matters to the rule is n eps up to 250.
ROWS = {
    "Adult": 30_162, "ACS 2k": 2_000, "ACS 20k": 20_000, "ACS 200k": 200_000, "ACS income 2k": 2_000,
    "ACS income 20k": 20_000, "ACS income 200k": 200_000, "KDD Cup 99": 56_000, "heart": 736, "RAND": 17_690,
    "few numbers": 20_000, "many numbers": 20_000, "blocks": 20_000,
}  # fmt: skip
SPLITS = {"official": "all_tables.csv", "training": "auto.csv"}
COLUMNS = ("split", "table", "n", "delta", "eps", "auto", "error", "best", "best_error", "loss")


def cells(split: str) -> Iterator[dict[str, Any]]:
    """One line for each table, number of rows, delta and eps."""
    errors: dict[tuple[Any, ...], dict[str, float]] = defaultdict(dict)
    with open(RESULTS / SPLITS[split], newline="") as file:
        for row in csv.DictReader(file):
            n = int(row["n"]) if "n" in row else ROWS[row["table"]]
            error = 1 - float(row["mean"]) if row["model"] == "linear" else float(row["mean"])
            key = (row["table"], row["model"], n, float(row["delta"]), float(row["eps"]))
            errors[key][row["mechanism"]] = error
    for (table, model, n, delta, eps), found in errors.items():
        auto = choose(LOSSES[model], n, 0, eps, delta).name
        best = min(found, key=lambda name: found[name])
        yield {
            "split": split, "table": table, "n": n, "delta": delta, "eps": eps, "auto": auto,
            "error": f"{found[auto]:.5f}", "best": best, "best_error": f"{found[best]:.5f}",
            "loss": f"{found[auto] / found[best] - 1:.4f}",
        }  # fmt: skip


def summary(lines: list[dict[str, Any]]) -> list[str]:
    """Rows of a table in Markdown: how often auto is best, and what it loses where it is not."""
    rows = []
    for split in SPLITS:
        for delta in (0.0, 1e-6):
            found = [line for line in lines if (line["split"], line["delta"]) == (split, delta)]
            losses = np.array([float(line["loss"]) for line in found])
            worst = found[int(losses.argmax())]
            best, near = np.count_nonzero(losses == 0), np.count_nonzero(losses <= 0.01)
            where = f"{worst['table']}, {worst['n']:,} rows, eps {worst['eps']:g}"
            shares = f"{losses.mean():.1%} | {np.quantile(losses, 0.9):.1%} | {losses.max():.1%} ({where})"
            rows.append(f"| {split} | {delta:g} | {len(found)} | {best} | {near} | {shares} |")
    return rows


def main(path: str) -> None:
    lines = [line for split in SPLITS for line in cells(split)]
    with open(path, "w", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS)
        writer.writeheader()
        writer.writerows(lines)
    print("\n".join(summary(lines)))


if __name__ == "__main__":
    main(sys.argv[-1])
