"""Clients of scikit-learn that break the promise of the model inside them, by the functions that called a fit.

Four things void the statement of a fit. A client fits something of its own to the private rows, without noise; it
gives one fit the same record twice; it chooses rows by what other rows hold; or it renames labels by the labels that
occur, so that one record renames those of all others. Clients that do so are refused here, by the functions that called
us (`_callers`). A function is known by its name and counts only inside scikit-learn. What a statement says of all other
clients stands in `_uncovered`.

We look when scikit-learn calls `fit`, `__sklearn_clone__` (in the parent process, before workers start) and
`__sklearn_tags__`.
"""

from __future__ import annotations

import contextlib
import enum
import weakref
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dplr._kit.validation import sentence
from dplr._kit.warnings import PrivacyWarning, warn
from dplr.bounds.declared import as_bounds
from dplr.estimators._callers import Callers
from dplr.estimators._learners import learners, names_of, promises, seeded
from dplr.estimators._uncovered import UncoveredUse, remember, strangers
from dplr.privacy.guarantees import Neighbouring

Locals = Mapping[str, Any]


def _always(_: Any, __: Locals) -> bool:
    return True


@dataclass(frozen=True, slots=True)
class Client:
    """A client and what it does with rows; `own_fit`: it learns from them even where our `fit` is not called.

    `when` returns whether it does so in this call, or the names of its parts that do.
    """

    name: str
    harm: str
    remedy: str
    own_fit: bool = False
    when: Callable[[Any, Locals], bool | str] = _always


def _classifies(estimator: Any, _: Locals) -> bool:
    return hasattr(estimator, "classes")


def _bootstraps(_: Any, variables: Locals) -> bool:
    return bool(variables["ensemble"].bootstrap)


def _has_persons(estimator: Any) -> bool:
    """Whether the estimator or its bounds declare persons. Parameters may be anything until they are checked."""
    with contextlib.suppress(ValueError, TypeError, OSError):
        bounds = as_bounds(estimator.bounds)
        if bounds is not None and bounds.person is not None:
            return True
    return estimator.person is not None


def _draws_persons(estimator: Any, variables: Locals) -> bool:
    return _has_persons(estimator) or "person" in variables["fit_params"]


def _draws_by_weight(_: Any, variables: Locals) -> bool:
    """Whether a bag draws by weights. Before scikit-learn 1.8 these are in `fit_params`; without both, a KeyError."""
    weights = (
        variables["sample_weight"] if "sample_weight" in variables else variables["fit_params"].get("sample_weight")
    )
    return weights is not None


def _counts_positions(estimator: Any, _: Locals) -> bool:
    return bool(estimator.neighbouring == Neighbouring.ADD_REMOVE)


class Cut(enum.Enum):
    """The facts of rows by which folds are cut, where one record may move others from fold to fold."""

    LABELS = enum.auto()
    GROUPS = enum.auto()
    POSITIONS = enum.auto()
    ROWS_OF_PERSONS = enum.auto()
    SIZES_OF_PERSONS = enum.auto()
    COUNTED_PERSONS = enum.auto()
    UNKNOWN = enum.auto()


def _cut_by(estimator: Any, cv: Any, of_persons: bool) -> Cut | None:
    """The facts of rows by which folds are cut, where they let one record move others; None where they do not."""
    from sklearn import model_selection as folds  # the client has imported it; dplr alone has no need of it

    by_labels = (
        folds.StratifiedKFold,
        folds.RepeatedStratifiedKFold,
        folds.StratifiedShuffleSplit,
        folds.StratifiedGroupKFold,
    )
    add_remove = estimator.neighbouring == Neighbouring.ADD_REMOVE
    if isinstance(cv, by_labels):
        return Cut.LABELS
    if type(cv) in (folds.PredefinedSplit, folds.LeaveOneGroupOut, folds.LeavePGroupsOut):
        return Cut.COUNTED_PERSONS if of_persons and not add_remove else None
    if isinstance(cv, (folds.GroupKFold, folds.GroupShuffleSplit)):
        return Cut.SIZES_OF_PERSONS if of_persons else Cut.GROUPS
    if of_persons:
        return Cut.ROWS_OF_PERSONS
    if add_remove:
        return Cut.POSITIONS
    by_position = (
        *(folds.KFold, folds.RepeatedKFold, folds.ShuffleSplit, folds.TimeSeriesSplit),
        *(folds.LeaveOneOut, folds.LeavePOut),
    )
    known = cv is None or isinstance(cv, (int, np.integer, str)) or type(cv) in by_position
    return None if known else Cut.UNKNOWN


def _folds_inside(estimator: Any, variables: Locals) -> Cut | None:
    """The facts by which a stack or a chain cuts the folds that its last models learn from, if one record moves any."""
    client = variables["self"]
    cv = client.cv
    chain = not hasattr(client, "final_estimator")
    if (cv is None and chain) or (isinstance(cv, str) and cv == "prefit"):
        return None
    if chain and isinstance(cv, (int, np.integer)) and _classifies(estimator, variables):
        return Cut.LABELS
    return _cut_by(estimator, cv, _has_persons(estimator) or "person" in (variables.get("fit_params") or {}))


def _folds_of_values(estimator: Any, variables: Locals) -> bool:
    return _folds_inside(estimator, variables) in (Cut.LABELS, Cut.GROUPS)


def _folds_by_no_known_rule(estimator: Any, variables: Locals) -> bool:
    return _folds_inside(estimator, variables) is Cut.UNKNOWN


def _folds_of_positions(estimator: Any, variables: Locals) -> bool:
    return _folds_inside(estimator, variables) is Cut.POSITIONS


def _folds_of_persons(estimator: Any, variables: Locals) -> bool:
    return _folds_inside(estimator, variables) in (Cut.ROWS_OF_PERSONS, Cut.SIZES_OF_PERSONS, Cut.COUNTED_PERSONS)


def _plain_final(_: Any, variables: Locals) -> str:
    """The final estimator of a stack, or the estimators inside it, that learn from the labels without noise."""
    last = variables["self"].final_estimator
    return "the default" if last is None else ", ".join(names_of(learners(last)))


def _plain_members(_: Any, variables: Locals) -> str:
    """The members of a vote, or the estimators inside them, that learn from the rows without noise."""
    return ", ".join(names_of(learner for _, member in variables["self"].estimators for learner in learners(member)))


def _plain_below(_: Any, variables: Locals) -> str:
    """The members of a stack, or the estimators inside them, that learn without noise, or with noise of a seed."""
    members = [member for _, member in variables["self"].estimators]
    return ", ".join(names_of(estimator for member in members for estimator in (*learners(member), *seeded(member))))


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
_PRIVATE_ALONE = "Take private members alone, each of which spends its own eps, or what public rows taught, "
_STACKED = Client(
    "a stack with a `final_estimator` that is not private",
    "fits the last model to the labels without noise",
    "Give a private one, such as final_estimator=dplr.LinearRegression(...), which spends its own eps, and private "
    "members alone.",
    own_fit=True,
    when=_plain_final,
)
_STACKED_ON_PLAIN = Client(
    "a stack with a member that is not private",
    "fits the last model to predictions that learned from all rows without noise, so one record moves them all",
    f"{_PRIVATE_ALONE}in FrozenEstimator.",
    when=_plain_below,
)
_FOLDED = "cuts folds so that one record moves other records, and their predictions are columns of a later fit"
_SHUFFLED = "Pass cv=KFold(5, shuffle=True), without a seed"
_ORDER = "Folds by position or by a seed are right only where the order of the rows says nothing of any record."
_FOLDED_LABELS = Client(
    "a stack or a chain whose folds are cut by the labels or by groups",
    _FOLDED,
    f"{_SHUFFLED}. {_ORDER}",
    when=_folds_of_values,
)
_FOLDED_POSITIONS = Client(
    'a stack or a chain with folds under neighbouring="add_remove"',
    _FOLDED,
    'Use neighbouring="replace_one", or a PredefinedSplit by public facts.',
    when=_folds_of_positions,
)
_FOLDED_PERSONS = Client(
    "a stack or a chain with folds of persons",
    _FOLDED,
    "Pass a PredefinedSplit with the fold of each id by a public rule, such as a hash of the id, and use "
    'neighbouring="add_remove" with n_rows.',
    when=_folds_of_persons,
)
_FOLDED_BY_OTHERS = Client(
    "a stack or a chain with a splitter that is not of scikit-learn",
    "cuts folds by a rule that is not known: where it looks at more than positions, one record moves others, and their "
    "predictions are columns of a later fit",
    f"{_SHUFFLED}, or a PredefinedSplit by public facts. {_ORDER}",
    when=_folds_by_no_known_rule,
)
_FOLDS_INSIDE = _FOLDED_LABELS, _FOLDED_PERSONS, _FOLDED_POSITIONS, _FOLDED_BY_OTHERS
_VOTED_WITH_PLAIN = Client(
    "a vote with a member that is not private",
    "fits a member to the rows without noise",
    f"{_PRIVATE_ALONE}in FrozenEstimator.",
    when=_plain_members,
)
_RENAMES = "renames the labels by those that occur, so one record can rename the labels of all others"
_VOTED = Client(
    "a vote of classifiers",
    _RENAMES,
    "Fit the members one by one, with `classes` declared, and average their `predict_proba`.",
    when=_classifies,
)
_STACKED_CLASSES = Client(
    "a stack of classifiers",
    _RENAMES,
    "Fit the members one by one, with `classes` declared.",
    when=_classifies,
)
_ONE_BY_ONE = Client(
    "OneVsRestClassifier or OutputCodeClassifier",
    _RENAMES,
    "Declare `classes`: one fit covers all of them, each against the rest.",
)
_BAGGED_CLASSES = Client(
    "a bag of classifiers",
    _RENAMES,
    "Fit several models yourself, with `classes` declared: each spends its eps.",
    when=_classifies,
)
_POSITIONS = Client(
    'a bag under neighbouring="add_remove"',
    "draws rows by their position, and one record more moves the others",
    'Use neighbouring="replace_one".',
    when=_counts_positions,
)
_BAGGED_PERSONS = Client(
    "a bag",
    "draws rows and not persons, and one row more of a person moves the others",
    "Fit several models yourself, each to rows of whole persons.",
    when=_draws_persons,
)
_BAGGED_BY_WEIGHT = Client(
    "a bag with weights",
    "draws rows by their weights over the sum of all, or multiplies weights by draws",
    "Give the weights to a fit of the model itself.",
    when=_draws_by_weight,
)
_REWEIGHTED = Client(
    "AdaBoostClassifier",
    "weighs records by the errors of the models before, over the sum of all",
    "Average several models, each fitted by itself.",
)
_BOOSTED_FROM = Client(
    "gradient boosting that starts from a private model",
    "fits its trees to the private rows without noise",
    "Use the private model itself.",
)
_IMPUTED = Client(
    "IterativeImputer",
    "fills gaps with numbers from other rows, without noise",
    "Say in the bounds what a missing value counts as.",
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
_SHUFFLED_LABELS = Client(
    "permutation_test_score",
    "gives each row the label of another one, so that one record changes two rows",
    "`wald_test` of a released model says whether the columns matter.",
)

_BAG = "_parallel_build_estimators"
# Function of scikit-learn that calls a fit, in the parent process or in a worker -> the clients that it may be.
REFUSED: dict[str, Client | tuple[Client, ...]] = {
    "CalibratedClassifierCV.fit": _CALIBRATED,
    "_fit_classifier_calibrator_pair": _CALIBRATED,
    "TunedThresholdClassifierCV._fit": _TUNED,
    "_fit_and_score_over_thresholds": _TUNED,
    "_BaseStacking.fit": (_STACKED_CLASSES, _STACKED, _STACKED_ON_PLAIN, *_FOLDS_INSIDE),
    "_BaseChain.fit": _FOLDS_INSIDE,
    "VotingClassifier.fit": _VOTED,
    "VotingRegressor.fit": _VOTED_WITH_PLAIN,
    "_fit_single_estimator": _STACKED_CLASSES,  # in workers, which see no frame of the stack
    _BAG: (_BAGGED_CLASSES, _BAGGED_PERSONS, _BAGGED_BY_WEIGHT, _POSITIONS, _BAGGED),
    "_fit_binary": _ONE_BY_ONE,
    "BaseGradientBoosting.fit": _BOOSTED_FROM,
    "IterativeImputer._impute_one_feature": _IMPUTED,
    "AdaBoostRegressor._boost": _BOOSTED,
    "AdaBoostClassifier._boost": _REWEIGHTED,
    "_fit_ovo_binary": _PAIRS,
    "SelfTrainingClassifier.fit": _SELF_TRAINED,
    "RANSACRegressor.fit": _RANSAC,
    "permutation_test_score": _SHUFFLED_LABELS,
    "_permutation_test_score": _SHUFFLED_LABELS,
}
# This function catches a ValueError: its client then takes the pipeline for another kind of estimator, and goes on.
_SWALLOWING = "Pipeline.__sklearn_tags__"
FOLDING = frozenset(
    {
        "cross_validate",
        "cross_val_predict",
        "learning_curve",
        "validation_curve",
        "BaseSearchCV.fit",
        "RFECV.fit",
    }
)


# Clients and splitters that were warned of, by identity, since some have no hash: each is warned of once.
_notices: dict[int, weakref.ref[Any]] = {}


def refuse(estimator: Any, callers: Callers) -> None:
    """Raise ValueError if a client is asking that breaks the promise."""
    client, variables = _asking(estimator, callers)
    if client is not None and promises(estimator):
        part = client.when(estimator, variables)
        of = f"{client.name} ({part})" if isinstance(part, str) else client.name
        rule = f"must not be fitted to private rows in {of}: it {client.harm}"
        message = sentence("estimator", rule, estimator._alias or type(estimator).__name__, client.remedy)
        if any(caller.name == _SWALLOWING for caller in callers):
            warn(message, PrivacyWarning)
            remember(estimator, callers, doings=[UncoveredUse(f"{of} {client.harm}", client.remedy)])
        raise ValueError(message)


def drawn_by_a_bag(sample_weight: Any, callers: Callers) -> NDArray[np.intp] | None:
    """The rows that a bag drew, which it tells a model by weights of 0 and 1; None where no bag asks."""
    bagged = sample_weight is not None and any(caller.subpackage and caller.function == _BAG for caller in callers)
    return np.flatnonzero(sample_weight) if bagged else None


def warn_of_own_fit(estimator: Any, callers: Callers) -> None:
    """Warn if a client asks a fitted model about rows and learns from them itself: they may be public."""
    if not promises(estimator):
        return
    client, variables = _asking(estimator, callers, own_fit=True)
    if client is not None:
        text = f"{client.name} {client.harm}, which the privacy statement does not cover: give it public rows only."
        _warn(text, variables.get("self", estimator))
        return
    for caller in strangers(callers):
        if caller.owner is not None and "fit" in caller.function.rpartition(".")[2].split("_"):
            text = f"What {caller.client} learns from its rows is not known, and not covered: give it public rows only."
            _warn(text, caller.variables["self"])


def warn_of_folds(estimator: Any, callers: Callers) -> None:
    """Warn if folds are cut so that one record moves others: then a fit sees several changed records, not one."""
    for caller in callers:
        if caller.subpackage and caller.name in FOLDING:
            _check_folds(estimator, caller.variables)


def _asking(estimator: Any, callers: Callers, own_fit: bool = False) -> tuple[Client | None, Locals]:
    """The outermost client among our callers that breaks the promise, and its variables."""
    outermost: tuple[Client | None, Locals] = None, {}
    for caller in callers:
        clients = REFUSED.get(caller.name, ()) if caller.subpackage else ()
        for client in clients if isinstance(clients, tuple) else (clients,):
            if client.own_fit >= own_fit and client.when(estimator, caller.variables):
                outermost = client, caller.variables
                break
    return outermost


def _check_folds(estimator: Any, variables: Locals) -> None:
    of_persons = _has_persons(estimator) or "person" in (variables.get("params") or {})
    for cv in (variables.get("cv"), variables.get("cv_orig"), getattr(variables.get("self"), "_checked_cv_orig", None)):
        cut = _cut_by(estimator, cv, of_persons) if hasattr(cv, "split") and promises(estimator) else None
        if cut is not None:
            _warn(_CUTS[cut], cv)


_TOO_MUCH = "moves other rows from fold to fold, so that the fits together spend more than the sum of their eps."
_BY_A_RULE = "Pass a PredefinedSplit with the fold of each id by a public rule, such as a hash of the id."
_CUTS = {
    Cut.LABELS: f"Folds are cut by the labels (an integer `cv` does it too): one label {_TOO_MUCH} {_SHUFFLED}. "
    f"{_ORDER}",
    Cut.POSITIONS: f"Folds are cut by position: one record more or less {_TOO_MUCH} "
    'Use neighbouring="replace_one", or a PredefinedSplit by public facts.',
    Cut.UNKNOWN: f"Folds are cut by a splitter that is not of scikit-learn, or by a list: if it looks at more than "
    f"positions, one record {_TOO_MUCH} {_SHUFFLED}, or a PredefinedSplit by public facts. {_ORDER}",
    Cut.GROUPS: f"Folds hold whole groups, and are cut by their number and their rows: one record of another group "
    f"{_TOO_MUCH} Pass a PredefinedSplit with the fold of each group by a public rule.",
    Cut.ROWS_OF_PERSONS: "Folds are cut by rows, so a person may lie in several of them, and one person with more rows "
    f"{_TOO_MUCH} {_BY_A_RULE}",
    Cut.SIZES_OF_PERSONS: "Folds hold whole persons, and are cut by their number and their rows: one person "
    f"{_TOO_MUCH} {_BY_A_RULE}",
    Cut.COUNTED_PERSONS: "Folds are cut by a rule of persons: one person with another id is in another fold, and under "
    "replace_one how many persons a fold has counts as public. "
    'Use neighbouring="add_remove" with n_rows.',
}


def _warn(message: str, about: Any) -> None:
    """Warn once for each client or splitter, at the user's line that called scikit-learn."""
    key = id(about)
    if key in _notices and _notices[key]() is about:
        return
    with contextlib.suppress(TypeError):  # not everything can be remembered; then it is told again
        _notices[key] = weakref.ref(about, lambda _: _notices.pop(key, None))
    warn(message, PrivacyWarning)
