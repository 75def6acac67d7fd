"""How often do the intervals of `aim="coefficients"` hold the coefficients of all rows, with every other default?

The truth is least squares, or maximum likelihood, on all rows of a table, whose numbers count as clipped to their
declared bounds. A fit sees `n` rows drawn with replacement. Lines that say "cannot say" are counted and left out.
Beside it: intervals of the same rows without privacy (HC0 errors of least squares; Wald's of maximum likelihood).

    DPLR_DATA=<folder> python -m bench.studies.default_coverage bench/results/default_coverage.csv

goes on where it stopped. `--fits 50` makes fewer fits for each cell, `--route python` one way alone, `--table NAME`
one table. `--page` prints the table of the documentation. `--quick` does a small part and fails where coverage is too
low.
"""

import argparse
import csv
import functools
import itertools
import json
import math
import os
import pathlib
import tempfile
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import pandas as pd
from click.testing import CliRunner
from scipy import special

import dplr
from bench.data import rand
from bench.data.tables import FEATURES
from dplr.cli import main as dplr_command

LEVELS, DELTAS, ROUTES, FITS = (0.5, 1.0, 3.0), (0.0, 1e-6), ("python", "command line"), 200
QUANTILE, LEAST = 1.959964, 0.93
COLUMNS = (
    "table", "model", "eps", "delta", "route", "mechanism", "n", "fits", "lines", "bounded", "coverage", "worst",
    "worst_coverage", "non_private", "worst_non_private", "width",
)  # fmt: skip
FM12 = {
    5: ("Age", "Male", "Education", "FamilySize"),
    8: ("Age", "Male", "Education", "FamilySize", "Native", "OwnsDwelling", "NumBedrooms"),
    11: ("Age", "Male", "Education", "FamilySize", "Native", "OwnsDwelling", "NumBedrooms", "IsSingle", "IsMarried",
         "NumChildren"),
    14: tuple(FEATURES),
}  # fmt: skip


@dataclass(frozen=True)
class Population:
    """All rows of a table, the target as a number and as a label, and what is declared."""

    name: str
    X: pd.DataFrame
    number: np.ndarray
    label: np.ndarray
    columns: dict
    target: tuple
    n: int

    def bounds(self, model: str) -> dplr.Bounds:
        """The declared bounds of a model."""
        return dplr.Bounds(self.columns, target=self.target if model == "linear" else ("no", "yes"))

    @functools.cached_property
    def design(self) -> tuple[list[str], np.ndarray]:
        """Names and columns of the regression: numbers clipped, levels beside the first, the constant last."""
        names, columns = [], []
        for name, declared in self.columns.items():
            if isinstance(declared, dict):
                reference = declared.get("reference", declared["levels"][0])
                for level in declared["levels"]:
                    if level != reference:
                        names.append(f"{name}={level}")
                        columns.append((self.X[name] == level).to_numpy(float))
            else:
                names.append(name)
                columns.append(np.clip(self.X[name].to_numpy(float), *declared))
        return [*names, "(intercept)"], np.column_stack([*columns, np.ones(len(self.X))])

    def target_of(self, model: str) -> np.ndarray:
        """The clipped number, or 0 and 1."""
        return np.clip(self.number, *self.target) if model == "linear" else self.label.astype(float)


def least_squares(D: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Coefficients and HC0 errors."""
    inverse = np.linalg.pinv(D.T @ D)
    coef = inverse @ (D.T @ y)
    meat = (D * ((y - D @ coef) ** 2)[:, None]).T @ D
    return coef, np.sqrt(np.diag(inverse @ meat @ inverse))


def maximum_likelihood(D: np.ndarray, y: np.ndarray, start: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Coefficients and Wald's errors."""
    coef = start.copy()
    for _ in range(50):
        p = special.expit(D @ coef)
        inverse = np.linalg.pinv((D * (p * (1 - p))[:, None]).T @ D)
        step = inverse @ (D.T @ (y - p))
        coef += step
        if np.abs(step).max() < 1e-10 * (1 + np.abs(coef).max()):
            break
    return coef, np.sqrt(np.diag(inverse))


def non_private(model: str, D: np.ndarray, y: np.ndarray, start: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return least_squares(D, y) if model == "linear" else maximum_likelihood(D, y, start)


def acs(folder: str) -> Iterator[Population]:
    frame = pd.read_parquet(pathlib.Path(folder) / "acs2024_fm_370k.parquet")
    income = frame["AnnualIncome"].to_numpy(float)
    for size, names in FM12.items():
        columns = {name: FEATURES[name] for name in names}
        yield Population(f"ACS {size}", frame[list(names)], income, income > 50_000, columns, (0.0, 200_000.0), 20_000)
    coded = frame.assign(Race=frame["Race"].astype(str))
    columns = {name: FEATURES[name] for name in ("Age", "Male", "Education", "WorkHours", "Native")}
    columns["Race"] = {"levels": [str(code) for code in range(1, 10)]}
    yield Population(
        "ACS codes", coded[list(columns)], income, frame["HealthInsured"].to_numpy() > 0, columns, (0.0, 200_000.0),
        20_000,
    )  # fmt: skip


def adult(folder: str) -> Population:
    frame = pd.read_parquet(pathlib.Path(folder) / "adult.parquet").dropna().reset_index(drop=True)
    columns = {
        "age": (17, 90), "education_num": (1, 16), "hours_per_week": (1, 99), "capital_loss": (0, 5_000),
        "sex": {"levels": ["Female", "Male"]},
        "race": {"levels": ["White", "Asian-Pac-Islander", "Amer-Indian-Eskimo", "Other", "Black"]},
        "relationship": {"levels": ["Wife", "Own-child", "Husband", "Not-in-family", "Other-relative", "Unmarried"]},
    }  # fmt: skip
    gain = np.log1p(frame["capital_gain"].to_numpy(float))
    return Population(
        "Adult", frame[list(columns)], gain, frame["income_gt_50k"].to_numpy() > 0, columns, (0.0, 12.0), 20_000
    )


def visits() -> Population:
    from statsmodels.datasets import randhie

    frame = randhie.load_pandas().data.reset_index(drop=True)
    number = frame["mdvis"].to_numpy(float)
    return Population("RAND", frame[list(rand.BOUNDS)], number, number > 0, rand.BOUNDS, (0.0, 80.0), 10_000)


def rare_flags() -> Population:
    """Flags of 1 to 5 % with large effects, and variances that differ with them."""
    rng = np.random.default_rng(1)
    size = 200_000
    X = pd.DataFrame({"age": rng.uniform(20, 80, size), "often": rng.random(size) < 0.4})
    for name, share in (("rare", 0.05), ("rarer", 0.02), ("rarest", 0.01)):
        X[name] = rng.random(size) < share
    X = X.astype(float)
    spread = 3 + 15 * X["rare"] + 0.1 * X["age"]
    number = 20 + 0.3 * X["age"] + 8 * X["rare"] - 10 * X["rarer"] + 15 * X["rarest"] + spread * rng.normal(size=size)
    chance = np.clip(0.02 + 0.5 * X["rare"] + 0.1 * X["rarest"] + 0.0005 * (X["age"] - 20), 0, 1)
    flags = dict.fromkeys(("often", "rare", "rarer", "rarest"), (0, 1))
    return Population(
        "rare flags", X, number.to_numpy(), rng.random(size) < chance, {"age": (18, 90), **flags}, (-100.0, 200.0),
        20_000,
    )  # fmt: skip


def tails_and_curves() -> Population:
    """Columns and errors with heavy tails, and a mean that is far from a line."""
    rng = np.random.default_rng(2)
    size = 200_000
    heavy = np.minimum(rng.pareto(2.0, size), 30.0)
    bent, flat = rng.normal(0, 1, size), rng.uniform(-1, 1, size)
    bent = np.clip(bent, -4, 4)
    X = pd.DataFrame({"heavy": heavy, "bent": bent, "flat": flat})
    mean = 2 * np.sqrt(heavy) + bent**2 + bent + np.sin(3 * flat)
    number = mean + (1 + 0.5 * np.abs(bent)) * rng.standard_t(3, size)
    label = rng.random(size) < special.expit(-2 + np.sqrt(heavy) + 0.7 * bent**2 * (bent > 0) + np.sin(3 * flat))
    columns = {"heavy": (0, 30), "bent": (-4, 4), "flat": (-1, 1)}
    return Population("tails and curves", X, number, label, columns, (-30.0, 50.0), 20_000)


def populations(folder: str) -> Iterator[Population]:
    """All tables; made ones alone without a folder."""
    yield from (rare_flags(), tails_and_curves())
    if folder:
        yield from (*acs(folder), adult(folder), visits())


Lines = dict[str, tuple[float, float]]


def by_python(X: pd.DataFrame, y: np.ndarray, model: str, bounds: dplr.Bounds, eps: float, delta: float) -> tuple:
    est = dplr.fit(X, y, eps=eps, delta=delta, model=model, bounds=bounds, aim="coefficients")
    return est.privacy_.mechanism, {name: ends for name, ends in est.conf_int().items() if math.isfinite(ends[0])}


def by_command_line(X: pd.DataFrame, y: np.ndarray, model: str, bounds: dplr.Bounds, eps: float, delta: float) -> tuple:
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        bounds.to_toml(root / "bounds.toml")
        X.assign(target=y).to_parquet(root / "rows.parquet")
        fit = ["fit", str(root / "rows.parquet"), "--bounds", str(root / "bounds.toml"), "--target", "target",
               "--model", model, "--eps", str(eps), "--delta", str(delta), "--aim", "coefficients", "-o",
               str(root / "m.json"), "--quiet"]  # fmt: skip
        for command in (fit, ["summary", str(root / "m.json"), "-o", str(root / "table.json"), "--quiet"]):
            result = CliRunner().invoke(dplr_command, command)
            assert result.exit_code == 0, result.output
        table = json.loads((root / "table.json").read_text())
        mechanism = dplr.load_model(root / "m.json").privacy_.mechanism
    lines = {
        line["name"]: (line["low"], line["high"]) for line in table["lines"] if line["low"] is not None
        and line["high"] is not None
    }  # fmt: skip
    return mechanism, lines


WAYS: dict[str, Callable] = {"python": by_python, "command line": by_command_line}


def cell(table: Population, model: str, eps: float, delta: float, route: str, fits: int) -> dict:
    """The coverage of one cell."""
    names, D = table.design
    y, bounds = table.target_of(model), table.bounds(model)
    truth, _ = non_private(model, D, y, np.zeros(D.shape[1]))
    seed = f"{table.name}{model}{eps}{delta}{route}".encode()
    rng = np.random.default_rng(np.frombuffer(seed, np.uint8))
    intervals, hits, plain_hits, widths = np.zeros((4, fits, len(names)))
    mechanisms = set()
    for k in range(fits):
        rows = rng.integers(0, len(D), table.n)
        coef, error = non_private(model, D[rows], y[rows], truth)
        plain_hits[k] = np.abs(coef - truth) <= QUANTILE * error
        targets = table.number[rows] if model == "linear" else np.where(table.label[rows], "yes", "no")
        X = table.X.iloc[rows].reset_index(drop=True)
        mechanism, lines = WAYS[route](X, targets, model, bounds, eps, delta)
        mechanisms.add(mechanism)
        if mechanism == "fm" and model == "logistic":
            raise RuntimeError("slopes of probabilities are not what this compares with")
        for j, name in enumerate(names):
            if name in lines:
                low, high = lines[name]
                intervals[k, j], hits[k, j] = 1, low <= truth[j] <= high
                widths[k, j] = (high - low) / (2 * QUANTILE * error[j]) if error[j] > 0 else math.nan
    counts = intervals.sum(axis=0)
    rates = np.divide(hits.sum(axis=0), counts, out=np.ones(len(names)), where=counts > 0)
    ratios = widths[intervals > 0]
    return {
        "table": table.name, "model": model, "eps": eps, "delta": delta, "route": route,
        "mechanism": "+".join(sorted(mechanisms)), "n": table.n, "fits": fits, "lines": intervals.size,
        "bounded": int(intervals.sum()), "coverage": f"{hits.sum() / max(intervals.sum(), 1):.4f}",
        "worst": names[int(rates.argmin())], "worst_coverage": f"{rates.min():.3f}",
        "non_private": f"{plain_hits.mean():.4f}", "worst_non_private": f"{plain_hits.mean(axis=0).min():.3f}",
        "width": f"{np.nanmedian(ratios) if len(ratios) else math.nan:.2f}",
    }  # fmt: skip


def low(row: dict) -> bool:
    """Whether a cell covers too little, by more than two standard errors of its fits, beside the non-private one."""
    deviation = math.sqrt(LEAST * (1 - LEAST) / max(row["bounded"], 1))
    return float(row["coverage"]) < min(LEAST, float(row["non_private"]) - 0.01) - 2 * deviation


def quick() -> None:
    """Two made tables, one eps, twelve fits."""
    for table, model, delta in itertools.product(populations(""), ("linear", "logistic"), DELTAS):
        row = cell(table, model, 1.0, delta, "python", 12)
        print(row)
        if low(row):
            raise SystemExit(f"covers too little: {row}")


def page(path: str) -> None:
    """The table of the documentation: coverage, and the share of intervals that are reported."""
    with open(path, newline="") as file:
        rows = {tuple(row[name] for name in COLUMNS[:5]): row for row in csv.DictReader(file)}
    heads = [f"delta {delta:g}, eps {eps:g}" for delta, eps in itertools.product(DELTAS, LEVELS)]
    print(f"| table | model | {' | '.join(heads)} | non-private |\n|{'---|' * (len(heads) + 3)}")
    for name, model, route in dict.fromkeys((key[0], key[1], key[4]) for key in rows):
        cells, plain = [], []
        for delta, eps in itertools.product(DELTAS, LEVELS):
            row = rows.get((name, model, str(eps), str(delta), route))
            if row is None:
                cells.append("")
                continue
            plain.append(float(row["non_private"]))
            share = int(row["bounded"]) / int(row["lines"])
            cells.append(f"{float(row['coverage']):.3f} ({share:.0%})" if share else "cannot say")
        via = "" if route == ROUTES[0] else f", {route}"
        print(f"| {name}{via} | {model} | {' | '.join(cells)} | {np.mean(plain):.3f} |")


def main() -> None:
    warnings.simplefilter("ignore")
    parser = argparse.ArgumentParser()
    parser.add_argument("out", nargs="?")
    parser.add_argument("--fits", type=int, default=FITS)
    parser.add_argument("--route", choices=ROUTES)
    parser.add_argument("--table")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--page", action="store_true")
    options = parser.parse_args()
    if options.page:
        page(options.out)
        return
    if options.quick:
        quick()
        return
    path = pathlib.Path(options.out)
    keys = set()
    if path.exists():
        with path.open(newline="") as file:
            keys = {tuple(row[name] for name in COLUMNS[:5]) for row in csv.DictReader(file)}
    else:
        path.write_text(",".join(COLUMNS) + "\n")
    routes = (options.route,) if options.route else ROUTES
    for table in populations(os.environ.get("DPLR_DATA", "")):
        if options.table and table.name != options.table:
            continue
        for route, model, eps, delta in itertools.product(routes, ("linear", "logistic"), LEVELS, DELTAS):
            if (table.name, model, str(eps), str(delta), route) in keys:
                continue
            row = cell(table, model, eps, delta, route, options.fits)
            with path.open("a", newline="") as file:
                csv.DictWriter(file, COLUMNS).writerow(row)


if __name__ == "__main__":
    main()
