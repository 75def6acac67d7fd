"""The keywords of `fit` and `fit_many` that do not decide which model they return, for type checkers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Required

from dplr.fitting.facts import FitFacts
from dplr.ledger.handle import LedgerLike


class Options(FitFacts, total=False):
    """Keywords of `fit` and `fit_many` alike."""

    delta: float
    classes: Any
    n_rows: int | None
    person: Any
    sample_weight: Any
    class_weight: Mapping[Any, float] | None
    ledger: LedgerLike
    rng: int | None
    progress: bool


class FitOptions(Options, total=False):
    eps: Required[float]
    holdout: float | None


class ManyOptions(Options, total=False):
    eps: Required[Sequence[float]]
    repeats: int
