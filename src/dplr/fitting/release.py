"""From public facts and rows to a release: one model, or one for each class against the rest."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from dplr._progress import Track
from dplr.bounds.scaling import Prep
from dplr.fitting import run as fitting
from dplr.fitting.history import read_history
from dplr.fitting.pretraining import Public
from dplr.ledger.budget import Budget
from dplr.mechanisms.protocol import Mechanism
from dplr.noise import Source
from dplr.privacy.statement import PrivacyStatement
from dplr.problem.fit import Fit, History
from dplr.problem.plan import Plan
from dplr.problem.problem import Problem
from dplr.rows import Labels, as_rows


@dataclass(frozen=True, eq=False, slots=True)
class Facts:
    """What was fixed before a row was read."""

    problem: Problem
    mechanism: Mechanism
    prep: Prep
    public: Public | None
    labels: Labels | None
    levels: Sequence[float]
    delta: float


@dataclass(frozen=True, eq=False, slots=True)
class Released:
    """One release under one statement: a fit, or one for each class, and what is needed to say more of it later.

    `plan` is what each fit followed; its statement may be that of one class alone where there are more than two.
    """

    statement: PrivacyStatement
    fits: list[Fit]
    mechanism: Any
    plan: Plan
    prep: Prep
    histories: list[History | None]


def release(X: Any, y: Any, facts: Facts, ledger: Budget, source: Source, track: Track) -> Iterator[Released]:
    """One release for each of the levels of eps."""
    labels = facts.labels
    how = (facts.problem, facts.mechanism, facts.levels, facts.delta, ledger, source, track)
    if labels is None or len(labels.classes) == 2:
        fits = fitting.run_many(as_rows(X, y if labels is None else labels.y, facts.prep), *how)
        done = [(fit.statement, [fit]) for fit in fits]
    else:
        against = labels.against_the_rest
        done = fitting.run_classes(lambda k: as_rows(X, against(k), facts.prep), labels.classes.tolist(), *how)
    return (_released(facts, statement, fits) for statement, fits in done)


def _released(facts: Facts, statement: PrivacyStatement, fits: list[Fit]) -> Released:
    histories = [read_history(fit, facts.public, facts.problem, facts.prep, facts.labels) for fit in fits]
    plan = Plan(facts.problem, fits[0].statement)
    return Released(statement, fits, facts.mechanism, plan, facts.prep, histories)
