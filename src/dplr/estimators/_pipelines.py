"""Which steps before a model, or beside it, learned from the private rows: no noise covers them. And which were told
of persons.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from dplr.bounds.declared import as_bounds
from dplr.estimators._callers import Callers
from dplr.estimators._encoder import BoundsEncoder
from dplr.estimators._fourier import RandomFourierFeatures as Fourier
from dplr.estimators._learners import learners

_INSIDE = ("steps", "transformers", "transformer_list")
_Parts = Callable[[Mapping[str, Any]], list[Any]]


def _first_steps(variables: Mapping[str, Any]) -> list[Any]:
    return [step for _, step in variables["self"].steps[:-1]]


def _last_step(variables: Mapping[str, Any]) -> list[Any]:
    return [variables["self"].steps[-1][1]]


def _of_the_target(variables: Mapping[str, Any]) -> list[Any]:
    return [variables["self"].transformer]


def _itself(variables: Mapping[str, Any]) -> list[Any]:
    return [variables["self"]]


# The functions of scikit-learn that call us, and what they fit to the rows before our fit, and beside it.
_BEFORE: dict[str, _Parts] = {
    **dict.fromkeys(("Pipeline.fit", "Pipeline.fit_transform", "Pipeline.fit_predict"), _first_steps),
    "TransformedTargetRegressor.fit": _of_the_target,
}
_BESIDE: dict[str, _Parts] = {
    **dict.fromkeys(("Pipeline.fit", "Pipeline.fit_transform", "Pipeline.fit_predict"), _last_step),
    **dict.fromkeys(("FeatureUnion.fit", "FeatureUnion.fit_transform", "ColumnTransformer.fit_transform"), _itself),
}


def learned_before(callers: Callers) -> list[str]:
    """The names of the steps of our callers that learned from the rows which this fit is given."""
    return _learned(callers, _BEFORE)


def learned_beside(callers: Callers) -> list[str]:
    """The names of what else our callers fit to the rows."""
    return _learned(callers, _BESIDE)


def person_before(callers: Callers) -> str | None:
    """The column of ids in the bounds of a step of our callers, which a fit after it does not see."""
    steps = (step for part in _parts(callers, _BEFORE) for step in _inside(part))
    declared = (as_bounds(step.bounds) for step in steps if isinstance(step, (BoundsEncoder, Fourier)))
    return next((bounds.person for bounds in declared if bounds is not None and bounds.person is not None), None)


def _learned(callers: Callers, tables: Mapping[str, _Parts]) -> list[str]:
    """The names of parts that learned, except those that called us: they are judged as callers."""
    clients = {caller.client for caller in callers}
    names = dict.fromkeys(name for part in _parts(callers, tables) for name in learners(part))
    return [name for name in names if name not in clients]


def _parts(callers: Callers, tables: Mapping[str, _Parts]) -> Iterator[Any]:
    for caller in callers:
        if caller.room and caller.function in tables:
            yield from tables[caller.function](caller.variables)


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
