"""The cost of a private search, from public facts alone: the plans of all candidates under one statement.

Nothing here sees a private row. Proofs: privacy/tuning.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from dplr.fitting.planning import PublicFacts
from dplr.noise.splits import part_sizes, split_words
from dplr.privacy.composition import basic
from dplr.privacy.guarantees import Approx, Neighbouring, Pure
from dplr.privacy.statement import PrivacyStatement
from dplr.problem.plan import Plan

PARTITION, PUBLIC = "partition", "public"
METHODS = (PARTITION, PUBLIC)


@dataclass(frozen=True, eq=False, slots=True)
class SearchPlan:
    """The plan of a search, fixed before any row is read."""

    planned: tuple[Plan, ...]  # of one fit of each candidate
    statement: PrivacyStatement  # of the whole search
    naive: tuple[float, float]  # eps and delta of one such fit of each candidate, released one after the other
    sizes: tuple[int | None, ...]  # public numbers of rows of all parts; references, or None, where they are private

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


def shares(candidates: int) -> list[Fraction]:
    """The share of the rows of each part: one for each candidate, and one to compare them on."""
    return [Fraction(1, candidates + 1)] * (candidates + 1)


def plan_partition(facts: Sequence[PublicFacts], eps: float, seeded: bool) -> SearchPlan:
    """A part of the rows for each candidate, and one to compare them on (theorem 1).

    `facts` are those of all rows; `seeded` tells whether split and noise come from a seed.
    """
    n_rows, fixed = facts[0].n_rows, facts[0].neighbouring == Neighbouring.REPLACE_ONE
    sizes: tuple[int | None, ...] = (None,) * (len(facts) + 1)
    if n_rows is not None:
        sizes = tuple(max(size, 1) for size in part_sizes(n_rows, shares(len(facts))))  # 0 of a small reference
    planned = _planned([replace(fact, n_rows=size) for fact, size in zip(facts, sizes, strict=False)], eps)
    statements = [plan.statement for plan in planned]
    parts = "of the records, drawn for each record by itself"
    if fixed:
        parts = f"of all {n_rows} records (the number of records above is that of the part)"
    naive = basic(statements)
    cost = f"eps = {naive[0]:.6g}" + (f", delta = {naive[1]:.6g}" if naive[1] else "")
    largest, delta = (max(getattr(statement, name) for statement in statements) for name in ("eps", "delta"))
    total, estimands = max(eps, largest), {statement.estimand for statement in statements}
    statement = PrivacyStatement(
        mechanism="search",
        eps=total,
        delta=delta,
        guarantee=Approx(total, delta) if delta else Pure(total),
        neighbouring=Neighbouring(facts[0].neighbouring),
        released={},
        calibration=f"each fit at eps = {largest:.6g}; parallel composition of parts",
        assumptions=(
            f"chosen by a private search: {len(facts)} candidates, each fitted to a part of its own {parts}, by "
            f"{split_words(seeded)}, and one taken by permute-and-flip for its score on a last part",
            f"one such fit of each candidate, released without a search, would have cost {cost}",
        ),
        arithmetic="integer" if {each.arithmetic for each in statements} == {"integer"} else "real-arithmetic",
        reproducible=seeded,
        estimand=estimands.pop() if len(estimands) == 1 else None,
        uncovered=tuple(dict.fromkeys(fact for each in statements for fact in each.uncovered)),
        source="dplr tuning.md, theorem 1",
    )
    return SearchPlan(planned, statement, naive, sizes)


def _planned(facts: Sequence[PublicFacts], eps: float) -> tuple[Plan, ...]:
    """The plan of each candidate; a candidate that has none is named."""
    planned = []
    for place, candidate in enumerate(facts):
        try:
            planned.append(candidate.planned(eps))
        except ValueError as error:
            raise ValueError(f"candidate {place} has no plan at eps = {eps:.6g}, its share: {error}") from None
    return tuple(planned)
