"""The picture and the tables of docs/trust/intervals.md, from the results of the study.

python -m bench.studies.intervals.page docs/trust/intervals > tables.md
"""

from __future__ import annotations

import pathlib
import sys

import numpy as np
import pandas as pd

from bench.papers.drawing import finish, panels
from bench.studies.intervals.methods import BOOTSTRAP, NAIVE, OLS, SCORE, WALD
from dplr.plots._drawing import COLORS, MARKERS, QUIET

# Deviations of the noise from which the smallest eigenvalue counts as ample.
AMPLE = 6.0
GRID = ("continuous", "binary")
DELTAS = (0.0, 1e-6)
KEY = ["design", "d", "n", "eps", "delta"]
NAMES = {
    OLS: "non-private least squares",
    NAIVE: "default coefficients, errors of least squares",
    BOOTSTRAP: "parametric bootstrap of the default coefficients",
    WALD: "Wald",
    SCORE: "score inversion",
}


def read(folder: pathlib.Path) -> pd.DataFrame:
    """The results, one row per cell and method."""
    return pd.read_csv(folder / "coverage.csv")


def methods_table(table: pd.DataFrame) -> str:
    """Coverage of every method over the grid, and where the smallest eigenvalue is ample."""
    grid = table[table["design"].isin(GRID)]
    ample = sorted(set(map(tuple, grid[(grid["method"] == SCORE) & (grid["weakest"] >= AMPLE)][KEY].to_numpy())))
    lines = [
        f"| method | all {len(grid[grid['method'] == SCORE])} cells | the {len(ample)} cells from 6 deviations on |"
    ]
    lines += ["|---|---|---|"]
    for method, name in NAMES.items():
        rows = grid[grid["method"] == method]
        those = rows[[tuple(key) in ample for key in rows[KEY].to_numpy()]]
        lines.append(f"| {name} | {_three(rows['coverage'])} | {_three(those['coverage'])} |")
    return "\n".join(lines)


def widths_table(table: pd.DataFrame) -> str:
    """Median width of score inversion over the non-private width, for eps 0.3, 1 and 3."""
    rows = table[(table["method"] == SCORE) & table["design"].isin(GRID)]
    sizes = sorted(set(zip(rows["d"], rows["n"], strict=True)))
    lines = ["| d | n | " + " | ".join(f"{kind}, delta {delta:g}" for kind in GRID for delta in DELTAS) + " |"]
    lines += ["|---|---|" + "---|" * (len(GRID) * len(DELTAS))]
    for d, n in sizes:
        cells = []
        for kind in GRID:
            for delta in DELTAS:
                part = rows[(rows["design"] == kind) & (rows["d"] == d) & (rows["n"] == n) & (rows["delta"] == delta)]
                cells.append(", ".join(_width(row) for row in part.sort_values("eps").itertuples()))
        lines.append(f"| {d} | {n:,} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def hard_table(table: pd.DataFrame) -> str:
    """Coverage on the hard designs, for eps 0.3, 1 and 3 at delta = 1e-6; the lowest of any coefficient in brackets."""
    rows = table[~table["design"].isin(GRID) & (table["delta"] == DELTAS[1])]
    chosen = (BOOTSTRAP, WALD, SCORE)
    lines = ["| design | n | deviations | " + " | ".join(NAMES[method] for method in chosen) + " | unbounded |"]
    lines += ["|---|---|---|" + "---|" * (len(chosen) + 1)]
    for (design, n), part in rows.groupby(["design", "n"], sort=False):
        part = part.sort_values("eps")
        ours = part[part["method"] == SCORE]
        cells = [
            ", ".join(f"{row.coverage:.2f} ({row.least:.2f})" for row in part[part["method"] == method].itertuples())
            for method in chosen
        ]
        away = ", ".join(f"{value:.1f}" for value in ours["weakest"])
        share = ", ".join(f"{100 * value:.0f} %" for value in ours["unbounded"])
        lines.append(f"| {design} | {n:,} | {away} | " + " | ".join(cells) + f" | {share} |")
    return "\n".join(lines)


def reported_table(table: pd.DataFrame) -> str:
    """How many intervals score inversion reports by the smallest eigenvalue, and how many of those hold the truth."""
    rows = table[table["method"] == SCORE]
    lines = [
        "| smallest eigenvalue | cells | coverage | reported | of those, hold the truth |",
        "|---|---|---|---|---|",
    ]
    for low, high in ((-np.inf, 1), (1, 3), (3, AMPLE), (AMPLE, np.inf)):
        part = rows[(rows["weakest"] >= low) & (rows["weakest"] < high)]
        missed, reported = 1 - part["coverage"].mean(), 1 - part["unbounded"].mean()
        name = f"{AMPLE:g} or more" if high == np.inf else f"below {high}" if low == -np.inf else f"{low} to {high:g}"
        held = 1 - missed / reported if reported else np.nan
        lines.append(f"| {name} | {len(part)} | {_three(part['coverage'])} | {100 * reported:.1f} % | {held:.3f} |")
    return "\n".join(lines)


def draw(table: pd.DataFrame, path: pathlib.Path) -> None:
    """Coverage of each method, and width of score inversion, against the smallest eigenvalue in deviations."""
    picture, (left, right) = panels(2, height=3.2)
    for number, method in enumerate((SCORE, WALD, BOOTSTRAP, NAIVE)):
        rows = table[table["method"] == method]
        look = {"color": COLORS[number], "marker": MARKERS[number], "s": 14, "alpha": 0.75, "linewidths": 0}
        left.scatter(rows["weakest"].clip(lower=0.1), rows["coverage"], label=NAMES[method], **look)
    left.axhline(0.95, color=QUIET, linewidth=0.8)
    left.set(xscale="log", ylim=(-0.02, 1.02), ylabel="coverage of 95 % intervals")
    rows = table[table["method"] == SCORE]
    bounded = rows[np.isfinite(rows["width"])]
    for number, design in enumerate(dict.fromkeys(table["design"])):
        part = bounded[bounded["design"] == design]
        look = {"color": COLORS[number], "marker": MARKERS[number], "s": 14, "facecolor": "none"}
        right.scatter(part["weakest"].clip(lower=0.1), part["width"], label=design, **look)
    right.set(xscale="log", yscale="log", ylabel="width of score inversion, non-private = 1")
    right.legend(fontsize=7, frameon=False)
    for ax in (left, right):
        ax.axvline(AMPLE, color=QUIET, linewidth=0.8, linestyle="--")
        ax.set_xlabel("smallest eigenvalue, deviations of its noise")
    finish(picture, [left], columns=2)
    picture.savefig(path, dpi=150)


def tables(table: pd.DataFrame) -> list[str]:
    """All tables of the page, in its order."""
    return [methods_table(table), reported_table(table), widths_table(table), hard_table(table)]


def _three(values: pd.Series) -> str:
    """Least, mean and largest."""
    return f"{values.min():.3f} / {values.mean():.3f} / {values.max():.3f}"


def _width(row) -> str:
    """A ratio; a dash where the median interval is unbounded, a star where more than one of twenty is."""
    if not np.isfinite(row.width):
        return "-"
    digits = 1 if row.width < 10 else 0
    return f"{row.width:.{digits}f}" + ("*" if row.unbounded > 0.05 else "")


if __name__ == "__main__":
    place = pathlib.Path(sys.argv[1])
    results = read(place)
    draw(results, place / "coverage.png")
    print("\n\n".join(tables(results)))
