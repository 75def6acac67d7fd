"""A candidate of a search: its rows before a fit, a fit that is already paid for, and its score."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from dplr._progress import silent
from dplr.bounds.declared import as_bounds
from dplr.estimators._columns import rows_to_predict
from dplr.fitting.one_vs_rest import Planned
from dplr.fitting.release import Ready, check_values, release
from dplr.ledger.budget import NullLedger
from dplr.noise import Source
from dplr.rows import Table
from dplr.rows.scores import errors, linear, rates, squared_errors


@dataclass(frozen=True, eq=False, slots=True)
class Trial:
    """A candidate and the rows that its search was given."""

    model: Any
    params: Mapping[str, Any]
    ready: Ready

    @classmethod
    def of(cls, model: Any, params: Mapping[str, Any], X: Any, y: Any, eps: float) -> Trial:
        """Check shapes, types and parameters; no value is looked at."""
        ready = model._prepared(X, y, as_bounds(model.bounds), [eps])
        model._name_columns(ready.facts)
        return cls(model, params, ready)

    def check_values(self, planned: Planned) -> None:
        """Raise for whatever the fit would refuse of the rows, before noise is drawn."""
        ready = self.ready
        with ready.explaining():
            check_values(ready, planned)

    def fit(self, ready: Ready, planned: Planned, source: Source) -> Any:
        """The model, fitted to these rows: its release is paid for by the search."""
        (done,) = release(ready, [planned], NullLedger(), source, silent)
        fitted = copy.copy(self.model)
        fitted._name_target(ready)
        return fitted._take(done)


def cost(fitted: Any, ready: Ready) -> int:
    """What a fitted model loses on rows, in units: errors, or squared errors within the target's range."""
    prep = fitted._record.prep
    X = ready.X.native if isinstance(ready.X, Table) else ready.X
    rows = prep.counted(np.ascontiguousarray(rows_to_predict(fitted, X, prep.layout)))
    values = linear(rows, np.atleast_2d(fitted.coef_), np.atleast_1d(fitted.intercept_))
    if ready.labels is not None:
        return errors(values, ready.labels)
    target = prep.target or (-1.0, 1.0)
    if prep.link == "log":
        values = rates(values, target[1])
    return squared_errors(values, ready.y.as_float(), target)
