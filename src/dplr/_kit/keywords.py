"""Names that other libraries give our parameters: such a keyword is refused with the name that it has here."""

from __future__ import annotations

import difflib
import functools
import inspect
from collections.abc import Callable, Iterable
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")

# Of scikit-learn, diffprivlib, Opacus and OpenDP.
_ELSEWHERE = {
    "epsilon": "eps",
    "target_epsilon": "eps",
    "target_delta": "delta",
    "random_state": "rng",
    "seed": "rng",
    "accountant": "ledger",
    "verbose": "progress",
    "method": "mechanism",
    "categories": "bounds",
    "bounds_X": "bounds",
    "bounds_y": "bounds, whose target is the range of y",
    "labels": "classes",
    "groups": "person",
    "weights": "sample_weight",
}
_ABSENT = {
    "gamma": "A kernel has `bandwidth`: 1 / sqrt(2 gamma) for the Gaussian one, 1 / gamma for the Laplacian one.",
    "C": 'The ridge is `l2`: of the mean loss, in scaled units, so about 1 / (C * n); or "auto".',
    "alpha": 'The ridge is `l2`: of the mean loss, in scaled units; or "auto".',
    "penalty": "Every model has a ridge, `l2`.",
    "data_norm": "Declare bounds=dplr.Bounds(...); without bounds rows lie in the unit ball.",
    "max_grad_norm": "Give mechanism=dplr.NoisyGradientDescent(clip=...).",
    "noise_multiplier": "Noise follows from `eps` and `delta`; `dplr.plan` shows it.",
    "max_iter": "The solver certifies its minimum; give mechanism=dplr.NoisyGradientDescent(steps=...) for descent.",
    "tol": "The solver's tolerance follows from `eps`, and is charged.",
    "class_weight": "Public factors of labels are for estimators that classify, `fit` and `plan`.",
    "rows_per_person": "Give bounds=dplr.Bounds(..., rows_per_person=k).",
    "max_rows_per_person": "Give bounds=dplr.Bounds(..., rows_per_person=k).",
    "weight_bounds": "Give bounds=dplr.Bounds(..., weight_max=W).",
    "sample_weight": "Weights belong to `fit`; what they are clipped to, `weight_max` of the bounds, is public.",
    "solver": "Each mechanism has a solver of its own.",
    "multi_class": "More than two classes are fitted one against the rest: declare `classes`.",
    "warm_start": "Start from public coefficients: `public`.",
}


def suggests(function: Callable[P, R], more: Iterable[str] = ()) -> Callable[P, R]:
    """Refuse unknown keywords with what to write instead; `more` are the names that `**` of the function takes."""
    parameters = inspect.signature(function).parameters
    names = [*(name for name, parameter in parameters.items() if parameter.kind != parameter.VAR_KEYWORD), *more]

    @functools.wraps(function)
    def checked(*args: P.args, **kwargs: P.kwargs) -> R:
        for name in kwargs:
            if name not in names:
                owner = type(args[0]) if function.__name__ == "__init__" else function
                raise TypeError(f"`{name}` is no parameter of {owner.__name__}. {_advice(name, names)}")
        return function(*args, **kwargs)

    return checked


def _advice(name: str, names: list[str]) -> str:
    if name in _ABSENT:
        return _ABSENT[name]
    if name == "random_state" and "seed" in names:  # of public numbers, as the frequencies of a kernel
        return "Use `seed`."
    near = difflib.get_close_matches(name, names, n=1)
    meant = _ELSEWHERE.get(name) or (near[0] if near else None)
    if meant is not None:
        return f"Use `{meant}`."
    return f"It has {', '.join(parameter for parameter in names if parameter != 'self')}."
