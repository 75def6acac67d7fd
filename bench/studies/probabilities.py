"""Are probabilities right? Logistic models of every table with labels, with the logistic link and with that of the fit.

    DPLR_DATA=<folder> python -m bench.studies.probabilities OUT.csv               official test splits
    DPLR_DATA=<folder> python -m bench.studies.probabilities --training OUT.csv    rows that are kept aside
    python -m bench.studies.probabilities --page bench/results/probabilities.csv   the table of the page

Constants were chosen with --training. `mean` is the mean probability of the rows that were fitted over their share of
yes; the other scores are of rows that were not. Before: the logistic function of the margin. After: what
`predict_proba` makes of it. The page is docs/use/probabilities.md.
"""

import csv
import dataclasses
import os
import sys
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import expit

import dplr
from bench.data.tables import SIZES, TRAIN, Table, tables
from bench.studies.defaults import FEATURES

FITS, BINS, HELD = 20, 15, 20_000
LEVELS = (0.1, 0.5, 1.0, 3.0)
MECHANISMS = (
    ("objective", 0.0), ("ngd", 1e-6), ("objective", 1e-6), ("output", 0.0), ("fm", 0.0), ("fm", 1e-6), ("score", 1e-6),
)  # fmt: skip
MOST = 60_000  # rows: more take hours
RARE = 0.116  # of the clients of a bank, in a table that is not among ours
SCORES = ("log_loss", "ece", "mean")
COLUMNS = (
    "table", "n", "share_of_yes", "mechanism", "delta", "eps", "fits", "error", "error_se",
    *(f"{score}_{when}" for score in SCORES for when in ("before", "after")),
)  # fmt: skip


def questions(folder: str, official: bool) -> Iterator[Table]:
    """Every table with labels, and three with few of one label, up to a size; large ones last."""
    found = [table for table in tables(folder, official) if table.model == "logistic"]
    found += [_rarer(found[0]), *_rich(folder, official)]
    yield from sorted((table for table in found if len(table.y) <= MOST), key=lambda table: len(table.y))


def _rarer(table: Table) -> Table:
    """The same table, from which most rows with the label are left out."""
    rng, parts = np.random.default_rng(5), []
    for X, y in ((table.X, table.y), (table.held_X, table.held_y)):
        no, yes = np.flatnonzero(~y), rng.permutation(np.flatnonzero(y))
        rows = np.sort(np.concatenate([no, yes[: round(len(no) * RARE / (1 - RARE))]]))
        parts += [X.iloc[rows], y[rows]]
    return Table(f"{table.name}, few", table.model, table.bounds, *parts)


def _rich(folder: str, official: bool) -> Iterator[Table]:
    """Income above 100,000."""
    frame = pd.read_parquet(os.path.join(folder, "acs2024_fm_370k.parquet"))
    X, y = np.ascontiguousarray(frame[list(FEATURES)].to_numpy(float)), frame["AnnualIncome"].to_numpy() > 100_000
    held, bounds = slice(TRAIN, None) if official else slice(max(SIZES), TRAIN), dplr.Bounds(list(FEATURES.values()))
    for n in SIZES:
        yield Table(f"ACS rich {n // 1000}k", "logistic", bounds, X[:n], y[:n], X[held], y[held])


def log_loss(chances: np.ndarray, y: np.ndarray) -> float:
    """Mean negative logarithm of the probability of what was."""
    return float(-np.log(np.clip(np.where(y, chances, 1 - chances), 1e-12, None)).mean())


def calibration_error(chances: np.ndarray, y: np.ndarray) -> float:
    """Mean distance of probability and share of yes, in bins of equally many rows."""
    parts = np.array_split(np.argsort(chances, kind="stable"), BINS)
    return float(sum(abs(chances[rows].sum() - y[rows].sum()) for rows in parts) / len(y))


def encoded(table: Table, X: Any) -> np.ndarray:
    """The columns of a model, for all fits at once."""
    return np.asarray(dplr.BoundsEncoder(table.bounds).fit(table.X[:2]).transform(X), np.float64)


def measured(est: Any, held: np.ndarray, fitted: np.ndarray, table: Table) -> tuple[float, ...]:
    """The error, and each score before and after."""
    margins = [columns @ est.coef_[0] + est.intercept_[0] for columns in (held, fitted)]
    both = [(expit(z), expit(est._record.link.log_odds(z))) for z in margins]
    found = [np.mean((margins[0] > 0) != table.held_y)]
    found += [log_loss(each, table.held_y) for each in both[0]]
    found += [calibration_error(each, table.held_y) for each in both[0]]
    return (*found, *(each.mean() / table.y.mean() for each in both[1]))


def rows_of(table: Table) -> Iterator[tuple[Any, ...]]:
    """One row for each mechanism, delta and eps: means over fits."""
    held, fitted = encoded(table, table.held_X), encoded(table, table.X)
    for mechanism, delta in MECHANISMS:
        facts = {"bounds": table.bounds, "eps": list(LEVELS), "delta": delta, "repeats": FITS, "classes": [False, True]}
        if table.bounds.target is not None:
            del facts["classes"]
        done = dplr.fit_many(table.X, table.y, model="logistic", mechanism=mechanism, **facts)
        assert np.allclose(held[:50] @ done[0].coef_[0] + done[0].intercept_[0],
                           done[0].decision_function(table.held_X[:50]))  # fmt: skip
        for eps in LEVELS:
            found = np.array([measured(est, held, fitted, table) for est in done if est.eps == eps])
            error = found[:, 0].std(ddof=1) / FITS**0.5
            means = [f"{value:.5f}" for value in (found[:, 0].mean(), error, *found[:, 1:].mean(axis=0))]
            yield (table.name, len(table.y), f"{table.y.mean():.4f}", mechanism, delta, eps, FITS, *means)


SHOWN = {("objective", 0.0): "`objective`", ("ngd", 1e-6): "`ngd`"}


def page(path: str) -> str:
    """The rows of the page's table: eps = 1, of the two mechanisms that the default takes."""
    found = pd.read_csv(path)
    found = found[found["eps"] == 1.0].set_index(["table", "mechanism", "delta"])
    lines = []
    for name in found.index.unique("table"):
        for key, said in SHOWN.items():
            row = found.loc[(name, *key)]
            scores = " | ".join(
                f"{row[f'{score}_before']:.{digits}f} → {row[f'{score}_after']:.{digits}f}"
                for score, digits in (("mean", 2), ("log_loss", 4), ("ece", 3))
            )
            lines.append(f"| {name} | {int(row['n']):,} | {row['share_of_yes']:.3f} | {said} | {scores} |")
    return "\n".join(lines)


def main(path: str, official: bool) -> None:
    warnings.simplefilter("ignore")
    with open(path, "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(COLUMNS)
        for table in questions(os.environ["DPLR_DATA"], official):
            order = np.sort(np.random.default_rng(11).permutation(len(table.held_y))[:HELD])
            held_X = table.held_X[order] if isinstance(table.held_X, np.ndarray) else table.held_X.iloc[order]
            few = dataclasses.replace(table, held_X=held_X, held_y=np.asarray(table.held_y)[order])
            for row in rows_of(few):
                writer.writerow(row)
                file.flush()


if __name__ == "__main__":
    if "--page" in sys.argv:
        print(page(sys.argv[-1]))
    else:
        main(sys.argv[-1], "--training" not in sys.argv)
