"""Exact delta of Gaussian objective perturbation: how much of a plan's delta do neighbours need at most?

As a script (``python gaussian_audit.py CASE 0``) it prints the largest hockey stick of a case over the plan's delta as
JSON: tests run it on patched copies of the package to show that the audit sees a broken one.
"""

import json
import math
import sys
from dataclasses import dataclass

import numpy as np

from dplr.auditor.density import Logistic
from dplr.mechanisms import ObjectivePerturbation
from dplr.privacy.guarantees import Neighbouring
from dplr.problem.geometry import Geometry
from dplr.problem.losses import LOGISTIC, SQUARED
from dplr.problem.problem import Problem
from hockey_sticks import hockey_stick
from margin_losses import SoftHuber, SoftLogistic

# The share of eps that pays for the solver's tolerance, which the exact minimiser does not need.
TOLERANCE_SHARE = 2.0**-8


@dataclass(frozen=True)
class Case:
    """A plan with kappa = share eps, and neighbours far from w0's side, in units of the noise over the ridge."""

    share: float
    relation: Neighbouring = Neighbouring.ADD_REMOVE
    cut: float | None = None
    numbers: bool = False
    eps: float = 1.0
    delta: float = 1e-4

    @property
    def twin(self):
        """The auditor's own loss."""
        return SoftHuber(self.cut) if self.numbers else Logistic() if self.cut is None else SoftLogistic(self.cut)

    @property
    def columns(self):
        """Two for opposite gradients of two records."""
        return self.relation.records_changed

    def plan(self):
        """The plan, without an intercept."""
        loss = SQUARED if self.numbers else LOGISTIC
        problem = Problem(loss, Geometry(self.columns), self.relation, 1, 1 / (self.share * self.eps), ())
        return ObjectivePerturbation(cut=self.cut).plan(problem, self.eps, self.delta)


ADDED, REPLACED = Neighbouring.ADD_REMOVE, Neighbouring.REPLACE_ONE
CASES = {
    "logistic, added": Case(0.95),
    "logistic, added, small ridge": Case(3.0),
    "soft logistic, added": Case(0.95 / 0.5, cut=0.5),
    "soft logistic, added, small ridge": Case(6.0, cut=0.5),
    "soft Huber, added": Case(0.3, cut=0.5, numbers=True, eps=5.0),
    "soft Huber, added, small ridge": Case(2.5, cut=0.5, numbers=True, eps=2.0),
    "logistic, replaced": Case(0.25, relation=REPLACED),
    "soft logistic, replaced": Case(0.25 / 0.5, relation=REPLACED, cut=0.5),
    "soft Huber, replaced": Case(0.25, relation=REPLACED, cut=0.5, numbers=True),
}


def pairs(case, width):
    """Neighbours and a w0: all slopes near their largest, or of both signs, where the noise takes w."""
    if case.relation is REPLACED:
        tilt = 0.02  # two records with opposite gradients, both contradicted by w0
        one = np.array([[math.cos(tilt), math.sin(tilt)]])
        yield (one, [1.0], one * [-1, 1], [1.0]), np.array([0.0, -12 * width / math.sin(tilt)])
        return
    for start in (-12 * width, -3 * width, -width, 0.0, 1.0):
        yield ([[1.0]], [1.0], np.zeros((0, 1)), np.zeros(0)), np.array([start])


def measure(case, eps=None):
    """The largest hockey stick over the delta that the plan states, both orders; at the plan's eps if none is given."""
    plan = case.plan()
    ridge, scale = plan.settings.ridge, plan.statement.noise_scale
    eps = case.eps * (1 - TOLERANCE_SHARE) if eps is None else eps
    facts = {"eps": eps, "loss": case.twin, "ridge": ridge, "scale": scale}
    points = 4001 if case.columns == 1 else 401
    found = [
        hockey_stick(*order, w0=w0, points=points, **facts)
        for pair, w0 in pairs(case, scale / ridge)
        for order in (pair, (*pair[2:], *pair[:2]))
    ]
    return max(found) / case.delta


if __name__ == "__main__":
    print(json.dumps([measure(CASES[name]) for name in sys.argv[2:]]))
