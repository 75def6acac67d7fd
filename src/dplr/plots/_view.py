"""A fitted model as its reader sees it: names, labels, coefficients in the user's units, words for its guarantee."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dplr._kit.validation import check_choice, sentence
from dplr.bounds.columns import Pair
from dplr.bounds.declared import Bounds
from dplr.bounds.scaling import Prep
from dplr.fitting.run import History
from dplr.privacy.estimand import Estimand
from dplr.privacy.statement import PrivacyStatement, delta_words

_JOINERS = "\u200c\u200d"  # invisible, and part of how some scripts and many emoji are written


@dataclass(frozen=True, eq=False, slots=True)
class Model:
    """The facts of a fitted model without its data.

    Attributes
    ----------
    kind : `"logistic"`, `"svm"`, `"linear"`, `"huber"`, `"poisson"`, `"margin"` or `"residual"`.
    names : one for each column of `coef`.
    coef : (rows, columns) in the user's units; one row for two labels and for regression, else one for each label.
    intercept : (rows,)
    labels : of the rows of `coef`; empty for regression.
    ranges : (columns, 2) declared bounds; None where there are none for these columns.
    released : name -> narrower range that was released; empty for none.
    statement : None for a model of another library.
    estimand : what the coefficients are of; None where nobody says.
    history : of noisy gradient descent, else None; None also where each class has its own.
    deviation : of the noise on each scaled coefficient, where it was added to them and to nothing else; else None.
    target : the declared bounds to which a regression clips its predictions; None for none.
    prep : how predictions count rows; None for a model of another library.
    """

    kind: str
    names: tuple[str, ...]
    coef: NDArray[np.float64]
    intercept: NDArray[np.float64]
    labels: tuple[str, ...]
    ranges: NDArray[np.float64] | None
    released: Mapping[str, tuple[float, float]]
    statement: PrivacyStatement | None
    estimand: Estimand | None
    history: History | None
    deviation: float | None
    target: Pair | None
    prep: Prep | None

    @property
    def private(self) -> bool:
        """Whether the release protects anybody."""
        statement = self.statement
        return statement is not None and math.isfinite(statement.eps) and not statement.reproducible

    def widths(self, per: str) -> NDArray[np.float64]:
        """By how much each column is thought to grow: one unit, or from its lower to its upper bound."""
        if check_choice("per", per, ("unit", "range")) == "unit":
            return np.ones(len(self.names))
        if self.reach is None:
            raise ValueError(sentence("per", 'must be "unit" where a model has no declared bounds', per))
        return np.asarray(self.reach[:, 1] - self.reach[:, 0])

    @property
    def log_odds(self) -> bool:
        """Whether coefficients are changes of log odds, up to noise and ridge."""
        return self.estimand is Estimand.LOG_ODDS

    @property
    def reach(self) -> NDArray[np.float64] | None:
        """(columns, 2) where the model changes: the released ranges, or else the declared ones."""
        if self.ranges is None:
            return None
        pairs = zip(self.names, self.ranges.tolist(), strict=True)
        return np.array([self.released.get(name, pair) for name, pair in pairs], np.float64)


def read_model(est: Any) -> Model:
    """Look at the public attributes of a fitted linear model; raises ValueError for anything else."""
    if not (hasattr(est, "coef_") and hasattr(est, "intercept_")):
        raise ValueError(
            sentence("est", "must be a fitted linear model, with `coef_`", type(est).__name__, "Call `fit` first.")
        )
    coef = np.atleast_2d(np.asarray(est.coef_, dtype=np.float64))
    columns = getattr(est, "coef_names_", None)
    columns = getattr(est, "feature_names_in_", None) if columns is None else columns
    if columns is None or len(columns) != coef.shape[1]:
        columns = [f"x{column}" for column in range(coef.shape[1])]
    names = tuple(str(name) for name in columns)
    classes, bounds = [str(label) for label in getattr(est, "classes_", ())], getattr(est, "bounds", None)
    kind = getattr(est, "_kind", "logistic" if hasattr(est, "predict_proba") else "svm" if classes else "linear")
    history = getattr(est, "history_", None)
    record, statement = getattr(est, "_record", None), getattr(est, "privacy_", None)
    of_another_library = Estimand.LOG_ODDS if kind == "logistic" else None
    return Model(
        kind=kind,
        names=names,
        coef=coef,
        intercept=np.broadcast_to(np.asarray(est.intercept_, dtype=np.float64), coef.shape[:1]),
        labels=tuple(classes if len(coef) > 1 else [str(getattr(est, "outcome_", label)) for label in classes[-1:]]),
        ranges=_ranges(_bounds_of(est), names),
        released=getattr(est, "ranges_", {}),
        statement=statement,
        estimand=of_another_library if statement is None else statement.estimand,
        history=history if isinstance(history, History) else None,
        deviation=_deviation(record, statement) if len(coef) == 1 else None,
        target=None if classes or not isinstance(bounds, Bounds) else bounds.target_pair(),
        prep=getattr(record, "prep", None),
    )


def _bounds_of(est: Any) -> Any:
    """The bounds of the fit, in whichever form the estimator was given them."""
    record = getattr(est, "_record", None)
    return getattr(est, "bounds", None) if record is None else record.bounds


def _ranges(bounds: Any, names: tuple[str, ...]) -> NDArray[np.float64] | None:
    """The declared range of every column of the model, where the bounds are of these columns."""
    layout = getattr(bounds, "layout", None)
    if layout is None or layout.width != len(names) or (layout.named and layout.names != names):
        return None
    return np.array(layout.pairs, dtype=np.float64)


def _deviation(record: Any, statement: PrivacyStatement | None) -> float | None:
    """A mechanism may add its noise to the coefficients; everywhere else it reaches them through a solver."""
    if record is None or statement is None:
        return None
    deviation: float | None = record.mechanism.coef_noise(statement)
    return deviation


def printable(text: object, longest: int | None = None) -> str:
    """The text on one line, without characters that are not seen or that reorder others; never empty.

    Names of columns and labels come from files that somebody else wrote.
    """
    kept = "".join(
        " " if char.isspace() else char if char.isprintable() or char in _JOINERS else "\ufffd" for char in str(text)
    ).strip()
    kept = kept or "(no name)"
    if longest is None or len(kept) <= longest:
        return kept
    head = longest // 2
    return f"{kept[:head]}…{kept[len(kept) - (longest - head - 1) :]}"


def loss_words(statement: PrivacyStatement | None) -> str:
    """Mechanism and privacy loss in a few words."""
    if statement is None or math.isinf(statement.eps):
        return "no privacy"
    delta = f", delta {delta_words(statement.delta)}" if statement.delta else ""
    seeded = ", noise from a seed: not private" if statement.reproducible else ""
    return f"{statement.mechanism}, eps = {statement.eps:g}{delta}{seeded}"
