"""Empirical privacy of evaluations: how well can two neighbours be told apart?

As a script (``python evaluation_audit.py RUNS CASE ...``) it prints the measured lower bound of eps of each case as
JSON: tests run it on patched copies of the package to show that the audit sees a broken one.
"""

import json
import math
import sys
from dataclasses import dataclass

import numpy as np

from dplr.auditor.sampled import eps_lower_bound
from dplr.evaluation.grids import ClassGrid, ErrorGrid, ScoreGrid
from dplr.evaluation.law import is_counted, plan_evaluation
from dplr.evaluation.pair import DecisionPair, ErrorPair
from dplr.evaluation.release import drawn
from dplr.evaluation.tally import Outcomes
from dplr.noise import Source
from dplr.privacy.guarantees import Neighbouring
from dplr.privacy.unit import Unit
from dplr.rows import row_weights

NAN = math.nan
EPS = 1.0
SCORES, CLASSES = ScoreGrid.of(50, EPS), ClassGrid.of(3, True, 50, EPS)
DECISIONS, ERRORS = ClassGrid(2, (), False), ErrorGrid.of(0.0, 1.0)


@dataclass(frozen=True, eq=False)
class Case:
    """Cells, and the last rows of two tables that share all others: (score, outcome), several of one person."""

    grid: object
    rows: tuple
    others: tuple
    relation: str = "replace_one"
    persons: bool = False


CASES = {
    "labels": Case(SCORES, ((0.99, 1),), ((0.2, 1),)),
    "one outcome flips": Case(SCORES, ((0.7, 1),), ((0.7, 0),)),
    "scores outside": Case(SCORES, ((1e6, 0),), ((-1e6, 1),)),
    "no score": Case(SCORES, ((NAN, 1),), ((0.2, 1),)),
    "labels, add_remove": Case(SCORES, ((0.99, 0),), (), "add_remove"),
    "classes": Case(CLASSES, (((0.9, 0.1, 0.0), 0),), (((0.1, 0.4, 0.5), 1),)),
    "classes outside": Case(CLASSES, (((9.0, -3.0, 1e9), 0),), (((0.1, 0.4, 0.5), 1),)),
    "decisions": Case(DECISIONS, ((0, 1),), ((1, 1),)),
    "numbers": Case(ERRORS, ((0.0, 1.0),), ((0.45, 0.45),)),
    "numbers outside": Case(ERRORS, ((-1e6, 1e9),), ((0.45, 0.45),)),
    "numbers, add_remove": Case(ERRORS, ((0.0, 1.0),), (), "add_remove"),
    "persons": Case(SCORES, ((0.99, 1),) * 4, ((0.2, 1),) * 2, persons=True),
    "persons, numbers": Case(ERRORS, ((0.0, 1.0),) * 4, ((0.45, 0.45),) * 3, persons=True),
    "two models": Case(DecisionPair(2), (((0, 1), 1),), (((1, 0), 1),)),
    "two models of numbers": Case(ErrorPair(0.0, 1.0), (((0.0, 1.0), 1.0),), (((1.0, 0.0), 1.0),)),
}


def outcomes(case, rows):
    """The exact sums of a table: six shared rows, or persons of one row each, and the rows."""
    shared = {ScoreGrid: (0.4, 0), ErrorGrid: (0.5, 0.6), ErrorPair: ((0.5, 0.4), 0.6), DecisionPair: ((0, 0), 0)}
    first = shared.get(type(case.grid), (0, 0) if case.grid is DECISIONS else ((0.2, 0.3, 0.5), 0))
    table = [first] * 6 + list(rows)
    scores, y = np.array([row[0] for row in table], float), np.array([row[1] for row in table], float)
    ids = np.array([*range(6), *[6] * len(rows)])
    weights = row_weights(len(ids), ids, 1, None, None, None).of_rows if case.persons else None
    return Outcomes.of(case.grid, scores, y, weights)


def releases(case, rows, eps, source, runs=1):
    """All released numbers of each of `runs` releases, and the scale of each."""
    unit = Unit("person") if case.persons else Unit()
    relation = Neighbouring(case.relation)
    statement = plan_evaluation(case.grid, eps, relation, unit, ())
    assert ("count" in statement.released) <= is_counted(relation, unit)
    exact = outcomes(case, rows)
    scales = np.concatenate([np.full(block.shape, block.scale) for block in statement.released.values()])
    found = [np.concatenate(list(drawn(exact, statement, source).values())) for _ in range(runs)]
    return np.array(found), scales


def measure(case, runs):
    """The lower bound of eps that a case shows, from log likelihood ratios of releases of each table."""
    data = (case.rows, case.others)
    ((left,), _), ((right,), _) = (releases(case, rows, math.inf, Source()) for rows in data)
    result = []
    for seed, rows in enumerate(data):
        noisy, scales = releases(case, rows, EPS, Source(seed=seed), runs)
        values = ((np.abs(noisy - right) - np.abs(noisy - left)) / scales).sum(axis=1)
        result.append(np.round(values, 9))
    return eps_lower_bound(*result)


if __name__ == "__main__":
    print(json.dumps([measure(CASES[name], int(sys.argv[1])) for name in sys.argv[2:]]))
