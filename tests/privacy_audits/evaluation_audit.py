"""Privacy of evaluations, exactly: what the rows of one unit move, over the noise that a whole release asks for.

The loss of discrete Laplace noise is the sum of the distances over the scales, so nothing is sampled. As a script
(``python evaluation_audit.py 0 CASE ...``) it prints what each case shows as a share of eps: tests run it on broken
copies. Every flag of the proof comes from the plan of the release: rows, persons, weights; with and without a public
sum of weights; replaced, added.
"""

import itertools
import json
import sys
import warnings

import numpy as np

import dplr
from dplr.bounds.declared import Bounds
from silent_noise import largest_distance, numbers_over_noise, silent_noise

EPS, SHARED = 1.0, 6
SCORES, TARGETS = (0.0, 0.2, 0.5, 0.7, 0.99, 1.0), (-1e9, 0.0, 0.25, 0.45, 0.5, 1.0, 1e9)
THIRDS = ((1.0, 0.0, 0.0), (0.9, 0.1, 0.0), (0.1, 0.4, 0.5), (1.0, 1.0, 1.0), (0.0, 0.0, 0.0), (0.34, 0.33, 0.33))
# Of each kind: answers of models for a row, outcomes, options.
KINDS = {
    "labels": (SCORES, (0, 1), {}),
    "classes": (THIRDS, (0, 1, 2), {"classes": (0, 1, 2)}),
    "decisions": ((0, 1, 2), (0, 1, 2), {"classes": (0, 1, 2), "decisions": True}),
    "numbers": (TARGETS, TARGETS, {"target_bounds": (0.0, 1.0)}),
    "two models": (tuple(itertools.product((0.2, 0.9), repeat=2)), (0, 1), {"against": True}),
    "two models of numbers": (
        tuple(itertools.product((0.0, 0.5, 1.0), repeat=2)), TARGETS[1:-1],
        {"target_bounds": (0.0, 1.0), "against": True},
    ),
}  # fmt: skip
# Of each unit: how many rows it has, its rows' weights, and the numbers of the bounds.
UNITS = {
    "rows": (1, (None,), {}),
    "persons": (2, (None,), {}),
    "persons, two rows": (2, (None,), {"rows_per_person": 2}),
    "weights": (1, (0.0, 1.0, 2.0), {"weight_max": 2.0}),
}
CASES = {", ".join(case): case for case in itertools.product(KINDS, UNITS, ("replace_one", "add_remove"))}


def made(kind, unit, relation, rows, weight):
    """The evaluation of shared rows and those of one unit, which are (answer, outcome), and the noise asked for."""
    answers, outcomes, options = KINDS[kind]
    count, _, numbers = UNITS[unit]
    table = [*itertools.islice(itertools.cycle(itertools.product(answers, outcomes)), SHARED), *rows]
    models, y = np.array([row[0] for row in table], float), np.array([row[1] for row in table])
    options = options | {"neighbouring": relation, "bounds": Bounds(None, **numbers)}
    if relation == "add_remove":
        options["n_rows"] = SHARED + 1
    if options.get("against"):
        models, options["against"] = models.T
    if count > 1:
        options["person"] = np.array([*range(SHARED), *[SHARED] * len(rows)])
    if "weight_max" in numbers:
        options["sample_weight"] = np.array([1.0] * SHARED + [weight] * len(rows))
    with silent_noise() as asked:
        return dplr.evaluate(models, None, y, eps=EPS, rng=0, **options), asked


def released(*case):
    """All released numbers over their noise."""
    result, asked = made(*case)
    blocks = result.privacy_.released
    return numbers_over_noise([result.released_[name] for name in blocks], list(blocks.values()), asked)


def measure(case, _):
    """The largest loss of two neighbours, as a share of eps."""
    kind, unit, relation = CASES[case]
    answers, outcomes, _ = KINDS[kind]
    count, weights, _ = UNITS[unit]
    of_one = [([row] * count, weight) for row in itertools.product(answers, outcomes) for weight in weights]
    if count > 1:  # a person with two rows that differ, and one with a row less
        of_one += [(rows, None) for rows in itertools.pairwise(itertools.product(answers, outcomes))]
        of_one += [(rows[:1], None) for rows, _ in of_one]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        points = [released(kind, unit, relation, *rows) for rows in of_one]
        others = None if relation == "replace_one" else [released(kind, unit, relation, (), None)]
    return largest_distance(points, others) / EPS


if __name__ == "__main__":
    print(json.dumps([measure(name, int(sys.argv[1])) for name in sys.argv[2:]]))
