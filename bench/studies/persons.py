"""What protecting a person costs, by the rule with which rows count: error of a linear `fm` on RAND and on a panel.

The error is the root mean square, over all rows, of the difference between the predictions of a private fit and those
of least squares on all rows, in half-widths of the target's range; add_remove. Rules that protect a person:

    group       every row whole, and the noise of as many rows as anybody has
    k random    k rows of each person, the noise of k rows
    weights k   all rows, each counting min(1, k/m): rows_per_person=k

"row" protects one row alone.

    python -m bench.studies.persons bench/results/persons.csv
"""

import csv
import sys
import warnings

import numpy as np

import dplr
from bench.data.panel import MOST_VISITS, MOST_YEARS, rand, skewed
from dplr.bounds.declared import with_numbers
from dplr.privacy.gaussian import gaussian_eps, gaussian_mu

FITS = 60
LEVELS = ((0.3, 0.0), (1.0, 0.0), (3.0, 0.0), (0.3, 1e-6), (1.0, 1e-6), (3.0, 1e-6))


def shared(eps, delta, rows):
    """The eps of one row at which `rows` of them have (eps, delta) together."""
    return gaussian_eps(gaussian_mu(eps, delta) / rows, delta) if delta else eps / rows


def some(ids, count, rng):
    """At most `count` random rows of each person."""
    order = rng.permutation(len(ids))
    order = order[np.argsort(ids[order], kind="stable")]
    place = np.arange(len(ids)) - np.searchsorted(ids[order], ids[order])
    return order[place < count]


def error(fits, rows, exact, half_width):
    """Root mean square over fits and rows."""
    away = [np.asarray(rows) @ est.coef_ + est.intercept_ - exact for est in fits]  # predictions would be clipped
    return np.sqrt(np.mean(np.square(away))) / half_width


def rules(most):
    """Name -> what is done with the rows: how many are taken of a person, k of the weights, rows the noise covers."""
    larger = 5 if most == MOST_YEARS else 8
    return {
        "row": (None, None, 1),
        "group": (None, None, most),
        "1 random row": (1, None, 1),
        "2 random rows": (2, None, 2),
        **{f"weights, k = {k}": (None, k, 1) for k in (1, 2, larger)},
    }


def fitted(table, rule, eps, delta, rng):
    """The fits of one cell; random rows are drawn anew for each."""
    X, y, ids, bounds = table
    taken, k, rows = rule
    options = {"model": "linear", "mechanism": "fm", "bounds": bounds, "delta": delta, "neighbouring": "add_remove"}
    options |= {} if k is None else {"person": ids, "bounds": with_numbers(bounds, k, None)}
    level = shared(eps, delta, rows)
    if taken is None:
        return dplr.fit_many(X, y, eps=[level], repeats=FITS, n_rows=len(np.unique(ids)), **options)
    found = []
    for _ in range(FITS):
        chosen = some(ids, taken, rng)
        part = X.iloc[chosen] if hasattr(X, "iloc") else X[chosen]
        found += dplr.fit_many(part, y[chosen], eps=[level], n_rows=len(np.unique(ids)), **options)
    return found


def main(path):
    warnings.simplefilter("ignore")
    rng = np.random.default_rng(20)
    with open(path, "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["table", "persons", "rows", "delta", "eps", "rule", "error"])
        for name, table, most in (("RAND", rand(), MOST_YEARS), ("skewed", skewed(), MOST_VISITS)):
            X, y, ids, bounds = table
            columns = np.column_stack([np.asarray(X), np.ones(len(y))])
            exact, (low, high) = columns @ np.linalg.lstsq(columns, y, rcond=None)[0], bounds.target_pair()
            for eps, delta in LEVELS:
                for words, rule in rules(most).items():
                    fits = fitted(table, rule, eps, delta, rng)
                    value = error(fits, X, exact, (high - low) / 2)
                    writer.writerow([name, len(np.unique(ids)), len(y), delta, eps, words, f"{value:.4f}"])
                    file.flush()


if __name__ == "__main__":
    main(sys.argv[1])
