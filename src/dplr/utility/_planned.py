"""What a theorem says of a planned fit, where there is one.

Let J be the regularised mean objective, L = R^2 / 4 + l2 its smoothness. Lemmas 3 and 4 of CM08 (`dplr.utility`) bound
J(w) - min J for the exact minimiser and the noise of the mechanism. What is released also differs by

- the solver's tolerance tau, which moves w by at most tau / Lam.
- the noise that pays for the tolerance, and rounding to the grid.

Moving w by z adds at most sqrt(L / 2) ||z|| to the root of the excess: J(w + z) <= J(w) + ||grad J(w)|| ||z|| +
L ||z||^2 / 2 and ||grad J(w)||^2 <= 2 L (J(w) - min J).

Both norms of noise stay below their quantiles with probability 1 - failure / 2 each.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dplr.problem.plan import Plan

SURE = 0.95
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
    return (
        f"Expected utility: with probability {SURE:g} the objective on the data ends at most {bound:.3g} above its "
        f"minimum (CM08, Lemma {lemma}, corrected); the model that always answers 1/2 has {math.log(2):.3f}."
    )


def excess_risk_of(planned: Plan) -> float | None:
    """Bound of J(w) - min J for what will be released; None where no lemma applies."""
    from dplr.utility import excess_risk, noise_norm_quantile

    problem, solved, n = planned.problem, planned.minimisation, planned.problem.n_rows
    if solved is None or n is None or not _covered(planned):
        return None
    block, radius = planned.released["coef"], math.hypot(problem.geometry.radius, problem.geometry.intercept)
    d, l2, failure = math.prod(block.shape), solved.ridge / n, (1 - SURE) / 2
    facts: dict[str, Any] = {"d": d, "l2": l2, "failure": failure, "radius": radius}
    moved = block.grid * math.sqrt(d) + solved.tolerance / solved.ridge
    if planned.statement.mechanism == "output":  # the eps for which the lemma has the noise of this plan
        root = math.sqrt(excess_risk(n, mechanism="output", eps=2 * radius / (solved.ridge * block.scale), **facts))
    else:
        noise_eps = min(planned.statement.eps, 2 * radius / block.scale)
        root = math.sqrt(excess_risk(n, eps=planned.statement.eps, noise_eps=noise_eps, **facts))
        moved += solved.tolerance_noise * noise_norm_quantile(d, failure)
    return (root + math.sqrt((radius**2 / 4 + l2) / 2) * moved) ** 2


def _covered(planned: Plan) -> bool:
    from dplr.utility import MECHANISMS

    problem, statement = planned.problem, planned.statement
    return (
        statement.mechanism in MECHANISMS
        and problem.loss.label == "logistic"
        and all(block.law.startswith("norm-Gamma") for block in statement.released.values())
        and math.isfinite(statement.eps)
        and str(problem.neighbouring) == "replace_one"
        and problem.w0 is None
    )
