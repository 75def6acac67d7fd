"""Empirical privacy of persons with many rows through `fitting.run`: can two tables be told apart that differ in one?

As a script (``python persons_audit.py RUNS CASE ...``) it prints the measured lower bound of eps of each case as JSON:
tests run it on patched copies of the package to show that the audit sees a broken one.
"""

import json
import math
import sys
from dataclasses import dataclass

import numpy as np

import fits as fitting
from dplr.auditor.density import Logistic
from dplr.auditor.sampled import eps_lower_bound, gaussian_eps, mu_lower_bound
from dplr.bounds.scaling import ball_prep, box_prep
from dplr.ledger.budget import NullLedger
from dplr.mechanisms import NoisyGradientDescent, ObjectivePerturbation, OutputPerturbation, ScoreRelease
from dplr.noise import Source
from dplr.privacy.guarantees import Neighbouring
from dplr.privacy.unit import Unit
from dplr.problem.geometry import Geometry
from dplr.problem.losses import LOGISTIC, SQUARED
from dplr.problem.problem import Problem
from dplr.rows import ArrayRows, row_weights
from fm_audit import FREE, LINEAR, ROBUST, ReleaseAlone
from perturbation_audit import OPPOSITE, distance_score
from score_audit import squares_of
from unit_search import worst_ratio

DELTA = 1e-5
SLOW = NoisyGradientDescent(steps=20, learning_rate=1e-9, clip=0.25, averaging="last", standardise="off")
BATCHES = NoisyGradientDescent(steps=20, learning_rate=1e-9, clip=0.25, averaging="last", batch=50)
LARGE_WEIGHT = ReleaseAlone(coef_norm=1e3)


@dataclass(frozen=True)
class Case:
    """Persons with one row each, and one more with many rows that are alike; in the other table with other rows.

    Attributes
    ----------
    last : the row, the label and the number of rows of the last person, in both tables.
    shared : row and label of each of `others` persons; their labels take turns if it has none.
    rows_per_person : k.
    start : public coefficients, or None to start at zero.
    weights : of the last person's rows in both tables; None where rows have none.
    numeric : whether labels are numbers.
    """

    spec: object
    last: tuple
    others: int = 100
    shared: tuple = ((0.0,), None)
    relation: Neighbouring = Neighbouring.REPLACE_ONE
    rows_per_person: int = 1
    eps: float = 1.0
    delta: float = 0.0
    ridge: float | None = None
    start: tuple | None = None
    bounds: bool = False
    weights: tuple | None = None
    numeric: bool = False

    @property
    def prep(self):
        d = len(self.shared[0])
        if self.numeric:
            return ball_prep(d, False, None)
        return box_prep([(-1.0, 1.0)] * d, True, (-1.0, 1.0)) if self.bounds else ball_prep(d, False, (-1.0, 1.0))

    @property
    def problem(self):
        n, unit = self.others + 1, Unit("id", self.rows_per_person, self.weights and 1.0)
        l2 = None if self.ridge is None else self.ridge / n
        loss = SQUARED if self.numeric else LOGISTIC
        return Problem(loss, self.prep.geometry, self.relation, n, l2, (), self.start, unit=unit)

    def rows(self, which):
        """One of the two tables; under add-remove the second has no last person."""
        row, label, count = self.last[which]
        present = 0 if self.relation is Neighbouring.ADD_REMOVE and which else count
        X = np.vstack([np.tile(self.shared[0], (self.others, 1)), np.tile(row, (present, 1))])
        labels = np.resize([-1.0, 1.0] if self.shared[1] is None else [self.shared[1]], self.others)
        y = np.append(labels, np.full(present, label))
        ids = np.append(np.arange(self.others), np.full(present, self.others))
        given = None if self.weights is None else np.append(np.ones(self.others), np.full(present, self.weights[which]))
        weights = row_weights(len(X), self.problem.unit, ids, given)
        return ArrayRows(X, y, self.prep, weights=weights)

    def fits(self, which, runs, eps, delta, source):
        return fitting.run_many(self.rows(which), self.problem, self.spec, [eps] * runs, delta, NullLedger(), source)


FLIPPED = (((1.0,), 1.0, 40), ((1.0,), -1.0, 15))
CORNERS = (((0.98, 0.19), 1.0, 12), ((-0.98, 0.19), 1.0, 30))
MANY = tuple((*person, count) for person, count in zip(OPPOSITE, (10, 4), strict=True))
ADD = Neighbouring.ADD_REMOVE
PINNED = {"shared": ((0.0, 1.0), -1.0), "ridge": 10.0}
# At coefficients of 0: two scores at right angles, or one score and none.
APART = {"shared": ((0.0, 0.0), 0.0), "numeric": True}
ANGLE = (((1.0, 0.0), 1.0, 12), ((0.0, 1.0), 1.0, 30))
CASES = {
    "squares of scores": Case(ROBUST, ANGLE, **APART),
    "squares of scores, add_remove": Case(ROBUST, ANGLE, relation=Neighbouring.ADD_REMOVE, **APART),
    "squares of scores, gaussian": Case(ROBUST, ANGLE, delta=DELTA, **APART),
    "fm": Case(LINEAR, FLIPPED),
    "fm, add_remove": Case(LINEAR, FLIPPED, relation=ADD),
    "fm, several rows": Case(LINEAR, FLIPPED, rows_per_person=3),
    "fm, gaussian": Case(FREE, FLIPPED, delta=DELTA),
    "fm, several rows, gaussian": Case(FREE, FLIPPED, rows_per_person=3, delta=DELTA),
    "output": Case(OutputPerturbation(), MANY, others=20_000, **PINNED),
    "output, add_remove": Case(OutputPerturbation(), MANY, others=20_000, relation=ADD, **PINNED),
    "output, gaussian": Case(OutputPerturbation(), MANY, others=20_000, delta=DELTA, **PINNED),
    "objective": Case(ObjectivePerturbation(cut=None), MANY, others=4_000, **PINNED),
    "objective, add_remove": Case(ObjectivePerturbation(cut=None), MANY, others=4_000, relation=ADD, **PINNED),
    "ngd": Case(SLOW, FLIPPED, delta=DELTA),
    "ngd, add_remove": Case(SLOW, FLIPPED, relation=ADD, delta=DELTA),
    "ngd, several rows": Case(SLOW, FLIPPED, rows_per_person=3, delta=DELTA),
    "ngd, batches": Case(BATCHES, FLIPPED, delta=DELTA),
    "score": Case(
        ScoreRelease(), CORNERS, others=50, shared=((0.0, 0.0), None), eps=4.0, delta=DELTA, start=(0.0, -60.0)
    ),
    "score, add_remove": Case(
        ScoreRelease(), CORNERS, others=50, shared=((0.0, 0.0), None), eps=4.0, delta=DELTA, start=(0.0, -60.0),
        relation=ADD,
    ),
    "score from zero": Case(ScoreRelease(), FLIPPED, eps=4.0, delta=DELTA),
}  # fmt: skip


def exact(case, which):
    """The release without noise: numbers, and coefficients."""
    (fit,) = case.fits(which, 1, math.inf, 0.0, Source())
    return np.concatenate([np.ravel(block) for block in fit.released.values()] or [[]]), fit.coef


def released(case, which, runs):
    """Numbers (runs, k) of whole fits with a fixed key, their scales, and the coefficients."""
    fits = case.fits(which, runs, case.eps, case.delta, Source(seed=which))
    blocks = fits[0].statement.released
    scales = np.concatenate([np.full(math.prod(block.shape), block.scale) for block in blocks.values()])
    numbers = [np.concatenate([np.ravel(block) for block in fit.released.values()] or [[]]) for fit in fits]
    return np.array(numbers), scales, np.array([fit.coef for fit in fits])


def of_rounds(case, runs):
    """The best linear statistic of all rounds for persons who move each as they move the first."""
    found = []
    (one,), (other,) = (case.fits(which, 1, math.inf, 0.0, Source()) for which in (0, 1))
    moved = {name.split("_", 2)[2]: one.released[name] - other.released[name]
             for name in one.released if name.startswith("round_1")}  # fmt: skip
    sides = [fit.released["round_1_score"] for fit in (one, other)]
    # Where weights are forgotten the score of a round is longer than a person's may be; its squares know the weights.
    squares = [squares_of(side / max(1.0, float(np.linalg.norm(side)))) for side in sides]
    moved |= {name: cells - squares[1][name] for name, cells in squares[0].items()}
    for which in (0, 1):
        fits = case.fits(which, runs, case.eps, case.delta, Source(seed=which))
        scales = {name: block.scale for name, block in fits[0].statement.released.items()}
        found.append(np.array([
            sum(block @ moved[name.removeprefix("round_")[2 * ("round" in name):]] / scales[name] ** 2
                for name, block in fit.released.items())
            for fit in fits
        ]))  # fmt: skip
    return found


def of_sums(case, runs):
    """Log likelihood ratios of noise around both releases of exact sums; a descent hardly moves from its start."""
    left, right = (exact(case, which)[0] for which in (0, 1))
    found = []
    for which in (0, 1):
        noisy, scales, _ = released(case, which, runs)
        if case.delta:
            found.append((((noisy - right) ** 2 - (noisy - left) ** 2) / (2 * scales**2)).sum(axis=1))
        else:
            found.append(((np.abs(noisy - right) - np.abs(noisy - left)) / scales).sum(axis=1))
    return found


def of_coefs(case, runs):
    """The same of noise around both minima."""
    plan, minima = case.spec.plan(case.problem, case.eps, case.delta), [exact(case, which)[1] for which in (0, 1)]
    return [distance_score(plan, minima, released(case, which, runs)[2]) for which in (0, 1)]


def of_densities(case, runs):
    """Log density ratios of objective perturbation, of persons whose rows count one divided by their number."""
    plan, found = case.spec.plan(case.problem, case.eps, case.delta), []
    for which in (0, 1):
        coefs = released(case, which, runs)[2]
        found.append(log_density(case, plan, 0, coefs) - log_density(case, plan, 1, coefs))
    return found


def log_density(case, plan, which, coefs):
    """Of a release, up to a constant: the noise at minus the gradient, times the determinant."""
    ridge, loss, size = plan.settings.ridge, Logistic(), coefs.shape[1]
    b, hessian = -ridge * coefs, np.broadcast_to(ridge * np.eye(size), (len(coefs), size, size))
    row, label, _ = case.last[which]
    present = 0.0 if case.relation is ADD and which else 1.0
    for x, y, weight in ((*case.shared, case.others), (row, label, present)):
        x = np.array(x)
        margin = coefs @ x
        b = b - weight * loss.residual(margin, y)[:, None] * x
        hessian = hessian + weight * loss.weight(margin, y)[:, None, None] * np.outer(x, x)
    norm = np.linalg.norm(b, axis=1)
    return -norm / plan.statement.released["coef"].scale + np.linalg.slogdet(hessian)[1]


SCORES = {OutputPerturbation: of_coefs, ObjectivePerturbation: of_densities, ScoreRelease: of_rounds}


def measure(case, runs):
    """The lower bound of eps that a case shows."""
    scores = SCORES.get(type(case.spec), of_sums)(case, runs)
    scores = [np.round(side, 9) for side in scores]  # below 1e-9 only floating-point residue would be told apart
    return gaussian_eps(mu_lower_bound(*scores), case.delta) if case.delta else eps_lower_bound(*scores)


def count_share(_):
    """The loss that whole releases show at most of a person with three rows against one whose rows have weight 0.

    The quadratic block is so heavy that the second moments, the count among them, are nearly all that counts.
    """
    case = Case(LARGE_WEIGHT, (((1.0,), 1.0, 3), ((1.0,), 1.0, 3)), bounds=True, weights=(1.0, 0.0))
    one, other = (exact(case, which)[0] for which in (0, 1))
    return float((np.abs(one - other) / released(case, 0, 1)[1]).sum())


def three_rows(_):
    """The largest log density ratio that a search finds of persons with three rows, for the noise of a plan."""
    problem = Problem(LOGISTIC, Geometry(3), Neighbouring.REPLACE_ONE, 100, 0.05 / 100, (), unit=Unit("id"))
    plan = ObjectivePerturbation(cut=None).plan(problem, 4.0, 0.0)
    p = Logistic()
    slope, curvature = (lambda z: p.residual(z, 1.0)), (lambda z: p.weight(z, 1.0))
    return worst_ratio(3, "replace_one", 0.05, plan.statement.released["coef"].scale, slope, curvature)


SEARCHES = {"count": count_share, "three rows": three_rows}


if __name__ == "__main__":
    print(
        json.dumps(
            [
                SEARCHES[name](None) if name in SEARCHES else measure(CASES[name], int(sys.argv[1]))
                for name in sys.argv[2:]
            ]
        )
    )
