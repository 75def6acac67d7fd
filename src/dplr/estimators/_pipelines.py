"""Which steps before a model learned from the private rows, as `StandardScaler` does: no noise covers them.

As in `_clients`, we look at the frames of scikit-learn that called us.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from types import FrameType
from typing import Any

# What these learn is the number of columns, or drawn from a seed.
_LEARN_NOTHING = frozenset(
    {
        *("PolynomialFeatures", "FrozenEstimator", "RBFSampler", "SkewedChi2Sampler", "AdditiveChi2Sampler"),
        *("PolynomialCountSketch", "GaussianRandomProjection", "SparseRandomProjection", "FeatureHasher"),
    }
)
_INSIDE = ("steps", "transformers", "transformer_list")
_DECLARED = ("categories", "OneHotEncoder"), ("categories", "OrdinalEncoder")


def _before_the_last(found: Mapping[str, Any]) -> list[Any]:
    return [step for _, step in found["self"].steps[:-1]]


def _of_the_target(found: Mapping[str, Any]) -> list[Any]:
    return [found["self"].transformer]


# The function of scikit-learn that calls us, and what it fitted to the rows before.
_CALLERS: dict[str, Callable[[Mapping[str, Any]], list[Any]]] = {
    "Pipeline.fit": _before_the_last,
    "TransformedTargetRegressor.fit": _of_the_target,
}


def learned_before() -> list[str]:
    """The names of the steps of our callers that learned from the rows which this fit is given."""
    found: list[str] = []
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        steps = _CALLERS.get(frame.f_code.co_qualname)
        if steps is not None and str(frame.f_globals.get("__name__")).startswith("sklearn."):
            found += [name for step in steps(frame.f_locals) for name in _learners(step)]
        frame = frame.f_back
    return list(dict.fromkeys(found))


def _learners(step: Any) -> Iterator[str]:
    """The step, or the steps inside it, unless all they know was declared."""
    from sklearn.utils import get_tags

    if step is None or isinstance(step, str):  # "passthrough" and "drop"
        return
    inside = [part[1] for name in _INSIDE for part in getattr(step, name, None) or ()]
    name = type(step).__name__
    declared = any(name == kind and getattr(step, key) != "auto" for key, kind in _DECLARED)
    if inside:
        for part in inside:
            yield from _learners(part)
    elif get_tags(step).requires_fit and name not in _LEARN_NOTHING and not declared:
        yield name
