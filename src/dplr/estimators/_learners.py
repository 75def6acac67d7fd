"""The estimators inside another one that learn from their rows without noise, as `StandardScaler` and `Ridge` do.

An estimator counts as one that learns unless it is on a list here, or is private.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

# These learn nothing, or the number of columns, or numbers drawn from a seed. The tag `requires_fit` cannot replace
# the list: a Gaussian process predicts without a fit, and still learns from one.
_LEARN_NOTHING = frozenset(
    {
        *("PolynomialFeatures", "FrozenEstimator", "SkewedChi2Sampler", "AdditiveChi2Sampler", "FunctionTransformer"),
        *("PolynomialCountSketch", "FeatureHasher", "HashingVectorizer", "Binarizer", "Normalizer"),
        *("PatchExtractor", "SparseCoder"),
    }
)
# These learn nothing unless a parameter is a word, which takes numbers from the rows.
_UNLESS = {
    "RBFSampler": "gamma",
    "GaussianRandomProjection": "n_components",
    "SparseRandomProjection": "n_components",
    "SplineTransformer": "knots",
}
# With their categories declared these learn nothing, unless rare ones are told apart.
_ENCODERS = ("OneHotEncoder", "OrdinalEncoder")

# Estimators of scikit-learn that learn what the parts in these parameters learn, and nothing else. A part that is None
# stands for a model that is not private, except in lists and in the parameters that `_OPTIONAL` names.
_MADE_OF = {
    "Pipeline": ("steps",),
    "FeatureUnion": ("transformer_list",),
    "ColumnTransformer": ("transformers", "remainder"),
    "TransformedTargetRegressor": ("regressor", "transformer"),
    "VotingRegressor": ("estimators",),
    "StackingRegressor": ("estimators", "final_estimator"),
    "BaggingRegressor": ("estimator",),
    "MultiOutputClassifier": ("estimator",),
    "MultiOutputRegressor": ("estimator",),
    "ClassifierChain": ("estimator",),
    "RegressorChain": ("estimator",),
    "FixedThresholdClassifier": ("estimator",),
    "SelectFromModel": ("estimator",),
    "RFE": ("estimator",),
}
_OPTIONAL = ("transformer", "remainder")
_DEFAULT = object()
# Estimators with a function that sees all rows at once -> these functions: parameters, or a transform after a fit.
_FUNCTIONS: dict[str, Callable[[Any], list[Any]]] = {
    **dict.fromkeys(("NMF", "MiniBatchNMF"), lambda step: [step.transform]),
    "FunctionTransformer": lambda step: [step.func],
    "TransformedTargetRegressor": lambda client: [client.func],
    "ColumnTransformer": lambda client: [entry[2] for entry in client.transformers if callable(entry[2])],
    "SelectFromModel": lambda client: [client.max_features] if callable(client.max_features) else [],
}


def promises(estimator: Any) -> bool:
    """Whether a model of ours has noise. Parameters may be anything until they are checked."""
    return not (isinstance(estimator.eps, (float, np.floating)) and math.isinf(estimator.eps))


def learners(part: Any) -> Iterator[Any]:
    """The estimators in `part`, or itself, that learn from their rows without noise."""
    return (unit for unit in _units(part) if _learns(unit))


def seeded(part: Any) -> Iterator[Any]:
    """The models of ours in `part`, or itself, whose noise is a function of a seed."""
    for unit in _units(part):
        models = unit, getattr(unit, "estimator", None)
        if is_ours(type(unit)) and any(getattr(model, "rng", None) is not None for model in models):
            yield unit


def frozen(part: Any) -> Iterator[Any]:
    """The estimators in `part` that learned before it is fitted, other than by releases that cover all of it."""
    if not hasattr(part, "get_params"):
        return
    before = type(part).__name__ == "FrozenEstimator" or (type(part).__name__ == "SelectFromModel" and part.prefit)
    if before and is_of_sklearn(type(part)):
        yield from (*learners(part.estimator), *seeded(part.estimator))
        statements = ((unit, getattr(unit, "privacy_", None)) for unit in _units(part.estimator))
        yield from (unit for unit, statement in statements if statement is not None and statement.uncovered)
    for child in part.get_params(deep=False).values():
        for inside in child if isinstance(child, (list, tuple)) else (child,):
            yield from frozen(inside[1] if isinstance(inside, tuple) and len(inside) > 1 else inside)


def with_functions(part: Any, frozen: bool = False) -> Iterator[Any]:
    """The estimators in `part`, or itself, with a function that may mix rows; frozen ones of other packages too."""
    if not hasattr(part, "get_params"):
        return
    if not is_of_sklearn(type(part)):
        yield from [part] if frozen and not is_ours(type(part)) else []
        return
    functions = _FUNCTIONS.get(type(part).__name__, lambda _: [])(part)
    if not all(_keeps_rows(function) for function in functions):
        yield part
    frozen = frozen or type(part).__name__ == "FrozenEstimator"
    for child in part.get_params().values():
        yield from with_functions(child, frozen)


def _keeps_rows(function: Any) -> bool:
    """Whether a function treats each row by itself: none, a ufunc of numbers, or a choice of columns by their types.

    A ufunc that has loops of objects alone was made of any function.
    """
    from sklearn.compose import make_column_selector  # the client has imported it; dplr alone has no need of it

    if isinstance(function, np.ufunc):
        return function.signature is None and any("O" not in loop for loop in function.types)
    return function is None or type(function) is make_column_selector


def names_of(estimators: Iterable[Any]) -> list[str]:
    """The names of their types, each once."""
    return list(dict.fromkeys(type(estimator).__name__ for estimator in estimators))


def _units(part: Any) -> Iterator[Any]:
    """The estimators in `part`, or itself, that are not made of others; and those whose part is a default."""
    if part is None or isinstance(part, str):  # "passthrough" and "drop"
        return
    if not is_made_of_others(part):
        yield part
        return
    for child in _inside(part):
        yield from [part] if child is _DEFAULT else _units(child)


def is_made_of_others(part: Any) -> bool:
    """Whether an estimator learns what the parts inside it learn, and nothing else."""
    return is_of_sklearn(type(part)) and type(part).__name__ in _MADE_OF


def _inside(part: Any) -> Iterator[Any]:
    """The parts of an estimator that is made of others; `_DEFAULT` where one is missing."""
    if type(part).__name__ == "SelectFromModel" and part.prefit:  # its estimator is not fitted, as in FrozenEstimator
        return
    for name in _MADE_OF[type(part).__name__]:
        value = getattr(part, name, None)
        if value is None and name not in _OPTIONAL:
            yield _DEFAULT
        else:
            yield from (entry[1] for entry in value) if isinstance(value, (list, tuple)) else (value,)


def _learns(unit: Any) -> bool:
    """Whether an estimator learns from its rows without noise."""
    kind = type(unit)
    if is_ours(kind) and hasattr(unit, "predict"):
        return not promises(getattr(unit, "estimator", unit))
    return not (is_of_dplr(kind) or (is_of_sklearn(kind) and _is_declared(unit)))


def _is_declared(unit: Any) -> bool:
    """Whether all that an estimator of scikit-learn knows after its fit was known before."""
    name = type(unit).__name__
    if name in _ENCODERS:
        rare = unit.min_frequency, unit.max_categories
        return not (isinstance(unit.categories, str) and unit.categories == "auto") and rare == (None, None)
    if name in _UNLESS:
        return not isinstance(getattr(unit, _UNLESS[name]), str)
    return name in _LEARN_NOTHING


def is_ours(kind: type[Any]) -> bool:
    """Whether a type is of dplr, or made of one."""
    return any(is_of_dplr(base) for base in kind.__mro__)


def is_of_dplr(kind: type[Any]) -> bool:
    """Whether a type is of dplr itself."""
    return kind.__module__.partition(".")[0] == "dplr"


def is_of_sklearn(kind: type[Any]) -> bool:
    """Whether a type is of scikit-learn itself."""
    return kind.__module__.partition(".")[0] == "sklearn"
