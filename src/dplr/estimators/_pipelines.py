"""Steps before a model, or beside it, that learned from the private rows without noise, or whose bounds declare
persons.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from dplr.bounds.declared import as_bounds
from dplr.estimators._callers import Callers
from dplr.estimators._learners import is_made_of_others, learners, names_of, seeded, with_functions
from dplr.estimators._transformers import BoundsEncoder
from dplr.estimators._transformers import RandomFourierFeatures as Fourier

_INSIDE = ("steps", "transformers", "transformer_list")
_Parts = Callable[[Mapping[str, Any]], list[Any]]


def _first_steps(variables: Mapping[str, Any]) -> list[Any]:
    return [step for _, step in variables["self"].steps[:-1]]


def _last_step(variables: Mapping[str, Any]) -> list[Any]:
    return [variables["self"].steps[-1][1]]


def _of_the_target(variables: Mapping[str, Any]) -> list[Any]:
    return [variables["self"].transformer]


def _members(variables: Mapping[str, Any]) -> list[Any]:
    return [member for _, member in variables["self"].estimators]


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


# The functions of scikit-learn that call us, and those of their parts that decide the rows of this fit.
_DECIDING: dict[str, _Parts] = {
    **_BEFORE,
    **dict.fromkeys(
        ("ColumnTransformer.fit_transform", "TransformedTargetRegressor.fit", "SelectFromModel.fit"), _itself
    ),
    "_BaseStacking.fit": _members,
}


def learned_before(callers: Callers) -> list[str]:
    """The names of the steps of our callers that learned from the rows which this fit is given."""
    return _learned(callers, _BEFORE)


def learned_beside(callers: Callers) -> list[str]:
    """The names of what else our callers fit to the rows."""
    return _learned(callers, _BESIDE)


def seeded_before(callers: Callers) -> list[str]:
    """The names of models in the steps of our callers, not in one that is fitting now, whose noise a seed gives."""
    names = []
    for place, parts in _parts(callers, _BEFORE):
        steps = (part for part in parts if not any(part is client for client in _fitting(callers[:place])))
        names += names_of(model for step in steps for model in seeded(step))
    return names


def functions_before(callers: Callers) -> list[str]:
    """The names of the steps of our callers with a function that may mix the rows which this fit is given."""
    parts = (part for _, parts in _parts(callers, _DECIDING) for part in parts)
    return names_of(estimator for part in parts for estimator in with_functions(part))


def person_before(callers: Callers) -> str | None:
    """The column of ids in the bounds of a step of our callers, which a fit after it does not see."""
    steps = (step for _, parts in _parts(callers, _BEFORE) for part in parts for step in _inside(part))
    declared = (as_bounds(step.bounds) for step in steps if isinstance(step, (BoundsEncoder, Fourier)))
    return next((bounds.person for bounds in declared if bounds is not None and bounds.person is not None), None)


def _learned(callers: Callers, tables: Mapping[str, _Parts]) -> list[str]:
    """The names of parts that learned, except those that are fitting now, which are callers and checked as such."""
    estimators = []
    for place, parts in _parts(callers, tables):
        candidates = [estimator for part in parts for estimator in learners(part)]
        clients = _fitting(callers[:place])
        rest = [estimator for estimator in candidates if not any(estimator is client for client in clients)]
        if len(rest) == len(candidates):
            _remove_copied(rest, {type(client) for client in clients if _learns_itself(client)})
        estimators += rest
    return names_of(estimators)


def _fitting(callers: Callers) -> list[Any]:
    """The estimators whose methods the callers are."""
    return [caller.variables["self"] for caller in callers if caller.owner is not None]


def _learns_itself(client: Any) -> bool:
    """Whether a client learns without noise, apart from the parts inside it."""
    return not is_made_of_others(client) and any(learner is client for learner in learners(client))


def _remove_copied(parts: list[Any], kinds: set[type[Any]]) -> None:
    """Remove the part of which a copy is fitting now: the last of its type, since those before it have learned."""
    places = [place for place, part in enumerate(parts) if type(part) in kinds]
    if places:
        del parts[places[-1]]


def _parts(callers: Callers, tables: Mapping[str, _Parts]) -> Iterator[tuple[int, list[Any]]]:
    """The parts of each caller, and its place among the callers."""
    for place, caller in enumerate(callers):
        if caller.subpackage and caller.owner is not None and caller.function in tables:
            yield place, tables[caller.function](caller.variables)


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
