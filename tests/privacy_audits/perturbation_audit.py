"""Empirical privacy of output and objective perturbation through `fitting.run`: can two neighbours be told apart?

As a script (``python perturbation_audit.py CASE RUNS``) it prints the measured lower bound of eps as JSON: tests run it
on patched copies of the package to show that the audit sees a broken one.
"""

import json
import math
import sys
from dataclasses import dataclass

import numpy as np

import dplr
import fits as fitting
from dplr.auditor.density import Logistic
from dplr.auditor.sampled import eps_lower_bound, gaussian_eps, mu_lower_bound
from dplr.bounds.scaling import ball_prep, box_prep, layout_prep
from dplr.ledger.budget import NullLedger
from dplr.mechanisms import ObjectivePerturbation, OutputPerturbation
from dplr.noise import Source
from dplr.privacy.guarantees import Neighbouring
from dplr.problem.geometry import GRID
from dplr.problem.losses import LOGISTIC, SQUARED
from dplr.problem.own_losses import smoothed_hinge
from dplr.problem.problem import Problem
from dplr.rows import ArrayRows
from margin_losses import SoftHuber, SoftLogistic


@dataclass(frozen=True)
class Case:
    """Neighbours that share `copies` of one record and differ in the last one."""

    spec: OutputPerturbation | ObjectivePerturbation
    ridge: float | None  # None for the default, of each coefficient its own
    last: tuple[tuple[float, ...], float]
    other_last: tuple[tuple[float, ...], float]
    copies: int = 0
    shared: tuple[tuple[float, ...], float] = ((0.0, 1.0), -1.0)
    eps: float = 1.0
    delta: float = 0.0
    numbers: bool = False
    blocks: tuple[tuple[int, int], ...] | None = None  # () for bounds without blocks; None for the ball
    own: bool = False  # a loss with knots, of which the auditor has the formula
    marked: bool = False  # one number of which NaN is missing, and marked, in a model with an intercept
    curved: bool = False  # one number from 0 to 4, of which the shares of 0, 1 and 4 on the scale of the root count

    @property
    def problem(self):
        """The public facts: replace-one, and no intercept but beside a mark or shares."""
        n = self.copies + 1
        loss = SQUARED if self.numbers else smoothed_hinge(0.5) if self.own else LOGISTIC
        l2 = None if self.ridge is None else self.ridge / n
        return Problem(loss, self.prep.geometry, Neighbouring.REPLACE_ONE, n, l2, ())

    @property
    def prep(self):
        labels, d = None if self.numbers else (-1.0, 1.0), len(self.last[0])
        if self.marked:
            known = dplr.Bounds([{"lower": -1, "upper": 1, "missing": "indicator"}])
            return layout_prep(known.layout, True, labels)
        if self.curved:
            known = dplr.Bounds([{"lower": 0, "upper": 4, "knots": 3, "transform": "sqrt", "line": False}])
            return layout_prep(known.layout, True, labels)
        if self.blocks is None:
            return ball_prep(d, False, labels)
        return box_prep([(-1.0, 1.0)] * d, False, labels, blocks=self.blocks)

    def rows(self, last):
        X = np.vstack([np.tile(self.shared[0], (self.copies, 1)), [last[0]]]) if self.copies else np.array([last[0]])
        return ArrayRows(X, np.append(np.full(self.copies, self.shared[1]), last[1]), self.prep)

    def scaled(self, row):
        """The auditor's own view of a scaled row: a number, its mark and the constant, or the columns as they are.

        Shares are those of the package: an auditor of a broken one knows what it does.
        """
        if self.curved:
            prep = self.prep
            return np.array([*prep.layout.columns[0].shares(np.sqrt(row))[0] * prep.scale[:3] / GRID, 0.5])
        if self.marked:
            (number,) = row
            return np.array([0.0, self.width, 0.5] if math.isnan(number) else [number * self.width, 0.0, 0.5])
        return np.array(row) * self.width

    @property
    def width(self):
        return self.prep.geometry.half_width or 1.0


# Two misclassified records whose gradients are almost opposite, among many that pin the other direction.
C = math.sqrt(0.75)
OPPOSITE = (((C, 0.5), 1.0), ((-C, 0.5), 1.0))
ALONE = (((1.0,), 1.0), ((0.0,), 1.0))
CORNERS = (((1.0, 1.0, 1.0), 1.0), ((-1.0, -1.0, 1.0), 1.0))
LEVELS = (((1.0, 0.0, 0.0, 1.0), 1.0), ((0.0, 1.0, 0.0, 1.0), 1.0))

CASES = {
    "output": Case(OutputPerturbation(), 10.0, *OPPOSITE, copies=20_000),
    "output gaussian": Case(OutputPerturbation(), 10.0, *OPPOSITE, copies=20_000, delta=1e-5),
    "objective": Case(ObjectivePerturbation(cut=None), 10.0, *OPPOSITE, copies=4_000),
    "objective gaussian": Case(ObjectivePerturbation(cut=None), 10.0, *OPPOSITE, copies=4_000, delta=1e-5),
    "objective, one record": Case(ObjectivePerturbation(cut=None), 2.0, *reversed(ALONE)),
    "objective, one record, small ridge": Case(ObjectivePerturbation(cut=None), 0.16, *ALONE),
    # Refused by the package: only a copy that does not charge the curvature plans it.
    "objective, one record, tiny ridge": Case(ObjectivePerturbation(cut=None), 0.01, *ALONE),
    "soft logistic": Case(ObjectivePerturbation(cut=0.5), 10.0, *OPPOSITE, copies=4_000),
    "soft logistic, tiny ridge": Case(ObjectivePerturbation(cut=0.5), 0.2, *ALONE),
    "soft Huber": Case(ObjectivePerturbation(cut=0.5), 10.0, *OPPOSITE, copies=4_000, numbers=True),
    "soft Huber, tiny ridge": Case(ObjectivePerturbation(cut=0.5), 0.8, *ALONE, numbers=True),
    "own loss": Case(ObjectivePerturbation(), 20.0, *OPPOSITE, copies=4_000, own=True),
    "own loss, output": Case(OutputPerturbation(), 20.0, *OPPOSITE, copies=4_000, own=True),
    "gauge": Case(
        ObjectivePerturbation(cut=None), 10.0, *CORNERS, copies=2_000, blocks=(), shared=((0.0, 0.0, 1.0), -1.0)
    ),
    "gauge, a ridge each": Case(
        ObjectivePerturbation(cut=0.5),
        None,
        *LEVELS,
        copies=2_000,
        blocks=((0, 3),),
        shared=((0.0, 0.0, 0.0, 1.0), -1.0),
    ),
    # A missing number against one at its bound, both misclassified: the gradients are a corner apart.
    "gauge, a mark": Case(
        ObjectivePerturbation(cut=None),
        10.0,
        ((math.nan,), 1.0),
        ((-1.0,), 1.0),
        copies=2_000,
        shared=((0.0,), -1.0),
        marked=True,
    ),
    "gauge, a mark, a ridge each": Case(
        ObjectivePerturbation(cut=0.5),
        None,
        ((math.nan,), 1.0),
        ((-1.0,), 1.0),
        copies=2_000,
        shared=((0.0,), -1.0),
        marked=True,
    ),
    # Two knots, beside or at which both are misclassified.
    "gauge, a curve, a ridge each": Case(
        ObjectivePerturbation(cut=0.5),
        None,
        ((1 - 2.0**-30,), 1.0),
        ((4.0,), 1.0),
        copies=2_000,
        shared=((0.0,), -1.0),
        curved=True,
    ),
    "gauge, tiny ridge": Case(ObjectivePerturbation(cut=None), 0.01, *ALONE, blocks=()),
    "cm08, one record": Case(ObjectivePerturbation(calibration="cm08", cut=None), 0.01, *ALONE),
    "cms11, one record": Case(ObjectivePerturbation(calibration="cms11", cut=None), 0.01, *ALONE),
}


class SmoothedHinge:
    """Hinge of y z whose corner is a parabola on [1/2, 1]."""

    def residual(self, margin, y):
        return -y * np.clip(2 * (1 - y * margin), 0, 1)

    def weight(self, margin, y):
        return 2.0 * (np.abs(y * margin - 0.75) <= 0.25)


def loss_of(case):
    """The auditor's own loss."""
    if case.own:
        return SmoothedHinge()
    cut = case.spec.cut if isinstance(case.spec, ObjectivePerturbation) else None
    return SoftHuber(cut) if case.numbers else Logistic() if cut is None else SoftLogistic(cut)


def log_density(case, plan, last, coefs):
    """Log density of releases up to a constant: the noise at minus the gradient, times the determinant."""
    block, q = plan.statement.released["coef"], coefs.shape[1]
    ridges = plan.settings.ridge / np.array(plan.settings.weights or [1.0] * q) ** 2
    b, hessian = -ridges * coefs, np.broadcast_to(np.diag(ridges), (len(coefs), q, q))
    for (row, label), count in ((case.shared, case.copies), (last, 1)):
        if count:
            x = case.scaled(row)
            margin, loss = coefs @ x, loss_of(case)
            b = b - count * loss.residual(margin, label)[:, None] * x
            hessian = hessian + count * loss.weight(margin, label)[:, None, None] * np.outer(x, x)
    if case.marked:
        groups = np.abs(b) / [case.width, case.width, 0.5]
        norm = np.maximum(groups[:, 0] + groups[:, 1], groups[:, 2])
    elif case.curved:
        norm = np.maximum(np.abs(b[:, :3]).sum(axis=1) / case.width, np.abs(b[:, 3]) / 0.5)
    elif case.blocks is None:
        norm = np.linalg.norm(b, axis=1)
    else:  # the gauge of the body, from the auditor's own view of the columns
        sizes = [size for _, size in case.blocks] + [1] * (q - sum(size for _, size in case.blocks))
        groups = np.split(np.abs(b) / case.width, np.cumsum(sizes)[:-1], axis=1)
        norm = np.max([group.sum(axis=1) for group in groups], axis=0)
    noise = -(norm**2) / (2 * block.scale**2) if case.delta else -norm / block.scale
    return noise + np.linalg.slogdet(hessian)[1]


def distance_score(plan, centres, coefs):
    """Log likelihood ratio of noise around two points."""
    scale = plan.statement.released["coef"].scale
    near, far = (np.linalg.norm(coefs - centre, axis=1) for centre in centres)
    if plan.statement.released["coef"].law.gaussian:
        return (far**2 - near**2) / (2 * scale**2)
    return (far - near) / scale


def measure(case, runs):
    """The lower bound of eps that a case shows."""
    plan = case.spec.plan(case.problem, case.eps, case.delta)
    lasts, fits = (case.last, case.other_last), []
    for seed, last in enumerate(lasts):
        many = [case.eps] * runs
        fits.append(
            fitting.run_many(case.rows(last), case.problem, case.spec, many, case.delta, NullLedger(), Source(seed))
        )
    coefs = [np.array([fit.coef for fit in side]) for side in fits]
    if isinstance(case.spec, OutputPerturbation):
        exact = [
            fitting.run(case.rows(last), case.problem, case.spec, math.inf, 0.0, NullLedger(), Source()).coef
            for last in lasts
        ]
        scores = [distance_score(plan, exact, side) for side in coefs]
    else:
        scores = [np.subtract(*(log_density(case, plan, last, side) for last in lasts)) for side in coefs]
    scores = [np.round(side, 9) for side in scores]  # below 1e-9 only floating-point residue would be told apart
    return gaussian_eps(mu_lower_bound(*scores), case.delta) if case.delta else eps_lower_bound(*scores)


if __name__ == "__main__":
    print(json.dumps([measure(CASES[name], int(sys.argv[1])) for name in sys.argv[2:]]))
