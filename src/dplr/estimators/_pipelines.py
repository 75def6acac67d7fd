"""Which steps before a model learned from the private rows, as `StandardScaler` does: no noise covers them. And which
were told of persons.

As in `_clients`, we look at the frames of scikit-learn that called us.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from types import FrameType
from typing import Any

from dplr.bounds.declared import as_bounds
from dplr.estimators._encoder import BoundsEncoder
from dplr.estimators._fourier import RandomFourierFeatures as Fourier

# What these learn is the number of columns, or drawn from a seed.
_LEARN_NOTHING = frozenset(
    {
        *("PolynomialFeatures", "FrozenEstimator", "SkewedChi2Sampler", "AdditiveChi2Sampler"),
        *("PolynomialCountSketch", "GaussianRandomProjection", "SparseRandomProjection", "FeatureHasher"),
    }
)
_INSIDE = ("steps", "transformers", "transformer_list")
# With their categories declared these learn nothing, unless rare ones are told apart.
_ENCODERS = ("OneHotEncoder", "OrdinalEncoder")


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
    return list(dict.fromkeys(type(step).__name__ for step in _steps_before() if _learns(step)))


def person_before() -> str | None:
    """The column of ids in the bounds of a step of our callers, which a fit after it does not see."""
    declared = (as_bounds(step.bounds) for step in _steps_before() if isinstance(step, (BoundsEncoder, Fourier)))
    return next((bounds.person for bounds in declared if bounds is not None and bounds.person is not None), None)


def _steps_before() -> Iterator[Any]:
    """The steps that our callers fitted to the rows before, and those inside them."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        steps = _CALLERS.get(frame.f_code.co_qualname)
        if steps is not None and str(frame.f_globals.get("__name__")).startswith("sklearn."):
            for step in steps(frame.f_locals):
                yield from _inside(step)
        frame = frame.f_back


def _inside(step: Any) -> Iterator[Any]:
    """The step, or the steps inside it."""
    if step is None or isinstance(step, str):  # "passthrough" and "drop"
        return
    inside = [part[1] for name in _INSIDE for part in getattr(step, name, None) or ()]
    if inside:
        for part in (*inside, getattr(step, "remainder", None)):
            yield from _inside(part)
    else:
        yield step


def _learns(step: Any) -> bool:
    """Whether not all that a step knows was declared."""
    from sklearn.utils import get_tags

    try:
        learns = get_tags(step).requires_fit
    except AttributeError:  # not of scikit-learn: who knows
        learns = True
    return learns and not _is_declared(step)


def _is_declared(step: Any) -> bool:
    """Whether all that a step knows after its fit was known before."""
    name = type(step).__name__
    if name in _ENCODERS:
        rare = step.min_frequency, step.max_categories
        return not (isinstance(step.categories, str) and step.categories == "auto") and rare == (None, None)
    if name == "RBFSampler":
        return bool(step.gamma != "scale")
    return name in _LEARN_NOTHING
