"""Empirical privacy of parts of tables that are kept sorted: whole fits with rows held out, and whole searches.

As a script (``python splits_audit.py RUNS CASE ...``) it prints the measured eps of each case as JSON: tests run it on
patched copies of the package to show that the audit sees a broken one.
"""

import json
import sys
import warnings

import numpy as np

import dplr
from dplr.auditor.sampled import eps_lower_bound

EPS, ROWS = 1.0, 4_000
VALUES = np.resize([1.0, -1.0], ROWS)  # of rows that are sorted by another, private column


def tables(relation):
    """Two neighbours, each kept sorted: the first record goes to the other end, or is there or not."""
    return (VALUES, np.roll(VALUES, -1)) if relation == "replace_one" else (VALUES, VALUES[1:])


def model(relation):
    bounds = dplr.Bounds([(-1, 1)], target=[False, True])
    return dplr.LogisticRegression(
        eps=EPS, bounds=bounds, mechanism=dplr.FunctionalMechanism(ranges="off"), neighbouring=relation
    )


def released(est):
    """The noisy sum of the column, of the rows that the model was fitted to."""
    return float(np.ravel(est.released_["linear"])[0])


def held_out(values, relation):
    est = model(relation)
    options = {name: getattr(est, name) for name in ("eps", "bounds", "mechanism", "neighbouring")}
    return released(dplr.fit(values[:, None], np.ones(len(values), bool), holdout=0.5, **options))


def searched(values, relation):
    search = dplr.PrivateSearch(model(relation), [{}, {}])
    return released(search.fit(values[:, None], np.ones(len(values), bool)).best_estimator_)


def told_apart(runs, release, relation):
    one, other = (np.array([release(values, relation) for _ in range(runs)]) for values in tables(relation))
    return max(eps_lower_bound(one, other), eps_lower_bound(-one, -other))


CASES = {
    f"{name} {relation}": lambda runs, release=release, relation=relation: told_apart(runs, release, relation)
    for name, release in (("holdout", held_out), ("search", searched))
    for relation in ("replace_one", "add_remove")
}


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    print(json.dumps([CASES[name](int(sys.argv[1])) for name in sys.argv[2:]]))
