"""A theorem's bound for a planned fit, where there is one.

Let J be the regularised mean objective, L = R^2 / 4 + l2 its smoothness. Lemmas 3 and 4 of CM08 (`dplr.utility`) bound
J(w) - min J for the exact minimiser and the noise of the mechanism. What is released also differs by

- the solver's tolerance tau, which moves w by at most tau / Lam.
- the noise that pays for the tolerance, and rounding to the grid.

Moving w by z adds at most sqrt(L / 2) ||z|| to the root of the excess: J(w + z) <= J(w) + ||grad J(w)|| ||z|| +
L ||z||^2 / 2 and ||grad J(w)||^2 <= 2 L (J(w) - min J).

The linear term's lemma holds for every convex loss, and needs the norm of b alone; the soft logistic loss is as smooth
as the logistic one. Where coefficients have ridges of their own, all of this is about the weighted problem.

Where ranges are released first, all of this is about rows in them: `Plan.settings` and the block of the
coefficients are of the models, with what the ranges leave of eps.

Both norms of noise stay below their quantiles with probability 1 - failure / 2 each.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from dplr.privacy.law import Law

if TYPE_CHECKING:
    from dplr.problem.geometry import Geometry
    from dplr.problem.plan import Plan

SURE = 0.95
_RANGES = "range_"  # names of the blocks of private ranges begin so
_NONE = (
    "Expected utility: no theorem covers this fit (they are about logistic regression of two classes by output and "
    "objective perturbation, delta = 0 and replace_one); try it on public data."
)


def expected_utility(planned: Plan, classes: int) -> str:
    """A sentence."""
    bound = excess_risk_of(planned) if classes == 2 else None
    if bound is None:
        return _NONE
    lemma = "3" if planned.statement.mechanism == "output" else "4"
    cut = planned.problem.loss.label != "logistic"
    compared = f"its loss is {planned.problem.loss.label}" if cut else f"always answering 1/2 has {math.log(2):.3f}"
    ranged = any(name.startswith(_RANGES) for name in planned.released)
    data = "the data in their ranges" if ranged else "the data"
    return (
        f"Expected utility: with probability {SURE:g} the objective on {data} ends at most {bound:.3g} above its "
        f"minimum (CM08, Lemma {lemma}, corrected); {compared}."
    )


def excess_risk_of(planned: Plan) -> float | None:
    """Bound of J(w) - min J for what will be released; None where no lemma applies."""
    from dplr.utility import excess_risk, noise_norm_quantile

    solved: Any = planned.settings  # those of a minimisation, where a lemma applies
    problem, n = planned.problem, planned.problem.n_rows
    if solved is None or n is None or not _covered(planned):
        return None
    block, geometry = planned.released["coef"], problem.weighted(solved.weights).geometry
    radius = math.hypot(geometry.radius, geometry.intercept)
    d, l2, failure = math.prod(block.shape), solved.ridge / n, (1 - SURE) / 2
    facts: dict[str, Any] = {"d": d, "l2": l2, "failure": failure, "radius": radius}
    # Grid and rounding are about the coefficients, what the solver misses and the noise that pays for it
    # about those over their weights.
    missed = max(solved.tolerance / solved.ridge, solved.offset * solved.lattice)
    moved = block.grid * math.sqrt(d) / min(solved.weights or (1.0,)) + missed
    if planned.statement.mechanism == "output":  # the eps for which the lemma has the noise of this plan
        root = math.sqrt(excess_risk(n, mechanism="output", eps=2 * radius / (solved.ridge * block.scale), **facts))
    else:
        if block.law.family is Law.GAUGE:  # lemma 4 itself, for another law of b
            root = _gauge_norm(geometry, block.scale, failure) / math.sqrt(2 * n * solved.ridge)
        else:
            noise_eps = min(planned.statement.eps, 2 * radius / block.scale)
            root = math.sqrt(excess_risk(n, eps=planned.statement.eps, noise_eps=noise_eps, **facts))
        moved += solved.tolerance_noise * noise_norm_quantile(d, failure)
    return float((root + math.sqrt((radius**2 / 4 + l2) / 2) * moved) ** 2)


def _gauge_norm(geometry: Geometry, scale: float, failure: float) -> float:
    """Norm that a linear term with noise in the gauge of the body exceeds with probability at most `failure`.

    It is scale R U with R of the Gamma(q + 1) law and U uniform in the body. ||U||^2 is a sum of independent terms, one
    for each group, between 0 and half-width^2: Hoeffding's bound.
    """
    from dplr.utility import noise_norm_quantile

    widths = geometry.half_widths
    squares = [widths[first] ** 2 for first in geometry.firsts]
    means = [2 * m * square / ((m + 1) * (m + 2)) for m, square in zip(geometry.groups, squares, strict=True)]
    excess = math.sqrt(math.log(2 / failure) / 2) * math.hypot(*squares)
    length = noise_norm_quantile(geometry.n_coefs + 1, failure / 2)
    return scale * length * math.sqrt(min(sum(means) + excess, sum(squares)))


def _covered(planned: Plan) -> bool:
    from dplr.utility import MECHANISMS

    problem, statement = planned.problem, planned.statement
    families = {block.law.family for name, block in statement.released.items() if not name.startswith(_RANGES)}
    return (
        statement.mechanism in MECHANISMS
        and problem.loss.name in ("logistic", "soft_logistic")
        and families <= {Law.NORM_GAMMA, Law.GAUGE}
        and math.isfinite(statement.eps)
        and str(problem.neighbouring) == "replace_one"
        and problem.w0 is None
    )
