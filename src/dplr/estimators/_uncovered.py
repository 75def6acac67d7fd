"""Uses of private rows that no noise covers, by the clients that call a fit: its statement must name them.

A client of scikit-learn is on one of the lists here, or `_clients` checks it. For any other client the statement says
that its use of the rows is not known. Estimators of other packages that are built on scikit-learn are on no list.

A worker does not have the frames of the client. So a copy of a model, and a model whose tags are read, stores the facts
that its statement must name (`remember`), and in a worker they count for the models beside it too. Where all frames are
there, only they count. If no model in a worker has such facts, the statement says that the client is not known.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from sklearn.base import BaseEstimator

from dplr._kit.warnings import PrivacyWarning, warn
from dplr.estimators._callers import Caller, Callers, is_cut, is_of_sklearn, is_ours
from dplr.estimators._learners import frozen, names_of
from dplr.estimators._pipelines import functions_before, learned_before, learned_beside, seeded_before

# Clients that do nothing with private rows beside our fits, except what `_pipelines` and `_clients` look for.
_KEEPING = frozenset(
    {
        *("Pipeline", "FeatureUnion", "ColumnTransformer", "TransformedTargetRegressor", "FrozenEstimator"),
        *("FixedThresholdClassifier", "VotingRegressor", "StackingRegressor", "BaggingRegressor"),
        *("MultiOutputClassifier", "MultiOutputRegressor", "ClassifierChain", "RegressorChain"),
        *("SelectFromModel", "RFE"),
    }
)
# Clients that choose by scores of private rows, and what they choose.
_CHOOSING = {
    **dict.fromkeys(
        ("GridSearchCV", "RandomizedSearchCV", "HalvingGridSearchCV", "HalvingRandomSearchCV"), "parameters"
    ),
    **dict.fromkeys(("RFECV", "SequentialFeatureSelector"), "columns"),
}
# Functions that fit folds. A choice by their scores comes later, so it is not a fact about the fit of a fold.
_FOLDS = frozenset(
    {
        *("model_selection.cross_validate", "model_selection.cross_val_predict", "model_selection.learning_curve"),
        "model_selection.validation_curve",
        *("model_selection._fit_and_score", "model_selection._fit_and_predict"),
        "feature_selection._rfe_single_fit",
    }
)
# Clients that fit a model to predictions of folds, and the `cv` with which they have none.
_WITHOUT_FOLDS = {"_BaseStacking.fit": "prefit", "_BaseChain.fit": None}
_FOLDS_INSIDE = ("BaseSearchCV.fit.<locals>.evaluate_candidates", "RFECV.fit.<locals>.")
# Other functions of scikit-learn that stand between clients and a fit.
_BETWEEN = frozenset(
    {
        *("model_selection.cross_val_score", "model_selection.LearningCurveDisplay.from_estimator"),
        *("model_selection.ValidationCurveDisplay.from_estimator", "multioutput._fit_estimator"),
        *("ensemble._fit_single_estimator", "ensemble._parallel_build_estimators"),
        *("ensemble._BaseStacking.fit", "ensemble._BaseVoting.fit"),  # what lies in them, and does not name `self`
        *("pipeline._fit_one", "pipeline._fit_transform_one", "pipeline._fit_transform_one_with_callbacks"),
    }
)
_FOLD = (
    "this is one of several fits to folds of a table, or to predictions of them: together they lose no more than their "
    "statements add up to where one record moves no other from fold to fold, as by KFold(shuffle=True) without a seed; "
    "with folds by position or by a seed, where the order of the rows says nothing of any record"
)
_PUBLIC_ROWS = "Declare bounds, which scale, impute and encode; or wrap what public rows taught in FrozenEstimator."
_ROW_BY_ROW = (
    "Give a ufunc of NumPy, such as np.log1p, a number, or a transformer of scikit-learn; or declare a transformation "
    "in the bounds."
)
_OTHERWISE = {
    "parameters": "Fix them by public knowledge, or pay for the choice with dplr.PrivateSearch.",
    "columns": "Choose them by public knowledge, or with RFE, which spends eps in each step.",
}


class UncoveredUse(NamedTuple):
    """A fact that a guarantee does not cover, and what to do about it."""

    fact: str
    remedy: str


_Memory = list[tuple[tuple[int, int], list[UncoveredUse]]]
_UNSEEN = UncoveredUse(
    "what asked for this fit in another process or thread, and what it did with the private rows, is not known",
    "Fit with n_jobs=None, which shows it.",
)


def uncovered(callers: Callers) -> list[UncoveredUse]:
    """The doings of callers that no noise covers."""
    doings = []
    for when, learners in (("before", learned_before(callers)), ("beside", learned_beside(callers))):
        doings += [_choice_by(name) for name in learners if name in _CHOOSING]
        if names := ", ".join(name for name in learners if name not in _CHOOSING):
            fact = f"{names} learned from the private rows {when} this fit, without noise"
            doings.append(UncoveredUse(fact, _PUBLIC_ROWS))
    if names := ", ".join(seeded_before(callers)):
        fact = f"{names} learned from the private rows before this fit, with noise that a seed gives"
        doings.append(UncoveredUse(fact, "Use rng=None for a real release."))
    if names := ", ".join(functions_before(callers)):
        fact = f"a function of {names} sees all rows at once, and is covered only if it treats each row by itself"
        doings.append(UncoveredUse(fact, _ROW_BY_ROW))
    doings += [_choice_by(name) for name in _choosers(callers)]
    if names := ", ".join(dict.fromkeys(caller.client for caller in strangers(callers))):
        fact = f"{names} asked for this fit, and what else it does with the private rows is not known"
        doings.append(
            UncoveredUse(fact, "Fit the model itself, or in a client that the attack model lists as covered.")
        )
    return list(dict.fromkeys(doings))


def assumed(callers: Callers) -> tuple[str, ...]:
    """The sentence of a statement about estimators inside our callers that learned before, if any."""
    clients = [caller.variables["self"] for caller in callers if caller.subpackage and caller.owner is not None]
    names = ", ".join(names_of(model for client in clients for model in frozen(client)))
    return (f"what {names} learned before, in FrozenEstimator or by prefit, came from public rows alone",) * bool(names)


def strangers(callers: Callers) -> list[Caller]:
    """The callers that are on no list."""
    return [caller for caller in callers if not _is_known(caller)]


def remember(estimator: Any, callers: Callers, original: Any = None, doings: Sequence[UncoveredUse] = ()) -> None:
    """Store in the estimator the facts about these callers, which a worker cannot see, and `doings`.

    `original` is the estimator of which this one is a copy.
    """
    memory = _elsewhere(estimator if original is None else original, callers)
    if callers:
        memory.append((_here(), [*_doings(callers, memory), *doings]))
    if memory:
        estimator._caller_memory = memory
    else:
        estimator.__dict__.pop("_caller_memory", None)


def facts(estimator: Any, callers: Callers) -> tuple[str, ...]:
    """The facts that the statement of a fit must name; the user is warned of each."""
    remember(estimator, ())
    memory = _elsewhere(estimator, callers)
    doings = _doings(callers, memory) + [doing for _, doings in memory for doing in doings]
    for fact, remedy in dict.fromkeys(doings):
        warn(f"{fact}: the privacy statement does not cover it. {remedy}", PrivacyWarning)
    return tuple(fact for fact, _ in dict.fromkeys(doings))


def of_folds(callers: Callers) -> tuple[str, ...]:
    """The statement's sentence on a fit to a fold, or inside a stack or a chain with folds; none for other fits."""
    return (_FOLD,) if any(_is_fold(caller) or _has_folds(caller) for caller in callers) else ()


def _doings(callers: Callers, memory: _Memory) -> list[UncoveredUse]:
    """The doings of callers, and `_UNSEEN` where a client may be out of sight, as `FeatureUnion` with workers."""
    unseen = is_cut(callers) and (not memory or callers[-1].variables.get("message_clsname") == "FeatureUnion")
    return (uncovered(callers) if callers else []) + [_UNSEEN] * unseen


def _elsewhere(estimator: Any, callers: Callers) -> _Memory:
    """The memory of other processes and threads: of the estimator, or of the models beside it in a worker."""
    models = [estimator]
    if is_cut(callers) and not _memory(estimator):
        models = list(_models_in(callers[-1]))
    return [entry for model in models for entry in _memory(model) if entry[0] != _here()]


def _models_in(caller: Caller) -> Iterator[Any]:
    """The models of ours in what a function was given."""
    for value in caller.variables.values():
        if isinstance(value, BaseEstimator):
            yield from (part for part in (value, *value.get_params().values()) if is_ours(type(part)))


def _memory(estimator: Any) -> _Memory:
    memory: _Memory = getattr(estimator, "_caller_memory", [])
    return memory


def _here() -> tuple[int, int]:
    """The process and the thread, whose frames are seen."""
    return os.getpid(), threading.get_ident()


def _choosers(callers: Callers) -> list[str]:
    """The clients that chose the parameters or columns of this fit, which is the last one and not one of a fold."""
    names = []
    for caller in callers:
        if _is_fold(caller):
            break
        if caller.subpackage and caller.client in _CHOOSING:
            names.append(caller.client)
    return list(dict.fromkeys(names))


def _choice_by(name: str) -> UncoveredUse:
    what = _CHOOSING[name]
    return UncoveredUse(f"{name} chose {what} by scores on the private rows, without noise", _OTHERWISE[what])


def _is_fold(caller: Caller) -> bool:
    return bool(caller.subpackage) and (caller.place in _FOLDS or caller.name.startswith(_FOLDS_INSIDE))


def _has_folds(caller: Caller) -> bool:
    if not caller.subpackage or caller.name not in _WITHOUT_FOLDS:
        return False
    cv = caller.variables["self"].cv
    return not (isinstance(cv, str | None) and cv == _WITHOUT_FOLDS[caller.name])


def _is_known(caller: Caller) -> bool:
    if caller.owner is None:  # what lies in a function that asks for tags does not name `self`
        return caller.place in _FOLDS or caller.place in _BETWEEN or caller.function.endswith(".__sklearn_tags__")
    return is_of_sklearn(caller.owner) and (caller.client in _KEEPING or caller.client in _CHOOSING)
