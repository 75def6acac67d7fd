"""From public facts and rows to a release: one model, or one for each class against the rest."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

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
class Record:
    """What a fitted model keeps of its release: all that further models, files and predictions need.

    Attributes
    ----------
    mechanism : that released.
    plan : what each fit followed; with more than two classes its statement is that of one class alone.
    prep : the way from a raw row to a scaled row, and of coefficients back.
    parts : block name -> noisy numbers, of each model; the same mapping for all where they share one release.
    """

    mechanism: Any
    plan: Plan
    prep: Prep
    parts: Sequence[Mapping[str, NDArray[np.float64]]]


@dataclass(frozen=True, eq=False, slots=True)
class Released:
    """One release under one statement: its record, and the coefficients and the history of each model."""

    record: Record
    statement: PrivacyStatement
    coefs: Sequence[NDArray[np.float64]]
    histories: Sequence[History | None]


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
    plan, parts = Plan(facts.problem, fits[0].statement), [fit.released for fit in fits]
    return Released(Record(facts.mechanism, plan, facts.prep, parts), statement, [fit.coef for fit in fits], histories)
