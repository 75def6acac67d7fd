"""Does the planner tell how wide intervals will be? Planned widths beside the medians of real fits, on Adult and ACS.

Each table is planned in two ways:

    even       numbers and flags are triangular within their bounds, levels equally frequent
    codebook   shares and spreads are declared as round numbers, such as a codebook or a published table has

    DPLR_DATA=<folder> python -m bench.studies.planned_widths bench/results/planned_widths.csv
"""

import csv
import math
import os
import sys
import warnings
from typing import Any

import numpy as np

import dplr
from bench.studies.default_coverage import Population, acs, adult
from dplr.bounds.columns import Numeric
from dplr.planner.laws import TRIANGLE

CELLS = ((1.0, 1e-6), (3.0, 1e-6), (10.0, 1e-6))
FITS = 20
COLUMNS = ("table", "n", "eps", "delta", "coefficient", "real", "real_unsaid", "even", "codebook", "codebook_unsaid")
CODEBOOK: dict[str, dict[str, Any]] = {
    "Adult": {
        "shares": {
            "sex": [0.33, 0.67], "race": [0.85, 0.03, 0.01, 0.01, 0.1],
            "relationship": [0.05, 0.15, 0.4, 0.25, 0.03, 0.12],
        },
        "spread": {
            "age": (0.3, 0.18), "education_num": (0.6, 0.17), "hours_per_week": (0.4, 0.12), "capital_loss": 0.08,
        },
        "target_spread": 0.2,
    },
    "ACS codes": {
        "shares": {
            "Male": 0.5, "Native": 0.85,
            "Race": [0.65, 0.1, 0.008, 0.001, 0.002, 0.06, 0.002, 0.07, 0.107],
        },
        "spread": {"Age": (0.4, 0.2), "Education": (0.7, 0.2), "WorkHours": (0.4, 0.13)},
        "target_spread": 0.3,
    },
}  # fmt: skip


def even(table: Population) -> dplr.planner.Assumptions:
    """Nothing but the bounds is known."""
    bounds = table.bounds("linear")
    named = dict(zip(bounds.names or (), bounds.columns, strict=True))
    levels = {name: column.levels for name, column in named.items() if not isinstance(column, Numeric)}
    shares = {name: [1 / len(each)] * len(each) for name, each in levels.items()}
    return dplr.planner.Assumptions(
        shares=shares, spread={name: (0.5, TRIANGLE) for name, column in named.items() if isinstance(column, Numeric)}
    )


def measured(table: Population, eps: float, delta: float) -> tuple[dict[str, float], dict[str, float]]:
    """Median widths of real fits, and the share of them that cannot say."""
    rng, widths = np.random.default_rng(0), []
    for seed in range(FITS):
        rows = rng.integers(0, len(table.X), table.n)
        X, y = table.X.iloc[rows].reset_index(drop=True), table.number[rows]
        est = dplr.fit(
            X, y, eps=eps, delta=delta, model="linear", bounds=table.bounds("linear"), aim="coefficients", rng=seed
        )
        widths.append({name: high - low for name, (low, high) in est.conf_int().items()})
    medians = {name: float(np.median([each[name] for each in widths])) for name in widths[0]}
    return medians, {name: float(np.mean([math.isinf(each[name]) for each in widths])) for name in widths[0]}


def study(table: Population, eps: float, delta: float) -> list[dict[str, Any]]:
    """One line for each coefficient."""
    facts = {"bounds": table.bounds("linear"), "model": "linear", "aim": "coefficients"}
    facts |= {"eps": eps, "delta": delta, "n_rows": table.n}
    real, unsaid = measured(table, eps, delta)
    plans = {}
    for how, assume in (("even", even(table)), ("codebook", dplr.planner.Assumptions(**CODEBOOK[table.name]))):
        (point,) = dplr.plan_curve(**facts, assume=assume, intervals=True).points
        plans[how] = {coef.name: coef for coef in point.intervals}
    return [
        {
            "table": table.name, "n": table.n, "eps": eps, "delta": delta, "coefficient": name,
            "real": f"{real[name]:.4g}", "real_unsaid": f"{unsaid[name]:.2f}",
            "even": f"{plans['even'][name].width:.4g}", "codebook": f"{plans['codebook'][name].width:.4g}",
            "codebook_unsaid": f"{plans['codebook'][name].unsaid:.2f}",
        }
        for name in real
    ]  # fmt: skip


def main(path: str) -> None:
    warnings.simplefilter("ignore")
    folder = os.environ["DPLR_DATA"]
    with open(path, "w", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        writer.writeheader()
        for table in (adult(folder), *(each for each in acs(folder) if each.name in CODEBOOK)):
            for eps, delta in CELLS:
                for line in study(table, eps, delta):
                    writer.writerow(line)
                    file.flush()
                    print(*line.values(), flush=True)


if __name__ == "__main__":
    main(sys.argv[-1])
