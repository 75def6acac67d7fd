"""The estimators inside another one that learn from their rows without noise, as `StandardScaler` and `Ridge` do.

Whatever is not known to learn nothing, or to be private, learns.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.utils import get_tags

from dplr.estimators._callers import is_of_sklearn, is_ours, no_callers

# What these learn is the number of columns, or drawn from a seed.
_LEARN_NOTHING = frozenset(
    {
        *("PolynomialFeatures", "FrozenEstimator", "SkewedChi2Sampler", "AdditiveChi2Sampler"),
        *("PolynomialCountSketch", "GaussianRandomProjection", "SparseRandomProjection", "FeatureHasher"),
    }
)
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


def promises(estimator: Any) -> bool:
    """Whether a model of ours has noise. Parameters may be anything until they are checked."""
    return not (isinstance(estimator.eps, (float, np.floating)) and math.isinf(estimator.eps))


def learners(part: Any) -> Iterator[str]:
    """The names of the estimators in `part`, or of itself, that learn from their rows without noise."""
    if part is None or isinstance(part, str):  # "passthrough" and "drop"
        return
    kind = type(part)
    if is_ours(kind) and hasattr(part, "predict"):
        if not promises(getattr(part, "estimator", part)):
            yield kind.__name__
    elif is_of_sklearn(kind) and kind.__name__ in _MADE_OF:
        for name in _MADE_OF[kind.__name__]:
            value = getattr(part, name, None)
            if value is None and name not in _OPTIONAL:
                yield kind.__name__
            for each in value if isinstance(value, (list, tuple)) else [(name, value)]:
                yield from learners(each[1])
    elif _learns(part):
        yield kind.__name__


def _learns(step: Any) -> bool:
    """Whether not all that a step knows was declared."""
    try:
        with no_callers():  # a model inside would ask us again
            learns = get_tags(step).requires_fit
    except AttributeError:  # without tags: who knows
        learns = True
    return learns and not (is_of_sklearn(type(step)) and _is_declared(step))


def _is_declared(step: Any) -> bool:
    """Whether all that a step knows after its fit was known before."""
    name = type(step).__name__
    if name in _ENCODERS:
        rare = step.min_frequency, step.max_categories
        return not (isinstance(step.categories, str) and step.categories == "auto") and rare == (None, None)
    if name == "RBFSampler":
        return bool(step.gamma != "scale")
    return name in _LEARN_NOTHING
