"""The functions that called a fit: what clients of scikit-learn do to the promise of the model inside them.

An estimator cannot ask scikit-learn which client calls it: neither tags nor metadata routing name the client. So we
read the frames of the call stack, once for each fit, copy or question for tags. Where they show no client, nothing else
here is asked.

Four things void the statement of a fit. A client fits something of its own to the private rows, without noise; it
gives one fit the same record twice; it chooses rows by what other rows hold; or it renames labels by the labels that
occur, so that one record renames those of all others. `REFUSED` has the clients that do so; a function is known by its
name and counts only inside scikit-learn. The statement names what other clients do that no noise covers, and says of
a client on no list, as one of another package, that its use of the rows is not known.

A worker does not have the frames of the client. So a copy of a model, and a model whose tags are read, stores the facts
that its statement must name (`remember`), and in a worker they count for the models beside it too. Where all frames are
there, only they count. If no model in a worker has such facts, the statement says that the client is not known.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import sys
import threading
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import FrameType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from dplr._kit.validation import sentence
from dplr._kit.warnings import PrivacyWarning, warn
from dplr.bounds.declared import as_bounds
from dplr.estimators._learners import (
    frozen,
    is_made_of_others,
    is_of_sklearn,
    is_ours,
    learners,
    names_of,
    promises,
    seeded,
    with_functions,
)
from dplr.estimators._transformers import BoundsEncoder, RandomFourierFeatures
from dplr.privacy.guarantees import Neighbouring

Locals = Mapping[str, Any]
# Subpackages of scikit-learn that fit nothing themselves: clone, tags, validation, workers.
_PLUMBING = frozenset({"base", "utils", "_config"})


@dataclass(frozen=True, slots=True, eq=False)
class Caller:
    """A function that called a fit.

    `subpackage` is that of scikit-learn that it belongs to, such as "ensemble", and empty outside scikit-learn;
    `owner` the type of the estimator whose method it is, if it is one.
    """

    name: str
    subpackage: str
    owner: type[Any] | None
    variables: Locals

    @property
    def function(self) -> str:
        """The name of the function, or of the function that it is defined in."""
        return self.name.partition(".<locals>")[0]

    @property
    def place(self) -> str:
        return f"{self.subpackage}.{self.function}"

    @property
    def client(self) -> str:
        """The estimator or function that a user would call it by."""
        return self.function if self.owner is None else self.owner.__name__


Callers = tuple[Caller, ...]


def call_stack() -> Callers:
    """The callers of our caller, innermost first."""
    frame: FrameType | None = sys._getframe(2)
    stack = []
    while frame is not None:
        package, _, rest = str(frame.f_globals.get("__name__")).partition(".")
        if package == "sklearn" and rest:
            subpackage = rest.partition(".")[0]
            if subpackage not in _PLUMBING:
                stack.append(Caller(frame.f_code.co_qualname, subpackage, _owner(frame), frame.f_locals))
        elif package != "dplr":
            owner = _owner(frame)
            if owner is not None and not is_ours(owner):
                stack.append(Caller(frame.f_code.co_qualname, "", owner, frame.f_locals))
        frame = frame.f_back
    return tuple(stack)


def _owner(frame: FrameType) -> type[Any] | None:
    """The type of the estimator whose method a frame runs, or of the method that a function lies in."""
    code = frame.f_code
    if "self" not in code.co_varnames[: min(code.co_argcount, 1)] and "self" not in code.co_freevars:
        return None
    kind = type(frame.f_locals.get("self"))
    return kind if issubclass(kind, BaseEstimator) else None


def given_to(callers: Callers) -> Iterator[dict[str, Any]]:
    """The rows that clients of scikit-learn were given, and what lies beside them: a step may lose their index."""
    for caller in callers:
        if caller.subpackage and "X" in caller.variables:
            found, params = caller.variables, caller.variables.get("params")
            yield {"X": found["X"], "y": found.get("y"), **(params if isinstance(params, dict) else {})}


# --- what is refused


class Client(NamedTuple):
    """A client that breaks the promise, by the functions with which it calls a fit, here or in a worker.

    `when` returns whether it does so in this call, or the names of its parts that do; `own_fit`: it learns from the
    rows even where our `fit` is not called.
    """

    functions: tuple[str, ...]
    name: str
    harm: str
    remedy: str
    when: Callable[[Any, Locals], bool | str] = lambda _, __: True
    own_fit: bool = False


def _classifies(estimator: Any, _: Locals) -> bool:
    return hasattr(estimator, "classes")


def _has_persons(estimator: Any, given: Any) -> bool:
    """Whether the fit, the estimator or its bounds declare persons. Parameters may be anything until checked."""
    with contextlib.suppress(ValueError, TypeError, OSError):
        bounds = as_bounds(estimator.bounds)
        if bounds is not None and bounds.person is not None:
            return True
    return estimator.person is not None or "person" in (given or {})


def _draws_by_weight(_: Any, variables: Locals) -> bool:
    """Whether a bag draws by weights. Before scikit-learn 1.8 these are in `fit_params`; without both, a KeyError."""
    where = variables if "sample_weight" in variables else variables["fit_params"]
    return where.get("sample_weight") is not None


def _cut_by(estimator: Any, cv: Any, of_persons: bool) -> str | None:
    """The facts of rows by which folds are cut, where they let one record move others; None where they do not."""
    from sklearn import model_selection as folds  # the client has imported it; dplr alone has no need of it

    by_labels = folds.StratifiedKFold, folds.RepeatedStratifiedKFold, folds.StratifiedShuffleSplit
    by_rule = folds.PredefinedSplit, folds.LeaveOneGroupOut, folds.LeavePGroupsOut
    by_position = folds.KFold, folds.RepeatedKFold, folds.ShuffleSplit, folds.TimeSeriesSplit
    add_remove = estimator.neighbouring == Neighbouring.ADD_REMOVE
    if isinstance(cv, (*by_labels, folds.StratifiedGroupKFold)):
        return "labels"
    if type(cv) in by_rule:
        return "counted persons" if of_persons and not add_remove else None
    if isinstance(cv, (folds.GroupKFold, folds.GroupShuffleSplit)):
        return "sizes of persons" if of_persons else "groups"
    if of_persons:
        return "rows of persons"
    if add_remove:
        return "positions"
    plain = cv is None or isinstance(cv, (int, np.integer, str))
    return None if plain or type(cv) in (*by_position, folds.LeaveOneOut, folds.LeavePOut) else "unknown"


def _cuts_inside(*facts: str) -> Callable[[Any, Locals], bool]:
    """Whether a stack or a chain cuts the folds that its last models learn from by one of these facts."""

    def cuts(estimator: Any, variables: Locals) -> bool:
        client = variables["self"]
        cv, chain = client.cv, not hasattr(client, "final_estimator")
        if (cv is None and chain) or (isinstance(cv, str) and cv == "prefit"):
            return False
        if chain and isinstance(cv, (int, np.integer)) and _classifies(estimator, variables):
            return "labels" in facts
        return _cut_by(estimator, cv, _has_persons(estimator, variables.get("fit_params"))) in facts

    return cuts


def _plain_final(_: Any, variables: Locals) -> str:
    """The final estimator of a stack, or the estimators inside it, that learn from the labels without noise."""
    last = variables["self"].final_estimator
    return "the default" if last is None else ", ".join(names_of(learners(last)))


def _plain_members(_: Any, variables: Locals) -> str:
    return ", ".join(names_of(learner for _, member in variables["self"].estimators for learner in learners(member)))


def _plain_below(_: Any, variables: Locals) -> str:
    """The members of a stack, or the estimators inside them, that learn without noise, or with noise of a seed."""
    members = [member for _, member in variables["self"].estimators]
    return ", ".join(names_of(estimator for member in members for estimator in (*learners(member), *seeded(member))))


_BAG, _STACK, _CHAIN = "_parallel_build_estimators", "_BaseStacking.fit", "_BaseChain.fit"
_RENAMES = "renames the labels by those that occur, so one record can rename the labels of all others"
_DECLARE = "Declare `classes`: one fit covers all of them, each against the rest."
_PRIVATE_ALONE = (
    "Take private members alone, each of which spends its own eps, or what public rows taught, in FrozenEstimator."
)
_FOLDED = "cuts folds so that one record moves other records, and their predictions are columns of a later fit"
_SHUFFLED = "Pass cv=KFold(5, shuffle=True), without a seed"
_ORDER = "Folds by position or by a seed are right only where the order of the rows says nothing of any record."
# Of several clients that call by one function, the first one whose harm is done.
_REFUSED = (
    Client(
        ("CalibratedClassifierCV.fit", "_fit_classifier_calibrator_pair"),
        "CalibratedClassifierCV",
        "fits its calibrator to the labels without noise",
        "Calibrate on public rows: CalibratedClassifierCV(FrozenEstimator(est)).fit(X_public, y_public).",
        own_fit=True,
    ),
    Client(
        ("TunedThresholdClassifierCV._fit", "_fit_and_score_over_thresholds"),
        "TunedThresholdClassifierCV",
        "takes its threshold from the labels without noise",
        "Choose the threshold from public knowledge (FixedThresholdClassifier), or tune it on public rows: "
        'TunedThresholdClassifierCV(est, cv="prefit", refit=False).fit(X_public, y_public).',
        own_fit=True,
    ),
    Client(
        (_STACK, "_fit_single_estimator"),  # the second in workers, which see no frame of the stack
        "a stack of classifiers",
        _RENAMES,
        "Fit the members one by one, with `classes` declared.",
        _classifies,
    ),
    Client(
        (_STACK,),
        "a stack with a `final_estimator` that is not private",
        "fits the last model to the labels without noise",
        "Give a private one, such as final_estimator=dplr.LinearRegression(...), which spends its own eps, and private "
        "members alone.",
        _plain_final,
        own_fit=True,
    ),
    Client(
        (_STACK,),
        "a stack with a member that is not private",
        "fits the last model to predictions that learned from all rows without noise, so one record moves them all",
        _PRIVATE_ALONE,
        _plain_below,
    ),
    Client(
        (_STACK, _CHAIN),
        "a stack or a chain whose folds are cut by the labels or by groups",
        _FOLDED,
        f"{_SHUFFLED}. {_ORDER}",
        _cuts_inside("labels", "groups"),
    ),
    Client(
        (_STACK, _CHAIN),
        "a stack or a chain with folds of persons",
        _FOLDED,
        "Pass a PredefinedSplit with the fold of each id by a public rule, such as a hash of the id, and use "
        'neighbouring="add_remove" with n_rows.',
        _cuts_inside("rows of persons", "sizes of persons", "counted persons"),
    ),
    Client(
        (_STACK, _CHAIN),
        'a stack or a chain with folds under neighbouring="add_remove"',
        _FOLDED,
        'Use neighbouring="replace_one", or a PredefinedSplit by public facts.',
        _cuts_inside("positions"),
    ),
    Client(
        (_STACK, _CHAIN),
        "a stack or a chain with a splitter that is not of scikit-learn",
        "cuts folds by a rule that is not known: where it looks at more than positions, one record moves others, and "
        "their predictions are columns of a later fit",
        f"{_SHUFFLED}, or a PredefinedSplit by public facts. {_ORDER}",
        _cuts_inside("unknown"),
    ),
    Client(
        ("VotingClassifier.fit",),
        "a vote of classifiers",
        _RENAMES,
        "Fit the members one by one, with `classes` declared, and average their `predict_proba`.",
        _classifies,
    ),
    Client(
        ("VotingRegressor.fit",),
        "a vote with a member that is not private",
        "fits a member to the rows without noise",
        _PRIVATE_ALONE,
        _plain_members,
    ),
    Client(
        (_BAG,),
        "a bag of classifiers",
        _RENAMES,
        "Fit several models yourself, with `classes` declared: each spends its eps.",
        _classifies,
    ),
    Client(
        (_BAG,),
        "a bag",
        "draws rows and not persons, and one row more of a person moves the others",
        "Fit several models yourself, each to rows of whole persons.",
        lambda estimator, variables: _has_persons(estimator, variables["fit_params"]),
    ),
    Client(
        (_BAG,),
        "a bag with weights",
        "draws rows by their weights over the sum of all, or multiplies weights by draws",
        "Give the weights to a fit of the model itself.",
        _draws_by_weight,
    ),
    Client(
        (_BAG,),
        'a bag under neighbouring="add_remove"',
        "draws rows by their position, and one record more moves the others",
        'Use neighbouring="replace_one".',
        lambda estimator, _: bool(estimator.neighbouring == Neighbouring.ADD_REMOVE),
    ),
    Client(
        (_BAG,),
        "a bag with bootstrap=True",
        "draws some records several times, and each draw counts in the same fit",
        "Draw without replacement: bootstrap=False, max_samples=0.5.",
        lambda _, variables: bool(variables["ensemble"].bootstrap),
    ),
    Client(("_fit_binary",), "OneVsRestClassifier or OutputCodeClassifier", _RENAMES, _DECLARE),
    Client(
        ("BaseGradientBoosting.fit",),
        "gradient boosting that starts from a private model",
        "fits its trees to the private rows without noise",
        "Use the private model itself.",
    ),
    Client(
        ("IterativeImputer._impute_one_feature",),
        "IterativeImputer",
        "fills gaps with numbers from other rows, without noise",
        "Say in the bounds what a missing value counts as.",
    ),
    Client(
        ("AdaBoostRegressor._boost",),
        "AdaBoostRegressor",
        "weighs records by their errors and draws some of them several times",
        "Average several models with BaggingRegressor(est, bootstrap=False, max_samples=0.5).",
    ),
    Client(
        ("AdaBoostClassifier._boost",),
        "AdaBoostClassifier",
        "weighs records by the errors of the models before, over the sum of all",
        "Average several models, each fitted by itself.",
    ),
    Client(
        ("_fit_ovo_binary",), "OneVsOneClassifier", "fits the rows of two labels, whose number is private", _DECLARE
    ),
    Client(
        ("SelfTrainingClassifier.fit",),
        "SelfTrainingClassifier",
        "chooses the rows of the next fit by what they hold, and keeps the labels",
        "Fit the labelled rows.",
    ),
    Client(
        ("RANSACRegressor.fit",),
        "RANSACRegressor",
        "chooses the rows of its fit by what they hold",
        "Fit the model itself: bounds already limit what one record can do.",
    ),
    Client(
        ("permutation_test_score", "_permutation_test_score"),
        "permutation_test_score",
        "gives each row the label of another one, so that one record changes two rows",
        "`wald_test` of a released model says whether the columns matter.",
    ),
)
# Function of scikit-learn that calls a fit -> the clients that it may be.
REFUSED: dict[str, list[Client]] = {}
for _client in _REFUSED:
    for _function in _client.functions:
        REFUSED.setdefault(_function, []).append(_client)
# This function catches a ValueError: its client then takes the pipeline for another kind of estimator, and goes on.
_SWALLOWING = "Pipeline.__sklearn_tags__"


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


def _asking(estimator: Any, callers: Callers, own_fit: bool = False) -> tuple[Client | None, Locals]:
    """The outermost client among our callers that breaks the promise, and its variables."""
    for caller in reversed(callers):
        for client in REFUSED.get(caller.name, ()) if caller.subpackage else ():
            if client.own_fit >= own_fit and client.when(estimator, caller.variables):
                return client, caller.variables
    return None, {}


# --- what is warned of

_TOO_MUCH = "moves other rows from fold to fold, so that the fits together spend more than the sum of their eps."
_BY_A_RULE = "Pass a PredefinedSplit with the fold of each id by a public rule, such as a hash of the id."
_CUTS = {
    "labels": f"Folds are cut by the labels (an integer `cv` does it too): one label {_TOO_MUCH} {_SHUFFLED}. {_ORDER}",
    "positions": f"Folds are cut by position: one record more or less {_TOO_MUCH} "
    'Use neighbouring="replace_one", or a PredefinedSplit by public facts.',
    "unknown": f"Folds are cut by a splitter that is not of scikit-learn, or by a list: if it looks at more than "
    f"positions, one record {_TOO_MUCH} {_SHUFFLED}, or a PredefinedSplit by public facts. {_ORDER}",
    "groups": f"Folds hold whole groups, and are cut by their number and their rows: one record of another group "
    f"{_TOO_MUCH} Pass a PredefinedSplit with the fold of each group by a public rule.",
    "rows of persons": "Folds are cut by rows, so a person may lie in several of them, and one person with more rows "
    f"{_TOO_MUCH} {_BY_A_RULE}",
    "sizes of persons": "Folds hold whole persons, and are cut by their number and their rows: one person "
    f"{_TOO_MUCH} {_BY_A_RULE}",
    "counted persons": "Folds are cut by a rule of persons: one person with another id is in another fold, and under "
    "replace_one how many persons a fold has counts as public. "
    'Use neighbouring="add_remove" with n_rows.',
}
_FOLDING = frozenset(
    {"cross_validate", "cross_val_predict", "learning_curve", "validation_curve", "BaseSearchCV.fit", "RFECV.fit"}
)
# Clients and splitters that were warned of, by identity, since some have no hash: each is warned of once.
_notices: dict[int, weakref.ref[Any]] = {}


def warn_of_own_fit(estimator: Any, callers: Callers) -> None:
    """Warn if a client asks a fitted model about rows and learns from them itself: they may be public."""
    if not promises(estimator):
        return
    client, variables = _asking(estimator, callers, own_fit=True)
    if client is not None:
        text = f"{client.name} {client.harm}, which the privacy statement does not cover: give it public rows only."
        _warn(text, variables.get("self", estimator))
        return
    for caller in callers:
        if (
            not _is_known(caller)
            and caller.owner is not None
            and "fit" in caller.function.rpartition(".")[2].split("_")
        ):
            text = f"What {caller.client} learns from its rows is not known, and not covered: give it public rows only."
            _warn(text, caller.variables["self"])


def warn_of_folds(estimator: Any, callers: Callers) -> None:
    """Warn if folds are cut so that one record moves others: then a fit sees several changed records, not one."""
    for caller in callers:
        if caller.subpackage and caller.name in _FOLDING and promises(estimator):
            found = caller.variables
            of_persons = _has_persons(estimator, found.get("params"))
            for cv in (found.get("cv"), found.get("cv_orig"), getattr(found.get("self"), "_checked_cv_orig", None)):
                cut = _cut_by(estimator, cv, of_persons) if hasattr(cv, "split") else None
                if cut is not None:
                    _warn(_CUTS[cut], cv)


def _warn(message: str, about: Any) -> None:
    """Warn once for each client or splitter, at the user's line that called scikit-learn."""
    key = id(about)
    if key in _notices and _notices[key]() is about:
        return
    with contextlib.suppress(TypeError):  # not everything can be remembered; then it is told again
        _notices[key] = weakref.ref(about, lambda _: _notices.pop(key, None))
    warn(message, PrivacyWarning)


# --- what the statement names

_Parts = Callable[[Any], list[Any]]
_PIPELINE = ("Pipeline.fit", "Pipeline.fit_transform", "Pipeline.fit_predict")
# The methods of scikit-learn that call us, and the parts of their estimator that they fit to the rows before our fit;
# those that they fit beside it; and those that decide the rows of our fit.
_BEFORE: dict[str, _Parts] = {
    **dict.fromkeys(_PIPELINE, lambda client: [step for _, step in client.steps[:-1]]),
    "TransformedTargetRegressor.fit": lambda client: [client.transformer],
}
_BESIDE: dict[str, _Parts] = {
    **dict.fromkeys(_PIPELINE, lambda client: [client.steps[-1][1]]),
    **dict.fromkeys(
        ("FeatureUnion.fit", "FeatureUnion.fit_transform", "ColumnTransformer.fit_transform"), lambda client: [client]
    ),
}
_DECIDING: dict[str, _Parts] = {
    **_BEFORE,
    **dict.fromkeys(
        ("ColumnTransformer.fit_transform", "TransformedTargetRegressor.fit", "SelectFromModel.fit"),
        lambda client: [client],
    ),
    _STACK: lambda client: [member for _, member in client.estimators],
}
# Clients that do nothing with private rows beside our fits, except what is looked for here.
_KEEPING = frozenset(
    {
        *("Pipeline", "FeatureUnion", "ColumnTransformer", "TransformedTargetRegressor", "FrozenEstimator"),
        *("FixedThresholdClassifier", "VotingRegressor", "StackingRegressor", "BaggingRegressor"),
        *("MultiOutputClassifier", "MultiOutputRegressor", "ClassifierChain", "RegressorChain"),
        *("SelectFromModel", "RFE"),
    }
)
# Clients that choose by scores of private rows, and what they choose.
_CHOOSING = dict.fromkeys(
    ("GridSearchCV", "RandomizedSearchCV", "HalvingGridSearchCV", "HalvingRandomSearchCV"), "parameters"
) | dict.fromkeys(("RFECV", "SequentialFeatureSelector"), "columns")
_OTHERWISE = {
    "parameters": "Fix them by public knowledge, or pay for the choice with dplr.PrivateSearch.",
    "columns": "Choose them by public knowledge, or with RFE, which spends eps in each step.",
}
# Functions that fit folds. A choice by their scores comes later, so it is not a fact about the fit of a fold.
_FOLDS = frozenset(
    {
        *("model_selection.cross_validate", "model_selection.cross_val_predict", "model_selection.learning_curve"),
        *("model_selection.validation_curve", "model_selection._fit_and_score", "model_selection._fit_and_predict"),
        "feature_selection._rfe_single_fit",
    }
)
_FOLDS_INSIDE = ("BaseSearchCV.fit.<locals>.evaluate_candidates", "RFECV.fit.<locals>.")
# Clients that fit a model to predictions of folds, and the `cv` with which they have none.
_WITHOUT_FOLDS = {_STACK: "prefit", _CHAIN: None}
# Other functions of scikit-learn that stand between clients and a fit; of a stack and a vote those that lie in them,
# and do not name `self`.
_BETWEEN = frozenset(
    {
        *("model_selection.cross_val_score", "model_selection.LearningCurveDisplay.from_estimator"),
        *("model_selection.ValidationCurveDisplay.from_estimator", "multioutput._fit_estimator"),
        *("ensemble._fit_single_estimator", f"ensemble.{_BAG}", f"ensemble.{_STACK}", "ensemble._BaseVoting.fit"),
        *("pipeline._fit_one", "pipeline._fit_transform_one", "pipeline._fit_transform_one_with_callbacks"),
    }
)
_PUBLIC_ROWS = "Declare bounds, which scale, impute and encode; or wrap what public rows taught in FrozenEstimator."
_ROW_BY_ROW = (
    "Give a ufunc of NumPy, such as np.log1p, a number, or a transformer of scikit-learn; or declare a transformation "
    "in the bounds."
)
_FOLD = (
    "this is one of several fits to folds of a table, or to predictions of them: together they lose no more than their "
    "statements add up to where one record moves no other from fold to fold, as by KFold(shuffle=True) without a seed; "
    "with folds by position or by a seed, where the order of the rows says nothing of any record"
)


class UncoveredUse(NamedTuple):
    """A fact that a guarantee does not cover, and what to do about it."""

    fact: str
    remedy: str


_UNSEEN = UncoveredUse(
    "what asked for this fit in another process or thread, and what it did with the private rows, is not known",
    "Fit with n_jobs=None, which shows it.",
)
# What each process and thread, whose frames are seen there alone, stored in an estimator.
_Memory = list[tuple[tuple[int, int], list[UncoveredUse]]]


def facts(estimator: Any, callers: Callers) -> tuple[str, ...]:
    """The facts that the statement of a fit must name; the user is warned of each."""
    remember(estimator, ())
    memory = _elsewhere(estimator, callers)
    doings = dict.fromkeys(_doings(callers, memory) + [doing for _, doings in memory for doing in doings])
    for fact, remedy in doings:
        warn(f"{fact}: the privacy statement does not cover it. {remedy}", PrivacyWarning)
    return tuple(fact for fact, _ in doings)


def assumed(callers: Callers) -> tuple[str, ...]:
    """The sentences of a statement about folds, and about estimators inside our callers that learned before."""
    clients = [caller.variables["self"] for caller in callers if caller.subpackage and caller.owner is not None]
    names = ", ".join(names_of(model for client in clients for model in frozen(client)))
    taught = f"what {names} learned before, in FrozenEstimator or by prefit, came from public rows alone"
    folded = any(_is_fold(caller) or _has_folds(caller) for caller in callers)
    return (_FOLD,) * folded + (taught,) * bool(names)


def remember(estimator: Any, callers: Callers, original: Any = None, doings: Sequence[UncoveredUse] = ()) -> None:
    """Store in the estimator, a copy of `original`, the facts about these callers, which a worker cannot see."""
    memory = _elsewhere(estimator if original is None else original, callers)
    if callers:
        memory.append((_here(), [*_doings(callers, memory), *doings]))
    if memory:
        estimator._caller_memory = memory
    else:
        estimator.__dict__.pop("_caller_memory", None)


def person_before(callers: Callers) -> str | None:
    """The column of ids in the bounds of a step of our callers, which a fit after it does not see."""
    steps = (step for parts, _ in _parts(callers, _BEFORE) for part in parts for step in _inside(part))
    declared = (as_bounds(step.bounds) for step in steps if isinstance(step, (BoundsEncoder, RandomFourierFeatures)))
    return next((bounds.person for bounds in declared if bounds is not None and bounds.person is not None), None)


def _elsewhere(estimator: Any, callers: Callers) -> _Memory:
    """The memory of other processes and threads: of the estimator, or of the models beside it in a worker."""
    memory: _Memory = getattr(estimator, "_caller_memory", [])
    if not memory and _is_cut(callers):
        given = [value for value in callers[-1].variables.values() if isinstance(value, BaseEstimator)]
        models = [part for value in given for part in (value, *value.get_params().values()) if is_ours(type(part))]
        memory = [entry for model in models for entry in getattr(model, "_caller_memory", [])]
    return [entry for entry in memory if entry[0] != _here()]


def _here() -> tuple[int, int]:
    return os.getpid(), threading.get_ident()


def _is_cut(callers: Callers) -> bool:
    """Whether a client in another process or thread called the outermost caller, which nobody calls by hand."""
    if not callers:
        return False
    outermost = callers[-1]
    return outermost.name != outermost.function or (outermost.owner is None and outermost.name.startswith("_"))


def _doings(callers: Callers, memory: _Memory) -> list[UncoveredUse]:
    """The doings of callers that no noise covers, and `_UNSEEN` where a client may be out of sight."""
    doings: list[UncoveredUse] = []

    def choose(names: Iterable[str]) -> None:
        for name in names:
            fact = f"{name} chose {_CHOOSING[name]} by scores on the private rows, without noise"
            doings.append(UncoveredUse(fact, _OTHERWISE[_CHOOSING[name]]))

    def tell(names: Iterable[str], fact: str, remedy: str) -> None:
        if named := ", ".join(names):
            doings.append(UncoveredUse(fact.format(named), remedy))

    for when, table in (("before", _BEFORE), ("beside", _BESIDE)):
        learned = _learned(callers, table)
        choose(name for name in learned if name in _CHOOSING)
        fact = f"{{}} learned from the private rows {when} this fit, without noise"
        tell((name for name in learned if name not in _CHOOSING), fact, _PUBLIC_ROWS)
    fact = "{} learned from the private rows before this fit, with noise that a seed gives"
    tell(_seeded_before(callers), fact, "Use rng=None for a real release.")
    deciding = (part for parts, _ in _parts(callers, _DECIDING) for part in parts)
    fact = "a function of {} sees all rows at once, and is covered only if it treats each row by itself"
    tell(names_of(each for part in deciding for each in with_functions(part)), fact, _ROW_BY_ROW)
    # What chose the parameters of a fit is known of the last one, and of no fit of a fold, which came before.
    final = itertools.takewhile(lambda caller: not _is_fold(caller), callers)
    choose(caller.client for caller in final if caller.subpackage and caller.client in _CHOOSING)
    strangers = dict.fromkeys(caller.client for caller in callers if not _is_known(caller))
    tell(
        strangers,
        "{} asked for this fit, and what else it does with the private rows is not known",
        "Fit the model itself, or in a client that the attack model lists as covered.",
    )
    # A `FeatureUnion` with workers is out of sight whatever its models remember.
    unseen = _is_cut(callers) and (not memory or callers[-1].variables.get("message_clsname") == "FeatureUnion")
    return [*dict.fromkeys(doings)] + [_UNSEEN] * unseen


def _is_known(caller: Caller) -> bool:
    if caller.owner is None:  # what lies in a function that asks for tags does not name `self`
        return caller.place in _FOLDS or caller.place in _BETWEEN or caller.function.endswith(".__sklearn_tags__")
    return is_of_sklearn(caller.owner) and (caller.client in _KEEPING or caller.client in _CHOOSING)


def _is_fold(caller: Caller) -> bool:
    return bool(caller.subpackage) and (caller.place in _FOLDS or caller.name.startswith(_FOLDS_INSIDE))


def _has_folds(caller: Caller) -> bool:
    if not caller.subpackage or caller.name not in _WITHOUT_FOLDS:
        return False
    cv = caller.variables["self"].cv
    return not (isinstance(cv, str | None) and cv == _WITHOUT_FOLDS[caller.name])


def _parts(callers: Callers, table: Mapping[str, _Parts]) -> Iterator[tuple[list[Any], list[Any]]]:
    """The parts of each caller, and the estimators that are fitting inside it."""
    for place, caller in enumerate(callers):
        if caller.subpackage and caller.owner is not None and caller.function in table:
            inside = [each.variables["self"] for each in callers[:place] if each.owner is not None]
            yield table[caller.function](caller.variables["self"]), inside


def _apart(parts: Iterable[Any], others: Sequence[Any]) -> list[Any]:
    return [part for part in parts if not any(part is other for other in others)]


def _seeded_before(callers: Callers) -> list[str]:
    """The names of models in the steps of our callers, not in one that is fitting now, whose noise a seed gives."""
    steps = [step for parts, inside in _parts(callers, _BEFORE) for step in _apart(parts, inside)]
    return names_of(model for step in steps for model in seeded(step))


def _learned(callers: Callers, table: Mapping[str, _Parts]) -> list[str]:
    """The names of parts that learned, except those that are fitting now, which are callers and checked as such."""
    estimators = []
    for parts, inside in _parts(callers, table):
        candidates = [estimator for part in parts for estimator in learners(part)]
        rest = _apart(candidates, inside)
        if len(rest) == len(candidates):  # a copy is fitting, of the last part of its type: those before have learned
            kinds = {type(client) for client in inside if _learns_itself(client)}
            copied = [place for place, part in enumerate(rest) if type(part) in kinds]
            rest = [part for place, part in enumerate(rest) if place not in copied[-1:]]
        estimators += rest
    return names_of(estimators)


def _learns_itself(client: Any) -> bool:
    """Whether a client learns without noise, apart from the parts inside it."""
    return not is_made_of_others(client) and any(learner is client for learner in learners(client))


def _inside(step: Any) -> Iterator[Any]:
    lists = [getattr(step, name, None) or () for name in ("steps", "transformers", "transformer_list")]
    inside = [part[1] for entries in lists for part in entries]
    if inside:
        for part in (*inside, getattr(step, "remainder", None)):
            yield from _inside(part)
    else:
        yield step
