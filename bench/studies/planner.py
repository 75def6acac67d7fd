"""Does the planner tell how good a fit will be? Simulated errors beside measured ones, on real tables.

Each table is fitted with `mechanism="auto"` on rows that the planner never sees, and simulated in three ways:

    default   nothing is known except the bounds and the number of rows
    told      the share of the second label and the error without privacy are known, as from an earlier publication
    sample    a public sample of at most 2,000 rows is known

    DPLR_DATA=<folder> python -m bench.studies.planner bench/results/planner.csv

`lines` makes the table of docs/trust/accuracy.md from the file.
"""

import csv
import math
import os
import sys
import warnings
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

import dplr
from bench.data.tables import Table, tables
from dplr.fitting.facts import public_facts
from dplr.planner.simulation import simulator

KEPT = ("Adult", "ACS 20k", "KDD Cup 99", "heart", "RAND", "ACS income 20k")
LEVELS, DELTAS = (0.1, 0.5, 3.0), (0.0, 1e-6)
FITS, SAMPLE, STEPS = 10, 2_000, 10
HOWS = ("measured", "default", "told", "sample")
COLUMNS = (
    "table", "rows", "coefficients", "delta", "eps", "mechanism", "how", "error", "standard_error", "non_private",
    "baseline", "kept",
)  # fmt: skip


def parts(table: Table) -> tuple[Table, tuple[Any, Any]]:
    """The table without a tenth of its rows, at most 2,000, and these: disjoint, as public rows must be."""
    order = np.random.default_rng(5).permutation(len(table.y))
    public, kept = np.split(order, [min(SAMPLE, len(order) // 5)])

    def taken(rows: np.ndarray) -> tuple[Any, Any]:
        X = table.X[rows] if isinstance(table.X, np.ndarray) else table.X.iloc[rows]
        return X, np.asarray(table.y)[rows]

    X, y = taken(kept)
    return replace(table, X=X, y=y), taken(public)


def error_of(table: Table, est: Any) -> float:
    """Share of wrong answers, or root mean squared error, on rows that were not fitted."""
    away = est.predict(table.held_X) - np.asarray(table.held_y, float)
    return float(np.sqrt(np.mean(away**2)) if table.model == "linear" else np.mean(away != 0))


def measured(table: Table, delta: float) -> Iterator[dict[str, Any]]:
    """Private fits of the rows themselves."""
    options = {"model": table.model, "bounds": table.bounds}
    exact = {"mechanism": dplr.FunctionalMechanism(ranges="off")} if table.model == "linear" else {"mechanism": "none"}
    non_private = error_of(table, dplr.fit(table.X, table.y, eps=math.inf, **exact, **options))
    y, held = np.asarray(table.y, float), np.asarray(table.held_y, float)
    guess = y.mean() if table.model == "linear" else float(y.mean() > 0.5)
    baseline = np.sqrt(np.mean((held - guess) ** 2))  # of labels, the root of the share of wrong answers
    baseline = float(baseline if table.model == "linear" else baseline**2)
    for eps in LEVELS:
        fits = dplr.fit_many(table.X, table.y, eps=[eps], delta=delta, repeats=FITS, **options)
        errors = np.array([error_of(table, est) for est in fits])
        yield {
            "eps": eps, "mechanism": fits[0].privacy_.mechanism, "how": "measured", "error": errors.mean(),
            "standard_error": errors.std(ddof=1) / FITS**0.5, "non_private": non_private, "baseline": baseline,
            "kept": (baseline - errors.mean()) / (baseline - non_private),
        }  # fmt: skip


def simulated(table: Table, delta: float, how: str, assume: dplr.planner.Assumptions) -> Iterator[dict[str, Any]]:
    """The planner's figures."""
    curve = dplr.plan_curve(
        eps=LEVELS, delta=[delta], n_rows=[len(table.y)], bounds=table.bounds, model=table.model,
        assume=assume,
    )  # fmt: skip
    for point in curve.points:
        if point.auto:
            names = ("eps", "mechanism", "error", "standard_error", "non_private", "baseline", "kept")
            yield {name: getattr(point, name) for name in names} | {"how": how}


def told(table: Table, non_private: float, baseline: float) -> dplr.planner.Assumptions:
    """The assumptions under which made-up rows give this error without privacy; by bisection."""
    low, high, share = 0.01, 0.99, 0.5
    if table.model != "linear":
        share = float(np.mean(np.asarray(table.y, float)))
    for _ in range(STEPS):
        assume = dplr.planner.Assumptions(signal=(low + high) / 2, positive=share)
        facts = public_facts(
            n_rows=len(table.y), n_features=None, bounds=table.bounds, model=table.model, mechanism="auto", delta=0.0,
            fit_intercept=True, l2="auto", neighbouring="replace_one", public=None, aim="prediction",
        )  # fmt: skip
        found = simulator(facts, assume).references(len(table.y))
        error, guess = (np.mean([getattr(each, name) for each in found]) for name in ("error", "baseline"))
        if error / guess > non_private / baseline:
            low = assume.signal
        else:
            high = assume.signal
    return assume


def study(table: Table) -> Iterator[dict[str, Any]]:
    table, sample = parts(table)
    known = None
    for delta in DELTAS:
        lines = list(measured(table, delta))
        known = known or told(table, lines[0]["non_private"], lines[0]["baseline"])
        ways = {"default": dplr.planner.Assumptions(), "told": known, "sample": dplr.planner.Assumptions(sample=sample)}
        for how, assume in ways.items():
            lines += simulated(table, delta, how, assume)
        first = {"table": table.name, "rows": len(table.y), "coefficients": table.bounds.layout.width, "delta": delta}
        yield from (first | line for line in lines)


def lines(path: str | os.PathLike[str]) -> list[str]:
    """Rows of a table in Markdown: shares of the gain that are kept, without a delta and with one."""
    found: dict[tuple[str, str], dict[tuple[float, str], str]] = {}
    with open(path, newline="") as file:
        for row in csv.DictReader(file):
            key = float(row["delta"]), row["how"]
            found.setdefault((row["table"], row["eps"]), {})[key] = f"{float(row['kept']):.2f}"
    written = []
    for (name, eps), each in found.items():
        kept = (" / ".join(each[delta, how] for how in HOWS) for delta in DELTAS)
        written.append(f"| {name}, {eps} | {' | '.join(kept)} |")
    return written


def main(path: str) -> None:
    warnings.simplefilter("ignore")  # clipped shares of public data
    with open(path, "w", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS)
        writer.writeheader()
        for table in tables(os.environ["DPLR_DATA"], official=True):
            for line in study(table) if table.name in KEPT else ():
                shown = {name: f"{v:.5g}" if isinstance(v, float) else v for name, v in line.items()}
                writer.writerow(shown)
                file.flush()
                print(*shown.values(), flush=True)


if __name__ == "__main__":
    main(sys.argv[-1])
