"""How many lines of real tables with levels have an interval, and how often these hold, at 50,000 rows.

Samples with replacement from whole tables, fits by `aim="coefficients"`; the truth is that of all rows. Strong lines
have |t| above 20 in the same samples without privacy.

    DPLR_DATA=<folder> python -m bench.studies.real_tables bench/results/real_tables.csv [fits]

goes on where it stopped.
"""

import csv
import itertools
import os
import pathlib
import sys
import warnings

import numpy as np

import dplr
from bench.studies.default_coverage import QUANTILE, Population, non_private, populations

TABLES, ROWS, STRONG = ("ACS codes", "Adult"), 50_000, 20.0
COLUMNS = (
    "table", "model", "n", "eps", "delta", "mechanism", "fits", "reported", "coverage", "strong", "strong_reported",
    "strong_coverage", "width",
)  # fmt: skip


def cell(table: Population, model: str, eps: float, delta: float, fits: int) -> dict:
    """Shares of the lines of one table and budget."""
    names, D = table.design
    y, bounds = table.target_of(model), table.bounds(model)
    truth, _ = non_private(model, D, y, np.zeros(D.shape[1]))
    rng = np.random.default_rng(np.frombuffer(f"{table.name}{model}{eps}{delta}".encode(), np.uint8))
    said, held = np.zeros((2, fits, len(names)), bool)
    ratios, sizes = np.full((2, fits, len(names)), np.nan)
    for k in range(fits):
        rows = rng.integers(0, len(D), ROWS)
        coef, error = non_private(model, D[rows], y[rows], truth)
        sizes[k] = np.divide(np.abs(coef), error, out=np.zeros(len(names)), where=error > 0)
        targets = table.number[rows] if model == "linear" else np.where(table.label[rows], "yes", "no")
        X = table.X.iloc[rows].reset_index(drop=True)
        est = dplr.fit(X, targets, eps=eps, delta=delta, model=model, bounds=bounds, aim="coefficients")
        ends = est.conf_int()
        low, high = np.array([ends[name] for name in names]).T
        said[k] = np.isfinite(low)
        held[k] = said[k] & (low <= truth) & (truth <= high)
        ratios[k, said[k]] = ((high - low) / (2 * QUANTILE * error))[said[k]]
    strong = np.median(sizes, axis=0) > STRONG
    return {
        "table": table.name, "model": model, "n": ROWS, "eps": eps, "delta": delta,
        "mechanism": est.privacy_.mechanism, "fits": fits, "reported": f"{said.mean():.3f}",
        "coverage": f"{held.sum() / max(said.sum(), 1):.4f}", "strong": int(strong.sum()),
        "strong_reported": f"{said[:, strong].mean():.3f}",
        "strong_coverage": f"{held[:, strong].sum() / max(said[:, strong].sum(), 1):.4f}",
        "width": f"{np.nanmedian(ratios) if said.any() else np.nan:.2f}",
    }  # fmt: skip


def main() -> None:
    warnings.simplefilter("ignore")
    path, fits = pathlib.Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 200
    keys = set()
    if path.exists():
        with path.open(newline="") as file:
            keys = {tuple(row[name] for name in COLUMNS[:5]) for row in csv.DictReader(file)}
    else:
        path.write_text(",".join(COLUMNS) + "\n")
    for table in populations(os.environ["DPLR_DATA"]):
        if table.name not in TABLES:
            continue
        for (eps, delta), model in itertools.product(((1.0, 1e-6), (3.0, 1e-6), (1.0, 0.0)), ("linear", "logistic")):
            if (table.name, model, str(ROWS), str(eps), str(delta)) not in keys:
                with path.open("a", newline="") as file:
                    csv.DictWriter(file, COLUMNS).writerow(cell(table, model, eps, delta, fits))


if __name__ == "__main__":
    main()
