"""Are probabilities right? Logistic models of every table with labels, with the logistic link and with that of the fit.

    DPLR_DATA=<folder> python -m bench.studies.probabilities OUT.csv               official test splits
    DPLR_DATA=<folder> python -m bench.studies.probabilities --training OUT.csv    rows that are kept aside
    python -m bench.studies.probabilities --made OUT.csv [DESIGN]                  made tables: means alone
    python -m bench.studies.probabilities --page bench/results/probabilities.csv   the table of the page

Constants were chosen with --training. `mean` is the mean probability of the rows that were fitted over their share of
yes; the other scores are of rows that were not. Before: the logistic function of the margin. After: what
`predict_proba` makes of it. The page is docs/use/probabilities.md.
"""

import csv
import dataclasses
import itertools
import os
import sys
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
from scipy.optimize import brentq
from scipy.special import expit

import dplr
from bench.data.tables import FEATURES, SIZES, TRAIN, Table, tables

FITS, BINS, HELD = 20, 15, 20_000
LEVELS = (0.1, 0.5, 1.0, 3.0)
MECHANISMS = (
    ("objective", 0.0), ("ngd", 1e-6), ("objective", 1e-6), ("output", 0.0), ("fm", 0.0), ("fm", 1e-6), ("score", 1e-6),
)  # fmt: skip

RARE = 0.116  # of the clients of a bank, in a table that is not among ours
SCORES = ("log_loss", "ece", "mean")
COLUMNS = (
    "table", "n", "share_of_yes", "mechanism", "delta", "eps", "fits", "error", "error_se",
    *(f"{score}_{when}" for score in SCORES for when in ("before", "after")),
)  # fmt: skip


def questions(folder: str, official: bool) -> Iterator[Table]:
    """Every table with labels, and four with few of one label; large ones last."""
    candidates = [table for table in tables(folder, official) if table.model == "logistic"]
    candidates += [_rarer(candidates[0]), *_rich(folder, official)]
    yield from sorted(candidates, key=lambda table: len(table.y))


def _rarer(table: Table) -> Table:
    """A table without most of its rows that have the label."""
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
    test, bounds = slice(TRAIN, None) if official else slice(max(SIZES), TRAIN), dplr.Bounds(list(FEATURES.values()))
    for n in SIZES:
        yield Table(f"ACS rich {n // 1000}k", "logistic", bounds, X[:n], y[:n], X[test], y[test])


def log_loss(chances: np.ndarray, y: np.ndarray) -> float:
    """Mean negative logarithm of the probability of what was."""
    return float(-np.log(np.clip(np.where(y, chances, 1 - chances), 1e-12, None)).mean())


def calibration_error(chances: np.ndarray, y: np.ndarray) -> float:
    """Mean distance of probability and share of yes, in bins of equally many rows."""
    parts = np.array_split(np.argsort(chances, kind="stable"), BINS)
    return float(sum(abs(chances[rows].sum() - y[rows].sum()) for rows in parts) / len(y))


def scores_of(est: Any, table: Table) -> tuple[float, ...]:
    """The error, and each score before and after."""
    margins = [est.decision_function(X) for X in (table.held_X, table.X)]
    chances = [(expit(z), expit(est._record.link.log_odds(z))) for z in margins]
    scores = [np.mean((margins[0] > 0) != table.held_y)]
    scores += [log_loss(p, table.held_y) for p in chances[0]]
    scores += [calibration_error(p, table.held_y) for p in chances[0]]
    return (*scores, *(p.mean() / table.y.mean() for p in chances[1]))


def rows_of(table: Table) -> Iterator[tuple[Any, ...]]:
    """One row for each mechanism, delta and eps: means over fits."""
    for mechanism, delta in MECHANISMS:
        facts = {"bounds": table.bounds, "eps": list(LEVELS), "delta": delta, "repeats": FITS, "classes": [False, True]}
        if table.bounds.target is not None:
            del facts["classes"]
        models = dplr.fit_many(table.X, table.y, model="logistic", mechanism=mechanism, **facts)
        for eps in LEVELS:
            scores = np.array([scores_of(est, table) for est in models if est.eps == eps])
            error = scores[:, 0].std(ddof=1) / FITS**0.5
            means = [f"{value:.5f}" for value in (scores[:, 0].mean(), error, *scores[:, 1:].mean(axis=0))]
            yield (table.name, len(table.y), f"{table.y.mean():.4f}", mechanism, delta, eps, FITS, *means)


# Slopes on columns from 0 to 1: three that fill their bounds, six that fill little of them, flags of 2 to 60 %, and
# twenty that are skewed.
DESIGNS = {
    "3 even": (lambda rng, n: rng.uniform(0, 1, (n, 3)), [2, -1, 1]),
    "6 narrow": (lambda rng, n: np.clip(rng.normal(0.3, 0.07, (n, 6)), 0, 1), [8, -5, 5, 3, 0, 0]),
    "10 flags": (
        lambda rng, n: (rng.random((n, 10)) < np.linspace(0.02, 0.6, 10)).astype(float),
        [1.5, -1, 1, 1, -0.5, 0.5, 0, 0, 1, -1],
    ),
    "20 skewed": (lambda rng, n: rng.beta(2, 8, (n, 20)), [3, -2] + [1, -1] * 9),
}
SHARES, MADE_FITS = (0.02, 0.05, 0.1, 0.3, 0.5), 4
SPENT = ((10_000, 1.0), (20_000, 0.75), (20_000, 1.5), (40_000, 1.5), (40_000, 3.0), (60_000, 5.0))


def made_rows(designs: list[str]) -> Iterator[tuple[Any, ...]]:
    """One row for each design, share of yes, mechanism, n and eps: the mean probability over the share of yes."""
    for design in designs:
        draw, slopes = DESIGNS[design]
        for share in SHARES:
            margins = draw(np.random.default_rng(0), 200_000) @ np.array(slopes)
            start = brentq(lambda move, margins=margins, share=share: expit(margins + move).mean() - share, -30, 30)
            for (mechanism, delta), (n, eps) in itertools.product(SHOWN, SPENT):
                means = []
                for seed in range(MADE_FITS):
                    rng = np.random.default_rng(seed)
                    X = draw(rng, n)
                    y = rng.random(n) < expit(X @ np.array(slopes) + start)
                    bounds = dplr.Bounds([(0.0, 1.0)] * X.shape[1], target=(False, True))
                    est = dplr.fit(X, y, model="logistic", mechanism=mechanism, eps=eps, delta=delta, bounds=bounds)
                    means.append(est.predict_proba(X)[:, 1].mean() / y.mean())
                yield design, share, mechanism, n, eps, MADE_FITS, f"{np.mean(means):.4f}"


def made_page(path: str) -> str:
    """The rows of the page's second table: the range of the four designs, for each n eps."""
    results = pd.read_csv(path)
    results = results.assign(information=results["n"] * results["eps"])
    lines = []
    for (mechanism, _), share in itertools.product(SHOWN, SHARES):
        found = results[(results["mechanism"] == mechanism) & (results["share_of_yes"] == share)]
        ranges = found.groupby("information")["mean"].agg(["min", "max"]).itertuples(index=False)
        cells = " | ".join(f"{low:.2f} to {high:.2f}" for low, high in ranges)
        lines.append(f"| `{mechanism}` | {100 * share:g} % | {cells} |")
    return "\n".join(lines)


def write_made(path: str, designs: list[str]) -> None:
    """The rows of made tables."""
    with open(path, "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(("design", "share_of_yes", "mechanism", "n", "eps", "fits", "mean"))
        for row in made_rows(designs):
            writer.writerow(row)
            file.flush()


SHOWN = {("objective", 0.0): "`objective`", ("ngd", 1e-6): "`ngd`"}


def page(path: str) -> str:
    """The rows of the page's table: eps = 1, of the two mechanisms that the default takes."""
    results = pd.read_csv(path)
    results = results[results["eps"] == 1.0].set_index(["table", "mechanism", "delta"])
    lines = []
    for name in results.index.unique("table"):
        for key, label in SHOWN.items():
            row = results.loc[(name, *key)]
            scores = " | ".join(
                f"{row[f'{score}_before']:.{digits}f} → {row[f'{score}_after']:.{digits}f}"
                for score, digits in (("mean", 2), ("log_loss", 4), ("ece", 3))
            )
            lines.append(f"| {name} | {int(row['n']):,} | {row['share_of_yes']:.3f} | {label} | {scores} |")
    return "\n".join(lines)


def main(path: str, official: bool) -> None:
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
    warnings.simplefilter("ignore")
    if "--page" in sys.argv:
        print(made_page(sys.argv[-1]) if "made" in sys.argv[-1] else page(sys.argv[-1]))
    elif "--made" in sys.argv:
        write_made(sys.argv[2], sys.argv[3:] or list(DESIGNS))
    else:
        main(sys.argv[-1], "--training" not in sys.argv)
