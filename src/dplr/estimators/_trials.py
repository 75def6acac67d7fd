"""Candidates of a search: their rows, fits that the search has paid for, scores, and checks of all of them."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dplr._kit.progress import silent
from dplr._kit.validation import sentence
from dplr.bounds.declared import as_bounds
from dplr.estimators._columns import rows_to_predict
from dplr.fitting.one_vs_rest import ReleasePlan
from dplr.fitting.planning import PublicFacts
from dplr.fitting.release import FitInput, check_values, release
from dplr.fitting.search import SearchPlan
from dplr.ledger.budget import NullLedger
from dplr.noise import Source
from dplr.rows import Table
from dplr.rows.scores import errors, linear, rates, squared_errors


@dataclass(frozen=True, eq=False, slots=True)
class Trial:
    """A candidate and the rows that its search was given."""

    model: Any
    params: Mapping[str, Any]
    ready: FitInput

    @classmethod
    def of(cls, model: Any, params: Mapping[str, Any], X: Any, y: Any, eps: float) -> Trial:
        """Check shapes, types and parameters; no value is looked at."""
        ready = model._prepared(X, y, as_bounds(model.bounds), [eps])
        model._name_columns(ready.facts)
        return cls(model, params, ready)

    def check_values(self, planned: ReleasePlan) -> None:
        """Raise for whatever the fit would refuse of the rows, before noise is drawn."""
        ready = self.ready
        with ready.explaining():
            check_values(ready, planned)

    def fit(self, ready: FitInput, planned: ReleasePlan, source: Source) -> Any:
        """The model, fitted to these rows: its release is paid for by the search."""
        (done,) = release(ready, [planned], NullLedger(), source, silent)
        fitted = copy.copy(self.model)
        fitted._name_target(ready)
        return fitted._take(done)


def cost(fitted: Any, ready: FitInput) -> int:
    """The loss of a fitted model on rows, in units: errors, or squared errors within the target's range."""
    if not len(ready.memory.y):  # under add_remove a part may have no row
        return 0
    prep = fitted._record.prep
    X = ready.memory.X.native if isinstance(ready.memory.X, Table) else ready.memory.X
    rows = prep.counted(np.ascontiguousarray(rows_to_predict(fitted, X, prep.layout)))
    values = linear(rows, np.atleast_2d(fitted.coef_), np.atleast_1d(fitted.intercept_))
    if ready.intake.labels is not None:
        return errors(values, ready.intake.labels)
    target = prep.target or (-1.0, 1.0)
    if prep.link == "log":
        values = rates(values, target[1])
    return squared_errors(values, ready.memory.y.as_float(), target)


def check_same_target(trials: Sequence[Trial]) -> None:
    """Refuse candidates with other labels, or another range of a numeric target: their scores are compared."""
    first = trials[0].ready
    for ready in (trial.ready for trial in trials[1:]):
        same = ready.facts.prep.target == first.facts.prep.target and ready.facts.label_codes == first.facts.label_codes
        same = same and _threshold(ready.facts) == _threshold(first.facts)
        if not same or (ready.facts.classes or []) != (first.facts.classes or []):
            remedy = "Their scores could not be compared."
            raise ValueError(sentence("candidates", "must not change the target", "bounds with another one", remedy))


def _threshold(facts: PublicFacts) -> float | None:
    """The number above which a target is the second label; None for declared labels, and for numbers."""
    return None if facts.bounds is None else facts.bounds.threshold


def check_same_columns(public: Trial, private: Trial) -> None:
    """Refuse public rows with other columns than the private ones: candidates are compared on them."""
    looks = [(trial.ready.facts.n_features, trial.ready.facts.features) for trial in (public, private)]
    if looks[0] != looks[1]:
        rule = "must have the columns of the private rows, made by the same features"
        raise ValueError(sentence("public", rule, f"{looks[0][0]} columns, and {looks[1][0]} private ones"))


def check_all_values(trials: Sequence[Trial], plan: SearchPlan) -> None:
    """Raise for whatever a fit would refuse of the rows; candidates that read them alike are looked at once."""
    readings: list[tuple[Any, ...]] = []
    for trial, planned in zip(trials, plan.planned, strict=True):
        read = trial.ready.facts.bounds, trial.ready.facts.fit_intercept, planned.mechanism
        if read not in readings:
            trial.check_values(planned)
            readings.append(read)
