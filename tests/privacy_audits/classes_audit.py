"""Exact eps of K models by Gaussian objective perturbation: how much of a plan's eps do neighbours need at most?

As a script (``python classes_audit.py CASE 0``) it prints the largest eps that K releases show at the plan's delta,
over the plan's eps, as JSON: tests run it on patched copies of the package to show that the audit sees a broken one.
"""

import json
import math
import sys
from dataclasses import dataclass

import numpy as np
from scipy import special

from dplr.auditor.density import Logistic, log_density
from dplr.fitting.one_vs_rest import plan_models
from dplr.mechanisms import ObjectivePerturbation
from dplr.privacy.guarantees import Neighbouring
from dplr.problem.geometry import Geometry
from dplr.problem.losses import LOGISTIC
from dplr.problem.problem import Problem
from margin_losses import SoftLogistic

ADDED, REPLACED = Neighbouring.ADD_REMOVE, Neighbouring.REPLACE_ONE
# Losses are rounded down to a grid of this share of eps: what is found is never above the truth.
SPACING = 2.0**-10


@dataclass(frozen=True)
class Case:
    """K classes; in each model neighbours show as much as they can. kappa = share eps of the whole."""

    classes: int
    share: float
    relation: Neighbouring = ADDED
    cut: float | None = None
    eps: float = 1.0
    delta: float = 1e-6

    def plan(self):
        """The plan of one model, without an intercept."""
        columns = self.relation.records_changed
        problem = Problem(LOGISTIC, Geometry(columns), self.relation, 1, 1 / (self.share * self.eps), ())
        spec = ObjectivePerturbation(cut=self.cut)
        return plan_models(spec, problem, self.eps, self.delta, range(self.classes)).model


CASES = {
    "3 classes, added": Case(3, 0.02),
    "10 classes, added": Case(10, 0.02),
    "10 classes, added, small ridge": Case(10, 0.15),
    # Refused by the package: only a copy that does not charge the curvature plans it.
    "10 classes, added, tiny ridge": Case(10, 3.0),
    "3 classes, replaced": Case(3, 0.02, REPLACED),
    "10 classes, replaced": Case(10, 0.02, REPLACED),
    "10 classes, soft, replaced": Case(10, 0.04, REPLACED, cut=0.5),
}


def pairs(case, width):
    """Neighbours and a w0: all slopes at their largest where the noise takes w, or of all sizes."""
    far = 40 + 12 * width
    if case.relation is REPLACED:
        tilt = 0.02  # two records with opposite gradients, both contradicted by w0
        one = np.array([[math.cos(tilt), math.sin(tilt)]])
        yield (one, [1.0], one * [-1, 1], [1.0]), np.array([0.0, -far / math.sin(tilt)])
        return
    for start in (-far, -12 * width, -3 * width, -width, 0.0, 1.0):
        yield ([[1.0]], [1.0], np.zeros((0, 1)), np.zeros(0)), np.array([start])


def losses(order, w0, plan, twin, spacing):
    """Mass of each loss of one model, rounded down: first index, masses."""
    rows, labels, other_rows, other_labels = order
    ridge, scale, d = plan.settings.ridge, plan.statement.noise_scale, len(w0)
    points = 20_001 if d == 1 else 601
    reach = scale / ridge * math.sqrt(2 * float(special.gammainccinv(d / 2, 1e-16)))
    facts = {"loss": twin, "ridge": ridge, "scale": scale, "law": "gaussian", "w0": w0}
    middle = w0 - 0.5 * np.sum([np.zeros(d), *(np.asarray(rows) * -np.asarray(labels)[:, None])], axis=0) / ridge
    axis, step = np.linspace(-1.1 * reach, 1.1 * reach, points, retstep=True)
    coef = middle + np.stack(np.meshgrid(*[axis] * d, indexing="ij"), axis=-1).reshape(-1, d)
    one = log_density(rows, labels, coef, **facts)
    other = log_density(other_rows, other_labels, coef, **facts)
    masses = np.exp(one) * step**d
    assert abs(masses.sum() - 1) < 1e-3
    index = np.floor((one - other) / spacing).astype(int)
    seen = masses > 1e-30
    first = int(index[seen].min())
    return first, np.bincount(index[seen] - first, masses[seen] / masses.sum())


def composed_eps(first, masses, classes, delta, spacing):
    """Smallest eps at delta of K such releases: masses that are not negative, summed without a Fourier transform."""
    total, start = masses, first
    for _ in range(classes - 1):
        total, start = np.convolve(total, masses), start + first
    at = spacing * (start + np.arange(len(total)))
    low, high = 0.0, max(float(at[-1]), 0.0)
    for _ in range(50):
        middle = (low + high) / 2
        found = float(total @ np.maximum(-np.expm1(middle - at), 0))
        low, high = (middle, high) if found > delta else (low, middle)
    return low


def measure(case):
    """The largest eps of K releases over the plan's, over pairs and both orders."""
    plan, found = case.plan(), 0.0
    twin = Logistic() if case.cut is None else SoftLogistic(case.cut)
    for pair, w0 in pairs(case, plan.statement.noise_scale / plan.settings.ridge):
        for order in (pair, (*pair[2:], *pair[:2])):
            first, masses = losses(order, w0, plan, twin, SPACING * case.eps)
            found = max(found, composed_eps(first, masses, case.classes, case.delta, SPACING * case.eps))
    return found / case.eps


if __name__ == "__main__":
    print(json.dumps([measure(CASES[name]) for name in sys.argv[2:]]))
