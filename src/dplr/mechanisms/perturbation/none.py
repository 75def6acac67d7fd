"""No privacy: the exact minimiser of the regularised objective, for comparison."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from dplr._kit.progress import Track, silent
from dplr._kit.validation import sentence
from dplr.mechanisms.descriptions import NONE
from dplr.mechanisms.perturbation import minimisation
from dplr.mechanisms.protocol import Description, Mechanism
from dplr.noise import Source
from dplr.privacy.guarantees import Pure
from dplr.privacy.law import Law
from dplr.privacy.statement import Release
from dplr.problem.plan import Plan
from dplr.problem.problem import Problem
from dplr.rows import Rows


@dataclass(frozen=True, slots=True)
class NoPrivacy(Mechanism):
    """The minimiser without noise, called NoPrivacy in the papers. It protects nobody.

    With ``l2="auto"`` the ridge on the sum objective is 1, scikit-learn's default ``C=1``.

    Raises
    ------
    ValueError
        On `fit`: eps is not inf. A finite eps would be a promise that nothing keeps.

    Privacy
    -------
    None: the exact minimiser is released, and a ledger refuses it.

    See Also
    --------
    dplr.baselines.truncated : A fit without noise, for the cost of truncating the loss.

    Examples
    --------
    >>> import dplr
    >>> dplr.plan(n_rows=1000, n_features=2, eps=float("inf"), mechanism="none").statement.guarantee
    Pure(eps=inf)
    """

    about: ClassVar[Description] = NONE

    def plan(self, problem: Problem, eps: float, delta: float, classes: Sequence[Any] = ()) -> Plan:
        if not (math.isinf(eps) and delta == 0):
            remedy = "Say that nothing is promised: eps=float('inf'), delta=0."
            raise ValueError(sentence("eps", 'must be inf with mechanism="none"', eps, remedy))
        n_rows = minimisation.check(problem, self.about.name)
        ridge = 1.0 if problem.l2 is None else problem.l2 * n_rows
        coef = Release((problem.geometry.n_coefs,), 0.0, Law.NONE, 0.0, 0.0)
        named, facts = f"none: the exact minimiser, Lam = {ridge:.6g}", minimisation.assumptions(problem)
        stated = self.promise(problem, eps, delta, Pure(eps), {"coef": coef}, named, "no privacy", assumptions=facts)
        return Plan(self, problem, stated, minimisation.minimisation(problem, ridge, linear_norm=0.0, share=0.0))

    def check(self, problem: Problem) -> None:
        minimisation.check(problem, self.about.name)

    def check_rows(self, rows: Rows, problem: Problem) -> None:
        minimisation.check_count(rows, problem)

    def run(self, rows: Rows, plan: Plan, source: Source, track: Track = silent) -> dict[str, NDArray[np.float64]]:
        minimisation.check_rows(rows, plan.problem)
        return {"coef": minimisation.minimise(rows, plan)}
