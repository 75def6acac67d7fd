"""Which scikit-learn client is asking: some break the promise of the model inside them.

Three things void the statement of a fit. A client fits something of its own to the private rows, without noise; it
gives one fit the same record twice; or it chooses rows by what other rows hold. scikit-learn has no way for an
estimator to refuse a client: tags say what the estimator can do, metadata routing sends weights and groups, and neither
says who asks. So we look at the frames that called us. A frame is known by the name of its function and counts only
inside scikit-learn. Where a version renames the function, `tests/estimators/test_clients_refused.py` is red.

We look when scikit-learn calls `fit`, `__sklearn_clone__` (in the parent process, before workers start) and, for a
model that is already fitted, `__sklearn_tags__`.
"""

from __future__ import annotations

import math
import sys
import warnings
import weakref
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import FrameType
from typing import Any

from dplr._validation import sentence
from dplr.privacy.guarantees import Neighbouring, PrivacyWarning

Locals = Mapping[str, Any]


def _always(_: Locals) -> bool:
    return True


@dataclass(frozen=True, slots=True)
class Client:
    """A client and what it does with rows; `own_fit`: it learns from them even where our `fit` is not called."""

    name: str
    what: str
    remedy: str
    own_fit: bool = False
    when: Callable[[Locals], bool] = _always


def _bootstraps(found: Locals) -> bool:
    return bool(found["ensemble"].bootstrap)


def _final_is_plain(found: Locals) -> bool:
    """Whether what is fitted to the labels last is not a private model, or a pipeline that ends in one."""
    last = found["self"].final_estimator
    while hasattr(last, "steps"):
        last = last.steps[-1][1]
    return not hasattr(last, "_fit_model")


_CALIBRATED = Client(
    "CalibratedClassifierCV",
    "fits its calibrator to the labels without noise",
    "Calibrate on public rows: CalibratedClassifierCV(FrozenEstimator(est)).fit(X_public, y_public).",
    own_fit=True,
)
_TUNED = Client(
    "TunedThresholdClassifierCV",
    "takes its threshold from the labels without noise",
    "Choose the threshold from public knowledge (FixedThresholdClassifier), or tune it on public rows: "
    'TunedThresholdClassifierCV(est, cv="prefit", refit=False).fit(X_public, y_public).',
    own_fit=True,
)
_STACKED = Client(
    "a stack with a `final_estimator` that is not private",
    "fits the last model to the labels without noise",
    "Give it a private one, such as final_estimator=dplr.LogisticRegression(...), which spends its own eps.",
    own_fit=True,
    when=_final_is_plain,
)
_BAGGED = Client(
    "a bag with bootstrap=True",
    "draws some records several times, and each draw counts in the same fit",
    "Draw without replacement: bootstrap=False, max_samples=0.5.",
    when=_bootstraps,
)
_BOOSTED = Client(
    "AdaBoostRegressor",
    "weighs records by their errors and draws some of them several times",
    "Average several models with BaggingRegressor(est, bootstrap=False, max_samples=0.5).",
)
_PAIRS = Client(
    "OneVsOneClassifier",
    "fits the rows of two labels, whose number is private",
    "Declare `classes`: one fit covers all of them, each against the rest.",
)
_SELF_TRAINED = Client(
    "SelfTrainingClassifier",
    "chooses the rows of the next fit by what they hold, and keeps the labels",
    "Fit the labelled rows.",
)
_RANSAC = Client(
    "RANSACRegressor",
    "chooses the rows of its fit by what they hold",
    "Fit the model itself: bounds already limit what one record can do.",
)

# The function of scikit-learn that calls us, in the parent process or in a worker.
REFUSED = {
    "CalibratedClassifierCV.fit": _CALIBRATED,
    "_fit_classifier_calibrator_pair": _CALIBRATED,
    "TunedThresholdClassifierCV._fit": _TUNED,
    "_fit_and_score_over_thresholds": _TUNED,
    "_BaseStacking.fit": _STACKED,
    "_parallel_build_estimators": _BAGGED,
    "AdaBoostRegressor._boost": _BOOSTED,
    "_fit_ovo_binary": _PAIRS,
    "SelfTrainingClassifier.fit": _SELF_TRAINED,
    "RANSACRegressor.fit": _RANSAC,
}
FOLDING = frozenset(
    {
        "cross_validate",
        "cross_val_predict",
        "learning_curve",
        "validation_curve",
        "permutation_test_score",
        "BaseSearchCV.fit",
        "RFECV.fit",
    }
)


# Told once for each client, or for each splitter: a client asks many times in one fit.
_told: weakref.WeakSet[Any] = weakref.WeakSet()


def refuse(estimator: Any) -> None:
    """Raise ValueError if a client is asking that breaks the promise."""
    client, _ = _asking()
    if client is not None and _promises(estimator):
        rule = f"must not be fitted to private rows in {client.name}: it {client.what}"
        raise ValueError(sentence("estimator", rule, type(estimator).__name__, client.remedy))


def warn_of_own_fit(estimator: Any) -> None:
    """Warn if a client asks a fitted model about rows and learns from them itself: they may be public."""
    client, found = _asking()
    if client is not None and client.own_fit and _promises(estimator):
        said = f"{client.name} {client.what}, which the privacy statement does not cover: give it public rows only."
        _warn(said, found.get("self", estimator))


def warn_of_folds(estimator: Any) -> None:
    """Warn if folds are cut so that one record moves others: to a fit, each of them is one more that changed."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        if frame.f_code.co_qualname in FOLDING and _of(frame, "sklearn."):
            _check_folds(estimator, frame.f_locals)
        frame = frame.f_back


def _promises(estimator: Any) -> bool:
    """Without noise there is no promise to break. Parameters may be anything until they are checked."""
    return not (isinstance(estimator.eps, float) and math.isinf(estimator.eps))


def _asking() -> tuple[Client | None, Locals]:
    """The outermost client among our callers, and its variables."""
    frame: FrameType | None = sys._getframe(1)
    asking: tuple[Client | None, Locals] = None, {}
    while frame is not None:
        client = REFUSED.get(frame.f_code.co_qualname)
        if client is not None and _of(frame, "sklearn.") and client.when(frame.f_locals):
            asking = client, frame.f_locals
        frame = frame.f_back
    return asking


def _of(frame: FrameType, *packages: str) -> bool:
    return str(frame.f_globals.get("__name__")).startswith(packages)


def _check_folds(estimator: Any, found: Locals) -> None:
    from sklearn import model_selection as folds  # the client has imported it; dplr alone has no need of it

    by_labels = (
        folds.StratifiedKFold,
        folds.RepeatedStratifiedKFold,
        folds.StratifiedShuffleSplit,
        folds.StratifiedGroupKFold,
    )
    by_position = folds.KFold, folds.RepeatedKFold, folds.ShuffleSplit
    where = found.get("cv"), found.get("cv_orig"), getattr(found.get("self"), "_checked_cv_orig", None)
    too_much = "moves other rows from fold to fold, so that the fits together spend more than the sum of their eps."
    for cv in where:
        if isinstance(cv, by_labels) and _promises(estimator):
            _warn(
                f"Folds are cut by the labels (an integer `cv` does it too): one label {too_much} Pass cv=KFold(5).", cv
            )
        elif isinstance(cv, by_position) and estimator.neighbouring == Neighbouring.ADD_REMOVE and _promises(estimator):
            remedy = 'Use neighbouring="replace_one", or a PredefinedSplit by public facts.'
            _warn(f"Folds are cut by position: one record more or less {too_much} {remedy}", cv)


def _warn(said: str, about: Any) -> None:
    """Once for each client or splitter, at the line of the user's that called scikit-learn."""
    if about in _told:
        return
    _told.add(about)
    frame: FrameType | None = sys._getframe(1)
    level = 2
    while frame is not None and _of(frame, "sklearn.", "joblib.", "dplr.estimators."):
        frame, level = frame.f_back, level + 1
    warnings.warn(said, PrivacyWarning, stacklevel=level)
