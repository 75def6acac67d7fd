"""How often do 95 % intervals from released moments hold the truth, and how wide are they?

108 cells of a grid, and hard designs, all simulated: the sums of fresh rows, and the noise of the plan. Methods: score
inversion (`dplr.inference`), Wald, the default coefficients with errors of least squares, a parametric bootstrap of
them, and non-private least squares. Fails where score inversion leaves its band by more
than Monte Carlo error explains.

    OMP_NUM_THREADS=1 python -m bench.studies.intervals docs/trust/intervals            (half an hour; resumes)
    OMP_NUM_THREADS=1 python -m bench.studies.intervals --quick
"""

from __future__ import annotations

import argparse
import csv
import itertools
import pathlib
import sys
import zlib

import numpy as np

from bench.studies.intervals import designs, methods
from bench.studies.intervals.designs import Design

BUDGETS = tuple(itertools.product((0.3, 1.0, 3.0), (0.0, 1e-6)))
# Coverage of score inversion: in all cells, and at most where the smallest eigenvalue is at least so many deviations.
LEAST, MOST, AMPLE = 0.93, 0.97, 6.0
ERRORS = 3.0


def tasks() -> list[tuple[Design, int, int, int]]:
    """(design, rows, replications, those with a bootstrap)."""
    grid = [
        (make(d), n, replications(d, n), 100 if d < 30 else 30)
        for d, n, make in itertools.product((3, 10, 30), (1000, 10_000, 100_000), (designs.continuous, designs.binary))
    ]
    hard = [(make(), n, 200, 60) for make in (designs.collinear, designs.one_hot) for n in (10_000, 100_000)]
    return grid + hard + [(designs.weak(), n, 200, 100) for n in (10_000, 30_000, 60_000, 100_000)]


def replications(d: int, n: int) -> int:
    """Fewer where they are slow, and where hardly an interval is bounded."""
    if d == 30 and n == 1000:
        return 100
    return 500 if n * d < 300_000 else 300


def quick() -> list[tuple[Design, int, int, int]]:
    """A part that takes seconds."""
    chosen = (designs.continuous(3), 10_000), (designs.binary(10), 10_000), (designs.one_hot(), 10_000)
    return [(design, n, 60, 0) for design, n in (*chosen, (designs.weak(), 30_000))]


def measure(design: Design, n: int, times: int, simulated: int, budgets=BUDGETS) -> list[dict[str, object]]:
    """All budgets of one design and number of rows; the rows of a replication are the same for all of them."""
    rng = np.random.default_rng(zlib.crc32(f"{design.name} {len(design.coef)} {n}".encode()))
    noises = {budget: methods.planned(design, n, *budget) for budget in budgets}
    found: dict[tuple[tuple[float, float], str], list[np.ndarray]] = {}
    weakest: dict[tuple[float, float], list[float]] = {budget: [] for budget in budgets}
    for replication in range(times):
        sums = design.sums(rng, n)
        exact = methods.non_private(sums, n, design.watched)
        for budget, noise in noises.items():
            reading = methods.release(sums, n, noise, rng)
            ours, deviations = methods.score(reading, design.watched)
            weakest[budget].append(deviations)
            ends = {
                methods.SCORE: ours,
                methods.OLS: exact,
                methods.WALD: methods.wald(reading, design.watched),
                methods.NAIVE: methods.naive(reading, noise, design.watched),
            }
            if replication < simulated:
                ends[methods.BOOTSTRAP] = methods.bootstrap(reading, noise, design.watched, rng)
            for method, pair in ends.items():
                found.setdefault((budget, method), []).append(np.stack([*pair, exact[1] - exact[0]]))
    return [
        summary(design, n, budget, method, np.array(pairs), float(np.median(weakest[budget])))
        for (budget, method), pairs in found.items()
    ]


def summary(
    design: Design, n: int, budget: tuple[float, float], method: str, pairs: np.ndarray, weakest: float
) -> dict[str, object]:
    """One row of the results from (replications, 3, watched): lower and upper ends, and the non-private width."""
    truth = design.coef[design.watched]
    hit = (pairs[:, 0] <= truth) & (truth <= pairs[:, 1])
    width = pairs[:, 1] - pairs[:, 0]
    return {
        "design": design.name, "d": len(design.coef) - 1, "n": n, "eps": budget[0], "delta": budget[1],
        "method": method, "replications": len(pairs), "coverage": round(float(hit.mean()), 4),
        "error": round(float(hit.mean(axis=1).std() / np.sqrt(len(pairs))), 4),
        "least": round(float(hit.mean(axis=0).min()), 4), "unbounded": round(float(np.isinf(width).mean()), 4),
        "width": round(float(np.median(width / pairs[:, 2])), 3), "weakest": round(weakest, 2),
    }  # fmt: skip


def outside(rows: list[dict[str, object]]) -> list[dict[str, object]]:
    """Rows of score inversion whose coverage is outside its band by more than three standard errors."""
    return [
        row
        for row in rows
        if row["method"] == methods.SCORE
        and (
            float(row["coverage"]) + ERRORS * max(float(row["error"]), 1 / int(row["replications"])) < LEAST
            or (float(row["weakest"]) >= AMPLE and float(row["coverage"]) - ERRORS * float(row["error"]) > MOST)
        )
    ]


def read(folder: pathlib.Path | None) -> list[dict[str, object]]:
    """The results of a run that was stopped."""
    if folder is None or not (folder / "coverage.csv").exists():
        return []
    with open(folder / "coverage.csv", newline="") as file:
        return list(csv.DictReader(file))


def write(rows: list[dict[str, object]], folder: pathlib.Path) -> None:
    """All results so far."""
    folder.mkdir(parents=True, exist_ok=True)
    with open(folder / "coverage.csv", "w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def main() -> int:
    """Run, write, draw; 1 where coverage is outside its band."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", nargs="?", type=pathlib.Path)
    parser.add_argument("--quick", action="store_true", help="a part of the study, without files")
    options = parser.parse_args()
    rows = read(options.folder)
    done = {(str(row["design"]), int(row["d"]), int(row["n"])) for row in rows}
    for design, n, times, simulated in quick() if options.quick else tasks():
        if (design.name, len(design.coef) - 1, n) in done:
            continue
        rows += measure(design, n, times, simulated)
        print(f"{design.name} d={len(design.coef) - 1} n={n}", file=sys.stderr, flush=True)
        if options.folder is not None:
            write(rows, options.folder)
    wrong = outside(rows)
    for row in wrong:
        print("outside its band:", row)
    counted = [float(row["coverage"]) for row in rows if row["method"] == methods.SCORE]
    print(f"score inversion: {len(counted)} cells, coverage {min(counted):.3f} to {max(counted):.3f}")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
