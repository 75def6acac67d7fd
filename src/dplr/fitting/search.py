"""The cost of a private search, from public facts alone: the plans of all candidates under one statement.

Nothing here sees a private row. Proofs: privacy/search/tuning.md.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from dplr._kit.validation import sentence
from dplr.fitting.one_vs_rest import ReleasePlan
from dplr.fitting.planning import PublicFacts
from dplr.privacy.composition import (
    basic,
    exact,
    float_down,
    pure_eps_of_rho,
    pure_eps_of_square,
    pure_rho,
    rho_of,
    square_of,
)
from dplr.privacy.gaussian import gaussian_eps, pure_mu
from dplr.privacy.guarantees import Approx, Gaussian, Neighbouring, Pure
from dplr.privacy.search.calibration import (
    Law,
    gaussian_search_eps,
    largest_mu,
    largest_rho,
    lost_delta,
    run_delta,
    run_eps,
)
from dplr.privacy.search.counts import NegativeBinomial, TruncatedPoisson
from dplr.privacy.search.selection import score_noise
from dplr.privacy.statement import PrivacyStatement

PARTITION, STOPPING, PUBLIC = "partition", "random_stopping", "public"
METHODS = (PARTITION, STOPPING, PUBLIC)
# The score's share of the privacy of a run: a count of errors needs far less than a model.
_SCORE_SHARE = Fraction(1, 10)
_ROUNDING = 2.0**-40
_SHRINKS = 30


@dataclass(frozen=True, eq=False, slots=True)
class SearchPlan:
    """The plan of a search, fixed before any row is read.

    Attributes
    ----------
    planned : the plan of one fit of each candidate.
    statement : the statement of the whole search.
    naive : (eps, delta) of one such fit of each candidate, released one after the other.
    law : the law of the number of runs; None for a partition.
    noise : scale of the noise on a score, in units; 0 for a partition.
    """

    planned: tuple[ReleasePlan, ...]
    statement: PrivacyStatement
    naive: tuple[float, float]
    law: Law | None = None
    noise: int = 0

    def of_choice(self, statement: PrivacyStatement) -> PrivacyStatement:
        """The statement of the model that was chosen: its own noise, and the loss of the whole search."""
        total = self.statement
        return replace(
            statement,
            eps=total.eps,
            delta=total.delta,
            guarantee=total.guarantee,
            calibration=f"{statement.calibration}; {total.calibration}",
            assumptions=(*statement.assumptions, *total.assumptions),
            arithmetic=total.arithmetic,
            reproducible=total.reproducible,
            source=f"{statement.source}; {total.source}",
        )


def cut(n_rows: int, parts: int, seed: int) -> list[NDArray[np.intp]]:
    """Positions of each part, whose sizes differ by at most 1: a function of public numbers alone."""
    return list(np.array_split(np.random.default_rng(seed).permutation(n_rows), parts))


def check_relation(neighbouring: str) -> None:
    """Refuse a partition under add_remove, before rows are counted: it needs a public number of rows."""
    if neighbouring != Neighbouring.REPLACE_ONE:
        remedy = 'Use method="random_stopping", or neighbouring="replace_one".'
        rule = "must be 'replace_one' with a partition: one record more would move the others, and sizes are private"
        raise ValueError(sentence("neighbouring", rule, str(neighbouring), remedy))


def plan_partition(facts: Sequence[PublicFacts], sizes: Sequence[int], eps: float, seed: int) -> SearchPlan:
    """A part of the rows for each candidate, and one to compare them on (theorem 1).

    `facts` are those of all rows; `sizes` are those of the parts of the candidates.
    """
    check_relation(facts[0].neighbouring)
    planned = _planned([replace(fact, n_rows=size) for fact, size in zip(facts, sizes, strict=True)], eps)
    statements = [plan.statement for plan in planned]
    delta = max(statement.delta for statement in statements)
    assumption = (
        f"chosen by a private search: {len(facts)} candidates, each fitted to a part of its own of all "
        f"{facts[0].n_rows} records (the number of records above is that of the part), cut by position (seed {seed}), "
        "and one taken by permute-and-flip for its score on a last part"
    )
    largest = max(eps, *(statement.eps for statement in statements))
    return _plan(planned, facts[0], (largest, delta), assumption, "parallel composition of parts", "theorem 1")


def plan_stopping(facts: Sequence[PublicFacts], eps: float, law: Law) -> SearchPlan:
    """Runs with noisy scores, a secret number of them (theorems 2 to 4)."""
    plan = _gaussian_plan(facts, eps, law) if facts[0].delta else None
    if plan is not None:
        return plan
    if not isinstance(law, NegativeBinomial):
        rule = "must be finite unless delta > 0 and every candidate has Gaussian noise"
        remedy = 'Use shape=1; or give delta and mechanism="ngd".'
        raise ValueError(sentence("shape", rule, math.inf, remedy))
    return _basic_plan(facts, eps, law)


def _basic_plan(facts: Sequence[PublicFacts], eps: float, law: NegativeBinomial) -> SearchPlan:
    """Each run is (eps, delta)-DP in two steps, fit and score (theorem 2)."""
    run, delta = run_eps(law, eps), facts[0].delta
    share = float_down((1 - _SCORE_SHARE) * run)
    delta_of_run = run_delta(law, delta) if delta else 0.0
    planned = _planned([replace(fact, delta=delta_of_run) for fact in facts], share)
    for fit in planned:
        if fit.statement.eps > share * (1 + _ROUNDING):
            rule = f"must keep to its share of eps, {share:.6g}, in a search with random stopping"
            remedy = "Calibrations as printed may cost more than they are asked for: use the default ones."
            raise ValueError(sentence("mechanism", rule, fit.statement.eps, remedy))
    largest = max(fit.statement.delta for fit in planned)
    lost = lost_delta(law, largest)
    if delta and largest == delta_of_run:  # mechanisms may have a smaller delta of their own: then no more is used
        lost = max(delta, lost)
    noise = score_noise(run - max(exact(share), *(exact(fit.statement.eps) for fit in planned)))
    return _stopping_plan(planned, facts[0], (eps, lost), law, noise, "theorem 2")


def _gaussian_plan(facts: Sequence[PublicFacts], eps: float, law: Law) -> SearchPlan | None:
    """Runs with Gaussian noise in the fit; None for other noise, and where theorem 2 needs less noise."""
    delta, parameter = facts[0].delta, run_delta(law, facts[0].delta)
    budget = _Curve(law, eps, delta) if isinstance(law, NegativeBinomial) else _Zcdp(law, eps, delta)
    score = budget.score
    if score <= 0 or budget.fit <= 0:
        return None
    share, shrink = gaussian_eps(math.sqrt(budget.fit), parameter), _ROUNDING
    if isinstance(law, NegativeBinomial) and exact(share) <= (1 - _SCORE_SHARE) * run_eps(law, eps):
        return None
    for _ in range(_SHRINKS):
        planned = _planned([replace(fact, delta=parameter) for fact in facts], share)
        statements = [fit.statement for fit in planned]
        if not all(isinstance(statement.guarantee, Gaussian) for statement in statements):
            return None
        if budget.pays(statements):
            return _stopping_plan(planned, facts[0], (eps, delta), law, score_noise(exact(score)), budget.theorem)
        share, shrink = share * (1 - shrink), 2 * shrink
    return None


class _Curve:
    """The budget of runs by the trade-off curve of a run: mu^2 of the fit, and eps of the score (theorem 3)."""

    theorem = "theorem 3"

    def __init__(self, law: NegativeBinomial, eps: float, delta: float) -> None:
        self._law, self._eps, self._delta = law, eps, delta
        square = largest_mu(law, eps, delta) ** 2
        self.score = pure_eps_of_square(_SCORE_SHARE * exact(square))
        self.fit = square - pure_mu(self.score) ** 2 * (1 + _ROUNDING)

    def pays(self, statements: Sequence[PrivacyStatement]) -> bool:
        """Whether a search whose runs are these fits and the score costs no more than it may, discrete noise counted.

        The largest mu and the most numbers count, of whichever candidates.
        """
        square = max(square_of(statement)[0] for statement in statements)
        mu = math.sqrt(square + pure_mu(self.score) ** 2) * (1 + _ROUNDING)
        numbers = max(gaussian_numbers(statement) for statement in statements)
        return gaussian_search_eps(self._law, mu, self._delta, numbers) <= self._eps


class _Zcdp:
    """The budget of runs by Renyi divergences: 2 rho of the fit, and eps of the score (theorem 4)."""

    theorem = "theorem 4"

    def __init__(self, law: TruncatedPoisson, eps: float, delta: float) -> None:
        rho = largest_rho(law, eps, delta)
        self.score = pure_eps_of_rho(_SCORE_SHARE * exact(rho)) if rho else 0.0
        self.fit = 2 * float_down(exact(rho) - exact(pure_rho(self.score)))

    def pays(self, statements: Sequence[PrivacyStatement]) -> bool:
        """Whether all of these fits keep to their rho."""
        return all(rho_of(statement)[0] <= self.fit / 2 for statement in statements)


def gaussian_numbers(statement: PrivacyStatement) -> int:
    """How many released numbers have Gaussian noise."""
    return sum(math.prod(block.shape) for block in statement.released.values() if block.law.gaussian)


def _planned(facts: Sequence[PublicFacts], eps: float) -> tuple[ReleasePlan, ...]:
    """The plan of each candidate; a candidate that has none is named."""
    planned = []
    for place, candidate in enumerate(facts):
        try:
            planned.append(candidate.planned(eps))
        except ValueError as error:
            raise ValueError(f"candidate {place} has no plan at eps = {eps:.6g}, its share: {error}") from None
    return tuple(planned)


def _stopping_plan(
    planned: tuple[ReleasePlan, ...], facts: PublicFacts, total: tuple[float, float], law: Law, noise: int, theorem: str
) -> SearchPlan:
    assumption = (
        f"chosen by a private search: {len(planned)} candidates, drawn uniformly with replacement, a secret number of "
        f"times ({law}); each run released a fit and a noisy score, and the one with the best noisy score was taken"
    )
    plan = _plan(planned, facts, total, assumption, "random stopping", theorem)
    return replace(plan, law=law, noise=noise)


def _plan(
    planned: tuple[ReleasePlan, ...],
    facts: PublicFacts,
    total: tuple[float, float],
    assumption: str,
    rule: str,
    theorem: str,
) -> SearchPlan:
    """The plan of a search; `rule` names the law by which its runs compose, `theorem` its proof in tuning.md."""
    eps, delta = total
    statements = [candidate.statement for candidate in planned]
    naive = basic(statements)
    cost = f"eps = {naive[0]:.6g}" + (f", delta = {naive[1]:.6g}" if naive[1] else "")
    largest = max(candidate.eps for candidate in statements)
    arithmetic = {candidate.arithmetic for candidate in statements}
    estimands = {candidate.estimand for candidate in statements}
    statement = PrivacyStatement(
        mechanism="search",
        eps=eps,
        delta=delta,
        guarantee=Approx(eps, delta) if delta else Pure(eps),
        neighbouring=Neighbouring(facts.neighbouring),
        released={},
        calibration=f"each fit at eps = {largest:.6g}; {rule}",
        assumptions=(assumption, f"one such fit of each candidate, released without a search, would have cost {cost}"),
        arithmetic="integer" if arithmetic == {"integer"} else "real-arithmetic",
        reproducible=False,
        estimand=estimands.pop() if len(estimands) == 1 else None,
        uncovered=tuple(dict.fromkeys(fact for candidate in statements for fact in candidate.uncovered)),
        source=f"dplr tuning.md, {theorem}",
    )
    return SearchPlan(planned, statement, naive)
