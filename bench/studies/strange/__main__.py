"""Strange designs: how often a table speaks, whether it is right when it does, and whether that was announced.

For every coefficient: lines that are told, those that hold the truth, power, width over the interval without privacy
of the same rows and how often that one holds it, and what a plan of the same public facts expects. All rows are made
up, and all noise comes from seeds. A design has 120 fits, and 360 where in these a column covers less than .93 of the
lines that it tells.

    OMP_NUM_THREADS=1 python -m bench.studies.strange docs/trust/intervals/strange.csv        (15 minutes; resumes)
    OMP_NUM_THREADS=1 python -m bench.studies.strange --quick
    python -m bench.studies.strange.page                                          (writes the table into the page)

`--only TEXT` takes the designs whose name has it, `--again` measures them anew, `--fits 120 120` has no more fits where
coverage is low, and `--version before` is what records of an earlier package are called.
"""

from __future__ import annotations

import argparse
import csv
import pathlib
import sys
import tempfile
import time
import warnings
import zlib
from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
from scipy import stats

import dplr
from bench.studies.strange.designs import DESIGNS, Design
from bench.studies.strange.plain import best, fitted, rows_of
from bench.studies.strange.tables import INTERCEPT, clipped, matrix

FITS, MORE, SOME, LEAST = 120, 360, 100, 0.93
LEVEL, CHANCE = 0.95, 0.005
LEARN, OUTSIDE = 1.0, 0.005
KEY = ("version", "model", "design", "n", "eps", "delta")
FIELDS = (*KEY, "column", "truth", "fits", "told", "held", "apart", "width", "plain", "announced")
QUICK = ("even, 300 rows", "flag of 2 %", "moments, flag", "slopes 7 and", "scattered")
NORMAL = 1.959963984540054
BEFORE = hasattr(dplr, "plan_intervals")  # the package of 2b8b7ac1 has another name of plans, and another of caps
Ends = dict[str, tuple[float, float]]
Box = dict[str, tuple[float, float]]


def key_of(design: Design, version: str) -> tuple[str, ...]:
    """What names a design in the results."""
    return version, design.model, design.name, str(design.n), f"{design.eps:g}", f"{design.delta:g}"


def facts_of(design: Design) -> dict[str, Any]:
    """Public facts of a fit that its plan takes too."""
    caps = {"weight_bounds": (0, 1)} if BEFORE and "sample_weight" in design.options else {}
    return {
        "eps": design.eps, "delta": design.delta, "model": design.model, "aim": "coefficients",
        "neighbouring": design.relation, "n_rows": design.n, **caps,
    }  # fmt: skip


def bounds_of(design: Design) -> dplr.Bounds:
    """Bounds of a codebook."""
    weights = 1.0 if "sample_weight" in design.options and not BEFORE else None
    return dplr.Bounds(design.table.bounds, target=design.target, weight_max=weights)


def learned(design: Design, frame: pd.DataFrame, seed: int) -> dplr.Bounds:
    """Bounds that are learned from the rows, at an eps beside that of the fit; labels have none."""
    options = {"eps": LEARN, "delta": design.delta, "outside": OUTSIDE, "rng": seed}
    if design.model == "logistic":
        return dplr.learn_bounds(frame.drop(columns="y"), **options).bounds
    return dplr.learn_bounds(frame, target="y", **options).bounds


def interval_of(design: Design, frame: pd.DataFrame, beside: dict[str, Any], bounds: Any, seed: int) -> Ends:
    """The intervals of one private fit."""
    X, y = frame.drop(columns="y"), frame["y"]
    if design.model == "logistic":
        y = y.astype(int)
    if design.route == "moments":
        options = {name: facts_of(design)[name] for name in ("eps", "delta", "neighbouring", "n_rows")}
        declared = {**design.table.bounds, "y": design.target}
        return dplr.release_moments(frame, bounds=declared, rng=seed, **options).regress("y", list(X)).conf_int()
    options = {**facts_of(design), **beside, "bounds": bounds, "rng": seed}
    if "person" in beside:
        options["n_rows"] = int(beside["person"][-1]) + 1
    if design.route != "stream":
        return dplr.fit(X, y, **options).conf_int()
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder, "rows.parquet")
        X.assign(y=y).to_parquet(path)
        return dplr.fit(path, "y", **options).conf_int()


def announced(design: Design, bounds: Any) -> dict[str, float]:
    """The share of fits that a plan expects to be silent, by column; empty where there is no plan."""
    if design.route == "moments":
        return {}
    facts = {**facts_of(design), "bounds": bounds} | ({"person": "id"} if "person" in design.options else {})
    if BEFORE:
        return {each.name: each.unsaid for each in dplr.plan_intervals(**facts).coefficients}
    return {each.name: each.unsaid for each in dplr.plan_curve(**facts, intervals=True).points[0].intervals}


class Cell:
    """What the fits of one design said of each column: told, held, apart from 0, width, held without privacy."""

    def __init__(self, place: int) -> None:
        self.place, self.design = place, DESIGNS[place]
        self.names: list[str] = []
        self.truth: dict[str, float] = {}
        self.fits: list[np.ndarray] = []
        self.expected: dict[str, float] | None = None

    def more(self, fits: int) -> None:
        """Fit until there are so many."""
        for k in range(len(self.fits), fits):
            self.fits.append(self._fit(k))

    def _fit(self, k: int) -> np.ndarray:
        design, seed = self.design, zlib.crc32("".join(key_of(self.design, "")).encode()) % 10**6 + k
        columns, y, beside = rows_of(design, design.n, np.random.default_rng(seed))
        frame = pd.DataFrame(columns).assign(y=y)
        taken = design.route == "learned"
        bounds = learned(design, frame, seed) if taken else bounds_of(design)
        if self.expected is None:
            self.expected = announced(design, bounds)
        known, ends = dict(design.table.bounds), None
        if taken:
            known = {name: (each.lower, each.upper) for name, each in zip(bounds.names, bounds.columns, strict=True)}
            ends = tuple(bounds.target) if design.model != "logistic" else None
        sampled = taken or design.bend is not None
        self.truth = best(self.place, tuple(known.items()), ends) if sampled else design.truth
        self.names, Z = matrix(clipped(columns, known), known)
        coef, error = fitted(design, Z, y if ends is None else np.clip(y, *ends), beside)
        said = interval_of(design, frame, beside, bounds, seed)
        low, high = np.array([said[name] for name in self.names], float).T
        truth = np.array([self.truth[name] for name in self.names])
        told, width = np.isfinite(low) & np.isfinite(high), (high - low) / (2 * NORMAL * error)
        plain = np.abs(coef - truth) <= NORMAL * error
        return np.array([told, told & (low <= truth) & (truth <= high), told & (low * high > 0), width, plain])

    def doubtful(self) -> bool:
        """Whether a column covers too little that more fits would tell often."""
        told, held, *_ = np.array(self.fits).sum(axis=0)
        return bool(np.any((told * MORE >= SOME * len(self.fits)) & (held < LEAST * told)))

    def records(self, version: str) -> Iterator[dict[str, Any]]:
        """One record for each coefficient."""
        results = np.array(self.fits)
        for j, name in enumerate(self.names):
            told, held, apart, width, plain = results[:, :, j].T
            ratios = width[(told > 0) & np.isfinite(width)]
            yield dict(zip(KEY, key_of(self.design, version), strict=True)) | {
                "column": name, "truth": f"{self.truth[name]:.5g}", "fits": len(results), "told": int(told.sum()),
                "held": int(held.sum()), "apart": int(apart.sum()) if name != INTERCEPT and self.truth[name] else "",
                "width": f"{np.median(ratios):.3g}" if len(ratios) else "", "plain": int(plain.sum()),
                "announced": f"{self.expected[name]:.2f}" if self.expected else "",
            }  # fmt: skip


def low(row: dict[str, Any]) -> bool:
    """Whether a column that is told often covers less than .93 of its lines."""
    told, held = int(row["told"]), int(row["held"])
    return told >= SOME and held < LEAST * told


def wrong(row: dict[str, Any]) -> bool:
    """Whether it covers less than chance explains, where the intervals are right."""
    return low(row) and bool(stats.binom.cdf(int(row["held"]), int(row["told"]), LEVEL) < CHANCE)


def measure(place: int, fits: int = FITS, more: int = MORE) -> Cell:
    """The fits of one design."""
    cell = Cell(place)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        cell.more(fits)
        if cell.doubtful():
            cell.more(more)
    return cell


def read(path: pathlib.Path | None) -> list[dict[str, str]]:
    """The records so far."""
    if path is None or not path.exists():
        return []
    with open(path, newline="") as file:
        return list(csv.DictReader(file))


def write(path: pathlib.Path, records: list[dict[str, Any]]) -> None:
    """All records so far, in the order of the designs."""
    order = {key_of(design, "")[1:]: place for place, design in enumerate(DESIGNS)}
    kept = [row for row in records if tuple(row[name] for name in KEY[1:]) in order]
    kept.sort(key=lambda row: (row["version"] != "before", order[tuple(row[name] for name in KEY[1:])]))
    with open(path, "w", newline="") as file:
        writer = csv.DictWriter(file, FIELDS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(kept)


def main() -> int:
    """Run, write, print; 1 where a column covers less than chance explains."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("path", nargs="?", type=pathlib.Path)
    parser.add_argument("--version", default="after")
    parser.add_argument("--only", default="")
    parser.add_argument("--again", action="store_true")
    parser.add_argument("--fits", type=int, nargs=2, default=(FITS, MORE))
    parser.add_argument("--quick", action="store_true", help="a part, with fewer fits and without a file")
    options = parser.parse_args()
    chosen = [
        place
        for place, design in enumerate(DESIGNS)
        if (any(text in design.name for text in QUICK) if options.quick else options.only in design.name)
    ]
    records, status = read(options.path), 0
    for place in chosen:
        key, begun = key_of(DESIGNS[place], options.version), time.process_time()
        old = [row for row in records if tuple(row[name] for name in KEY) == key]
        if old and not options.again:
            continue
        cell = measure(place, *((40, 40) if options.quick else options.fits))
        records = [row for row in records if row not in old]
        records += cell.records(options.version)
        status |= any(wrong(row) for row in cell.records(options.version))
        print(*key[1:], f"{time.process_time() - begun:.0f} s", file=sys.stderr, flush=True)
        for row in cell.records(options.version):
            print("   ", *(f"{name} {row[name]}" for name in FIELDS[6:]), flush=True)
        if options.path is not None:
            write(options.path, records)
    return int(status)


if __name__ == "__main__":
    sys.exit(main())
