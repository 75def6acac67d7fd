"""Which of `score` and `objective` has the better table of log odds, and which does `aim="coefficients"` take?

Fits of rows drawn from the tables of `bench.studies.default_coverage`, delta = 1e-6: the share of coefficients with an
interval, and the median width of those over that of maximum likelihood on the same rows.

    DPLR_DATA=<folder> python -m bench.studies.aim_mechanism bench/results/aim_mechanism.csv

`--rule` reads the file and counts, for several guesses of the mean Hessian, the cells in which the rule takes the one
with more intervals, or with as many (within 0.05) that are narrower by 3 % or more.
"""

import csv
import itertools
import os
import sys
import warnings

import numpy as np

import dplr
from bench.studies.default_coverage import Population, maximum_likelihood, populations
from dplr.fitting import aims
from dplr.fitting.facts import public_facts
from dplr.mechanisms import as_mechanism

SIZES, LEVELS, DELTA, FITS = (20_000, 100_000), (0.5, 1.0, 3.0), 1e-6, 3
BOTH = ("score", "objective")
COLUMNS = ("table", "n", "eps", "score_bounded", "score_width", "objective_bounded", "objective_width")
GUESSES = (0.05, 0.02, 0.01, 0.005, 0.003, 0.002)


def measured(table: Population, n: int, eps: float, mechanism: str) -> tuple[float, float]:
    """The share of coefficients with an interval, and the median of their widths over those without privacy."""
    names, D = table.design
    shares, widths = [], []
    for seed in range(FITS):
        rows = np.random.default_rng(seed).integers(0, len(D), n)
        y = table.label[rows]
        _, errors = maximum_likelihood(D[rows], y.astype(float), np.zeros(len(names)))
        est = dplr.fit(
            table.X.iloc[rows].reset_index(drop=True), np.where(y, "yes", "no"), eps=eps, delta=DELTA,
            bounds=table.bounds("logistic"), mechanism=mechanism, aim="coefficients",
        )  # fmt: skip
        ends = np.array(list(est.conf_int().values()))
        bounded = np.isfinite(ends[:, 0])
        shares.append(bounded.mean())
        widths += ((ends[:, 1] - ends[:, 0]) / (2 * 1.959964 * errors))[bounded].tolist()
    return float(np.mean(shares)), float(np.median(widths)) if widths else 0.0


def choice(table: Population, n: int, eps: float) -> str:
    """The mechanism that the rule chooses with its present guess."""
    facts = public_facts(
        n_rows=n, n_features=None, bounds=table.bounds("logistic"), model="logistic", mechanism="auto", delta=DELTA,
        fit_intercept=True, l2="auto", neighbouring="replace_one", public=None, ranges="off", aim="coefficients",
    )  # fmt: skip
    specs = {name: as_mechanism(name).aimed(facts.problem, ()) for name in BOTH}
    return min(BOTH, key=lambda name: aims.expected(specs[name], specs[name].plan(facts.problem, eps, DELTA)))


def better(row: dict[str, str]) -> str:
    """The mechanism with the better table; empty where they are level."""
    score, objective = ((float(row[f"{name}_bounded"]), float(row[f"{name}_width"])) for name in BOTH)
    if abs(score[0] - objective[0]) > 0.05:
        return BOTH[0] if score[0] > objective[0] else BOTH[1]
    if not score[1] or not objective[1]:
        return ""
    return BOTH[0] if score[1] < 0.97 * objective[1] else BOTH[1] if objective[1] < 0.97 * score[1] else ""


def rule(path: str) -> None:
    """How often each guess takes the better one."""
    tables = {table.name: table for table in populations(os.environ["DPLR_DATA"])}
    with open(path, newline="") as file:
        rows = list(csv.DictReader(file))
    for guess in GUESSES:
        aims._CURVED = guess
        right = [better(row) in ("", choice(tables[row["table"]], int(row["n"]), float(row["eps"]))) for row in rows]
        print(f"{guess}: {sum(right)} of {len(right)}")


def main(path: str) -> None:
    warnings.simplefilter("ignore")
    with open(path, "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(COLUMNS)
        for table, n, eps in itertools.product(populations(os.environ["DPLR_DATA"]), SIZES, LEVELS):
            cells = [number for name in BOTH for number in measured(table, n, eps, name)]
            writer.writerow((table.name, n, eps, *(f"{cell:.2f}" for cell in cells)))
            file.flush()


if __name__ == "__main__":
    rule(sys.argv[1]) if "--rule" in sys.argv else main(sys.argv[1])
