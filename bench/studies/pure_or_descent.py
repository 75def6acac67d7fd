"""Where pure noise beats a descent with a delta, for numbers: facts that might tell, and tables that refute them.

`objective` with delta = 0, which is also (eps, delta)-private, beside `ngd` with delta = 1e-6: loss, 1 - R^2, of 12
fits on rows of training parts. `ratio` is that of the norms of their noise, `ranges` the share of the groups of columns
that have private ranges. Decision 55.

    DPLR_DATA=<folder> DPLR_TABLES=<folder> python -m bench.studies.pure_or_descent bench/results/pure_or_descent.csv
"""

import csv
import itertools
import os
import sys
import warnings
from dataclasses import replace

import numpy as np
import pandas as pd

import dplr
from bench.data import aside, tables
from bench.data.tables import Table
from bench.studies.ranges_when import tails
from dplr.mechanisms.perturbation.ridge import gauge_deviations, noise_norm

FITS, LEVELS, RELATIONS, DELTA = 12, (0.1, 0.2, 0.5, 1.0), ("replace_one", "add_remove"), 1e-6
COLUMNS = ("table", "rows", "relation", "eps", "ratio", "ranges", "pure", "pure_error", "descent", "descent_error")


def beside_blocks(n, numbers=2, levels=12):
    """The lognormal numbers of `tails`, of which all but the first are cut to levels of their logarithms."""
    table = tails(n, "linear")
    names = [f"x{j}" for j in range(6)]
    known = dict.fromkeys(names[:numbers], (0, 100))
    known |= {name: {"levels": list(range(levels))} for name in names[numbers:]}

    def cut(X):
        frame = pd.DataFrame(X, columns=names)
        for name in names[numbers:]:
            frame[name] = ((np.log(frame[name]) + 2.5) / 5 * levels).clip(0, levels - 1).astype(int)
        return frame

    bounds = dplr.Bounds(known, target=(-1, 1))
    return replace(
        table, name=f"tails beside blocks {n // 1000}k", bounds=bounds, X=cut(table.X), held_X=cut(table.held_X)
    )


def every(folder):
    """Tables with a numeric target."""
    for table in itertools.chain(tables.tables(folder, official=False), aside.tables(folder)):
        if table.name == "few numbers":
            yield from (replace(table, name=f"few numbers {n}", X=table.X[:n], y=table.y[:n]) for n in (2_000, 5_000))
        if table.name in ("ACS income 2k", "ACS income 20k", "bikes"):
            yield table
    for n in (5_000, 20_000):
        yield tails(n, "linear")
        yield beside_blocks(n)


def losses(table: Table, mechanism, delta, eps, relation):
    """Mean and standard error."""
    declared = {} if relation == "replace_one" else {"neighbouring": relation, "n_rows": len(table.X)}
    options = {"model": "linear", "mechanism": mechanism, "delta": delta, "bounds": table.bounds, **declared}
    fits = dplr.fit_many(table.X, table.y, eps=[eps], repeats=FITS, **options)
    found = np.array([1 - est.score(table.held_X[:20_000], table.held_y[:20_000]) for est in fits])
    return f"{found.mean():.4f}", f"{found.std(ddof=1) / FITS**0.5:.4f}"


def main(path):
    warnings.simplefilter("ignore")  # clipped shares of public data
    with open(path, "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(COLUMNS)
        for table in every(os.environ["DPLR_DATA"]):
            plan = dplr.plan(n_rows=len(table.X), bounds=table.bounds, eps=1.0, model="linear", mechanism="objective")
            geometry = plan.problem.geometry
            share = len(table.bounds.layout.quantities) / (len(geometry.groups) - 1)
            for relation, eps in itertools.product(RELATIONS, LEVELS):
                gaussian = noise_norm(geometry.n_coefs, eps, DELTA, geometry.row_norm, 1)
                ratio = float(np.linalg.norm(gauge_deviations(geometry))) / eps / gaussian
                pure = losses(table, "objective", 0.0, eps, relation)
                descent = losses(table, "ngd", DELTA, eps, relation)
                cells = (table.name, len(table.X), relation, eps, f"{ratio:.2f}", f"{share:.2f}", *pure, *descent)
                writer.writerow(cells)
                file.flush()
                print(*cells, flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
